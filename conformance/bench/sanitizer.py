"""Which planted faults of CUDA sources NVIDIA's compute-sanitizer confirms, and where it is silent as it must be.

python -m conformance.bench.sanitizer --corpus tests/emulator/corpus --json sanitizer.json --write docs/gpu-run.md

The emulator reports every one of them. On a device each planted fault runs under the tool for its kind, in a process
of its own, since most end the CUDA context; so does its cured twin. Each program of the corpus runs under racecheck
with its racy variants, every kernel under a name of its own.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from conformance import runtime
from conformance.bench import corpus, planted, section
from conformance.device import policy, sanitizer
from conformance.events import Kind
from conformance.regions import Role

COMMAND = "python -m conformance.bench.sanitizer"
SECTION = "sanitizer"
# The tool that looks at what is wrong; None where none does: a kernel that is wrong about roles, hangs, or divides by
# zero, as far as NVIDIA's manual says ("Compute Sanitizer", tools).
TOOLS: dict[Kind, str | None] = {
    Kind.OUT_OF_BOUNDS_READ: "memcheck",
    Kind.OUT_OF_BOUNDS_WRITE: "memcheck",
    Kind.WILD_POINTER: "memcheck",
    Kind.ARRAY_INDEX: "memcheck",
    Kind.MISALIGNED: "memcheck",
    Kind.DEVICE_ASSERT: "memcheck",
    Kind.UNINITIALIZED_READ: "initcheck",
    Kind.DATA_RACE: "racecheck",
    Kind.BARRIER_DIVERGENCE: "synccheck",
    Kind.DEADLOCK: "synccheck",
    Kind.WARP: "synccheck",
    Kind.INPUT_WRITE: None,
    Kind.HANG: None,
    Kind.CRASH: None,
}
# Processes at a time; each takes about ten seconds, most of it for starting torch under the sanitizer.
_AT_ONCE = 14
_SECONDS = 90.0
_LAUNCH_SECONDS = 10.0
_NAME = "planted"
OPTIONS = ("-std=c++17", "-lineinfo")


@dataclasses.dataclass(frozen=True)
class Job:
    """A process under a tool: what it launches, as `--launch` takes it, and the kernels that reports may name."""

    what: str
    tool: str
    kernels: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Launch:
    """A kernel of a text with the arguments of one launch, tensors on the CPU."""

    text: str
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    arguments: tuple[Any, ...]
    written: tuple[bool, ...]  # which arguments somebody has filled before the launch


def jobs(folder: Path) -> Iterator[Job]:
    """Everything that is run."""
    for name, fault in planted.FAULTS.items():
        tool = TOOLS[fault.kind]
        if tool is not None:
            yield Job(f"fault:{name}", tool, (_NAME,))
            if name in planted.CURED:
                yield Job(f"cure:{name}", tool, (_NAME,))
    for program in corpus.programs(folder):
        yield Job(f"corpus:{program.path}", "racecheck", tuple(launch.kernel for launch in _programs(program.path)))


def launches(what: str) -> list[Launch]:
    """The launches of a job."""
    kind, _, name = what.partition(":")
    if kind == "corpus":
        return _programs(Path(name))
    fault = planted.FAULTS[name]
    text = fault.source(fault.fault if kind == "fault" else fault.cure).replace(" kernel(", f" {_NAME}(")
    x, out = torch.zeros(planted.SIZE), torch.zeros(planted.SIZE)
    return [
        Launch(
            text, _NAME, _three(fault.grid), _three(fault.block), fault.shared, (x, out, planted.SIZE),
            (True, fault.out == "inout", True),
        )
    ]  # fmt: skip


def _programs(path: Path) -> list[Launch]:
    """A program of the corpus and its racy variants; the kernel of variant k has the name of the program and k."""
    (program,) = (p for p in corpus.programs(path.parent) if p.path == path)
    racy = [variant.mutant.text for variant in corpus.variants(program) if variant.reason is None]
    filled = tuple(not isinstance(a, corpus.Tensor) or a.role in (Role.IN, Role.INOUT) for a in program.arguments)
    found = []
    for number, text in enumerate([program.text, *racy]):
        left = program.tensors()
        arguments = tuple(left.pop(0) if isinstance(a, corpus.Tensor) else a for a in program.arguments)
        kernel = f"{program.name}_{number}"
        renamed = re.sub(rf"\b{program.name}\b(?=\s*\()", kernel, text)
        found.append(
            Launch(renamed, kernel, _three(program.grid), _three(program.block), program.shared, arguments, filled)
        )
    return found


def _three(sizes: int | Sequence[int]) -> tuple[int, int, int]:
    given = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z


def run(what: str) -> None:
    """Make the launches of a job on the device; what does not end, or does not compile, is printed and left."""
    from kernels_cuda.device import CupyBackend
    from kernels_cuda.signatures import parse

    policy.select(policy.Policy(hang_seconds=_LAUNCH_SECONDS))
    backend, device = CupyBackend(), runtime.device()
    for each in launches(what):
        try:
            signature = parse(each.text)[each.kernel]
            arguments = [
                parameter.pack(_on_device(value, filled, device) if isinstance(value, torch.Tensor) else value)
                for parameter, value, filled in zip(signature, each.arguments, each.written, strict=True)
            ]
            handle = backend.compile(each.text, options=OPTIONS)
            backend.launch(handle, each.kernel, each.grid, each.block, arguments, each.shared, signature)
            runtime.synchronize()
            print(f"launched {each.kernel}", flush=True)
        except Exception as error:  # noqa: BLE001 - the process is there to see what the sanitizer says
            print(f"failed {each.kernel}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            if runtime.hung():
                os._exit(1)


def _on_device(value: torch.Tensor, filled: bool, device: torch.device) -> torch.Tensor:
    return value.to(device) if filled else torch.empty(value.shape, dtype=value.dtype, device=device)


def confirmed(output: str, kernels: Sequence[str]) -> dict[str, str]:
    """The first line of a report for each kernel that one names; errors that name none are the first kernel's."""
    found: dict[str, str] = {}
    for report in sanitizer.reports(output):
        text = "\n".join(report)
        named = [kernel for kernel in kernels if re.search(rf"\b{kernel}\b", text)]
        if not named and len(kernels) == 1 and report[0].startswith("Program hit"):
            named = list(kernels)
        for kernel in named:
            found.setdefault(kernel, report[0])
    return found


