"""An op is validated when it is made; its parts say what the launch needs."""

import pytest
import torch
from hypothesis.errors import InvalidArgument

import strategies as kst
from conformance import Op, Promises, case, check
from conformance.op import validate_kernel
from conformance.regions import Role


def add(x, y):
    return x + y


def inputs(*names):
    return {name: kst.tensors("n") for name in names}


def test_a_reference_that_cannot_take_the_inputs_is_refused_by_name():
    with pytest.raises(InvalidArgument, match=r"add\(x, y\) cannot be called with the inputs x"):
        Op(add, inputs("x"))


def test_an_input_that_is_no_strategy_is_refused_by_name():
    with pytest.raises(InvalidArgument, match=r"inputs\['y'\]=3 is no strategy"):
        Op(add, {"x": kst.tensors("n"), "y": 3})


def test_an_op_without_inputs_is_refused():
    with pytest.raises(InvalidArgument, match="inputs is empty"):
        Op(lambda: torch.zeros(1), {})


def test_an_unknown_axis_is_refused_with_the_known_ones():
    with pytest.raises(InvalidArgument, match="independent='rows' is no axis; the axes are n"):
        Op(add, inputs("x", "y"), independent="rows")


def test_an_unknown_relation_axis_is_refused():
    with pytest.raises(InvalidArgument, match="m"):
        Op(add, inputs("x", "y"), axes={"m": kst.even()})


def test_a_mutated_argument_must_exist():
    with pytest.raises(InvalidArgument, match="mutates='z' is no argument; the arguments are x, y"):
        Op(add, inputs("x", "y"), mutates="z")


def test_a_kernel_with_other_parameters_is_refused_when_the_test_is_made():
    op = Op(add, inputs("x", "y"))
    with pytest.raises(InvalidArgument, match="cannot take the arguments of add"):
        op.conformance(lambda x: x)


def test_a_kernel_that_is_no_function_is_refused():
    with pytest.raises(InvalidArgument, match="is not callable"):
        validate_kernel(Op(add, inputs("x", "y")), 3)


def test_an_unknown_promise_is_refused_with_the_known_ones():
    with pytest.raises(InvalidArgument, match="'tolerance' is no promise; the promises are accumulator"):
        check(add, Op(add, inputs("x", "y")), tolerance=0.1)


def test_an_unknown_lane_is_refused():
    with pytest.raises(InvalidArgument, match="'speed' is no lane"):
        check(add, Op(add, inputs("x", "y")), oracles=["speed"])


def test_a_dtype_that_the_op_does_not_have_is_refused():
    with pytest.raises(InvalidArgument, match="add has no dtype int8"):
        check(add, Op(add, inputs("x", "y")), dtypes=[torch.int8])


def test_an_xfail_needs_a_known_id_and_a_reason():
    op = Op(add, inputs("x", "y"))
    with pytest.raises(InvalidArgument, match="'layout', which is no id"):
        op.conformance(add, xfail={"layout": "issue 1"})
    with pytest.raises(InvalidArgument, match="needs a reason"):
        op.conformance(add, xfail={"layouts": ""})


def test_a_mutated_argument_that_the_reference_reads_is_inout_and_one_it_does_not_take_is_out():
    op = Op(lambda x: x + 1, {"x": kst.tensors("n"), "out": kst.tensors("n")}, mutates="out")
    step = Op(lambda p, g: p - g, inputs("param", "grad"), mutates="param")

    assert (op.role("x"), op.role("out")) == (Role.IN, Role.OUT)
    assert op.reference_names == ("x",)
    assert step.role("param") is Role.INOUT
    assert step.reference_names == ("param", "grad")


def test_the_dtypes_are_those_of_the_first_tensor_unless_it_has_only_one():
    assert Op(add, inputs("x", "y")).dtypes() == tuple(kst.FLOATS)
    assert Op(torch.neg, {"x": kst.tensors("n", dtypes=(torch.float32,))}).dtypes() == ()


def test_the_dtypes_that_a_kernel_accepts_are_promised_apart_from_those_that_are_tested():
    op = Op(add, inputs("x", "y"))
    test = op.conformance(add, promises=Promises(dtypes=(torch.float16,)))
    assert {case.dtype_name(dtype) for dtype, _ in test.cases} == {"float16"}
    assert "refusals" in {lane for _, lane in test.cases}
    with pytest.raises(InvalidArgument, match="promises=3 is no Promises"):
        op.conformance(add, promises=3)


def test_a_test_is_placed_at_its_kernel_so_that_an_ide_jumps_there():
    test = Op(add, inputs("x", "y")).conformance(kernel_of_mine)
    assert test.place_as is kernel_of_mine  # where pytest's own collection looks for file and line


def kernel_of_mine(x, y):
    return x + y
