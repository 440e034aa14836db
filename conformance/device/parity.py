"""Parity: the calls and results of a run in the interpreter, to be compared with the same calls on a GPU."""

from __future__ import annotations

import base64
import dataclasses
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from conformance import balls
from conformance.device import precompile
from conformance.failures import ParityFailure
from conformance.lanes import LANES
from conformance.oracles.objection import Objection
from conformance.trial import Trial
from strategies import Call, dtype_of, name_of

LAW = "A kernel gives on a GPU what it gives in the interpreter, within the bounds of both."
SCHEMA = 1


@dataclasses.dataclass(frozen=True, eq=False)
class Record:
    """What a kernel gave for a call; `outputs` are on the CPU, contiguous. None where it raised."""

    op: str
    kernel: str
    call: Call
    outputs: tuple[torch.Tensor, ...] | None

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values; the bytes of outputs are compressed."""
        outputs = None if self.outputs is None else [_pack(each) for each in self.outputs]
        return {"op": self.op, "kernel": self.kernel, "call": self.call.to_json(), "outputs": outputs}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Record:
        """The record that `to_json` wrote."""
        outputs = None if data["outputs"] is None else tuple(_unpack(each) for each in data["outputs"])
        return cls(data["op"], data["kernel"], Call.from_json(data["call"]), outputs)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What came of running a record's call again: objections, and whether every bit is the same (NaN is NaN)."""

    objections: tuple[Objection, ...] = ()
    same_bits: bool = False


def record(trial: Trial, dtype: torch.dtype | None, *, examples: int, seed: int) -> list[Record]:
    """The records of the calls that the lane `launch` draws from the seed."""
    return [
        Record(trial.op.name, key(trial), call, _outputs(trial, call))
        for call in precompile.calls(trial, LANES["launch"], dtype, examples=examples, seed=seed)
    ]


def key(trial: Trial) -> str:
    """The name that a record has for the trial's kernel: its own, and the meta-parameters that it is given."""
    return " ".join((trial.name, *(f"{name}={value}" for name, value in trial.meta)))


def compare(trial: Trial, known: Record) -> Comparison:
    """Object where the kernel, run now, disagrees with the record: one is inside the ball and the other is not."""
    launch = trial.launch(known.call)
    if (launch.error is None) != (known.outputs is not None):
        raised, other = ("the recorded run", "this one") if known.outputs is None else ("this run", "the recorded one")
        error = f": {type(launch.error).__name__}: {launch.error}" if launch.error is not None else ""
        return _objection(f"{raised} raised, {other} did not{error}")
    if launch.error is not None or known.outputs is None:
        return Comparison(same_bits=True)
    if len(launch.outputs) != len(known.outputs):
        return _objection(f"{len(launch.outputs)} outputs here and {len(known.outputs)} in the record")
    expected = trial.expected(launch)
    same = True
    for i, (now, then) in enumerate(zip(launch.outputs, known.outputs, strict=True)):
        mine = now.detach().cpu()
        if mine.shape != then.shape or mine.dtype != then.dtype:
            return _objection(f"output {i} is {_kind(mine)} here and {_kind(then)} in the record")
        same = same and bool(((mine == then) | (mine.isnan() & then.isnan())).all())
        here, there = (balls.judge(each, expected.balls[i], trial.promises) for each in (mine, then))
        if here.ok != there.ok:
            wrong, verdict = ("this run", here) if there.ok else ("the recorded run", there)
            index = tuple(int(k) for k in verdict.index)
            return _objection(
                f"output {i} at {index}: {mine[index].item()!r} here, {then[index].item()!r} in the record; {wrong} is "
                f"outside [{float(verdict.low)!r}, {float(verdict.high)!r}]"
            )
    return Comparison(same_bits=same)


def _objection(summary: str) -> Comparison:
    return Comparison((Objection(ParityFailure, LAW, summary),))


def write(path: str | Path, records: Sequence[Record]) -> None:
    """Write a corpus."""
    document = {"schema": SCHEMA, "records": [each.to_json() for each in records]}
    Path(path).write_text(json.dumps(document) + "\n", encoding="utf-8")


def read(path: str | Path) -> list[Record]:
    """The records of a corpus.

    Raises:
        ValueError: the file is none, or of another schema.
    """
    document = json.loads(Path(path).read_text(encoding="utf-8"))
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(f"{path} is no corpus of schema {SCHEMA}: record it again with this version")
    return [Record.from_json(each) for each in document["records"]]


def _outputs(trial: Trial, call: Call) -> tuple[torch.Tensor, ...] | None:
    launch = trial.launch(call)
    return None if launch.error is not None else tuple(o.detach().cpu().contiguous() for o in launch.outputs)


def _pack(tensor: torch.Tensor) -> dict[str, Any]:
    dense = tensor.clone(memory_format=torch.contiguous_format).reshape(-1)  # one element may have any stride
    content = dense.view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
    data = base64.b85encode(zlib.compress(content)).decode()
    return {"shape": list(tensor.shape), "dtype": name_of(tensor.dtype), "data": data}


def _unpack(data: dict[str, Any]) -> torch.Tensor:
    dtype, shape = dtype_of(data["dtype"]), tuple(data["shape"])
    content = zlib.decompress(base64.b85decode(data["data"]))
    return (
        torch.frombuffer(bytearray(content), dtype=dtype).reshape(shape) if content else torch.empty(shape, dtype=dtype)
    )


def _kind(tensor: torch.Tensor) -> str:
    return f"{name_of(tensor.dtype)}{list(tensor.shape)}"
