"""What a kernel does to its process, returns and raises stays its own, and is judged."""

import sys

import pytest
import torch
from hypothesis.errors import InvalidArgument

import strategies as kst
from conformance import Op, OpError, Promises, check, runtime
from conformance.launch import launch
from conformance.trial import Trial
from strategies import Call, TensorDescription

F32 = (torch.float32,)
DOUBLE = Op(lambda x: x * 2, {"x": kst.tensors("n", dtypes=F32)}, name="double")


def found(kernel, op=DOUBLE, lane="launch", **options):
    return {f.oracle for f in check(kernel, op, examples=15, oracles=[lane], **options).findings}


def test_a_right_kernel_has_no_finding():
    assert found(lambda x: x * 2) == set()


@pytest.mark.parametrize("oracle", ["metadata"])
@pytest.mark.parametrize(
    "kernel",
    [
        lambda x: None,
        lambda x: (x * 2, x),
        lambda x: (x * 2).numpy(),
        lambda x: (x * 2).double(),
        lambda x: (x * 2)[None],
        lambda x: (x * 2).to("meta"),
        lambda x: (x * 2).to_sparse(),
        lambda x: {"y": x * 2},
    ],
    ids=["none", "two", "numpy", "dtype", "shape", "meta", "sparse", "dict"],
)
def test_a_result_of_another_kind_is_an_objection_and_no_traceback(kernel, oracle):
    assert oracle in found(kernel)


def test_a_kernel_that_returns_its_input_is_objected_to_where_the_reference_copies():
    op = Op(lambda x: x.clone(), {"x": kst.tensors("n", dtypes=F32)}, name="copy")

    assert found(lambda x: x, op) == {"metadata"}
    assert found(lambda x: x.clone(), op) == set()
    assert found(lambda x: x, Op(lambda x: x.view(x.shape), {"x": kst.tensors("n", dtypes=F32)})) == set()


@pytest.mark.parametrize(
    "error", [SystemExit(0), GeneratorExit(), ValueError("no"), pytest.skip.Exception("no")], ids=repr
)
def test_whatever_a_kernel_raises_is_a_crash(error):
    def kernel(x):
        raise error

    assert found(kernel) == {"crash"}


def test_an_exception_without_a_message_is_reported_too():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    def kernel(x):
        raise Mute

    assert found(kernel) == {"crash"}


@pytest.mark.parametrize("change", [lambda x: x.resize_(0), lambda x: setattr(x, "data", torch.ones(3))])
def test_an_input_that_is_made_another_tensor_is_noticed(change):
    def kernel(x):
        out = x * 2
        change(x)
        return out

    assert "inputs_kept" in found(kernel)


def test_what_a_kernel_changes_in_the_process_is_undone():
    def kernel(x):
        torch.set_default_dtype(torch.float64)
        torch.use_deterministic_algorithms(True)
        return x * 2

    found(kernel)

    assert torch.get_default_dtype() is torch.float32
    assert not torch.are_deterministic_algorithms_enabled()


def test_a_mutated_argument_returned_as_a_view_is_one_result():
    op = Op(lambda x: x * 2, {"x": kst.tensors("r", "c", dtypes=F32)}, mutates="x", name="double_")

    assert found(lambda x: x.mul_(2).view(x.shape), op) == set()


def test_mutated_arguments_are_never_expanded():
    op = Op(lambda x: x * 2, {"x": kst.tensors("r", "c", dtypes=F32)}, mutates="x", name="double_")

    assert found(lambda x: x.mul_(2), op, "layouts") == set()


def test_a_guard_that_asks_torch_for_contiguity_keeps_the_promise_of_contiguous_arguments():
    def kernel(x):
        if not x.is_contiguous():
            raise ValueError("x must be contiguous")
        return x * 2

    op = Op(lambda x: x * 2, {"x": kst.tensors("r", "c", dtypes=F32)}, name="double")
    assert found(kernel, op, "refusals", layouts=("contiguous",)) == set()
    assert found(lambda x: x * 2, op, "refusals", layouts=("contiguous",)) == {"refusals"}


def test_a_reference_that_leaves_torch_is_refused():
    op = Op(lambda x: torch.from_numpy(x.numpy() * 2), {"x": kst.tensors("n", dtypes=F32)}, name="numpy")
    with pytest.raises(OpError, match="numpy"):
        check(lambda x: x * 2, op, examples=5)


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3)], ids=repr)
def test_a_reference_that_raises_is_the_ops_fault(error):
    def reference(x):
        raise error

    with pytest.raises(OpError, match="the reference of reference raised"):
        check(lambda x: x, Op(reference, {"x": kst.tensors("n", dtypes=F32)}), examples=5)


