"""One `conformance check` on a terminal: progress, what the kernel prints, and what is shown at the end."""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import os
import shlex
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType, TracebackType

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from conformance import supervision
from conformance.report import Report, render, results_document, save_findings
from conformance.report.calls import fault
from conformance.report.documents import write_json
from conformance.report.summary import summary_lines
from conformance.runtime import ConformanceWarning
from conformance.targets import needs_device

MOST_LINES = 3  # of the kernel's own output
# Until the first line of progress in a log file, and at most between two: soon enough to see that it goes on, and an
# hour fits on two screens.
FIRST_SECONDS, LINE_SECONDS = 5.0, 30.0


class Session:
    """Runs a check with progress on standard error, and what the kernel prints kept apart.

    On a terminal progress is a bar, elsewhere a line after five seconds, and then after twice the time up to one every
    half minute. SIGTERM interrupts as Ctrl-C does.
    """

    def __init__(self) -> None:
        self._console = Console(file=sys.stderr)
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed} examples"),
        )
        self._terminal = self._console.is_terminal
        self._bar = Progress(
            *columns, TimeElapsedColumn(), console=self._console, transient=True, disable=not self._terminal
        )
        self._task = self._bar.add_task("starting", total=None)
        self._started = time.monotonic()
        self._line = self._started + FIRST_SECONDS
        self._printed = io.StringIO()
        self._warnings: list[warnings.WarningMessage] = []
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Session:
        self._stack.enter_context(self._bar)
        self._warnings = self._stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("ignore")  # NumPy warns of NaN in interpreted kernels, which no author did
        warnings.simplefilter("always", ConformanceWarning)
        self._stack.enter_context(_terminated_as_interrupted())
        self._stack.enter_context(_descriptor_kept(self._printed))
        self._stack.enter_context(contextlib.redirect_stdout(self._printed))
        self._stack.enter_context(contextlib.redirect_stderr(self._printed))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def progress(self, test_id: str, done: int) -> None:
        """Show that `done` examples were judged, the last of them of the test id."""
        if supervision.orphaned():
            raise KeyboardInterrupt
        if self._terminal:
            self._bar.update(self._task, description=test_id, completed=done)
            return
        now = time.monotonic()
        if now >= self._line:
            self._line = now + min(now - self._started, LINE_SECONDS)
            print(f"{now - self._started:.0f} s: {test_id}, {done:,} examples", file=self._console.file, flush=True)

    def show(self, report: Report, findings: Path, json_path: str | None, again: Sequence[str] = ()) -> None:
        """Print what was found, and write the findings and the results file; with `-` standard output is the latter.

        A fault shows in several dtypes and lanes: the first finding of it is shown whole, of the others one line.
        `again` are the options with which `conformance replay` finds the kernel and the op. Findings that cannot be
        saved are a warning.

        Raises:
            OSError: the results file cannot be written; all else is done by then.
        """
        to_stdout = json_path == "-"
        for each in dict.fromkeys(str(warning.message) for warning in self._warnings):
            click.echo(f"warning: {each}", err=True)
        found = [] if _want_device(report) else report.findings
        paths, unsaved = save_findings(found, findings)
        shown: set[tuple[str, ...]] = set()
        for finding, path in zip(found, paths, strict=True):
            if fault(finding) in shown:
                where = "" if path is None else f"; saved as {path}"
                click.echo(f"the same again, {finding.oracle}: {finding.summary}{where}\n", err=to_stdout)
                continue
            shown.add(fault(finding))
            click.echo(render(finding), err=to_stdout)
            if path is not None:
                command = shlex.join(("conformance", "replay", str(path), *again))
                click.echo(f"Saved as {path}, to judge it again:\n  {command}", err=to_stdout)
            click.echo(err=to_stdout)
        if unsaved:
            click.echo(f"warning: {unsaved}", err=True)
        for line in summary_lines([report]):
            click.echo(line, err=to_stdout)
        self._show_printed()
        if to_stdout:
            click.echo(json.dumps(results_document([report]), indent=1, allow_nan=False))
        elif json_path is not None:
            write_json(json_path, results_document([report]))
            click.echo(f"results in {json_path}")

    def _show_printed(self) -> None:
        lines = self._printed.getvalue().splitlines()
        if lines:
            first = "\n".join(f"  {line}" for line in lines[:MOST_LINES])
            count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
            click.echo(f"the kernel printed {count} while it was judged, from the first on\n{first}", err=True)

    def exit_code(self, report: Report) -> int:
        """0 where nothing was found, 1 for findings or a mistrusted op, 2 where the kernel could not be judged here."""
        if _want_device(report):
            click.echo(
                "the kernel needs a GPU, and torch sees none here: nothing was judged. Allocate on the device of the "
                "arguments (`torch.empty_like(x)`) and it can be judged on the CPU",
                err=True,
            )
            return 2
        if report.interrupted:
            click.echo("interrupted: the results hold what was found until then", err=True)
            return 1 if not report.ok else 2
        if report.verdict == "nothing ran":
            click.echo("nothing ran: every test id was skipped, see the reasons above", err=True)
            return 2
        return 0 if report.verdict == "no objection" else 1


def _want_device(report: Report) -> bool:
    """Whether all that was found is that the kernel needs a CUDA device, which is missing here."""
    texts = ["\n".join((finding.summary, *finding.notes)) for finding in report.findings]
    return (
        bool(texts) and all(finding.oracle == "crash" for finding in report.findings) and all(map(needs_device, texts))
    )


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """What ends a job, SIGTERM, interrupts as Ctrl-C does, so that what was found is kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _descriptor_kept(printed: io.StringIO) -> Iterator[None]:
    """What C code writes to standard output, `printf` in a CUDA source as well, goes where Python's output goes."""
    sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:  # closed
        yield
        return
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            yield
        finally:
            ctypes.CDLL(None).fflush(None)
            os.dup2(kept, 1)
            os.close(kept)
            file.seek(0)
            printed.write(file.read().decode(errors="replace"))
