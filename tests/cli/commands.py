"""Commands as a user runs them, over the ops and kernels of a folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from conformance.cli import main

ROOT = Path(__file__).resolve().parents[2]

OPS = """
import torch
import strategies as kst
from conformance import Op

double = Op(lambda x: x * 2, {"x": kst.tensors("rows", "cols", dtypes=(torch.float32,))}, name="double")


def reference(x):
    return x * 2
"""

REFERENCE_THAT_EXITS = "def reference(x):\n    import sys\n    sys.exit(0)\n\n\n"

KERNELS = """
import os, sys, threading, time
import torch

def right(x):
    return x * 2

def wrong(x):
    out = x * 2
    if x.shape[-1] % 8:
        out[..., x.shape[-1] // 8 * 8:] = 0.5
    return out

def prints(x):
    print("hello from the kernel")
    print("and to stderr", file=sys.stderr)
    return x * 2

def exits(x):
    sys.exit(3)

def gives_tuple(x):
    return (x * 2, x)

def gives_none(x):
    x * 2

def gives_array(x):
    return (x * 2).numpy()

def needs_gpu(x):
    return x * torch.full((), 2.0, device="cuda")

def starts_thread(x):
    if not any(thread.name == "left" for thread in threading.enumerate()):
        threading.Thread(target=time.sleep, args=(600,), name="left").start()
    return x * 2

def prints_in_c(x):
    os.write(1, b"hello from C")
    return x * 2

def ends_the_process(x):
    os._exit(0)

def raises(x):
    raise KeyError("no such block")

def takes_a_folder_away(x):
    if os.path.isdir("results"):
        os.rmdir("results")
    return wrong(x)

def slow(x):
    open("running", "w").close()
    time.sleep(0.01)
    return x * 2

not_a_function = 3
"""


def run(*arguments: str) -> Result:
    """The result of a command; an exception that is no exit is raised."""
    result = CliRunner().invoke(main, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def check(kernel: str, *more: str) -> Result:
    """The result of checking a kernel of the folder with few examples."""
    options = ("--op", "cli_ops.py:double", "--examples", "15", "--oracle", "launch")
    return run("check", f"cli_kernels.py:{kernel}", *options, *more)


def start(folder: Path, kernel: str, *more: str) -> subprocess.Popen[str]:
    """A check in a process of its own."""
    options = ("--op", "cli_ops.py:double", "--oracle", "launch")
    return start_command(folder, "check", f"cli_kernels.py:{kernel}", *options, *more)


def start_command(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """A command in a process of its own; modules in `first` take the place of those that are installed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "first"), str(ROOT), *sys.path[1:]])}
    return subprocess.Popen(
        [sys.executable, "-m", "conformance", *arguments], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        # a test run that a shell started in the background ignores SIGINT, and so would its children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
