"""The structures of runtime/abi.h."""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_double, c_int64, c_uint32, c_uint64, c_void_p

MAX_FINDINGS = 64
MAX_SPACES = 512  # machine.h
RED_ZONE, DYNAMIC_BYTES = 1024, 227 * 1024  # machine.h
ELEMENT, INIT, WRITABLE = 1, 2, 4  # enum emu_state
SHARED, TRACKED, IGNORED = 1, 2, 4  # enum emu_space_flags
ORDERS = {"row": 0, "reverse": 1, "random": 2}


class SpaceStruct(ctypes.Structure):
    """`struct emu_space`: a stretch of memory that a kernel may touch."""

    _fields_ = (
        ("base", c_void_p),
        ("bytes", c_uint64),
        ("margin_low", c_uint64),
        ("margin_high", c_uint64),
        ("state", c_void_p),
        ("grain", c_uint32),
        ("flags", c_uint32),
    )


class FindingStruct(ctypes.Structure):
    """`struct emu_finding`."""

    _fields_ = (
        ("kind", c_uint32),
        ("site", c_uint32),
        ("other_site", c_uint32),
        ("space", c_uint32),
        ("offset", c_int64),
        ("size", c_uint32),
        ("block", c_uint32 * 3),
        ("thread", c_uint32 * 3),
        ("other_block", c_uint32),
        ("other_thread", c_uint32 * 3),
        ("count", c_uint32),
        ("other_kind", c_uint32),
        ("now", c_uint32),
        ("text", c_char * 192),
    )


class Report(ctypes.Structure):
    """`struct emu_report`: what one launch did."""

    _fields_ = (
        ("findings", c_uint32),
        ("stopped", c_uint32),
        ("float_atomics", c_uint32),
        ("failed", c_uint32),
        ("interrupted", c_uint32),
        ("reads", c_uint64),
        ("writes", c_uint64),
        ("shared_reads", c_uint64),
        ("shared_writes", c_uint64),
        ("switches", c_uint64),
        ("finding", FindingStruct * MAX_FINDINGS),
    )


class ModuleStruct(ctypes.Structure):
    """`struct emu_module`: where a kernel's library lies."""

    _fields_ = (("low", c_uint64), ("high", c_uint64), ("readonly_high", c_uint64))


class Launch(ctypes.Structure):
    """`struct emu_launch`: the settings of one launch."""

    _fields_ = (
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("dynamic_bytes", c_uint32),
        ("order", c_uint32),
        ("seed", c_uint64),
        ("checked", c_uint32),
        ("isolated", c_uint32),
        ("spaces", c_uint32),
        ("space", ctypes.POINTER(SpaceStruct)),
        ("module", ModuleStruct),
        ("subscripts", ctypes.POINTER(c_uint64)),
        ("subscript_count", c_uint32),
        ("seconds", c_double),
    )
