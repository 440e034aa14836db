"""`mutate`: every mutant of a kernel judged by the suite, each in a process of its own."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import multiprocessing
import os
import random
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal

from conformance import runtime
from conformance.checking import check
from conformance.mutation import equivalents, sources
from conformance.mutation.mutant import Mutant
from conformance.op import Op

Fate = Literal["killed", "survived", "equivalent", "invalid"]
# A mutant that loops for ever takes this long; a survivor of a heavy op in all its lanes needs about a minute.
SECONDS = 300.0


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What became of a mutant: `oracle` killed it in the test id `test`, or `note` says why it is equivalent or invalid.

    `examples` were judged until then, in `seconds`.
    """

    source: Path
    mutant: Mutant
    fate: Fate
    oracle: str = ""
    test: str = ""
    examples: int = 0
    seconds: float = 0.0
    note: str = ""


@dataclasses.dataclass
class Score:
    """The verdicts on the mutants of one kernel, of which there were `total`."""

    kernel: str
    op: str
    total: int
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


Progress = Callable[[Verdict, int, int], None]


def mutate(
    kernel: Callable[..., Any],
    op: Op,
    *,
    examples: int = 100,
    seed: int = 0,
    sample: int | None = None,
    jobs: int | None = None,
    seconds: float = SECONDS,
    lines: range | None = None,
    record: dict[str, dict[str, str]] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Score:
    """The score of the suite on the mutants of `kernel`: each is checked until the first finding.

    Args:
        kernel: a launcher at the top level of a file; the file, or the `.cu` of its name, is mutated.
        op: what the kernel claims to compute.
        examples: calls for each test id.
        seed: where the calls come from, and the sample.
        sample: judge only so many mutants, drawn at random.
        jobs: processes at a time; by default one for each core.
        seconds: a mutant that takes longer counts as killed by a hang.
        lines: only mutants of these lines.
        record: equivalents, as `equivalents.load` gives them; by default those of the kernels that are shipped.
        progress: called with each verdict, how many there are now, and how many there will be.
        options: what `check` takes: `oracles`, `dtypes`, promises.

    Raises:
        TargetError: the kernel is no function of a file.
        ValueError: the unchanged kernel does not pass, so that a finding says nothing of a mutant.
    """
    record = equivalents.load() if record is None else record
    every = [(source, mutant) for source in sources.sources(kernel) for mutant in sources.mutants(source)]
    if lines is not None:
        every = [pair for pair in every if pair[1].line in lines]
    score = Score(f"{kernel.__module__}.{kernel.__qualname__}", op.name, len(every))
    if sample is not None and sample < len(every):
        chosen = sorted(random.Random(seed).sample(range(len(every)), sample))
        every = [every[i] for i in chosen]
    source = sources.sources(kernel)[0]
    runtime.prepare()
    options = {**options, "examples": examples, "seed": seed}
    unchanged = Mutant("none", 1, "", "", source.read_text(encoding="utf-8"))
    control = _Child(kernel, op, source, unchanged, {**options, "examples": min(examples, 20)}, seconds).verdict()
    if control.fate != "survived":
        raise ValueError(f"{score.kernel} does not pass unchanged: {control.oracle or control.note} in {control.test}")
    for verdict in _verdicts(kernel, op, every, record, options, seconds, jobs or os.cpu_count() or 1):
        score.verdicts.append(verdict)
        if progress is not None:
            progress(verdict, len(score.verdicts), len(every))
    score.verdicts.sort(key=lambda verdict: (verdict.source, verdict.mutant.line))
    return score


def _verdicts(
    kernel: Callable[..., Any],
    op: Op,
    every: Sequence[tuple[Path, Mutant]],
    record: dict[str, dict[str, str]],
    options: dict[str, Any],
    seconds: float,
    jobs: int,
) -> Iterator[Verdict]:
    """The verdicts as they come, `jobs` mutants at a time."""
    running: list[_Child] = []
    waiting = list(every)
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                source, mutant = waiting.pop(0)
                known = equivalents.reason(source, mutant, record)
                if known is not None:
                    yield Verdict(source, mutant, "equivalent", note=known)
                    continue
                running.append(_Child(kernel, op, source, mutant, options, seconds))
            if not running:
                continue
            wait([child.receiving for child in running], timeout=1.0)
            for child in [each for each in running if each.done()]:
                running.remove(child)
                yield child.verdict()
    finally:
        for child in running:
            child.end()


class _Child:
    """The process that judges one mutant: it may crash, hang, or leave its modules mutated."""

    def __init__(
        self, kernel: Callable[..., Any], op: Op, source: Path, mutant: Mutant, options: dict[str, Any], seconds: float
    ) -> None:
        self.source, self.mutant = source, mutant
        self._started = time.monotonic()
        self._deadline = self._started + seconds
        # forked, so that torch, Triton and the op are there at once, whatever names they can be imported by
        context = multiprocessing.get_context("fork")
        self.receiving, sending = context.Pipe(duplex=False)
        self._process = context.Process(target=_judge, args=(sending, kernel, op, source, mutant, options), daemon=False)
        self._process.start()
        sending.close()

    def done(self) -> bool:
        """Whether there is a verdict: an answer, the end of the process, or the end of its time."""
        return self.receiving.poll() or time.monotonic() > self._deadline

    def verdict(self) -> Verdict:
        """What became of the mutant; waits for it."""
        answer: dict[str, Any] | None = None
        if self.receiving.poll(max(0.0, self._deadline - time.monotonic())):
            with contextlib.suppress(EOFError):  # the process ended without an answer
                answer = json.loads(self.receiving.recv_bytes())
            if answer is None:
                self._process.join()
                answer = {"fate": "killed", "oracle": "crash", "note": _ending(self._process.exitcode)}
        else:
            answer = {"fate": "killed", "oracle": "hang", "note": "it ran out of time"}
        self.end()
        return Verdict(self.source, self.mutant, **answer, seconds=round(time.monotonic() - self._started, 2))

    def end(self) -> None:
        """End the process, which is a group of its own, and what it has started."""
        if self._process.is_alive():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid or 0, signal.SIGKILL)
            self._process.kill()
        self._process.join()
        self.receiving.close()


def _ending(status: int | None) -> str:
    return f"signal {-status}" if status is not None and status < 0 else f"exit status {status}"


def _judge(
    sending: Connection, kernel: Callable[..., Any], op: Op, source: Path, mutant: Mutant, options: dict[str, Any]
) -> None:
    """Send the fate of the mutant; the process is the mutant's."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
    warnings.simplefilter("ignore")
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        try:
            loaded = sources.load(kernel, source, mutant.text, Path(folder))
        except Exception as error:  # noqa: BLE001 - a mutant that cannot be imported is no kernel, and that is its verdict
            answer: dict[str, Any] = {"fate": "invalid", "note": f"{type(error).__name__}: {error}"[:300]}
        else:
            report = check(loaded, op, stop_at_first=True, **options)
            answer = {"fate": "survived", "examples": sum(result.examples for result in report.results)}
            if report.findings:
                last = report.results[-1]
                finding = report.findings[0]
                answer |= {"fate": "killed", "oracle": finding.oracle, "test": f"{last.dtype}-{last.oracle}"}
                if _does_not_compile(finding.summary):
                    answer |= {"fate": "invalid", "note": finding.summary[:300]}
    sending.send_bytes(json.dumps(answer).encode())
    sending.close()
    os._exit(0)


def _does_not_compile(summary: str) -> bool:
    """Whether the kernel was never run: the compiler of a CUDA source refused the text."""
    return summary.startswith(("CompileError", "CompilationError"))
