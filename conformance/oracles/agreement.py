"""The oracle `agreement`: two kernels of one op, a Triton and a CUDA twin, on the same call."""

from __future__ import annotations

import torch

from conformance import balls
from conformance.failures import AgreementFailure
from conformance.launch import Launch, Settings
from conformance.oracles.objection import Objection
from conformance.trial import Trial
from strategies import Call

LAW = "Two kernels of one op agree within the sum of their bounds; where they do not, torch says which one is wrong."


def check(trial: Trial, other: Trial, call: Call) -> list[Objection]:
    """Object where one twin's result is inside its ball and the other's is not, or both are outside."""
    first = trial.launch(call, Settings())
    second = other.launch(call, Settings())
    if first.error is not None or second.error is not None:
        return _one_raised(trial, other, first, second)
    expected = trial.expected(first)
    for i, (a, b) in enumerate(zip(first.outputs, second.outputs, strict=False)):
        if a.shape != b.shape:
            return [Objection(AgreementFailure, LAW, f"output {i}: shapes {tuple(a.shape)} and {tuple(b.shape)}")]
        verdicts = [balls.judge(t.detach().cpu(), expected.balls[i], trial.promises) for t in (a, b)]
        if all(v.ok for v in verdicts):
            continue
        right = [t.name for t, v in zip((trial, other), verdicts, strict=True) if v.ok]
        side = f"torch sides with {right[0]}" if right else "torch sides with neither"
        gap = (a.double() - b.double()).abs()
        where = torch.nan_to_num(gap, nan=torch.inf).argmax() if gap.numel() else 0
        index = tuple(int(k) for k in torch.unravel_index(torch.as_tensor(where), a.shape))
        summary = (
            f"output {i} at {index}: {trial.name} gives {a[index].item()!r}, {other.name} {b[index].item()!r}; {side}"
        )
        return [Objection(AgreementFailure, LAW, summary)]
    return []


def _one_raised(trial: Trial, other: Trial, first: Launch, second: Launch) -> list[Objection]:
    if (first.error is None) == (second.error is None):
        return []
    name, error = (trial.name, first.error) if first.error is not None else (other.name, second.error)
    return [Objection(AgreementFailure, LAW, f"{name} raised {type(error).__name__}: {error}; its twin did not")]
