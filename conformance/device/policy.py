"""How launches are guarded in this process: fenced or not, isolated or not, and how long one may take."""

from __future__ import annotations

import dataclasses
from typing import Literal, get_args

from hypothesis.errors import InvalidArgument

Isolate = Literal["auto", "always", "fault", "never"]
MODES: tuple[str, ...] = get_args(Isolate)


@dataclasses.dataclass(frozen=True)
class Policy:
    """How launches are guarded.

    `fence` lays device tensors flush against unmapped pages, where that is possible. `isolate`: "always" judges calls
    in a child process, "fault" only once a call has lost the device of this process, "never" not at all; "auto" is
    "fault" on a GPU and "never" on the CPU. A call that runs for more than `hang_seconds` hangs. `sanitizer` are the
    tools of compute-sanitizer that look at each finding.
    """

    fence: bool = True
    isolate: Isolate = "auto"
    hang_seconds: float = 30.0
    sanitizer: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.isolate not in MODES:
            raise InvalidArgument(f"isolate={self.isolate!r} is unknown; there are {', '.join(MODES)}")
        if not self.hang_seconds > 0:
            raise InvalidArgument(f"hang_seconds={self.hang_seconds} must be positive")


_policy = [Policy()]


def current() -> Policy:
    """The policy in force."""
    return _policy[0]


def select(policy: Policy) -> Policy:
    """The policy that was in force before; from now on it is `policy`."""
    before = _policy[0]
    _policy[0] = policy
    return before
