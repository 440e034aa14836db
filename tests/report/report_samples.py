"""One finding of every kind, and reports that hold them, for the tests of what is shown."""

from __future__ import annotations

import math
import random
from typing import Any

from conformance.events import Event, Kind, Site
from conformance.failures import Finding, ValueEvidence
from conformance.observation import Geometry
from conformance.report.explanations import ORACLES
from conformance.report.records import CaseResult, Report

SCRIPT = 'import torch\n\nprint("kernel:   ", torch.zeros(1))\n'
LAUNCH = (Geometry("softmax_kernel", (3, 1, 1), meta=(("BLOCK", 8), ("num_warps", 4))),)
LOAD = Site("my_kernels/softmax.py", 12, "    x = tl.load(x_ptr + row * stride + cols)")
STORE = Site("my_kernels/softmax.py", 19, "    tl.store(out_ptr + row * stride + cols, y)")


def call(
    rows: int = 3, columns: int = 20, *, dtype: str = "float32", strides: tuple[int, int] | None = None
) -> dict[str, Any]:
    """The JSON form of a call of softmax."""
    x: dict[str, Any] = {"shape": [rows, columns], "dtype": dtype, "values": {"pattern": "ramp"}}
    if strides is not None:
        x["layout"] = {"strides": list(strides), "offset": 0}
    arguments = [["x", {"tensor": x}], ["scale", {"float": 0.5}], ["mask", None]]
    return {"arguments": arguments, "axes": {"rows": rows, "cols": columns}}


def evidence(wrong: list[tuple[int, int]], *, columns: int = 20, rows: int = 3, **changes: Any) -> ValueEvidence:
    """Evidence on an output of softmax whose elements at `wrong` are wrong, the first of them worst."""
    fields: dict[str, Any] = {
        "output": 0,
        "index": wrong[0],
        "shape": (rows, columns),
        "dtype": "float32",
        "got": 0.25,
        "exact": 0.3,
        "low": 0.29,
        "high": 0.31,
        "ratio": 5.0,
        "ulp": 1.6e6,
        "wrong_count": len(wrong),
        "wrong": tuple(row * columns + column for row, column in wrong),
    }
    return ValueEvidence(**{**fields, **changes})


def event(kind: Kind, argument: str, detail: str, **changes: Any) -> Event:
    """An event of the softmax kernel at its load."""
    fields: dict[str, Any] = {"site": LOAD, "kernel": "softmax_kernel", "programs": ((0, 0, 0),)}
    return Event(kind, argument, detail, **{**fields, **changes})


def finding(oracle: str, summary: str, **changes: Any) -> Finding:
    """An objection of this oracle to a softmax kernel."""
    fields: dict[str, Any] = {
        "oracle": oracle,
        "law": ORACLES[oracle].law,
        "op": "softmax",
        "kernel": "softmax_triton",
        "summary": summary,
        "call": call(),
        "script": SCRIPT,
        "runtime": "interpret",
        "geometry": LAUNCH,
    }
    return Finding(**{**fields, **changes})


def tail(rows: int = 3, columns: int = 20, start: int = 16) -> list[tuple[int, int]]:
    """The elements of all rows from column `start` on."""
    return [(row, column) for row in range(rows) for column in range(start, columns)]


NAN = {"got": math.nan, "ratio": math.inf, "ulp": math.inf}
PADDED = call(strides=(24, 1))