def under(job: Job) -> dict[str, Any]:
    """What the tool reports of a job, as JSON values."""
    command = [sanitizer.executable(), "--tool", job.tool, sys.executable, "-m", "conformance.bench.sanitizer"]
    record: dict[str, Any] = {"what": job.what, "tool": job.tool, "kernels": list(job.kernels)}
    try:
        done = subprocess.run(
            [*command, "--launch", job.what],
            capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False,
            env=sanitizer.environment(),
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        output = error.stdout.decode(errors="replace") if isinstance(error.stdout, bytes) else ""
        record["note"] = f"not done after {_SECONDS:g} s"
    else:
        output = done.stdout + "\n" + done.stderr
    failed = re.findall(r"^failed (\S+): (.*)$", output, re.MULTILINE)
    return record | {
        "confirmed": confirmed(output, job.kernels),
        "launched": re.findall(r"^launched (\S+)$", output, re.MULTILINE),
        "failed": dict(failed),
        "tail": output.strip()[-600:] if not failed and "launched" not in output else "",
    }


def page(records: Sequence[dict[str, Any]]) -> str:
    """The records as Markdown."""
    by_what = {record["what"]: record for record in records}
    rows, seen, possible = [], 0, 0
    for name, fault in planted.FAULTS.items():
        tool, record, cured = TOOLS[fault.kind], by_what.get(f"fault:{name}"), by_what.get(f"cure:{name}")
        if tool is None or record is None:
            rows.append((name, fault.kind.value, "none looks at it" if tool is None else "not run", "", ""))
            continue
        possible += 1
        seen += bool(record["confirmed"])
        says = next(iter(record["confirmed"].values()), _silence(record))
        twin = "" if cured is None else next(iter(cured["confirmed"].values()), "nothing")
        rows.append((name, fault.kind.value, tool, says, twin))
    lost: list[str] = []
    programs = [record for record in records if record["what"].startswith("corpus:")]
    racy = sum(len(record["kernels"]) - 1 for record in programs)
    caught = sum(len(set(record["kernels"][1:]) & set(record["confirmed"])) for record in programs)
    alarms = sum(record["kernels"][0] in record["confirmed"] for record in programs)
    versions = ", ".join(f"{name} {version}" for name, version in runtime.versions().items())
    lines = [
        f"`{COMMAND}`, {versions}. The emulator reports all {len(planted.FAULTS)} planted faults and all {racy} racy "
        f"variants; compute-sanitizer confirms **{seen} of the {possible}** planted faults that one of its tools looks "
        f"at, and under racecheck, which watches shared memory alone, **{caught} of the {racy}** racy variants, with "
        f"{alarms} reports on the {len(programs)} programs that are right.",
        "",
        "| planted fault | the emulator says | tool | compute-sanitizer says | of the cured twin |",
        "|---|---|---|---|---|",
        *(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows),
        "",
        "| program | racy variants | confirmed by racecheck | reports on the program itself |",
        "|---|---|---|---|",
    ]
    for record in programs:
        right, *variants = record["kernels"]
        cells = (
            Path(record["what"].partition(":")[2]).stem,
            len(variants),
            len(set(variants) & set(record["confirmed"])),
            int(right in record["confirmed"]),
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
        lost += [f"- not launched: {kernel}, {why}" for kernel, why in record["failed"].items()]
    return "\n".join([*lines, *(["", *lost] if lost else [])])


def _silence(record: dict[str, Any]) -> str:
    """What is said of a fault that the tool does not report."""
    hung = "note" in record or any("did not end" in why for why in record["failed"].values())
    return "nothing; the kernel does not end" if hung else "nothing"


def main(argv: Sequence[str] | None = None) -> int:
    """0 where the sanitizer is silent on all that is right, 1 where it is not, 2 where it cannot be run."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Run planted faults under compute-sanitizer.")
    parser.add_argument("--corpus", metavar="DIR", type=Path, default=Path("tests/emulator/corpus"))
    parser.add_argument("--json", metavar="PATH", help="write the records")
    parser.add_argument("--write", metavar="PAGE", help=f"put the tables into the section `{SECTION}` of a page")
    parser.add_argument("--launch", help=argparse.SUPPRESS)  # the part of a process under the sanitizer
    options = parser.parse_args(argv)
    if options.launch is not None:
        run(options.launch)
        return 0
    try:
        sanitizer.executable()
    except sanitizer.SanitizerMissing as error:
        print(error, file=sys.stderr)
        return 2
    with concurrent.futures.ThreadPoolExecutor(max(1, min(_AT_ONCE, os.cpu_count() or 1))) as pool:
        records = list(pool.map(under, jobs(options.corpus)))
    print(page(records))
    if options.json is not None:
        Path(options.json).write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    if options.write is not None:
        section.put(options.write, SECTION, page(records))
    silent = all(not r["confirmed"] for r in records if r["what"].startswith("cure:"))
    return int(not silent or any(r["kernels"][0] in r["confirmed"] for r in records if r["what"].startswith("corpus:")))


if __name__ == "__main__":
    sys.exit(main())
