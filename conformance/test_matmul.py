import functools

import torch

import kernels_triton
from conformance.ops import matmul
from kernels_cuda.matmul import matmul as matmul_cuda
from kernels_cuda.matmul import matmul_async, matmul_naive, matmul_registers, matmul_tiled, matmul_wmma

test_matmul_triton = matmul.conformance(kernels_triton.matmul)
test_matmul_triton_tuned = matmul.conformance(functools.partial(kernels_triton.matmul, tune=True), oracles=["configs"])
test_matmul_cuda_naive = matmul.conformance(matmul_naive)
test_matmul_cuda_tiled = matmul.conformance(matmul_tiled)
test_matmul_cuda_registers = matmul.conformance(matmul_registers)
test_matmul_cuda_async = matmul.conformance(matmul_async)
test_matmul_agreement = matmul.agreement(kernels_triton.matmul, matmul_cuda)
test_matmul_cuda_wmma = matmul.conformance(matmul_wmma, dtypes=(torch.float16, torch.bfloat16))
