import kernels_triton
from conformance.ops import rms_norm
from kernels_cuda.rms_norm import rms_norm as rms_norm_cuda

test_rms_norm_triton = rms_norm.conformance(kernels_triton.rms_norm, order="tree")
test_rms_norm_triton_looped = rms_norm.conformance(kernels_triton.rms_norm, meta={"longest": 32}, order="tree")
test_rms_norm_cuda = rms_norm.conformance(rms_norm_cuda, order="tree")
test_rms_norm_agreement = rms_norm.agreement(kernels_triton.rms_norm, rms_norm_cuda, order="tree")
