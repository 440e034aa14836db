"""Failures as data: a `Finding` holds the evidence, an exception class for each oracle carries it through Hypothesis.

Hypothesis tells bugs apart by exception type and place, so each oracle has its own class: two oracles that object to
one launch are reported and shrunk apart. Rendering is in `conformance.report`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from conformance.events import Event
from conformance.observation import Geometry


@dataclasses.dataclass(frozen=True)
class ValueEvidence:
    """The worst element of an output, and how far it is from what is allowed.

    `ratio` is error over bound (inf where the value class is wrong), `ulp` the error in units in the last place of the
    output dtype. `wrong` are the flat indices of wrong elements (at most 4096), `wrong_count` all of them.
    """

    output: int
    index: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: str
    got: float
    exact: float
    low: float
    high: float
    ratio: float
    ulp: float
    wrong_count: int
    wrong: tuple[int, ...] = ()
    heuristic: bool = False


@dataclasses.dataclass(frozen=True)
class Finding:
    """An oracle's objection to a kernel, with everything needed to show it and to run it again.

    `oracle` is the id (`bounds`), `law` the sentence that was broken, `summary` what happened in one line; `call` is
    the JSON form of the drawn call (`Call.to_json`), `script` a Python program that reproduces the launch without
    Hypothesis; `geometry` are the launches of the call, whose meta-parameters give the tile of an element. `options`
    of the command line say by what it was judged (`--against`), for `replay` to judge it again.
    """

    oracle: str
    law: str
    op: str
    kernel: str
    summary: str
    call: dict[str, Any]
    script: str = ""
    events: tuple[Event, ...] = ()
    value: ValueEvidence | None = None
    notes: tuple[str, ...] = ()
    runtime: str = ""
    geometry: tuple[Geometry, ...] = ()
    options: tuple[str, ...] = ()


class ConformanceFailure(AssertionError):
    """A kernel broke a law. `finding` holds the evidence."""

    oracle = ""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.summary)
        self.finding = finding

    def __str__(self) -> str:
        from conformance.report.text import render  # a failure that is only data needs no renderer

        return render(self.finding)

    @property
    def headline(self) -> str:
        """Oracle and summary, in one line."""
        return f"{self.oracle}: {self.finding.summary}"


class Objections(AssertionError):
    """Several oracles object to one kernel; each failure is complete by itself."""

    def __init__(self, failures: Sequence[ConformanceFailure]) -> None:
        super().__init__(f"{len(failures)} oracles object: {', '.join(f.oracle for f in failures)}")
        self.failures = tuple(failures)

    def __str__(self) -> str:
        return "\n\n".join([str(self.args[0]), *(str(f) for f in self.failures)])

    @property
    def headline(self) -> str:
        """The oracles, and what the first of them says, in one line."""
        return f"{', '.join(f.oracle for f in self.failures)}: {self.failures[0].finding.summary}"


class BoundsFailure(ConformanceFailure):
    """An address that is no element of an argument was read or written."""

    oracle = "bounds"


class WrittenFailure(ConformanceFailure):
    """An output element was not written, or the result depends on memory that nobody wrote."""

    oracle = "written"


class InputsKeptFailure(ConformanceFailure):
    """An input or a guard zone changed."""

    oracle = "inputs_kept"


class AccuracyFailure(ConformanceFailure):
    """An element lies outside the ball of the reference."""

    oracle = "accuracy"


class SpecialValuesFailure(ConformanceFailure):
    """NaN, infinity or zero where the reference has another class."""

    oracle = "special_values"


class MetadataFailure(ConformanceFailure):
    """Shape, dtype, device or layout of a result is not what the op says."""

    oracle = "metadata"


class RacesFailure(ConformanceFailure):
    """Programs touch each other's elements in an order that nothing fixes."""

    oracle = "races"


class OffsetsFailure(ConformanceFailure):
    """A 32-bit offset or a launch dimension overflows."""

    oracle = "offsets"


class DeterminismFailure(ConformanceFailure):
    """The same call gave other bits."""

    oracle = "determinism"


class LayoutsFailure(ConformanceFailure):
    """A strided, offset or expanded input gave other bits than its contiguous copy."""

    oracle = "layouts"


class BatchInvarianceFailure(ConformanceFailure):
    """A row alone has other bits than in a batch."""

    oracle = "batch_invariance"


class ConfigsFailure(ConformanceFailure):
    """A config, or the tuning call, disagrees with the others."""

    oracle = "configs"


class RelationsFailure(ConformanceFailure):
    """A metamorphic relation of the op does not hold."""

    oracle = "relations"


class AgreementFailure(ConformanceFailure):
    """Two kernels of one op disagree by more than the sum of their bounds."""

    oracle = "agreement"


class ParityFailure(ConformanceFailure):
    """A kernel on a GPU and the same kernel in the interpreter do not agree on a call."""

    oracle = "parity"


class RefusalsFailure(ConformanceFailure):
    """An unsupported call was computed, or failed without a clear error."""

    oracle = "refusals"


class ExactFailure(ConformanceFailure):
    """Small-integer data, for which every order of operations is exact, gave a wrong value."""

    oracle = "exact"


class CrashFailure(ConformanceFailure):
    """The kernel raised, crashed its process or did not end."""

    oracle = "crash"
