"""The oracle `layouts`."""

from __future__ import annotations

from conformance.failures import LayoutsFailure
from conformance.launch import Settings
from conformance.oracles.bits import describe
from conformance.oracles.objection import Objection
from conformance.trial import Trial
from strategies import Call

LAW = "A strided, offset or expanded argument gives the bits of its contiguous copy."


def skip(trial: Trial) -> str | None:
    """Why the oracle does not apply to a kernel, None if it does."""
    if trial.promises.layouts == ("contiguous",):
        return "the kernel promises contiguous arguments only; `refusals` checks that it refuses others"
    return None


def check(trial: Trial, call: Call) -> list[Objection]:
    """Object where the call and its contiguous twin give other bits."""
    strided_ones = {n: v.layout for n, v in call.tensors.items() if not v.layout.is_contiguous}
    if not strided_ones:
        return []
    strided = trial.launch(call, Settings())
    if strided.error is not None:
        return []
    results = [o.clone() for o in strided.outputs]
    dense = trial.launch(call, Settings(contiguous=True), values=strided.values)
    kinds = ", ".join(f"{n}: {layout.kind}" for n, layout in strided_ones.items())
    if dense.error is not None:
        difference: tuple[str, ...] | None = (f"the contiguous copy raised {dense.error}",)
    else:
        difference = describe(results, dense.outputs, f"the call ({kinds})", "its contiguous copy")
        if difference and not trial.layout_invariant and trial.judge(dense) is None and trial.judge(strided) is None:
            return []
    return [Objection(LayoutsFailure, LAW, difference[0], notes=difference)] if difference else []
