import torch

import kernels_triton
import strategies as kst
from conformance.ops import rms_norm
from kernels_cuda.rms_norm import rms_norm as rms_norm_cuda
from kernels_cuda.rms_norm import rms_norm_block, rms_norm_long
from kernels_cuda.row_kernel import BLOCK_BYTES

# a block has 4096 float64 to 16384 float16 in registers, and where a row is longer, 14336 float64 in shared memory
long_rows = rms_norm.sized(rows=kst.sizes(max=2), cols=kst.sizes(min=4000, max=8300), max_elements=2 * 8300)
# a warp holds two rows of up to 512 columns, or one of up to 1024
wide = rms_norm.sized(rows=kst.sizes(max=6), cols=kst.sizes(min=500, max=1024, blocks=(512,)), max_elements=6 * 1024)
# four blocks take the rows, so that the fifth follows another one
longer_rows = rms_norm.sized(rows=kst.sizes(max=5), cols=kst.sizes(min=14300, max=14700), max_elements=5 * 14700)
# from 32768 float32 on, a block has 1024 threads, and two blocks take the rows
wide_rows = rms_norm.sized(rows=kst.sizes(max=3), cols=kst.sizes(min=32700, max=33200), max_elements=3 * 33200)
# a warp takes two rows, of which those of 512 columns are the longest, and a block eight
pairs = rms_norm.sized(rows=kst.sizes(min=5, max=20), cols=kst.fixed(512), max_elements=20 * 512)
batches = rms_norm.leading("batch", "heads", "rows")

test_rms_norm_triton = rms_norm.conformance(kernels_triton.rms_norm, order="tree")
test_rms_norm_triton_looped = rms_norm.conformance(kernels_triton.rms_norm, meta={"longest": 32}, order="tree")
test_rms_norm_cuda = rms_norm.conformance(rms_norm_cuda, order="tree")
test_rms_norm_agreement = rms_norm.agreement(kernels_triton.rms_norm, rms_norm_cuda, order="tree")
test_rms_norm_cuda_batches = batches.conformance(rms_norm_cuda, order="tree", oracles=["launch", "layouts"])
test_rms_norm_cuda_pairs = pairs.conformance(rms_norm_cuda, order="tree", oracles=["launch"])
test_rms_norm_cuda_wide = wide.conformance(rms_norm_cuda, order="tree", oracles=["launch", "special_values"])
test_rms_norm_cuda_block_half = rms_norm.conformance(
    rms_norm_block, order="tree", dtypes=(torch.float16, torch.bfloat16), limits={"cols": BLOCK_BYTES // 2}
)
test_rms_norm_cuda_block_float = rms_norm.conformance(
    rms_norm_block, order="tree", dtypes=(torch.float32,), limits={"cols": BLOCK_BYTES // 4}
)
test_rms_norm_cuda_block_double = rms_norm.conformance(
    rms_norm_block, order="tree", dtypes=(torch.float64,), limits={"cols": BLOCK_BYTES // 8}
)
test_rms_norm_cuda_long = rms_norm.conformance(rms_norm_long, order="tree", oracles=["launch", "special_values"])
# the order of its threads is that of every dtype, and three more take a minute
test_rms_norm_cuda_long_order = rms_norm.conformance(
    rms_norm_long, order="tree", dtypes=(torch.float32,), oracles=["determinism"]
)
test_rms_norm_cuda_long_rows = long_rows.conformance(rms_norm_cuda, order="tree", oracles=["launch", "special_values"])
test_rms_norm_cuda_longer_rows = longer_rows.conformance(
    rms_norm_long, order="tree", dtypes=(torch.float64,), oracles=["launch", "special_values"]
)
test_rms_norm_cuda_long_wide_rows = wide_rows.conformance(
    rms_norm_long, order="tree", dtypes=(torch.float32,), oracles=["launch", "special_values"]
)
