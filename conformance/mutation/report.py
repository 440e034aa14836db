"""Scores as text, as JSON and as a page."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence
from typing import Any

from conformance.mutation.mutant import Mutant, digest
from conformance.mutation.verdict import Fate, Score, Verdict

_FATES: tuple[Fate, ...] = ("killed", "survived", "equivalent", "invalid")
_FIELDS = ("fate", "oracle", "test", "examples", "seconds", "note")


def line_of(verdict: Verdict) -> str:
    """The verdict on one line: fate, by whom, line and edit.

    >>> line_of(Verdict(Mutant("drop", 7, "a & b", "a", ""), "killed", "bounds", "float32-launch", 3))
    'killed      line 7: drop: `a & b` -> `a`  [bounds in float32-launch, 3 examples]'
    """
    by = f"{verdict.oracle} in {verdict.test}, {verdict.examples} examples" if verdict.test else verdict.oracle
    if verdict.fate != "killed":
        by = verdict.note or f"{verdict.examples} examples"
    return f"{verdict.fate:<11} {' '.join(str(verdict.mutant).split())}  [{by}]"


def text(score: Score) -> Iterator[str]:
    """The table of a score: the survivors and those recorded as equivalent, then the counts."""
    yield f"{score.source.name}: {', '.join(score.subjects)}"
    for verdict in score.verdicts:
        if verdict.fate != "killed":
            yield f"  {line_of(verdict)}"
    if score.left_out:
        who = "the kernel does" if len(score.subjects) == 1 else "the kernels do"
        yield f"  left out, which {who} not reach: {_left_out(score)}"
    if score.interrupted:
        yield f"  interrupted: {len(score.verdicts)} of {score.expected} mutants have a verdict"
    yield "  " + _counts(score)


def document(scores: Sequence[Score]) -> dict[str, Any]:
    """The JSON of scores: for each source the counts and every mutant."""
    return {
        "sources": [
            {
                "source": f"{score.source.parent.name}/{score.source.name}",
                "subjects": list(score.subjects),
                "mutants": score.total,
                "score": score.ratio,
                "left_out": score.left_out,
                "interrupted": score.interrupted,
                **{fate: score.count(fate) for fate in _FATES},
                "verdicts": [
                    {
                        "digest": digest(verdict.mutant),
                        "line": verdict.mutant.line,
                        "kind": verdict.mutant.kind,
                        "before": verdict.mutant.before,
                        "after": verdict.mutant.after,
                        **{name: getattr(verdict, name) for name in _FIELDS},
                    }
                    for verdict in score.verdicts
                ],
            }
            for score in scores
        ]
    }


def verdicts(document: dict[str, Any]) -> dict[str, Verdict]:
    """The verdicts of a JSON document by the digests of their mutants, without the mutants' texts."""
    return {
        record["digest"]: Verdict(
            Mutant(record["kind"], record["line"], record["before"], record["after"], ""),
            **{name: record[name] for name in _FIELDS},
        )
        for source in document["sources"]
        for record in source["verdicts"]
    }


def markdown(scores: Sequence[Score], command: str) -> str:
    """The page of the scores."""
    lines = [
        "# Mutation score",
        "",
        f"Made by `{command}`. Each mutant is a shipped kernel with one edit, judged by the suite in",
        "the interpreter or the emulator until the first finding, with seed 0. The score is killed over killed and",
        "survived; mutants that change nothing that a caller can see are listed with the reason. The seconds of CPU",
        "time are those of all mutants together.",
        "",
        "| source | mutants | judged | killed | survived | equivalent | invalid | score | seconds |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for score in scores:
        name = f"`{score.source.parent.name}/{score.source.name}`"
        counts = " | ".join(str(score.count(fate)) for fate in _FATES)
        took = sum(verdict.seconds for verdict in score.verdicts)
        lines.append(f"| {name} | {score.total} | {len(score.verdicts)} | {counts} | {score.ratio:.1%} | {took:.0f} |")
    killers = collections.Counter(
        verdict.oracle for score in scores for verdict in score.verdicts if verdict.fate == "killed"
    )
    lines += ["", "## Who killed them", "", "| oracle | mutants |", "|---|---:|"]
    lines += [f"| `{oracle}` | {count} |" for oracle, count in killers.most_common()]
    for title, fate in (("Survivors", "survived"), ("Equivalent mutants", "equivalent")):
        found = [(score, verdict) for score in scores for verdict in score.verdicts if verdict.fate == fate]
        lines += ["", f"## {title}", ""]
        if not found:
            lines.append("None.")
            continue
        lines += ["| source | line | edit | why |", "|---|---:|---|---|"]
        for score, verdict in found:
            mutant = verdict.mutant
            edit = f"{mutant.kind}: {_cell(mutant.before)} to {_cell(mutant.after)}"
            why = verdict.note or f"{verdict.examples} examples without a finding"
            lines.append(f"| `{score.source.parent.name}/{score.source.name}` | {mutant.line} | {edit} | {why} |")
    return "\n".join(lines) + "\n"


def _cell(code: str) -> str:
    one_line = " ".join(code.split()).replace("|", "\\|")
    return f"`{one_line}`" if one_line else "nothing"


def _left_out(score: Score) -> str:
    every = score.left_out.items()
    return ", ".join(f"{count} mutant{'s' if count != 1 else ''} of {name or 'no function'}" for name, count in every)


def _counts(score: Score) -> str:
    counts = ", ".join(f"{score.count(fate)} {fate}" for fate in _FATES)
    judged = score.count("killed") + score.count("survived")
    return f"{counts} of {score.total} mutants" + (f": score {score.ratio:.1%}" if judged else "")
