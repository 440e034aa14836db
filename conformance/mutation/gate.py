"""`mutate`: every mutant of a kernel judged by the suite, each in a process of its own."""

from __future__ import annotations

import collections
import dataclasses
import functools
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import wait
from pathlib import Path

from conformance import runtime
from conformance.mutation import equivalents, sources
from conformance.mutation.child import QUICK, Child
from conformance.mutation.interruption import interruption
from conformance.mutation.mutant import Mutant, digest
from conformance.mutation.subject import Subject
from conformance.mutation.verdict import Score, Verdict

# Of CPU time; a survivor of a heavy op in all its lanes needs a few minutes.
SECONDS = 600.0

Progress = Callable[[Verdict, Score], None]


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

    Only those that one of the kernels may run are mutants: of what it calls by name, and of the kernels that it
    launches.

    Args:
        subjects: launchers at the top level of one file; the file, or the `.cu` of its name, is mutated. A mutant is
            killed where one of them fails.
        examples: calls for each test id.
        seed: where the calls come from, and the sample.
        sample: judge only so many mutants, drawn at random.
        jobs: processes at a time; by default one for each core.
        seconds: of CPU time; a mutant that takes longer, or waits 15 times as long, counts as killed by a hang.
        kinds: only mutants of these kinds.
        lines: only mutants of these lines.
        source: the file that is mutated; by default the kernels', but it may be a header that their `.cu` includes.
        record: equivalents, as `equivalents.load` gives them; by default those of the kernels that are shipped.
        known: verdicts of earlier runs by `digest` of the mutant, which are not judged again; survivors are, unless
            they are not in the sample.
        progress: called with each new verdict and the score with it.

    Ctrl-C or SIGTERM ends it; the score then holds the verdicts until then, and `interrupted` is true.

    Raises:
        TargetError: a kernel is no function of a file, or they are of several.
        ValueError: an unchanged kernel does not pass, so that a finding says nothing of a mutant; or a launcher reads
            the source from elsewhere than beside its file, so that a mutant is never run.
    """
    record = equivalents.load() if record is None else record
    subjects = (subjects,) if isinstance(subjects, Subject) else tuple(subjects)
    source = source or sources.source([subject.kernel for subject in subjects])
    edits = equivalents.keys(source, sources.mutants(source))
    wanted = [
        mutant
        for mutant in edits
        if (lines is None or mutant.line in lines) and (kinds is None or mutant.kind in kinds)
    ]
    every = [mutant for mutant in wanted if any(subject.reaches(source, mutant) for subject in subjects)]
    unreached = set(wanted).difference(every)
    left_out = [sources.definition(source, mutant.line) for mutant in wanted if mutant in unreached]
    earlier = {mutant: _earlier(mutant, edits[mutant], record, known or {}) for mutant in every}
    waiting = [mutant for mutant, verdict in earlier.items() if verdict is None or verdict.fate == "survived"]
    if sample is not None and sample < len(waiting):
        chosen = sorted(random.Random(seed).sample(range(len(waiting)), sample))
        waiting = [waiting[i] for i in chosen]
    score = Score(source, tuple(subject.name for subject in subjects), len(every))
    score.left_out = dict(collections.Counter(left_out))
    score.verdicts = [v for mutant, v in earlier.items() if v is not None and mutant not in waiting]
    score.expected = len(score.verdicts) + len(waiting)
    if waiting:
        runtime.prepare()
        judge = functools.partial(Child, subjects, source, examples=examples, seed=seed, seconds=seconds)
        with interruption() as interrupted:
            _check_unchanged(judge, source, min(examples, QUICK), interrupted)
            for verdict in _verdicts(judge, waiting, jobs or os.cpu_count() or 1, interrupted):
                score.verdicts.append(verdict)
                if progress is not None:
                    progress(verdict, score)
            score.interrupted = interrupted()
    score.verdicts.sort(key=lambda verdict: verdict.mutant.line)
    return score


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


def _check_unchanged(judge: Callable[..., Child], source: Path, examples: int, interrupted: Callable[[], bool]) -> None:
    text = source.read_text(encoding="utf-8")
    texts = [text, f"#error\n{text}"] if source.suffix in sources.CUDA else [text]
    controls = [Mutant("none", 0, "", "", each) for each in texts]
    verdicts = list(_verdicts(functools.partial(judge, examples=examples), controls, 1, interrupted))
    if len(verdicts) < len(controls):
        return
    control, *broken = verdicts
    if any(verdict.fate == "survived" for verdict in broken):
        raise ValueError(
            f"the launcher does not read {source.name} from its own folder, so that an edit of a copy changes nothing: "
            f"name the file by Path(__file__).with_name({source.name!r})"
        )
    if control.fate != "survived":
        what = " ".join(filter(None, (control.oracle, control.test, control.note)))
        raise ValueError(f"{source.name} does not pass unchanged ({what}), so findings say nothing of its mutants")


def _verdicts(
    judge: Callable[[Mutant], Child], every: Sequence[Mutant], jobs: int, interrupted: Callable[[], bool]
) -> Iterator[Verdict]:
    """The verdicts as they come, `jobs` mutants at a time, up to an interruption."""
    running: list[Child] = []
    waiting = list(every)
    try:
        while (waiting or running) and not interrupted():
            while waiting and len(running) < jobs:
                running.append(judge(waiting.pop(0)))
            wait([child.receiving for child in running], timeout=1.0)
            for child in [each for each in running if each.done()]:
                running.remove(child)
                verdict = child.verdict()
                if not interrupted():
                    yield verdict
    finally:
        for child in running:
            child.end()
