"""`python -m conformance.bench.mutation`: the score on the mutants of every shipped kernel, in docs/mutation.md."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import torch
from rich.console import Console

import kernels_triton
import strategies as kst
from conformance import ops, runtime
from conformance.mutation import Subject, mutate
from conformance.mutation.report import document, line_of, markdown
from conformance.op import Op
from kernels_cuda import matmul as cuda_matmul
from kernels_cuda import rms_norm as cuda_rms_norm
from kernels_cuda import softmax as cuda_softmax
from kernels_cuda import vector_add as cuda_vector_add

COMMAND = "python -m conformance.bench.mutation"
PAGE = Path("docs/mutation.md")
# a block of 16 columns takes rows of a few dozen through the loops that rows of 32768 take by default
_SHORT = {"longest": 16}


def long_rows(op: Op) -> Op:
    """The op with few, long rows: beyond the 4096 columns that a CUDA block holds in registers."""
    axes = {**op.axes, "cols": kst.sizes(min=4000, max=8300), "rows": kst.sizes(max=3)}
    return Op(
        op.reference,
        op.inputs,
        axes=axes,
        independent=op.independent,
        promises=op.promises,
        name=op.name,
        max_elements=3 * 8300,
    )


def subjects() -> Iterator[list[Subject]]:
    """The shipped kernels, those of one source together."""
    tree = {"order": "tree"}
    halves = {"dtypes": (torch.float16, torch.bfloat16)}
    for op, kernel in ((ops.softmax, kernels_triton.softmax), (ops.rms_norm, kernels_triton.rms_norm)):
        yield [Subject(kernel, op, options=tree), Subject(kernel, op, _SHORT, tree)]
    yield [Subject(kernels_triton.vector_add, ops.vector_add)]
    yield [Subject(kernels_triton.matmul, ops.matmul)]
    yield [Subject(cuda_vector_add.vector_add, ops.vector_add)]
    for op, module in ((ops.softmax, cuda_softmax), (ops.rms_norm, cuda_rms_norm)):
        warp, block = getattr(module, f"{op.name}_warp"), getattr(module, f"{op.name}_block")
        few = {"oracles": ["launch", "special_values", "determinism"], **tree}
        yield [
            Subject(warp, op, options={**tree, "limits": {"cols": 1024}}),
            Subject(block, op, options=tree),
            Subject(block, long_rows(op), options=few),
        ]
    for name in ("naive", "tiled", "registers", "async", "wmma"):
        options = halves if name == "wmma" else {}
        yield [Subject(getattr(cuda_matmul, f"matmul_{name}"), ops.matmul, options=options)]


def main(
    json_path: str | None = None,
    *,
    examples: int = 100,
    only: str = "",
    sample: int | None = None,
    jobs: int | None = None,
) -> None:
    """Judge every mutant, print each, and write the page and the JSON; the process ends with status 1 for a survivor.

    `only` chooses sources by their kernels' names, `sample` so many mutants of each.
    """
    console = Console(stderr=True, soft_wrap=True)
    started = time.perf_counter()
    scores = []
    for group in subjects():
        if only in group[0].name:
            score = mutate(
                group,
                examples=examples,
                sample=sample,
                jobs=jobs,
                progress=lambda verdict, n, of: console.print(f"{n}/{of} {line_of(verdict)}", markup=False),
            )
            scores.append(score)
            PAGE.write_text(markdown(scores, time.perf_counter() - started, _command(examples, only, sample)))
            if json_path is not None:
                Path(json_path).write_text(json.dumps(document(scores), indent=1) + "\n", encoding="utf-8")
    if any(score.survivors for score in scores):
        raise SystemExit(1)


def _command(examples: int, only: str, sample: int | None) -> str:
    given = "".join(
        f" --{name} {value}"
        for name, value, default in (("examples", examples, 100), ("only", only, ""), ("sample", sample, None))
        if value != default
    )
    return COMMAND + given


@click.command()
@click.option("--json", "json_path", type=click.Path(dir_okay=False), help="Write every verdict.")
@click.option("--examples", default=100, show_default=True, help="Calls for each test id.")
@click.option("--only", default="", help="Sources whose kernels' names contain this, such as kernels_triton.")
@click.option("--sample", type=int, help="So many mutants of each source, drawn at random.")
@click.option("--jobs", type=int, help="Mutants at a time; by default one for each core.")
def command(**options: Any) -> None:
    """Judge the mutants of the shipped kernels."""
    main(**options)


if __name__ == "__main__":
    runtime.select("interpret")
    command()
