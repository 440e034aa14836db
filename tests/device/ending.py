"""Kernels that end, block or garble the process that runs them, and an op that they claim to compute."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

import torch

import strategies as kst
from conformance import Op

copy = Op(lambda x: x.clone(), {"x": kst.tensors("n", dtypes=(torch.float32, torch.float64))}, name="copy")


def _reference(x):
    raise ValueError("no reference today")


broken_op = Op(_reference, {"x": kst.tensors("n", dtypes=(torch.float32, torch.float64))}, name="broken")

rounded = Op(lambda x: x / 3, {"x": kst.tensors("n", dtypes=(torch.float32,))}, name="rounded")


def rounds_down(x):
    return torch.nextafter(x / 3, torch.zeros_like(x))


def correct(x):
    return x.clone()


def wrong(x):
    return x + 1


def segfault(x):
    if x.numel() > 4:
        ctypes.string_at(0)
    return x.clone()


def leaves(x):
    if x.numel() > 4:
        os._exit(3)
    return x.clone()


def is_killed(x):
    if x.numel() > 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return x.clone()


def loops(x):
    while x.numel() > 4:
        pass
    return x.clone()


def sleeps_with_the_lock(x):
    if x.numel() > 4:
        ctypes.PyDLL(None).sleep(60)  # keeps the interpreter's lock: no Python watchdog can run
    return x.clone()


def garbles(x):
    if x.numel() > 4:
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, b"no frame of anybody\n" * 10)
            except OSError:
                continue
        time.sleep(60)
    return x.clone()


def closes_everything(x):
    if x.numel() > 4:
        os.closerange(3, 256)
        time.sleep(60)
    return x.clone()


def prints(x):
    for _ in range(200):
        os.write(1, b"out " * 1000)
        sys.stderr.write("err " * 1000)
    return x.clone()


class StubbornError(Exception):
    def __reduce__(self):
        raise TypeError("not to be pickled")


def raises(x):
    raise StubbornError("of my own")


def exits(x):
    sys.exit("enough")


def leaves_a_grandchild(x):
    if x.numel() > 4:
        if os.fork() == 0:
            time.sleep(60)
        os._exit(4)
    return x.clone()
