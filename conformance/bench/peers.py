"""The published tools, installed from the package registry in environments of their own, on the faults of this suite.

They see the torch, NumPy and Hypothesis of the suite, so that the same calls are drawn, and where they need another
Triton they have it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sysconfig
import venv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import conformance
from conformance.bench.attempts import Attempt

FOLDER = Path(".conformance/peers")
# What an installation may take: Triton alone is 250 MB.
_INSTALL_SECONDS = 1200


@dataclasses.dataclass(frozen=True)
class Peer:
    """A tool: what is installed, with which options of pip, how it runs a script, what it is driven with, and whether
    it takes CUDA kernels."""

    name: str
    requirements: tuple[str, ...]
    options: tuple[str, ...]
    command: tuple[str, ...]
    driven: str
    cuda: bool = False


PEERS: tuple[Peer, ...] = (
    Peer(
        "gpucheck",
        ("gpucheck==0.1.0",),
        ("--no-deps",),  # NumPy, pytest and rich
        ("python",),
        "its shapes, values and `assert_close`, in this suite's interpreter and emulator, since it has none",
        cuda=True,
    ),
    Peer(
        "tilelens",
        ("tilelens==3.1.1", "triton==3.8.0"),
        (),
        ("tile-sanitizer",),
        "the calls of the Hypothesis test under `tile-sanitizer`, with the Triton 3.8 that it runs on; it computes no "
        "values",
    ),
    Peer(
        "ttsem",
        ("ttsem==0.1.0", "triton==3.8.0"),
        ("--no-deps", "--ignore-requires-python"),  # NumPy; it declares Python 3.12, and runs on 3.11 as well
        ("python", "-m", "ttsem.sanitize"),
        "the Hypothesis test, its comparison too, under `python -m ttsem.sanitize`, with the Triton 3.8 that it is "
        "tested with",
    ),
)


class PeerUnavailable(Exception):
    """The tool cannot be installed here or does not run; the message says why."""


def install(peer: Peer, folder: Path = FOLDER) -> Path:
    """The `bin` folder of the tool's environment, made if it is not there.

    Raises:
        PeerUnavailable: the installation failed; the message is pip's error.
    """
    home = folder.resolve() / peer.name
    done = home / "installed"
    if done.is_file() and done.read_text(encoding="utf-8").split() == list(peer.requirements):
        return home / "bin"
    venv.create(home, clear=True, with_pip=True)
    python = str(home / "bin/python")
    _run([python, "-m", "pip", "install", "--quiet", *peer.options, *peer.requirements], os.environ, _INSTALL_SECONDS)
    (packages,) = (home / "lib").glob("python*/site-packages")
    (packages / "suite.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    done.write_text("\n".join(peer.requirements), encoding="utf-8")
    return home / "bin"


def measure(
    peer: Peer, budgets: Mapping[str, float], report: Callable[[str], None], folder: Path = FOLDER
) -> dict[str, Attempt]:
    """The attempts of the tool at the faults that are named in `budgets`, with CPU seconds for each.

    Raises:
        PeerUnavailable: it could not be installed, or ended before the last fault.
    """
    programs = install(peer, folder)
    given, results = folder / f"{peer.name}.budgets.json", folder / f"{peer.name}.results.jsonl"
    given.write_text(json.dumps(dict(budgets)), encoding="utf-8")
    results.unlink(missing_ok=True)
    first, *rest = peer.command
    script = Path(__file__).with_name("peer_tests.py")
    environment = {
        **{name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"},
        "PYTHONPATH": str(Path(conformance.__file__).parents[1]),
        "PYTHONSAFEPATH": "1",  # the script lies among modules with common names
    }
    report(f"{peer.name}: {len(budgets)} faults")
    _run([str(programs / first), *rest, str(script), peer.name, str(given), str(results)], environment, None)
    attempts = {}
    for line in results.read_text(encoding="utf-8").splitlines():
        each = json.loads(line)
        attempts[each.pop("fault")] = Attempt(**each)
    if missing := set(budgets) - set(attempts):
        raise PeerUnavailable(f"it ended before {', '.join(sorted(missing))}")
    return attempts


def _run(command: Sequence[str], environment: Mapping[str, str], seconds: float | None) -> None:
    try:
        done = subprocess.run(
            command, env=environment, timeout=seconds, check=False, text=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise PeerUnavailable(f"{Path(command[0]).name} did not end within {seconds} s") from error
    except OSError as error:
        raise PeerUnavailable(str(error)) from error
    if done.returncode:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in said if line.lower().startswith("error")]  # what pip says after them are hints
        raise PeerUnavailable([f"{Path(command[0]).name} ended with {done.returncode}", *said, *errors][-1])
