"""The command `conformance`: check a kernel, replay a finding, make a report, from a terminal."""

from __future__ import annotations

import dataclasses
import importlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import click

from conformance import startup, supervision
from conformance.device.policy import Isolate
from conformance.errors import UNUSABLE, Unusable, clear_errors
from conformance.given import (
    Output,
    find_dtype,
    find_op,
    found_kernel,
    found_op,
    read_options,
    read_promise,
    read_promises,
    written_options,
)
from conformance.supervision import Leave

OK, FINDINGS = 0, 1
BENCHES = ("interpreter", "numerics", "emulator", "gpu", "kernels", "detection")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="triton-conformance", prog_name="conformance")
@click.option("--debug", is_flag=True, help="Show Python's traceback of an error.")
def main(debug: bool) -> None:
    """Property-based conformance tests for Triton and CUDA kernels, with and without a GPU.

    \b
    conformance check my_kernels.py:softmax --op softmax
    conformance check my_kernels.py:scale --against my_kernels.py:reference --example "torch.randn(4, 8)"
    conformance explain bounds

    Exit codes: 0 nothing found, 1 an oracle objects, 2 wrong use or something is missing here, 130 interrupted before
    there was anything to keep.
    """
    startup.end()


@main.command("list")
@click.argument("what", type=click.Choice(["all", "ops", "kernels", "oracles", "promises"]), default="all")
@clear_errors
def list_(what: str) -> None:
    """List the ops, kernels, oracles and promises that there are."""
    from conformance import catalog

    for title, rows in catalog.sections().items():
        if what not in ("all", title):
            continue
        click.secho(title, bold=True)
        width = max((len(name) for name, _ in rows), default=0)
        for name, meaning in rows:
            click.echo(f"  {name:<{width}}  {meaning}".rstrip())


@main.command()
@click.argument("target")
@click.option("--op", "op_name", metavar="NAME", help="An op of conformance.ops, or `module:name` of an Op of yours.")
@click.option("--against", metavar="REF", help="A torch function, `module:function`, that computes the right result.")
@click.option(
    "--example", "example", multiple=True, metavar="EXPRESSION",
    help="With --against: an argument of one call in Python, such as `torch.randn(4, 8)`; repeat it in their order.",
)  # fmt: skip
@click.option("--examples", default=100, show_default=True, type=click.IntRange(1), help="Calls for each test id.")
@click.option("--seed", default=0, show_default=True, type=int, help="Where the calls come from.")
@click.option("--oracle", "oracles", multiple=True, metavar="ID", help="Only this lane, such as `launch`; repeatable.")
@click.option(
    "--dtype", "dtypes", multiple=True, metavar="DTYPE", help="Only this dtype, such as `float16`; repeatable."
)
@click.option("--promise", "promises", multiple=True, metavar="NAME=VALUE", help="A promise, such as `dot=tf32`.")
@click.option("--json", "json_path", type=Output(allow_dash=True), help="Write the results; - is stdout.")
@click.option("--findings", type=click.Path(file_okay=False), default=".conformance/findings", show_default=True,
              help="Where findings are saved.")  # fmt: skip
@click.option(
    "--isolate", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True,
    help="Judge each call in a child process: auto, once the kernel has ended the process that judges it.",
)  # fmt: skip
@click.pass_obj
@clear_errors
def check(
    supervise: Callable[[], str | None] | None,
    target: str, op_name: str | None, against: str | None, example: Sequence[str], examples: int, seed: int,
    oracles: Sequence[str], dtypes: Sequence[str], promises: Sequence[str], json_path: str | None, findings: str,
    isolate: Isolate,
) -> None:  # fmt: skip
    """Judge the kernel TARGET by an op, or against a torch function.

    TARGET is `module:function`, `path.py:function` or `path.cu:launcher`. Ctrl-C ends the check and keeps what was
    found until then.
    """
    from conformance import runtime, targets
    from conformance.checking import check as run_check
    from conformance.device import policy
    from conformance.session import Session

    # a process that has looked for CUDA devices must not fork, and on a GPU the policy looks after faults
    if isolate == "auto" and supervise is not None and runtime.select() == "interpret":
        ended = supervise()
        if ended is not None:
            click.echo(f"the kernel ended the process that judged it ({ended}): each call now has its own", err=True)
            isolate = "always"
    runtime.select()
    policy.select(dataclasses.replace(policy.current(), isolate=isolate))
    op = find_op(op_name, against, example, target)
    kernel = targets.load_kernel(target)
    with Session() as session:
        report = run_check(
            kernel, op, examples=examples, seed=seed, oracles=list(oracles) or None,
            dtypes=[find_dtype(name) for name in dtypes] or None, progress=session.progress,
            **read_promises(promises, op),
        )  # fmt: skip
    options = written_options(op_name, against, example, promises)
    report.findings = [dataclasses.replace(finding, options=options) for finding in report.findings]
    session.show(report, Path(findings), json_path, ("--target", target))
    _leave(session.exit_code(report))


