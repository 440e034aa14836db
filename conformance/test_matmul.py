import functools

import torch

import kernels_triton
import strategies as kst
from conformance.ops import matmul
from kernels_cuda.matmul import matmul as matmul_cuda
from kernels_cuda.matmul import matmul_async, matmul_naive, matmul_registers, matmul_tiled, matmul_wmma
from kernels_cuda.matmul_wgmma import matmul_wgmma
from kernels_triton.matmul import SMALL_CONFIG
from kernels_triton.matmul_persistent import matmul_persistent

# beyond one tile of 128 x 128, and four steps of 32 along k
edge = kst.sizes(min=1, max=200, blocks=(64, 128))
large = matmul.sized(m=edge, n=edge, k=kst.sizes(max=200, blocks=(16, 32)), max_elements=200 * 200)
# two tiles of 128 x 256 a block, and more slices of 64 along k than stages
tiles = matmul.sized(
    m=kst.sizes(min=120, max=270), k=kst.sizes(min=250, max=400), n=kst.sizes(max=270), max_elements=270 * 400
)
# more rows of tiles than go down before one goes to the right: eight of 32 rows
tall = matmul.sized(
    m=kst.sizes(min=200, max=330, blocks=(32,)), k=kst.sizes(max=40), n=kst.sizes(max=100), max_elements=330 * 100
)

test_matmul_triton = matmul.conformance(kernels_triton.matmul)
test_matmul_triton_tall = tall.conformance(kernels_triton.matmul, dtypes=(torch.float32,), oracles=["launch"])
test_matmul_triton_tuned = matmul.conformance(functools.partial(kernels_triton.matmul, tune=True), oracles=["configs"])
test_matmul_triton_persistent = matmul.conformance(
    matmul_persistent, dtypes=(torch.float16, torch.bfloat16), meta={"config": SMALL_CONFIG}
)
test_matmul_triton_persistent_tall = tall.conformance(
    matmul_persistent, dtypes=(torch.float16,), oracles=["launch"], meta={"config": SMALL_CONFIG}
)
test_matmul_cuda_naive = matmul.conformance(matmul_naive)
test_matmul_cuda_tiled = matmul.conformance(matmul_tiled)
test_matmul_cuda_registers = matmul.conformance(matmul_registers)
test_matmul_cuda_async = matmul.conformance(matmul_async)
test_matmul_agreement = matmul.agreement(kernels_triton.matmul, matmul_cuda)
test_matmul_cuda_wmma = matmul.conformance(matmul_wmma, dtypes=(torch.float16, torch.bfloat16))
test_matmul_cuda_registers_large = large.conformance(matmul_registers, oracles=["launch"])
test_matmul_cuda_async_large = large.conformance(matmul_async, oracles=["launch"])
test_matmul_cuda_wmma_large = large.conformance(matmul_wmma, dtypes=(torch.float16, torch.bfloat16), oracles=["launch"])
test_matmul_cuda_wgmma = matmul.conformance(matmul_wgmma, dtypes=(torch.float16, torch.bfloat16))
test_matmul_cuda_wgmma_tiles = tiles.conformance(
    matmul_wgmma, dtypes=(torch.float16, torch.bfloat16), oracles=["launch"]
)
