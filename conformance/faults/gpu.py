"""The faults that show on a GPU alone, or that end the process they run in."""

from __future__ import annotations

from conformance.faults import (
    gpu_device_assert,
    gpu_host_segfault,
    gpu_infinite_loop,
    gpu_misaligned_vector,
    gpu_out_of_memory,
    gpu_read_before_start,
    gpu_read_past_end,
    gpu_shared_race,
    gpu_wild_pointer,
    gpu_write_before_start,
    gpu_write_past_end,
)
from conformance.faults.fault import Fault

GPU_FAULTS: tuple[Fault, ...] = (
    gpu_device_assert.fault,
    gpu_host_segfault.fault,
    gpu_infinite_loop.fault,
    gpu_misaligned_vector.fault,
    gpu_out_of_memory.fault,
    gpu_read_before_start.fault,
    gpu_read_past_end.fault,
    gpu_shared_race.fault,
    gpu_wild_pointer.fault,
    gpu_write_before_start.fault,
    gpu_write_past_end.fault,
)
