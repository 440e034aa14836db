"""The oracle `layouts`."""

from __future__ import annotations

from conformance.failures import LayoutsFailure
from conformance.launch import Launch, Settings
from conformance.oracles.bits import describe
from conformance.oracles.objection import Objection
from conformance.oracles.torch_reductions import explain
from conformance.trial import Trial
from strategies import Call

LAW = "A strided, offset or expanded argument gives the bits of its contiguous copy."


def skip(trial: Trial) -> str | None:
    """Why the oracle does not apply to a kernel, None if it does."""
    if trial.promises.layouts == ("contiguous",):
        return "the kernel promises contiguous arguments only; `refusals` checks that it refuses others"
    return None


def check(trial: Trial, call: Call) -> list[Objection]:
    """Object where the call and its contiguous twin give other bits, unless torch's reductions in the launcher do."""
    strided_ones = {n: v.layout for n, v in call.tensors.items() if not v.layout.is_contiguous}
    if not strided_ones:
        return []
    kinds = ", ".join(f"{n}: {layout.kind}" for n, layout in strided_ones.items())

    strided = trial.launch(call, Settings())
    if strided.error is not None:
        return []
    results = [o.clone() for o in strided.outputs]
    dense = _dense(trial, strided)
    if dense.error is not None:
        difference: tuple[str, ...] | None = (f"the contiguous copy raised {dense.error}",)
    else:
        difference = describe(results, dense.outputs, f"the call ({kinds})", "its contiguous copy")
        if difference and _excused(trial, strided, dense):
            return []
    return [Objection(LayoutsFailure, LAW, difference[0], notes=difference)] if difference else []


def _dense(trial: Trial, strided: Launch) -> Launch:
    return trial.launch(strided.call, Settings(contiguous=True), values=strided.values)


def _excused(trial: Trial, strided: Launch, dense: Launch) -> bool:
    """Whether other bits are allowed: where the kernel need not give the same, or torch's reductions do not."""
    if not trial.layout_invariant and trial.judge(dense) is None and trial.judge(strided) is None:
        return True
    return explain(
        lambda: trial.launch(strided.call, Settings()), lambda: _dense(trial, strided), lambda before, now: before
    )
