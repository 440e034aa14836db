"""`mutate`: every mutant of a kernel judged by the suite, each in a process of its own."""

from __future__ import annotations

import contextlib
import dataclasses
import faulthandler
import functools
import hashlib
import io
import json
import multiprocessing
import os
import random
import re
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal

from conformance import runtime
from conformance.checking import check
from conformance.emulator import toolchain
from conformance.mutation import equivalents, reach, sources
from conformance.mutation.mutant import Mutant
from conformance.op import Op
from conformance.report.records import Report

Fate = Literal["killed", "survived", "equivalent", "invalid"]
# A mutant that loops for ever takes this long; a survivor of a heavy op in all its lanes needs about a minute.
SECONDS = 600.0
# Calls of each test id before as many as were asked for: most mutants fail in the first few.
_QUICK = 10
# Of absolute paths in a verdict, which is kept: a mutant lies in another folder in each run.
_FOLDERS = re.compile(r"(?<![\w./])/(?:[^/\s():]+/)+")
# What says that a kernel was never run: the compiler of a CUDA source refused the text.
_COMPILER = ("CompileError", "CompilationError")


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What became of a mutant: `oracle` killed it in the test id `test`, or `note` says why it is none.

    `examples` were judged until then, in `seconds`.
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
    them are to be judged."""

    source: Path
    subjects: tuple[str, ...]
    total: int
    expected: int = 0
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


Progress = Callable[[Verdict, Score], None]


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
        """Whether the mutant's line is one that the kernel may run."""
        if not self.launches or source.suffix != ".cu":
            return True
        text = source.read_text(encoding="utf-8")
        return any(
            text.count("\n", 0, d.start) < mutant.line <= text.count("\n", 0, d.end) + 1
            for d in reach.reached(text, self.launches)
        )

    def check(self, loaded: Callable[..., Any], examples: int, seed: int, **options: Any) -> Report:
        """The report on a loaded mutant, up to the first finding."""
        bound = functools.partial(loaded, **self.keywords) if self.keywords else loaded
        given = {**self.options, **options}
        return check(bound, self.op, examples=examples, seed=seed, stop_at_first=True, **given)


def mutate(
    subjects: Subject | Sequence[Subject],
    *,
    examples: int = 100,
    seed: int = 0,
    sample: int | None = None,
    jobs: int | None = None,
    seconds: float = SECONDS,
    kinds: Sequence[str] | None = None,
    lines: range | None = None,
    source: Path | None = None,
    record: dict[str, dict[str, str]] | None = None,
    known: Mapping[str, Verdict] | None = None,
    progress: Progress | None = None,
) -> Score:
    """The score of the suite on the mutants of a source: each is checked until the first finding.

    Args:
        subjects: launchers at the top level of one file; the file, or the `.cu` of its name, is mutated. A mutant is
            killed where one of them fails.
        examples: calls for each test id.
        seed: where the calls come from, and the sample.
        sample: judge only so many mutants, drawn at random.
        jobs: processes at a time; by default one for each core.
        seconds: a mutant that takes longer counts as killed by a hang.
        kinds: only mutants of these kinds.
        lines: only mutants of these lines.
        source: the file that is mutated; by default the kernels', but it may be a header that their `.cu` includes.
        record: equivalents, as `equivalents.load` gives them; by default those of the kernels that are shipped.
        known: verdicts of earlier runs by `digest` of the mutant, which are not judged again; survivors are, unless
            they are not in the sample.
        progress: called with each new verdict and the score with it.

    Raises:
        TargetError: a kernel is no function of a file, or they are of several.
        ValueError: an unchanged kernel does not pass, so that a finding says nothing of a mutant.
    """
    record = equivalents.load() if record is None else record
    subjects = (subjects,) if isinstance(subjects, Subject) else tuple(subjects)
    source = source or sources.source([subject.kernel for subject in subjects])
    edits = equivalents.keys(source, sources.mutants(source))
    every = [
        mutant
        for mutant in edits
        if (lines is None or mutant.line in lines) and (kinds is None or mutant.kind in kinds)
    ]
    earlier = {mutant: _earlier(mutant, edits[mutant], record, known or {}) for mutant in every}
    waiting = [mutant for mutant, verdict in earlier.items() if verdict is None or verdict.fate == "survived"]
    if sample is not None and sample < len(waiting):
        chosen = sorted(random.Random(seed).sample(range(len(waiting)), sample))
        waiting = [waiting[i] for i in chosen]
    score = Score(source, tuple(subject.name for subject in subjects), len(every))
    score.verdicts = [v for mutant, v in earlier.items() if v is not None and mutant not in waiting]
    score.expected = len(score.verdicts) + len(waiting)
    if waiting:
        runtime.prepare()
        judge = functools.partial(_Child, subjects, source, examples=examples, seed=seed, seconds=seconds)
        _check_unchanged(judge, source, min(examples, _QUICK))
        for verdict in _verdicts(judge, waiting, jobs or os.cpu_count() or 1):
            score.verdicts.append(verdict)
            if progress is not None:
                progress(verdict, score)
    score.verdicts.sort(key=lambda verdict: verdict.mutant.line)
    return score


def digest(mutant: Mutant) -> str:
    """A name of the mutant's text, under which its verdict is remembered."""
    return hashlib.sha256(mutant.text.encode()).hexdigest()[:16]


