"""Events from the findings of the runtime: source lines, arguments and logical indices."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.emulator.abi import FindingStruct, Report
from conformance.emulator.library import Library, Variable
from conformance.emulator.shadow import Storage, locate
from conformance.events import Event, Kind, Site

# enum emu_finding_kind of runtime/abi.h, in order
KINDS = (
    Kind.OUT_OF_BOUNDS_READ,
    Kind.OUT_OF_BOUNDS_WRITE,
    Kind.GAP_READ,
    Kind.GAP_WRITE,
    Kind.WILD_POINTER,
    Kind.MISALIGNED,
    Kind.INPUT_WRITE,
    Kind.UNINITIALIZED_READ,
    Kind.DATA_RACE,
    Kind.WRITE_CONFLICT,
    Kind.BARRIER_DIVERGENCE,
    Kind.DEADLOCK,
    Kind.WARP,
    Kind.DEVICE_ASSERT,
    Kind.CRASH,
    Kind.HANG,
    Kind.ARRAY_INDEX,
    Kind.OVERFLOW,
)
_TWO_SIDED = (Kind.DATA_RACE, Kind.WRITE_CONFLICT)
_ACCESS = ("reads", "writes", "atomically updates")
_PAGE = 4096  # the first page is never mapped
_FAR = 1 << 20  # a pointer so far away may as well have come from another argument
Memory = Storage | Variable  # what a space of the launch stands for


def events(
    report: Report, library: Library, kernel: str, memory: Sequence[Memory], grid: tuple[int, int, int]
) -> list[Event]:
    """The events of one launch, in the order in which they were found."""
    found = [report.finding[i] for i in range(report.findings)]
    sites = library.sites([a for f in found for a in (f.site, f.other_site)])
    return [_event(f, sites, library, kernel, memory, grid) for f in found]


def _event(
    f: FindingStruct,
    sites: dict[int, Site | None],
    library: Library,
    kernel: str,
    memory: Sequence[Memory],
    grid: tuple[int, int, int],
) -> Event:
    kind = KINDS[f.kind]
    block, thread = tuple(f.block), tuple(f.thread)
    argument, index, offset, detail = kernel, None, None, f.text.decode()
    if f.space < len(memory):
        space = memory[f.space]
        if isinstance(space, Storage):
            region, index, offset = locate(space.regions, space.shadow.low + f.offset)
            argument, span = region.name, space.shadow.size
        else:
            argument, offset, span = space.title, f.offset, space.size
        detail = _detail(kind, f, argument, index, span, grid)
    elif kind is Kind.WILD_POINTER:
        address = f.offset & (2**64 - 1)
        where = "through a null pointer" if address < _PAGE else "near no argument"
        detail = f"{_ACCESS[f.now]} {f.size} bytes at {address:#x}, {where}"
    threads = (thread, tuple(f.other_thread)) if kind in _TWO_SIDED else (thread,)
    programs = (block, _block(f.other_block, grid)) if kind in _TWO_SIDED else (block,)
    return Event(
        kind=kind,
        argument=argument,
        detail=f"block {block} thread {thread} {detail}",
        site=sites.get(f.site),
        other_site=sites.get(f.other_site),
        index=index,
        offset=offset,
        programs=programs,
        threads=threads,
        count=f.count,
        kernel=kernel,
    )


def _detail(
    kind: Kind, f: FindingStruct, argument: str, index: tuple[int, ...] | None, span: int, grid: tuple[int, int, int]
) -> str:
    verb = f"{_ACCESS[f.now]} {f.size} bytes"
    where = f"{argument}{list(index) if index is not None else f' + {f.offset} bytes'}"
    if kind in (Kind.OUT_OF_BOUNDS_READ, Kind.OUT_OF_BOUNDS_WRITE):
        far = "" if -_FAR < f.offset < span + _FAR else ", the nearest of all"
        if f.offset >= 0:
            return f"{verb}, {f.offset + f.size - span} bytes past the end of {argument} ({span} bytes long){far}"
        return f"{verb}, {-f.offset} bytes before {argument}{far}"
    if kind is Kind.OVERFLOW:
        return f"{f.text.decode()} on the way to {where}"
    if kind in (Kind.GAP_READ, Kind.GAP_WRITE):
        return f"{verb} of {where}, inside the storage but no element of the tensor"
    if kind is Kind.INPUT_WRITE:
        return f"{verb} of {where}, an input"
    if kind is Kind.UNINITIALIZED_READ:
        return f"{verb} of {where}, which nothing has written"
    other = _block(f.other_block, grid)
    who = (
        f"thread {tuple(f.other_thread)}"
        if other == tuple(f.block)
        else f"block {other} thread {tuple(f.other_thread)}"
    )
    return f"{_ACCESS[f.now]} {where}, which {who} {_ACCESS[f.other_kind]}, and nothing orders the two"


def _block(number: int, grid: tuple[int, int, int]) -> tuple[int, int, int]:
    return number % grid[0], number // grid[0] % grid[1], number // grid[0] // grid[1]
