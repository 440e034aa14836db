"""Signatures are read from the source, and values packed to exactly the C++ types."""

import numpy as np
import pytest
import torch

from kernels_cuda.signatures import parse

SOURCE = """
constexpr int MAX_DIMS = 3;
struct Axes { int dims; long long size[MAX_DIMS]; float scale; };
struct Opaque { Axes inner; };
struct alignas(64) Map { unsigned long long words[2]; };
// extern "C" __global__ void in_a_comment(int n) {}
__global__ void not_exported(int n) {}
extern "C" __global__ void __launch_bounds__(128, 4) scale_float16(
    const half *x, half* __restrict__ out, float factor, long long count, Axes axes, bool vector) {}
extern "C" __global__ void empty() {}
extern "C" __global__ void mapped(const __grid_constant__ Map map) {}
"""


def scale():
    return dict(zip(("x", "out", "factor", "count", "axes", "vector"), parse(SOURCE)["scale_float16"], strict=True))


def test_only_exported_kernels_outside_comments_are_found():
    assert set(parse(SOURCE)) == {"scale_float16", "empty", "mapped"}


def test_names_and_kinds_of_parameters_are_those_of_the_source():
    parameters = scale()
    assert [parameter.name for parameter in parameters.values()] == list(parameters)
    assert parameters["x"].pointee == parameters["out"].pointee == torch.float16
    assert not parameters["x"].written
    assert parameters["out"].written
    assert parameters["factor"].dtype == np.float32
    assert parameters["count"].dtype == np.int64
    assert parse(SOURCE)["empty"] == ()


def test_a_struct_has_the_offsets_of_c():
    dtype = scale()["axes"].dtype
    assert dtype.fields is not None
    assert {name: dtype.fields[name][1] for name in dtype.names} == {"dims": 0, "size": 8, "scale": 32}
    assert dtype.itemsize == 40


def test_a_struct_is_packed_from_its_bytes():
    (parameter,) = parse(SOURCE)["mapped"]
    assert parameter.type == "Map"
    assert parameter.pack(bytes(range(16))).tobytes() == bytes(range(16))
    with pytest.raises(TypeError, match="words"):
        parameter.pack(bytes(15))


def test_a_python_float_becomes_the_four_bytes_of_a_float():
    packed = scale()["factor"].pack(0.1)
    assert packed.tobytes() == np.float32(0.1).tobytes()


def test_a_struct_is_packed_from_a_mapping_and_short_arrays_end_in_zeros():
    packed = scale()["axes"].pack({"dims": 2, "size": [5, 7], "scale": 2})
    assert packed["size"].tolist() == [5, 7, 0]
    assert packed["scale"] == 2
    assert isinstance(packed, np.void)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x", 3.0),
        ("x", torch.zeros(2)),
        ("factor", torch.zeros(2)),
        ("factor", "1"),
        ("factor", True),
        ("count", 1.0),
        ("count", True),
        ("vector", 1),
        ("axes", [1, 2]),
        ("axes", {"dims": 1}),
        ("axes", {"dims": 1.5, "size": [1], "scale": 1.0}),
        ("axes", {"dims": 1, "size": [1, 2, 3, 4], "scale": 1.0}),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_the_name_of_the_parameter(name, value):
    with pytest.raises(TypeError, match=f"parameter {name}"):
        scale()[name].pack(value)


def test_an_integer_out_of_range_is_refused():
    with pytest.raises(OverflowError, match="parameter count"):
        scale()["count"].pack(2**63)


@pytest.mark.parametrize("parameter", ["int **x", "Opaque value", "std::size_t n", "int"])
def test_a_parameter_that_cannot_be_passed_is_refused_with_its_kernel(parameter):
    with pytest.raises(ValueError, match="kernel bad"):
        parse(f'extern "C" __global__ void bad({parameter}) {{}}')
