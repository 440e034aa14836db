"""What became of mutants."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Literal

from conformance.mutation.mutant import Mutant

Fate = Literal["killed", "survived", "equivalent", "invalid"]


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What became of a mutant: `oracle` killed it in the test id `test`, or `note` says why it is none.

    `examples` were judged until then, in `seconds` of CPU time, that of the compiler with them.
    """

    mutant: Mutant
    fate: Fate
    oracle: str = ""
    test: str = ""
    examples: int = 0
    seconds: float = 0.0
    note: str = ""


@dataclasses.dataclass
class Score:
    """The verdicts on the mutants of one source, of which there are `total`, as the `subjects` gave them; `expected` of
    them are to be judged. `left_out` counts the mutants that no subject reaches, by the function that they are in."""

    source: Path
    subjects: tuple[str, ...]
    total: int
    expected: int = 0
    left_out: dict[str, int] = dataclasses.field(default_factory=dict)
    interrupted: bool = False
    verdicts: list[Verdict] = dataclasses.field(default_factory=list)

    def count(self, fate: Fate) -> int:
        """How many mutants met that fate."""
        return sum(verdict.fate == fate for verdict in self.verdicts)

    @property
    def survivors(self) -> list[Verdict]:
        """The mutants that nothing objected to and that nobody has recorded as equivalent."""
        return [verdict for verdict in self.verdicts if verdict.fate == "survived"]

    @property
    def ratio(self) -> float:
        """Killed over killed and survived; 1.0 where there are none."""
        judged = self.count("killed") + self.count("survived")
        return self.count("killed") / judged if judged else 1.0
