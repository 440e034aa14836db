"""`python -m conformance.bench.mutation`: the score on the mutants of every shipped kernel, in docs/mutation.md.

Each verdict is written to a JSON file as it is reached, and found there by the next run: an interrupted run goes on
where it ended, and after an edit of a kernel its new mutants alone are judged, and the survivors.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from conformance import runtime, soak
from conformance.errors import UNUSABLE
from conformance.mutation import Score, Subject, Verdict, mutate, sources
from conformance.mutation.report import document, line_of, markdown, verdicts

COMMAND = "python -m conformance.bench.mutation"
PAGE = Path("docs/mutation.md")
RECORD = Path("docs/mutation.json")
# The kernels of a `.cu` that a launcher launches; one that is not named here may launch all.
_LAUNCHES = {
    "softmax_block": "softmax_block_.*",
    "rms_norm_block": "rms_norm_block_.*",
    "softmax_long": "softmax_long_.*",
    "rms_norm_long": "rms_norm_long_.*",
    **{f"matmul_{step}": f"matmul_{step}_.*" for step in ("naive", "tiled", "registers", "async", "wmma")},
}


def subjects() -> dict[Path, list[Subject]]:
    """Each shipped source with the kernels that it is judged by, as conformance/test_*.py test them: for a header,
    those of every `.cu` that includes it."""
    items = soak.items()
    found: dict[Path, list[Subject]] = {}
    for trial in dict.fromkeys(item.trial for item in items):
        subject = _subject([item for item in items if item.trial is trial])
        source = sources.source([subject.kernel])
        found.setdefault(source, []).append(subject)
        for header in sources.headers(source) if source.suffix in sources.CUDA else ():
            found.setdefault(header, []).append(subject)
    return dict(sorted(found.items()))


def _subject(items: Sequence[soak.Item]) -> Subject:
    """The subject of the test ids of one test."""
    trial = items[0].trial
    kernel: Any = trial.kernel
    keywords = dict(trial.meta)
    if isinstance(kernel, functools.partial):
        kernel, keywords = kernel.func, {**kernel.keywords, **keywords}
    options = {
        "promises": trial.promises,
        "dtypes": tuple(dict.fromkeys(item.dtype for item in items)),
        "oracles": tuple(dict.fromkeys(item.lane for item in items)),
    }
    return Subject(kernel, trial.op, keywords, options, _LAUNCHES.get(kernel.__name__, ""))


def main(
    json_path: str | Path = RECORD,
    *,
    examples: int = 100,
    only: str = "",
    sample: int | None = None,
    jobs: int | None = None,
    fresh: bool = False,
) -> None:
    """Judge the mutants that have no verdict in the JSON file, print each, and write the file and the page; the process
    ends with status 1 for a survivor, 2 for an interrupt without one.

    `only` chooses sources by their paths, `sample` so many mutants of each; `fresh` forgets what is known.
    """
    console = Console(stderr=True, soft_wrap=True)
    path = Path(json_path)
    known = {} if fresh or not path.exists() else verdicts(json.loads(path.read_text(encoding="utf-8")))
    groups = subjects()
    scores = [mutate(group, source=source, sample=0, known=known) for source, group in groups.items()]
    for i, (source, group) in enumerate(groups.items()):
        if only in f"{source.parent.name}/{source.name}":
            progress = functools.partial(_note, console=console, path=path, scores=scores, place=i)
            scores[i] = mutate(
                group, source=source, examples=examples, sample=sample, jobs=jobs, known=known, progress=progress
            )
            if scores[i].interrupted:
                break
    _write(path, scores)
    if any(score.survivors for score in scores):
        raise SystemExit(1)
    if any(score.interrupted for score in scores):
        raise SystemExit(UNUSABLE)


def _note(verdict: Verdict, score: Score, *, console: Console, path: Path, scores: list[Score], place: int) -> None:
    """Print a verdict, and write it with all others."""
    console.print(f"{len(score.verdicts)}/{score.expected} {line_of(verdict)}", markup=False)
    scores[place] = score
    _write(path, scores)


def _write(path: Path, scores: list[Score]) -> None:
    """Write the file in place of the one before, so that an interrupt leaves one of the two, and the page."""
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(document(scores), indent=1) + "\n", encoding="utf-8")
    draft.replace(path)
    PAGE.write_text(markdown(scores, COMMAND), encoding="utf-8")


@click.command()
@click.option("--json", "json_path", type=click.Path(dir_okay=False), default=str(RECORD), show_default=True,
              help="The file of verdicts, read first.")  # fmt: skip
@click.option("--examples", default=100, show_default=True, help="Calls for each test id.")
@click.option("--only", default="", help="Sources whose paths contain this, such as kernels_triton or softmax.cu.")
@click.option("--sample", type=int, help="So many mutants of each source, drawn at random.")
@click.option("--jobs", type=int, help="Mutants at a time; by default one for each core.")
@click.option("--fresh", is_flag=True, help="Judge every mutant, also those that the file has a verdict of.")
def command(**options: Any) -> None:
    """Judge the mutants of the shipped kernels."""
    main(**options)


if __name__ == "__main__":
    runtime.select("interpret")
    command()
