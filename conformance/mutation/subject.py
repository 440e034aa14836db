"""A kernel that is mutated, and what it is judged by."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from conformance.checking import check
from conformance.mutation import callees, jit, reach, sources
from conformance.mutation.mutant import Mutant
from conformance.op import Op
from conformance.report.records import Report


@dataclasses.dataclass(frozen=True)
class Subject:
    """A kernel whose source is mutated, and what it claims to compute; `keywords` are passed to it besides.

    `options` are what `check` takes: `oracles`, `dtypes`, promises. `launches` is a regular expression of the names of
    the kernels of a `.cu` that it launches; by default those that its own file names. It does not judge the mutants
    that it cannot reach.
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
        file = sources.file_of(self.kernel)
        text = file.read_text(encoding="utf-8")
        statements = callees.reached(text, self.kernel.__qualname__.partition(".")[0])
        if source.suffix not in sources.CUDA:
            # a launcher that reaches no kernel by name finds it in another way
            return not any(map(jit.is_kernel, statements)) or mutant.line in callees.lines(statements)
        own = sources.source([self.kernel])
        texts = {path: path.read_text(encoding="utf-8") for path in (*sources.headers(own), own)}
        line = mutant.line
        for path, each in texts.items():
            if path == source:
                break
            line += each.count("\n")
        whole = "".join(texts.values())
        launches = self.launches or "|".join(map(re.escape, callees.launched(statements, reach.kernel_names(whole))))
        return line in reach.lines(whole, launches)

    def check(self, loaded: Callable[..., Any], examples: int, seed: int, **options: Any) -> Report:
        """The report on a loaded mutant, up to the first finding."""
        bound = functools.partial(loaded, **self.keywords) if self.keywords else loaded
        given = {**self.options, **options}
        return check(bound, self.op, examples=examples, seed=seed, stop_at_first=True, **given)
