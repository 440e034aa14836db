"""`check`: everything that the tests of a kernel do, as a function that returns a report."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from hypothesis.errors import InvalidArgument

from conformance import case, lanes, runtime
from conformance.failures import Finding
from conformance.launch import Kernel
from conformance.op import Op, validate_kernel
from conformance.oracles import crash
from conformance.promises import Promises
from conformance.report.records import CaseResult, Report
from conformance.trial import Trial, kernel_name

Progress = Callable[[str, int], None]


def check(
    kernel: Kernel,
    op: Op,
    *,
    examples: int = 100,
    seed: int = 0,
    oracles: Sequence[str] | None = None,
    dtypes: Iterable[torch.dtype] | None = None,
    progress: Progress | None = None,
    stop_at_first: bool = False,
    **promises: Any,
) -> Report:
    """A report of what the oracles found in `examples` calls for each dtype and lane; `report.ok` if nothing.

    Args:
        kernel: the function under test; it is called as shipped, with tensors of the op's inputs.
        op: what the kernel claims to compute.
        examples: calls for each test id.
        seed: where the calls come from; the same seed draws the same calls.
        oracles: lane ids (`launch`, `layouts`, ...); by default all that apply.
        dtypes: by default those of the op, or of the kernel's promise.
        progress: called with the test id and the number of examples judged in it, now and then.
        stop_at_first: end at the first call with an objection, and report it as drawn, not shrunk.
        promises: fields of `Promises` that the kernel gives beyond the op; or `promises=Promises(dtypes=...)` in place
            of the op's, which is also how the dtypes that the kernel accepts are promised: others must be refused.

    Raises:
        hypothesis.errors.InvalidArgument: an unknown lane, dtype or promise, or a kernel that cannot take the
            arguments.
        conformance.OpError: the op's reference raises or returns no tensors.

    An interrupt (Ctrl-C) ends the check; the report then holds what was found, and `interrupted` is true.
    """
    validate_kernel(op, kernel)
    promised = merge(op.promises, promises)
    names = check_lanes(oracles)
    versions = runtime.versions()
    report = Report(
        op=op.name,
        kernel=kernel_name(kernel),
        runtime=runtime.current(),
        versions={n: v for n, v in versions.items() if n not in ("runtime", "device")},
        device=versions["device"],
        seed=seed,
    )
    trial = Trial(op, kernel, promised)
    for dtype in choose_dtypes(op, promised, dtypes):
        for lane in names or lanes.of(trial):
            done = 0

            def step(lane: str = lane, dtype: torch.dtype | None = dtype) -> None:
                nonlocal done
                done += 1
                if progress is not None:
                    progress(f"{case.dtype_name(dtype)}-{lane}", done)

            try:
                outcome = case.run(
                    trial,
                    lanes.LANES[lane],
                    dtype,
                    examples=examples,
                    seed=seed,
                    progress=step,
                    stop_at_first=stop_at_first,
                )
            except KeyboardInterrupt:  # outside the search, which keeps what it has
                report.interrupted = True
                return report
            report.results.append(outcome.result)
            report.findings.extend(f for f in outcome.findings if not _told(f, outcome.result, report))
            if outcome.interrupted:
                report.interrupted = True
                return report
            if stop_at_first and outcome.findings:
                return report
    return report


def _told(finding: Finding, result: CaseResult, report: Report) -> bool:
    """Whether another lane has shown what the finding says: that nothing ended, for the same reason, or that values are
    wrong that are not special."""
    if crash.NOTHING_ENDED in finding.notes:
        return any((f.oracle, f.summary) == (finding.oracle, finding.summary) for f in report.findings)
    launches = (r for r in report.results if (r.dtype, r.oracle) == (result.dtype, "launch"))
    return (
        result.oracle == "special_values"
        and finding.oracle == "accuracy"
        and any("accuracy" in launch.objections for launch in launches)
    )


def merge(base: Promises, given: dict[str, Any]) -> Promises:
    """The promises of an op with those of a kernel put over them; `promises` among them takes the place of the op's.

    Raises:
        hypothesis.errors.InvalidArgument: a name that is no promise.
    """
    known = {f.name for f in dataclasses.fields(Promises)}
    given = dict(given)
    base = given.pop("promises", base)
    if not isinstance(base, Promises):
        raise InvalidArgument(f"promises={base!r} is no Promises(...); single promises are keywords, as in dot='tf32'")
    for name in given:
        if name not in known:
            raise InvalidArgument(f"{name!r} is no promise; the promises are {', '.join(sorted(known))}")
    values = dict(given)
    for name in ("layouts", "dtypes", "refuses"):
        if isinstance(values.get(name), (str, torch.dtype)):
            values[name] = (values[name],)
        elif values.get(name) is not None:
            values[name] = tuple(values[name])
    if isinstance(values.get("limits"), dict):
        values["limits"] = tuple(values["limits"].items())
    return dataclasses.replace(base, **values)


def check_lanes(names: Sequence[str] | None) -> tuple[str, ...] | None:
    """The lane ids, validated; None for all."""
    if names is None:
        return None
    for name in names:
        if name not in lanes.LANES:
            raise InvalidArgument(f"{name!r} is no lane; the lanes are {', '.join(lanes.LANES)}")
    return tuple(names)


def choose_dtypes(op: Op, promises: Promises, dtypes: Iterable[torch.dtype] | None) -> tuple[torch.dtype | None, ...]:
    """The dtypes to test: those asked for, else those that op and kernel share; (None,) where the op fixes them.

    Raises:
        hypothesis.errors.InvalidArgument: a dtype that the op does not have, or the kernel does not promise.
    """
    own = op.dtypes()
    if dtypes is not None:
        asked = tuple(dtypes)
        for dtype in asked:
            if dtype not in own:
                have = ", ".join(case.dtype_name(d) for d in own) or "fixed by its inputs"
                raise InvalidArgument(f"{op.name} has no dtype {case.dtype_name(dtype)}; its dtypes are {have}")
            if promises.dtypes is not None and dtype not in promises.dtypes:
                raise InvalidArgument(f"the kernel does not promise the dtype {case.dtype_name(dtype)}")
        return asked
    if not own:
        return (None,)
    chosen = tuple(d for d in own if promises.dtypes is None or d in promises.dtypes)
    if not chosen:
        raise InvalidArgument(f"the kernel promises none of the dtypes of {op.name}")
    return chosen