@main.command()
@click.argument("target")
@click.option("--op", "op_name", metavar="NAME", required=True, help="As `check` takes it.")
@click.option("--examples", default=100, show_default=True, type=click.IntRange(1), help="Calls for each test id.")
@click.option("--seed", default=0, show_default=True, type=int, help="Where the calls, and a sample, come from.")
@click.option("--sample", type=click.IntRange(1), help="Judge only so many mutants, drawn at random.")
@click.option("--jobs", type=click.IntRange(1), help="Mutants at a time; by default one for each core.")
@click.option(
    "--seconds", default=600.0, show_default=True, help="CPU time; a mutant that takes longer counts as killed."
)
@click.option("--promise", "promises", multiple=True, metavar="NAME=VALUE", help="A promise, as `check` takes it.")
@click.option("--equivalents", type=click.Path(exists=True, dir_okay=False), help="JSON: file to edit to reason.")
@click.option("--json", "json_path", type=Output(), help="Write every verdict.")
@clear_errors
def mutate(
    target: str, op_name: str, examples: int, seed: int, sample: int | None, jobs: int | None, seconds: float,
    promises: Sequence[str], equivalents: str | None, json_path: str | None,
) -> None:  # fmt: skip
    """Edit the source of the kernel TARGET in one place at a time, and see whether the tests notice.

    What TARGET does not reach by name, such as another kernel of its file, is left out, which the output says.
    A mutant that survives shows what is not tested, or an edit that changes nothing: record that one in a file for
    --equivalents. The kernel itself must pass. Exit code 1 where a mutant survives. Ctrl-C ends the run and keeps the
    verdicts until then.
    """
    from conformance import runtime, targets
    from conformance.mutation import Subject
    from conformance.mutation import mutate as run_mutants
    from conformance.mutation.equivalents import load
    from conformance.mutation.report import document, line_of, text
    from conformance.report.documents import write_json

    if runtime.select() != "interpret":
        raise Unusable("mutants are judged in the interpreter and the emulator: set TRITON_INTERPRET=1")
    op = find_op(op_name, None, (), target)
    subject = Subject(targets.load_kernel(target), op, options=dict(read_promise(text) for text in promises))
    score = run_mutants(
        subject, examples=examples, seed=seed, sample=sample, jobs=jobs, seconds=seconds,
        record=load(Path(equivalents)) if equivalents else None,
        progress=lambda verdict, score: click.echo(
            f"{len(score.verdicts)}/{score.expected} {line_of(verdict)}", err=True
        ),
    )  # fmt: skip
    for line in text(score):
        click.echo(line)
    if json_path is not None:
        write_json(json_path, document([score]))
    if score.interrupted:
        click.echo("interrupted: the verdicts are those until then", err=True)
    _leave(FINDINGS if score.survivors else UNUSABLE if score.interrupted else OK)


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--target", help="The kernel, where the finding's own name cannot be imported.")
@click.option("--op", "op_name", metavar="NAME", help="The op, where it is none of conformance.ops.")
@click.option("--against", metavar="REF", help="The torch function, as `check` takes it.")
@click.option("--example", "example", multiple=True, metavar="EXPRESSION", help="With --against: as `check` takes it.")
@click.option("--promise", "promises", multiple=True, metavar="NAME=VALUE", help="A promise, as `check` takes it.")
@clear_errors
def replay(
    file: str, target: str | None, op_name: str | None, against: str | None, example: Sequence[str],
    promises: Sequence[str],
) -> None:  # fmt: skip
    """Judge a saved finding again: exit code 1 while the oracle still objects, 0 once it no longer does.

    Where no kernel or op is given, they are those that the script in the finding imports, or that it was checked by.
    """
    from conformance import runtime, targets
    from conformance.replay import replay as run_again
    from conformance.report import load_finding, render

    runtime.select()
    finding = load_finding(file)
    if op_name is None and against is None:
        op_name, against, example, promises = read_options(finding, promises)
    kernel = targets.load_kernel(target) if target else found_kernel(finding)
    op = (
        found_op(finding) if op_name is None and against is None else find_op(op_name, against, example, finding.kernel)
    )
    still = run_again(finding, kernel, op, **read_promises(promises, op))
    for again in still:
        click.echo(render(again))
    if not still:
        click.echo(f"{finding.oracle} no longer objects to {finding.kernel} on this call")
    _leave(FINDINGS if still else OK)


