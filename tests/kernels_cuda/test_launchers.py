"""The launchers of the operations: what they refuse, what they launch, and that they launch nothing for nothing."""

import subprocess
import sys

import pytest
import torch

from kernels_cuda import arguments, launcher, matmul, matmul_wgmma, rms_norm, softmax, vector_add

X = torch.zeros(4, 16)
W = torch.zeros(16)
MATMULS = [matmul.matmul, matmul.matmul_naive, matmul.matmul_tiled, matmul.matmul_registers, matmul.matmul_async]


class Names:
    """A backend that keeps the names and geometry of launches."""

    def __init__(self):
        self.launched = []
        self.mapped = []

    def compile(self, source, *, options):
        return None

    def tensor_map(self, tensor, rows, columns):
        self.mapped.append((tensor, rows, columns))
        return bytes(128)

    def launch(self, handle, name, grid, block, args, shared, signature):
        self.launched.append((name, grid, block, args))


@pytest.fixture(autouse=True)
def names():
    backend = Names()
    before = launcher.set_backend(backend)
    yield backend
    launcher.set_backend(before)


@pytest.mark.parametrize(
    ("launch", "args", "error", "named"),
    [
        (vector_add.vector_add, (X, X[:2]), ValueError, "x and y"),
        (vector_add.vector_add, (X, X.half()), TypeError, "x and y"),
        (vector_add.vector_add, (X, X.to("meta")), ValueError, "x and y"),
        (vector_add.vector_add, (X.int(), X.int()), TypeError, "x must"),
        (vector_add.vector_add, (X, 1.0), TypeError, "y must"),
        (vector_add.vector_add, (X.to_sparse(), X), TypeError, "x must be a dense"),
        (softmax.softmax, (torch.zeros(()),), ValueError, "x must have at least one axis"),
        (softmax.softmax, (X.to(torch.complex64),), TypeError, "x must"),
        (softmax.softmax_warp, (torch.zeros(2, 1025),), ValueError, "softmax_block"),
        (softmax.softmax_block, (torch.zeros(2, 8193),), ValueError, "softmax_long"),
        (rms_norm.rms_norm, (X, W[:3]), ValueError, "w must"),
        (rms_norm.rms_norm, (X, X), ValueError, "w must"),
        (rms_norm.rms_norm, (X, W.double()), TypeError, "x and w"),
        (rms_norm.rms_norm, (X, W, "1e-6"), TypeError, "eps must"),
        (rms_norm.rms_norm_warp, (torch.zeros(2, 1025), torch.zeros(1025)), ValueError, "rms_norm_block"),
        (rms_norm.rms_norm_block, (torch.zeros(2, 8193), torch.zeros(8193)), ValueError, "rms_norm_long"),
        (matmul.matmul_wmma, (X, X.T), TypeError, "a must"),
        (matmul_wgmma.matmul_wgmma, (X, X.T), TypeError, "a must"),
        (matmul_wgmma.matmul_wgmma, (X[:1, :1].half().expand(2**31, 1), X[:1].half()), ValueError, "shorter than 2"),
        *((launch, (X, X), ValueError, "a's columns and b's rows") for launch in MATMULS),
        *((launch, (X[0], X), ValueError, "a must have 2 axes") for launch in MATMULS),
        *((launch, (X, X.T.half()), TypeError, "a and b") for launch in MATMULS),
    ],
)
def test_wrong_arguments_are_refused_by_name_before_any_launch(names, launch, args, error, named):
    with pytest.raises(error, match=named):
        launch(*args)
    assert not names.launched


@pytest.mark.parametrize(
    ("launch", "args", "shape"),
    [
        (vector_add.vector_add, (X[:0], X[:0]), (0, 16)),
        (softmax.softmax, (X[:, :0],), (4, 0)),
        (softmax.softmax, (X[:0],), (0, 16)),
        (rms_norm.rms_norm, (X[:, :0], W[:0]), (4, 0)),
        *((launch, (X[:0], X.T), (0, 4)) for launch in MATMULS),
    ],
)
def test_empty_results_need_no_launch(names, launch, args, shape):
    assert launch(*args).shape == shape
    assert not names.launched


@pytest.mark.parametrize("launch", MATMULS)
def test_a_product_over_no_columns_is_launched_to_write_its_zeros(names, launch):
    launch(X[:, :0], X.T[:0])
    assert len(names.launched) == 1


