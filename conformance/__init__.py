"""Conformance tests for GPU kernels: state once what an operation is, test every kernel that claims to compute it.

Importing chooses the runtime: without a CUDA device Triton kernels that are imported later are interpreted.
"""

from conformance import startup

startup.begin()

from conformance import runtime, shadows  # noqa: E402 - seconds, in which Ctrl-C may come

shadows.check()
runtime.select()

from conformance.checking import check  # noqa: E402 - the runtime stands before anything may import a kernel
from conformance.events import Event, Kind, Site  # noqa: E402
from conformance.failures import ConformanceFailure, Finding, ValueEvidence  # noqa: E402
from conformance.op import Op, OpError  # noqa: E402
from conformance.promises import Promises  # noqa: E402
from conformance.report.records import Report  # noqa: E402

__all__ = [
    "ConformanceFailure",
    "Event",
    "Finding",
    "Kind",
    "Op",
    "OpError",
    "Promises",
    "Report",
    "Site",
    "ValueEvidence",
    "check",
]