@main.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option(
    "-o", "--output", default="report.html", show_default=True, type=Output(),
    help="The page: Markdown where the name ends in .md, else HTML.",
)  # fmt: skip
@clear_errors
def report(results: Sequence[str], output: str) -> None:
    """Make one page from results files; shards and machines are merged.

    An output that ends in .md is a summary in Markdown, any other a page in HTML that opens offline.
    """
    from conformance.report import html, markdown, read_results
    from conformance.report.documents import write_text

    found = [each for path in results for each in read_results(path)]
    make = markdown.build if Path(output).suffix == ".md" else html.build
    write_text(output, make(found))
    click.echo(f"{output}: {len(found)} report{'s' if len(found) != 1 else ''}")


@main.command()
@clear_errors
def doctor() -> None:
    """Show versions, devices and compilers, and what will be skipped here and why."""
    from conformance import doctor as checks
    from conformance import runtime

    runtime.select()
    rows = list(checks.diagnose())
    width = max(len(subject) for subject, _, _ in rows)
    for subject, found, well in rows:
        click.secho(f"{subject:<{width}}  {found}", fg=None if well else "red")
    reasons = list(checks.skipped())
    click.echo("\nSkipped here" if reasons else "\nNothing is skipped here")
    for reason in reasons:
        click.echo(f"  {reason}")
    _leave(OK if all(well for _, _, well in rows) else UNUSABLE)


@main.command()
@click.argument("name", type=click.Choice(BENCHES))
@click.option("--json", "json_path", type=Output(), help="Write the measurements.")
@click.option("--launches", type=click.IntRange(1), help="With numerics: how many launches are judged.")
@click.option(
    "--identity",
    type=click.IntRange(1),
    help="With interpreter: how many launches are compared, bit by bit, with Triton's own interpreter.",
)
@click.option("--peers", is_flag=True, help="With detection: install the published tools, and measure them too.")
@clear_errors
def bench(name: str, json_path: str | None, launches: int | None, identity: int | None, peers: bool) -> None:
    """Measure NAME on this machine: what stands in the documentation, made again.

    \b
    interpreter  our Triton interpreter against the stock one, and the rate of the suite
    numerics     false alarms and recall of the accuracy oracle against tolerances
    emulator     CUDA sources on the CPU
    gpu          rates of checked examples on a CUDA device
    kernels      speed of the kernels that ship, on a CUDA device
    detection    how many faults are found, and how soon
    """
    from conformance import runtime

    runtime.select()
    if launches is not None and name != "numerics":
        raise Unusable("--launches is an option of `conformance bench numerics`")
    if identity is not None and name != "interpreter":
        raise Unusable("--identity is an option of `conformance bench interpreter`")
    if peers and name != "detection":
        raise Unusable("--peers is an option of `conformance bench detection`")
    try:
        module = importlib.import_module(f"conformance.bench.{name}")
    except ModuleNotFoundError as error:
        if error.name == f"conformance.bench.{name}":
            raise Unusable(f"the benchmark {name} is not part of this version") from error
        raise Unusable(f"the benchmark {name} cannot run here: {error}") from error
    try:
        options = {"launches": launches, "identity": identity, "peers": peers or None}
        module.main(json_path, **{option: value for option, value in options.items() if value is not None})
    except RuntimeError as error:
        raise Unusable(str(error)) from error


