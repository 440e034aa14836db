"""A kernel that is mutated, and what it is judged by."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from conformance.checking import check
from conformance.mutation import reach, sources
from conformance.mutation.mutant import Mutant
from conformance.op import Op
from conformance.report.records import Report


@dataclasses.dataclass(frozen=True)
class Subject:
    """A kernel whose source is mutated, and what it claims to compute; `keywords` are passed to it besides.

    `options` are what `check` takes: `oracles`, `dtypes`, promises. `launches` is a regular expression of the names of
    the kernels of a `.cu` that it launches: it does not judge the mutants that others alone can reach.
    """

    kernel: Callable[..., Any]
    op: Op
    keywords: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    launches: str = ""

    @property
    def name(self) -> str:
        """The name of the kernel, and its keywords."""
        given = ", ".join(f"{name}={value}" for name, value in self.keywords.items())
        return f"{self.kernel.__module__}.{self.kernel.__qualname__}" + (f"({given})" if given else "")

    def reaches(self, source: Path, mutant: Mutant) -> bool:
        """Whether the mutant's line, of its source or of a header, is one that the kernel may run."""
        if source.suffix not in sources.CUDA:
            return True
        own = sources.source([self.kernel])
        texts = {path: path.read_text(encoding="utf-8") for path in (*sources.headers(own), own)}
        line = mutant.line
        for path, text in texts.items():
            if path == source:
                break
            line += text.count("\n")
        whole = "".join(texts.values())
        return any(
            whole.count("\n", 0, d.start) < line <= whole.count("\n", 0, d.end) + 1
            for d in reach.reached(whole, self.launches or ".*")
        )

    def check(self, loaded: Callable[..., Any], examples: int, seed: int, **options: Any) -> Report:
        """The report on a loaded mutant, up to the first finding."""
        bound = functools.partial(loaded, **self.keywords) if self.keywords else loaded
        given = {**self.options, **options}
        return check(bound, self.op, examples=examples, seed=seed, stop_at_first=True, **given)