#: A finding of each oracle, and of each pattern that has a cause of its own.
FINDINGS: dict[str, Finding] = {
    "bounds": finding(
        "bounds",
        "x is read beyond its last element",
        events=(event(Kind.OUT_OF_BOUNDS_READ, "x", "4 of 8 lanes read past the last row", offset=240, count=4),),
    ),
    "bounds_gap": finding(
        "bounds",
        "x is read between its rows",
        call=PADDED,
        events=(event(Kind.GAP_READ, "x", "the 4 elements after row 0 are read", offset=80, count=4),),
    ),
    "bounds_write": finding(
        "bounds",
        "the output is written beyond its last element",
        events=(event(Kind.OUT_OF_BOUNDS_WRITE, "output 0", "4 of 8 lanes", site=STORE, offset=240, count=4),),
    ),
    "written": finding(
        "written",
        "4 elements of the output were not written",
        value=evidence(tail(rows=3)[-4:], **NAN),
        events=(event(Kind.UNWRITTEN, "output 0", "4 of 60 elements", site=None, programs=(), index=(2, 16), count=4),),
    ),
    "written_poison": finding("written", "12 elements depend on poison", value=evidence(tail(), **NAN)),
    "inputs_kept": finding(
        "inputs_kept",
        "x changed",
        events=(event(Kind.INPUT_WRITE, "x", "1 element was stored to", site=STORE, index=(1, 3)),),
    ),
    "accuracy_last_tile": finding("accuracy", "12 elements are outside their bound", value=evidence(tail())),
    "accuracy_first_tile": finding("accuracy", "36 elements are outside their bound", value=evidence(tail(start=8))),
    "accuracy_rows": finding(
        "accuracy",
        "every second row is wrong",
        call=call(8),
        value=evidence([(row, column) for row in (1, 3, 5, 7) for column in range(20)], rows=8),
    ),
    "accuracy_row_stride": finding(
        "accuracy",
        "all rows but the first are wrong",
        call=PADDED,
        value=evidence([(row, column) for row in (1, 2) for column in range(20)]),
    ),
    "accuracy_zero": finding(
        "accuracy", "all elements are outside their bound", value=evidence(tail(start=0), got=0.0, ratio=30.0)
    ),
    "accuracy_twice": finding("accuracy", "1 element is outside its bound", value=evidence([(0, 7)], got=0.6)),
    "accuracy_large": finding(
        "accuracy",
        "elements of a large output are outside their bound",
        call=call(100, 1000, dtype="bfloat16"),
        value=evidence(
            [(row, 999) for row in range(100)], rows=100, columns=1000, dtype="bfloat16", ratio=1.83, ulp=3.1
        ),
        geometry=(Geometry("softmax_kernel", (100, 1, 1), meta=(("BLOCK", 256),)),),
    ),
    "special_values": finding(
        "special_values", "NaN was dropped", value=evidence([(0, 3)], got=0.25, exact=math.nan, ratio=math.inf)
    ),
    "metadata": finding(
        "metadata", "output 0 is float32, the op says bfloat16", notes=("torch.empty without dtype= gives float32",)
    ),
    "races": finding(
        "races",
        "two programs write one element",
        events=(
            event(
                Kind.WRITE_CONFLICT, "output 0", "8 elements", site=STORE, other_site=STORE, index=(0, 0), count=16,
                programs=((0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 0, 0)),
            ),
        ),
    ),
    "offsets": finding(
        "offsets",
        "an offset overflows 32 bits",
        events=(event(Kind.OVERFLOW, "x", "1073741824 * 2 does not fit in int32"),),
    ),
    "determinism": finding("determinism", "7 bits differ in reverse program order", value=evidence([(0, 1)])),
    "layouts": finding("layouts", "a padded x gives other bits than its contiguous copy", call=PADDED,
                       value=evidence([(1, 0), (2, 0)])),
    "batch_invariance": finding("batch_invariance", "row 1 alone has other bits", value=evidence([(1, 4)])),
    "configs": finding("configs", "config 2 of 3 disagrees", value=evidence([(0, 4)])),
    "relations": finding("relations", "softmax(x + c) is not softmax(x)", value=evidence([(0, 4)])),
    "agreement": finding("agreement", "softmax_cuda and softmax_triton disagree", value=evidence([(0, 19), (1, 19)])),
    "parity": finding("parity", "output 0 at (0, 4): 0.5 here, 0.25 in the record; this run is outside", value=None),
    "refusals": finding("refusals", "float64 was computed, and the kernel does not promise it", value=None),
    "exact": finding(
        "exact", "an element is counted twice", value=evidence([(2, 2)], got=6.0, exact=3.0, low=3.0, high=3.0)
    ),
    "crash": finding(
        "crash", "ValueError: arange's range must be a power of 2", call=call(3, 0), value=None, geometry=(),
        notes=("raised at my_kernels/softmax.py:9",),
    ),
    "cuda": finding(
        "races",
        "shared memory is read before a barrier",
        kernel="softmax_cuda",
        geometry=(Geometry("softmax_rows", (3, 1, 1), (128, 1, 1)),),
        events=(
            event(
                Kind.DATA_RACE, "shared memory", "4 bytes at 16", site=Site("softmax.cu", 31, "s[t] += s[t + 16];"),
                other_site=Site("softmax.cu", 29, "s[t] = m;"), kernel="softmax_rows", threads=((1, 0, 0), (17, 0, 0)),
            ),
        ),
    ),
}  # fmt: skip


def reports() -> list[Report]:
    """Three reports: a kernel that passes, one that is objected to, and one that needs a GPU."""
    draw = random.Random(0)
    versions = {"python": "3.11.9", "torch": "2.13.0", "triton": "3.9.0"}

    def result(dtype: str, oracle: str, **changes: Any) -> CaseResult:
        points = [(draw.choice([1, 17, 64, 300, 4097]), draw.betavariate(2, 5)) for _ in range(60)]
        fields: dict[str, Any] = {
            "examples": 100,
            "seconds": draw.uniform(0.1, 2),
            "points": points,
            "worst_ratio": max(ratio for _, ratio in points),
            "median_ratio": 0.25,
            "undecided": 0.0,
            "coverage": {
                "axis size": {"0": 4, "1": 20, "multiple of 16": 30, "prime": 25},
                "layout": {"contiguous": 60, "padded": 20, "expanded": 9},
                "last axis mod BLOCK": {"0": 22, "1": 18, "BLOCK - 1": 15},
                "dtype": {dtype: 100},
                "programs": {"1": 40, "2 to 4": 60},
            },
        }
        return CaseResult(dtype, oracle, **{**fields, **changes})

    lanes = ("launch", "layouts", "determinism", "batch_invariance", "exact")
    return [
        Report("softmax", "softmax_right", "interpret", versions, "a CPU", 0,
               [result(dtype, lane) for dtype in ("float16", "float32") for lane in lanes]),
        Report("softmax", "softmax_triton", "interpret", versions, "a CPU", 0,
               [result("float32", "launch", objections=["bounds", "accuracy"]),
                result("float32", "layouts", objections=["layouts"], xfail="needs stride(-1) == 1, issue 12")],
               [FINDINGS["bounds"], FINDINGS["accuracy_large"], FINDINGS["accuracy_last_tile"]]),
        Report("softmax", "softmax_cuda", "interpret", versions, "a CPU", 0,
               [CaseResult("float32", lane, skipped="no C++ compiler <g++> on the path") for lane in lanes]),
    ]  # fmt: skip