@main.command()
@click.option("--minutes", default=30.0, show_default=True, type=click.FloatRange(0, min_open=True), help="How long.")
@click.option("--jobs", type=click.IntRange(1), help="Processes side by side; by default one for each core.")
@click.option("--seed", type=int, help="Of the first round; by default a new one, which is printed.")
@click.option("--json", "json_path", type=Output(), help="Add the counts to this list of runs.")
@click.option("--findings", type=click.Path(file_okay=False), default=".conformance/findings", show_default=True,
              help="Where findings are saved.")  # fmt: skip
@clear_errors
def soak(minutes: float, jobs: int | None, seed: int | None, json_path: str | None, findings: str) -> None:
    """Judge the kernels that ship, which are right, with ever new seeds: any finding is a fault.

    Exit code 1 where an oracle objects or a process is lost. Ctrl-C ends the soak and keeps its counts.
    """
    from conformance import runtime
    from conformance import soak as soaking
    from conformance.report import render, save_findings
    from conformance.session import Session

    runtime.select()
    jobs = jobs or os.cpu_count() or 1
    seed = soaking.new_seed() if seed is None else seed
    click.echo(f"soaking for {minutes:g} minutes in {jobs} process{'es' * (jobs > 1)}, from seed {seed}", err=True)
    with Session() as session:

        def progress(name: str, so_far: soaking.Soak) -> None:
            session.progress(name, so_far.examples)

        if jobs == 1:
            done = soaking.soak(60 * minutes, seed=seed, progress=progress)
        else:
            done = soaking.soak_in_parallel(60 * minutes, jobs, seed=seed, progress=progress)
    paths, unsaved = save_findings(done.findings, findings)
    for finding, path in zip(done.findings, paths, strict=True):
        click.echo(render(finding) + (f"\nSaved as {path}\n" if path is not None else "\n"))
    if unsaved:
        click.echo(f"warning: {unsaved}", err=True)
    for line in done.lost:
        click.echo(f"lost: {line}")
    click.echo(
        f"{done.examples:,} examples in {done.seconds / 60:.1f} minutes over {done.items} test ids, {done.rounds} "
        f"rounds from seed {done.seed}: {len(done.findings)} findings{', interrupted' if done.interrupted else ''}"
    )
    if json_path is not None:
        soaking.append(json_path, done)
    _leave(FINDINGS if done.findings or done.lost else OK)


@main.command()
@click.argument("name", metavar="ORACLE|LANE|OP")
@clear_errors
def explain(name: str) -> None:
    """Say what an oracle watches and how to repair a fault that it finds, or how an op judges its kernels.

    An op is one of conformance.ops, or `module:name` or `path.py:name` of an Op of yours: explained are its lanes and
    oracles, and how much error its bounds allow.
    """
    from conformance import description

    click.echo(description.explain(name))


def program() -> None:
    """The command as a program, which survives a kernel that ends its process."""
    main(obj=supervision.fork)


def _leave(code: int) -> NoReturn:
    """End the process with the code, also where a kernel left threads behind that would keep it alive."""
    running = [each for each in threading.enumerate() if each is not threading.main_thread() and not each.daemon]
    if running:
        names = ", ".join(each.name for each in running[:4])
        one = len(running) == 1
        threads = (
            "1 thread that the kernel started still runs"
            if one
            else f"{len(running)} threads that the kernel started still run"
        )
        click.echo(f"{threads} ({names}); ended now", err=True)
        sys.stdout.flush()
        sys.stderr.flush()
        supervision.orderly()
        os._exit(code)
    raise Leave(code)
