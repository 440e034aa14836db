import kernels_triton
import strategies as kst
from conformance.ops import rms_norm
from kernels_cuda.rms_norm import rms_norm as rms_norm_cuda
from kernels_cuda.rms_norm import rms_norm_block

# a block of threads holds 4096 to 8192 columns in registers, by the dtype, and reads the rest twice
long_rows = rms_norm.sized(rows=kst.sizes(max=2), cols=kst.sizes(min=4000, max=8300), max_elements=2 * 8300)
batches = rms_norm.leading("batch", "heads", "rows")

test_rms_norm_triton = rms_norm.conformance(kernels_triton.rms_norm, order="tree")
test_rms_norm_triton_looped = rms_norm.conformance(kernels_triton.rms_norm, meta={"longest": 32}, order="tree")
test_rms_norm_cuda = rms_norm.conformance(rms_norm_cuda, order="tree")
test_rms_norm_agreement = rms_norm.agreement(kernels_triton.rms_norm, rms_norm_cuda, order="tree")
test_rms_norm_cuda_batches = batches.conformance(rms_norm_cuda, order="tree", oracles=["launch", "layouts"])
test_rms_norm_cuda_block = rms_norm.conformance(rms_norm_block, order="tree")
test_rms_norm_cuda_long_rows = long_rows.conformance(rms_norm_block, order="tree", oracles=["launch", "special_values"])