@pytest.mark.parametrize(
    ("launch", "args", "kernel"),
    [
        (vector_add.vector_add, (X, X), "add_contiguous_float32"),
        (vector_add.vector_add, (X.T, X.T), "add_contiguous_float32"),
        (vector_add.vector_add, (X, torch.zeros(16, 4).T), "add_strided_float32"),
        (vector_add.vector_add, (X.view(-1)[1:9], X.view(-1)[:8]), "add_strided_float32"),
        (softmax.softmax, (X.bfloat16(),), "softmax_short_vector_bfloat16"),
        (softmax.softmax, (X[:, 1:],), "softmax_warp_any_float32"),
        (softmax.softmax, (X.T,), "softmax_warp_any_float32"),
        (softmax.softmax, (torch.zeros(2, 1028),), "softmax_block_vector_float32"),
        (softmax.softmax, (torch.zeros(2, 1025),), "softmax_block_any_float32"),
        (rms_norm.rms_norm, (X, W), "rms_norm_short_vector_float32"),
        (rms_norm.rms_norm, (X, torch.zeros(32)[::2]), "rms_norm_warp_any_float32"),
        (matmul.matmul, (X.half(), X.T.half()), "matmul_wmma_float16"),
        (matmul.matmul, (X.double(), X.T.double()), "matmul_async_float64"),
        (matmul_wgmma.matmul_wgmma, (X.bfloat16(), X.T.bfloat16()), "matmul_wgmma_bfloat16"),
        (softmax.softmax, (torch.zeros(1, 8192),), "softmax_block_vector_float32"),
        (softmax.softmax, (torch.zeros(1, 8196),), "softmax_long_vector_float32"),
        (rms_norm.rms_norm, (torch.zeros(1, 8193), torch.zeros(8193)), "rms_norm_long_any_float32"),
    ],
)
def test_the_kernel_suits_the_dtype_and_the_layout(names, launch, args, kernel):
    launch(*args)
    assert [name for name, *_ in names.launched] == [kernel]


@pytest.mark.parametrize(
    ("matrix", "copied"),
    [
        (torch.zeros(4, 16), False),
        (torch.zeros(4, 24)[:, :20], False),
        (torch.zeros(1, 5), False),
        (torch.zeros(4, 20), True),
        (torch.zeros(16, 4).T, True),
        (torch.zeros(4, 32)[:, ::2], True),
        (torch.zeros(1, 16).expand(4, 16), True),
    ],
)
def test_only_what_the_copy_engine_cannot_read_is_copied_to_aligned_rows(names, matrix, copied):
    a = torch.empty_strided(matrix.shape, matrix.stride(), dtype=torch.float16)
    matmul_wgmma.matmul_wgmma(a, torch.zeros(a.shape[1], 8, dtype=torch.float16))
    (mapped, rows, columns), (_, depth, _) = names.mapped
    assert (mapped is not a) == copied
    assert mapped.shape == a.shape
    assert mapped.stride(1) == 1
    assert mapped.shape[0] == 1 or mapped.stride(0) % 8 == 0
    assert (rows, columns, depth) == (128, 64, 64)


def test_the_sum_lies_in_memory_as_torch_lays_it():
    x = torch.zeros(3, 4, 5).permute(2, 0, 1)
    assert vector_add.vector_add(x, torch.zeros(5, 3, 4)).stride() == torch.empty_like(x).stride()


def test_axes_that_do_not_collapse_are_counted_not_copied(names):
    x = torch.zeros(4, 4, 4)[:, ::2, ::2].transpose(0, 1)
    softmax.softmax(x)
    ((_, _, _, args),) = names.launched
    assert args[0] is x
    assert args[2]["dims"] == 2
    assert args[2]["stride"][:2].tolist() == [8, 16]


def test_more_axes_than_the_kernel_takes_are_refused():
    x = torch.zeros((4,) * 10)[(slice(None, None, 2),) * 10]
    with pytest.raises(ValueError, match="contiguous"):
        vector_add.vector_add(x, x)


@pytest.mark.parametrize(
    ("sizes", "strides", "collapsed"),
    [
        ((), [()], ([1], [[0]])),
        ((1, 1), [(5, 7)], ([1], [[0]])),
        ((2, 3, 4), [(12, 4, 1)], ([24], [[1]])),
        ((2, 3, 4), [(24, 4, 1)], ([2, 12], [[24, 1]])),
        ((2, 3), [(3, 1), (1, 2)], ([2, 3], [[3, 1], [1, 2]])),
        ((2, 1, 3), [(3, 99, 1)], ([6], [[1]])),
        ((2, 3), [(0, 0)], ([6], [[0]])),
    ],
)
def test_axes_collapse_where_one_step_walks_through_both(sizes, strides, collapsed):
    assert arguments.collapse(sizes, *strides) == collapsed


def test_more_blocks_than_a_grid_is_wide_go_into_its_second_axis():
    device = torch.device("cuda")
    assert arguments.row_grid(2**31 - 1, device) == (2**31 - 1, 1)
    assert arguments.row_grid(2**31, device) == (2**31 - 1, 2)


def test_importing_the_launchers_imports_no_cupy():
    code = "import sys; from kernels_cuda import matmul, rms_norm, softmax, vector_add; sys.exit('cupy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=300).returncode == 0