def _earlier(
    mutant: Mutant, edit: tuple[str, str], record: dict[str, dict[str, str]], known: Mapping[str, Verdict]
) -> Verdict | None:
    """The verdict on a mutant without judging it, None where there is none."""
    reason = record.get(edit[0], {}).get(edit[1])
    if reason is not None:
        return Verdict(mutant, "equivalent", note=reason)
    verdict = known.get(digest(mutant))
    # a reason that is no longer recorded is none
    return None if verdict is None or verdict.fate == "equivalent" else dataclasses.replace(verdict, mutant=mutant)


def _check_unchanged(judge: Callable[..., _Child], source: Path, examples: int) -> None:
    unchanged = Mutant("none", 0, "", "", source.read_text(encoding="utf-8"))
    control = judge(unchanged, examples=examples).verdict()
    if control.fate != "survived":
        what = " ".join(filter(None, (control.oracle, control.test, control.note)))
        raise ValueError(f"{source.name} does not pass unchanged ({what}), so findings say nothing of its mutants")


def _verdicts(judge: Callable[[Mutant], _Child], every: Sequence[Mutant], jobs: int) -> Iterator[Verdict]:
    """The verdicts as they come, `jobs` mutants at a time."""
    running: list[_Child] = []
    waiting = list(every)
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(judge(waiting.pop(0)))
            wait([child.receiving for child in running], timeout=1.0)
            for child in [each for each in running if each.done()]:
                running.remove(child)
                yield child.verdict()
    finally:
        for child in running:
            child.end()


class _Child:
    """A process that judges one mutant and sends its verdict."""

    def __init__(
        self, subjects: Sequence[Subject], source: Path, mutant: Mutant, *, examples: int, seed: int, seconds: float
    ) -> None:
        self.mutant = mutant
        self._started = time.monotonic()
        self._deadline = self._started + seconds
        self._folder = tempfile.TemporaryDirectory()
        # forked, so that torch, Triton and the op are there at once, whatever names they can be imported by
        context = multiprocessing.get_context("fork")
        self.receiving, sending = context.Pipe(duplex=False)
        reaching = [subject for subject in subjects if not mutant.line or subject.reaches(source, mutant)]
        given = (sending, reaching, source, mutant, Path(self._folder.name), examples, seed)
        self._process = context.Process(target=_judge, args=given, daemon=False)
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
        return Verdict(self.mutant, **answer, seconds=round(time.monotonic() - self._started, 2))

    def end(self) -> None:
        """End the process, which is a group of its own, and what it has started."""
        if self._process.is_alive():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid or 0, signal.SIGKILL)
            self._process.kill()
        self._process.join()
        self.receiving.close()
        self._folder.cleanup()


def _ending(status: int | None) -> str:
    return f"signal {-status}" if status is not None and status < 0 else f"exit status {status}"


def _judge(
    sending: Connection,
    subjects: Sequence[Subject],
    source: Path,
    mutant: Mutant,
    folder: Path,
    examples: int,
    seed: int,
) -> None:
    """Send the fate of the mutant; the process is the mutant's."""
    os.setpgid(0, 0)
    faulthandler.disable()  # a crash is a verdict, not a fault of whoever runs the gate
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        kernels: list[Callable[..., Any]] = []
        if source.suffix in sources.CUDA:
            _keep_builds_in(folder)
        try:
            for i, subject in enumerate(subjects):
                own = folder / str(i)
                own.mkdir()
                kernels.append(sources.load(subject.kernel, source, mutant.text, own))
        except Exception as error:  # noqa: BLE001 - a mutant that cannot be imported is no kernel: that is its verdict
            answer: dict[str, Any] = {"fate": "invalid", "note": f"{type(error).__name__}: {error}"[:300]}
        else:
            answer = _search(subjects, kernels, examples, seed)
            if "note" in answer:
                answer["note"] = _FOLDERS.sub("", answer["note"])
    sending.send_bytes(json.dumps(answer).encode())
    sending.close()
    os._exit(0)


def _keep_builds_in(folder: Path) -> None:
    """Have what is compiled from now on go with the folder: nobody compiles a mutant twice."""
    toolchain.runtime_library()  # which all programs share
    os.environ["XDG_CACHE_HOME"] = str(folder)
    toolchain.cache_directory.cache_clear()


def _search(
    subjects: Sequence[Subject], kernels: Sequence[Callable[..., Any]], examples: int, seed: int
) -> dict[str, Any]:
    """The fate of a mutant: a few launches of every subject first, then a few calls of all lanes, then all calls."""
    done = 0
    few = min(examples, _QUICK)
    passes: tuple[tuple[int, dict[str, Any]], ...] = ((few, {"oracles": ["launch"]}), (few, {}), (examples, {}))
    for count, options in passes[: 2 if few == examples else 3]:
        for subject, kernel in zip(subjects, kernels, strict=True):
            if options and "launch" not in subject.options.get("oracles", ("launch",)):
                continue
            report = subject.check(kernel, count, seed, **options)
            done += sum(result.examples for result in report.results)
            if report.findings:
                last, finding = report.results[-1], report.findings[0]
                invalid = finding.summary.startswith(_COMPILER)
                return {
                    "fate": "invalid" if invalid else "killed",
                    "oracle": finding.oracle,
                    "test": last.id,
                    "examples": done,
                    "note": finding.summary[:300],
                }
    return {"fate": "survived", "examples": done}
