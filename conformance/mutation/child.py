"""The process that judges one mutant."""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import math
import multiprocessing
import os
import re
import resource
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from conformance.emulator import toolchain
from conformance.mutation import sources
from conformance.mutation.mutant import Mutant
from conformance.mutation.subject import Subject
from conformance.mutation.verdict import Verdict

# Calls of each test id before as many as were asked for: most mutants fail in the first few.
QUICK = 10
# A loaded machine may give a process a tenth of its time, which is no hang; what waits and computes nothing never ends.
_WALL = 15
_TICK = 0.25
# Of absolute paths in a verdict, which is kept: a mutant lies in another folder in each run.
_FOLDERS = re.compile(r"(?<![\w./])/(?:[^/\s():]+/)+")
# What says that a kernel was never run: the compiler of a CUDA source refused the text.
_COMPILER = ("CompileError", "CompilationError")


class Child:
    """A process that judges one mutant and sends its verdict, in `seconds` of its CPU time or 15 times as many of the
    wall's clock."""

    def __init__(
        self, subjects: Sequence[Subject], source: Path, mutant: Mutant, *, examples: int, seed: int, seconds: float
    ) -> None:
        self.mutant = mutant
        self._seconds = seconds
        self._deadline = time.monotonic() + _WALL * seconds
        self._folder = tempfile.TemporaryDirectory()
        self._ended: tuple[int, float] | None = None  # exit status, and CPU seconds with what it has started
        self.receiving, sending = multiprocessing.Pipe(duplex=False)
        reaching = [subject for subject in subjects if not mutant.line or subject.reaches(source, mutant)]
        reaching.sort(key=lambda subject: not subject.launches)  # of few kernels, so that this one is among its first
        # forked, so that torch, Triton and the op are there at once, whatever names they can be imported by
        self._process = os.fork()
        if self._process == 0:
            try:
                _limit_time(seconds)
                _judge(sending, reaching, source, mutant, Path(self._folder.name), examples, seed)
            finally:
                os._exit(1)
        sending.close()

    def done(self) -> bool:
        """Whether there is a verdict: an answer, the end of the process, or the end of its time."""
        return self.receiving.poll() or self._look(os.WNOHANG) or time.monotonic() > self._deadline

    def verdict(self) -> Verdict:
        """What became of the mutant; waits for it.

        Raises:
            RuntimeError: the judge failed, and not the mutant.
        """
        while not self.done():
            self.receiving.poll(_TICK)
        answer: dict[str, Any] = {}
        if self.receiving.poll():
            with contextlib.suppress(EOFError):  # the process ended without an answer
                answer = json.loads(self.receiving.recv_bytes())
        if not answer and time.monotonic() <= self._deadline:
            self._look()
        status, used = self.end()
        if "error" in answer:
            raise RuntimeError(f"the mutant {self.mutant} could not be judged:\n{answer['error']}")
        if not answer:
            answer = {"fate": "killed", **self._ending(status)}
        return Verdict(self.mutant, **answer, seconds=round(used, 2))

    def end(self) -> tuple[int, float]:
        """End the process, which is a group of its own, and what it has started: its status and CPU seconds."""
        if not self._look(os.WNOHANG):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process, signal.SIGKILL)
            os.kill(self._process, signal.SIGKILL)
        self._look()
        assert self._ended is not None
        self.receiving.close()
        self._folder.cleanup()
        return self._ended

    def _look(self, options: int = 0) -> bool:
        """Whether the process has ended; waits for it unless the options of `os.wait4` say not to."""
        if self._ended is None:
            process, status, usage = os.wait4(self._process, options)
            if process:
                self._ended = (os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime)
        return self._ended is not None

    def _ending(self, status: int) -> dict[str, str]:
        """What the end of a process says that has sent no answer."""
        if status == -signal.SIGXCPU:
            return {"oracle": "hang", "note": f"no end after {self._seconds:g} s of computing"}
        if time.monotonic() > self._deadline:
            return {"oracle": "hang", "note": f"no end after {_WALL * self._seconds:g} s of waiting"}
        return {"oracle": "crash", "note": f"signal {-status}" if status < 0 else f"exit status {status}"}


def _limit_time(seconds: float) -> None:
    """End this process by SIGXCPU after `seconds` of its CPU time, rounded up: other load does not count."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = max(1, math.ceil(seconds))
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


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
            try:
                answer = _search(subjects, kernels, examples, seed)
            except Exception:  # noqa: BLE001 - a fault of the suite is no verdict: it is raised where it is waited for
                answer = {"error": traceback.format_exc()}
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
    done, skipped = 0, ""
    few = min(examples, QUICK)
    passes: tuple[tuple[int, dict[str, Any]], ...] = ((few, {"oracles": ["launch"]}), (few, {}), (examples, {}))
    for count, options in passes[: 2 if few == examples else 3]:
        for subject, kernel in zip(subjects, kernels, strict=True):
            if options and "launch" not in subject.options.get("oracles", ("launch",)):
                continue
            report = subject.check(kernel, count, seed, **options)
            done += sum(result.examples for result in report.results)
            skipped = skipped or next((result.skipped for result in report.results if result.skipped), "")
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
    if not done:  # as of a kernel that needs a GPU
        return {"fate": "invalid", "note": f"nothing ran: {skipped}"[:300]}
    return {"fate": "survived", "examples": done}