def test_a_kernel_decorated_too_early_is_explained():
    def kernel(x):
        raise RuntimeError("0 active drivers ([]). There should only be one.")

    with pytest.raises(runtime.RuntimeUnavailable, match="import conformance before the module with the kernel"):
        check(kernel, DOUBLE, examples=5)


@pytest.mark.parametrize(
    "promise", [{"dot": "TF32"}, {"deterministic": "no"}, {"compute": "half"}, {"refuses": ("everything",)}], ids=repr
)
def test_a_promise_with_an_unknown_value_is_refused(promise):
    with pytest.raises(InvalidArgument, match=next(iter(promise))):
        Promises(**promise)


def test_a_promise_takes_a_single_value_or_a_mapping_for_a_tuple():
    assert Promises(dtypes=torch.float32, limits={"cols": 3}).limits == (("cols", 3),)


def test_copies_that_torch_makes_in_the_launcher_are_known_by_their_address():
    seen = []

    def kernel(x):
        copy = x.contiguous() if not x.is_contiguous() else x.clone()
        seen.append(copy)
        return copy * 2

    call = next(c for c in _calls(30) if c.tensors["x"].numel)
    record = launch(kernel, DOUBLE, call)

    assert record.error is None
    assert any(region.name.startswith("copy") for region in record.arena)


def _calls(n):
    from conformance.explore import explore

    drawn = []
    explore(DOUBLE.calls(), lambda call: drawn.append(call) or [], examples=n, seed=0)
    return drawn


def test_a_launcher_that_does_not_end_is_a_crash_at_its_line(monkeypatch):
    monkeypatch.setattr(sys.modules["conformance.launch"], "CALL_SECONDS", 0.1)

    def waits(x):
        flag = 0
        while not flag:  # no kernel sets it
            flag |= 0

    (finding,) = check(waits, DOUBLE, oracles=["launch"], stop_at_first=True).findings

    first = waits.__code__.co_firstlineno
    assert finding.oracle == "crash"
    assert "the launcher had not ended" in finding.summary
    assert any(f"test_launch.py:{first + k})" in finding.summary for k in (2, 3)), finding.summary


def test_a_kernel_that_raises_where_torch_has_no_value_either_is_right():
    largest = Op(lambda x: x.amax(-1), {"x": kst.tensors("rows", "cols", dtypes=(torch.float32,))}, name="largest")

    def refuses(x):
        if x.shape[-1] == 0:
            raise ValueError("x has no columns")
        return x.amax(-1)

    def refuses_no_rows(x):
        if x.shape[0] == 0:
            raise ValueError("x has no rows")
        return refuses(x)

    assert check(refuses, largest, oracles=["launch"]).ok
    assert {f.oracle for f in check(refuses_no_rows, largest, oracles=["launch"]).findings} == {"crash"}


def test_a_reference_that_refuses_an_empty_axis_is_told_how_to_draw_none():
    largest = Op(lambda x: x.amax(-1), {"x": kst.tensors("rows", "cols", dtypes=(torch.float32,))}, name="largest")
    with pytest.raises(OpError, match=r"no axis of 0 is drawn with axes=.*'cols': kst.sizes\(min=1\)"):
        check(lambda x: x.new_zeros(x.shape[0]) if x.shape[-1] == 0 else x.amax(-1), largest, oracles=["launch"])


def test_the_geometry_of_a_call_needs_no_memory_for_what_it_spans():
    far = TensorDescription((2, 4), torch.float32).with_layout(kst.huge((2, 4), reach=2**40))  # 4 TiB

    assert Trial(DOUBLE, lambda x: x[0], Promises()).geometry(Call((("x", far),))) == ()


def test_a_crash_of_a_launcher_that_refuses_a_dtype_says_how_that_is_promised():
    op = Op(lambda x: x * 2, {"x": kst.tensors("n", dtypes=(torch.float64,))}, name="double")

    def narrow(x):
        raise TypeError(f"x is {x.dtype}")

    (finding,) = check(narrow, op, oracles=["launch"], examples=3).findings

    assert any("--promise dtypes=" in note for note in finding.notes)
