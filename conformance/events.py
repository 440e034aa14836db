"""What an observed launch did that no kernel may do: one `Event` for each kind, argument and source line."""

from __future__ import annotations

import dataclasses
import enum
from pathlib import Path


class Kind(str, enum.Enum):
    """The kinds of event; the value is the name that reports and JSON records use."""

    # bounds
    OUT_OF_BOUNDS_READ = "out-of-bounds read"
    OUT_OF_BOUNDS_WRITE = "out-of-bounds write"
    GAP_READ = "gap read"  # inside the storage, between the elements of a strided view
    GAP_WRITE = "gap write"
    WILD_POINTER = "wild pointer"
    ILLEGAL_ADDRESS = "illegal address"  # a device fault: which address, and whether read or written, is not known
    ACCESS_WIDTH = "access width"  # the value's width is not the pointer's
    MISALIGNED = "misaligned access"
    MISREAD = "misread argument"  # packed as another type than the parameter has
    ARRAY_INDEX = "index outside an array"  # of a thread's own, which is no argument
    # written, inputs_kept
    INPUT_WRITE = "write to an input"
    UNINITIALIZED_READ = "uninitialized read"
    UNWRITTEN = "unwritten output"
    # races
    WRITE_CONFLICT = "two programs write one element"
    LANE_CONFLICT = "two lanes write one element"
    READ_AFTER_WRITE = "read after another program's write"
    WRITE_AFTER_READ = "write after another program's read"
    DATA_RACE = "data race"
    BARRIER_DIVERGENCE = "barrier divergence"
    DEADLOCK = "deadlock"
    WARP = "bad warp operation"
    # offsets
    OVERFLOW = "32-bit overflow"
    GRID_LIMIT = "grid limit"
    # the launch itself
    DEVICE_ASSERT = "device assert"
    REJECTED = "rejected by the compiler"  # runs here, does not compile for a GPU
    CRASH = "crash"
    HANG = "hang"


@dataclasses.dataclass(frozen=True)
class Site:
    """A line of the kernel's source; as text, with the path from the working directory where it lies below that."""

    file: str
    line: int
    source: str = ""

    def __str__(self) -> str:
        try:
            return f"{Path(self.file).relative_to(Path.cwd())}:{self.line}"
        except (ValueError, FileNotFoundError):  # elsewhere; the working directory is gone
            return f"{self.file}:{self.line}"


@dataclasses.dataclass(frozen=True)
class Event:
    """One thing that a launch did wrong, merged over lanes and programs.

    `argument` is the op's argument name (`x`), `output 0` or `allocation 2`; `index` the logical index of the first
    element concerned, None where the address is no element; `offset` the byte offset from the first element; `programs`
    the first program ids concerned (for CUDA: block ids, with `threads` beside them); `count` the lanes.
    """

    kind: Kind
    argument: str
    detail: str
    site: Site | None = None
    other_site: Site | None = None
    index: tuple[int, ...] | None = None
    offset: int | None = None
    programs: tuple[tuple[int, int, int], ...] = ()
    threads: tuple[tuple[int, int, int], ...] = ()
    count: int = 1
    kernel: str = ""

    def __str__(self) -> str:
        where = f" at {self.site}" if self.site else ""
        return f"{self.kind.value}: {self.argument}{where}: {self.detail}"
