"""Isolation: calls are judged in a child process, so that a kernel that ends its process costs one call.

An illegal access, a device assert, a hang, a segmentation fault or `os._exit` becomes an objection like any other; the
child is replaced, and Hypothesis goes on to shrink the call.
"""

from __future__ import annotations

import atexit
import base64
import collections
import os
import pickle
import selectors
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from conformance import runtime
from conformance.device import policy
from conformance.device.address import find
from conformance.device.channel import Channel, Garbled
from conformance.device.worker import GRACE_SECONDS

if TYPE_CHECKING:
    from conformance.trial import Trial

# Seconds that importing torch, Triton and the user's modules may take on a slow disk.
_IMPORT_SECONDS = 300.0
# Seconds that a process whose socket has closed takes to be gone, and one that was killed while its kernel ran.
_DYING_SECONDS = 5.0
_REAP_SECONDS = 15.0
# Not `-m`, which would load the module a second time, as `__main__`.
_NURSERY = "import sys; from conformance.device.worker import main; main(int(sys.argv[1]))"
# Workers in reserve once one has ended; each holds a CUDA context of some 500 MB.
_RESERVES = 3
# Bytes of what a child prints that are kept, the last ones.
_OUTPUT = 1 << 14


class IsolationError(RuntimeError):
    """A child process cannot be set up; the message says why."""


class Ended(Exception):
    """The worker ended during a call. `status` is its exit code or minus the signal, None if unknown; `hung` says that
    it ran out of time; `garbled` what it wrote instead of an answer; `output` what it printed last."""

    def __init__(self, *, hung: bool = False, garbled: str | None = None) -> None:
        super().__init__("the worker ended")
        self.hung = hung
        self.garbled = garbled
        self.status: int | None = None
        self.output = ""


class Gone(Exception):
    """A worker was dead before it was given anything to do: the system ended it, no kernel did."""


class Process:
    """A nursery and its workers: one at work and, where forking works, one in reserve, three once one has ended."""

    def __init__(self) -> None:
        self._nursery: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None  # to the nursery; None once it has become a worker itself
        self._worker: _Worker | None = None
        self._reserves: collections.deque[_Worker] = collections.deque()
        self._setups: dict[str, dict[str, Any]] = {}
        self.replaced = 0

    def add(self, key: str, setup: dict[str, Any]) -> None:
        """Set a trial up in the nursery, and later in each worker. Raises IsolationError where an import fails."""
        if key in self._setups:
            return
        if self._nursery is None:
            self._start()
        if self._channel is not None:
            self._ask({"do": "set_up", "trial": key, **setup})
        self._setups[key] = setup

    def call(self, key: str, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The worker's answer; a worker whose device is lost is let go after it.

        Raises Ended where the worker ends during the call; the next one has another worker.
        """
        for attempt in range(2):
            worker = self._ready_worker(key)
            try:
                answer = worker.ask({**request, "trial": key, "seconds": seconds}, seconds + GRACE_SECONDS)
            except Gone:
                self._replace(worker, Ended(hung=True))
                if attempt:
                    raise IsolationError("the system keeps ending the child processes: is there memory left?") from None
            except Ended as ended:
                self._replace(worker, ended)
                raise
            except KeyboardInterrupt:
                self.close()
                raise
            else:
                if "lost" in answer:
                    answer["output"] = worker.output()
                    self._worker = None
                    self.replaced += 1
                    self._discard(worker)
                return answer
        raise AssertionError("unreachable")

    def close(self) -> None:
        """End all child processes."""
        for worker in (self._worker, *self._reserves):
            if worker is not None:
                worker.kill()
                worker.close()
        self._worker = None
        self._reserves.clear()
        self._setups.clear()
        self._end_nursery()

    def _ready_worker(self, key: str) -> _Worker:
        if self._worker is None:
            self._worker = self._reserves.popleft() if self._reserves else self._fork()
            try:
                self._worker.wait_ready()
            except Ended as end:
                worker, self._worker = self._worker, None
                self._bury(worker, end)
                raise IsolationError(f"a child process does not start (status {end.status}): {end.output}") from None
            wanted = (_RESERVES if self.replaced else 1) if self._worker.forked else 0
            while len(self._reserves) < wanted:
                self._reserves.append(self._fork())  # makes its CUDA context while the other one works
        worker = self._worker
        if key not in worker.known:
            answer = worker.ask({"do": "set_up", "trial": key, **self._setups[key]}, _IMPORT_SECONDS)
            if "error" in answer:
                raise IsolationError(_import_message(answer))
            worker.known.add(key)
        return worker

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        environment = {
            **os.environ,
            # torch's own check initializes CUDA, which then cannot be used after a fork; NVML's does not
            "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
            "PYTHONPATH": os.pathsep.join([path for path in sys.path if path]),
        }
        with theirs:
            self._nursery = subprocess.Popen(
                [sys.executable, "-c", _NURSERY, str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        self._channel = Channel(ours)

    def _end_nursery(self) -> None:
        if self._channel is not None:
            self._channel.close()
        if self._nursery is not None:
            _kill(self._nursery.pid)
            self._nursery.wait()
        self._nursery = self._channel = None

    def _ask(self, request: dict[str, Any], descriptors: tuple[int, ...] = ()) -> dict[str, Any]:
        assert self._channel is not None
        assert self._nursery is not None
        self._channel.socket.settimeout(_IMPORT_SECONDS)
        try:
            self._channel.send(request, descriptors)
            answer = self._channel.receive()
        except (OSError, Garbled) as error:
            answer = {"error": f"the child process does not answer: {error}"}
        if answer is None:
            answer = {"error": f"an import ends the process with status {self._nursery.wait()}"}
        if "error" in answer:
            self.close()
            raise IsolationError(_import_message(answer))
        return answer

    def _fork(self) -> _Worker:
        if self._channel is None:  # there was no nursery, or it was the worker that died
            self._start()
            for key, setup in self._setups.items():
                self._ask({"do": "set_up", "trial": key, **setup})
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        try:
            answer = self._ask({"do": "fork"}, (theirs.fileno(), writing))
        finally:
            theirs.close()
            os.close(writing)
        if not answer["forked"]:
            assert self._channel is not None
            self._channel.close()
            self._channel = None
        return _Worker(answer["pid"], answer["forked"], Channel(ours), reading, set(self._setups))

    def _replace(self, worker: _Worker, ended: Ended) -> None:
        self._worker = None
        self.replaced += 1
        self._bury(worker, ended)

    def _bury(self, worker: _Worker, ended: Ended) -> None:
        """Wait for the end of a worker, or bring it about, and note in `ended` how it was."""
        if not ended.hung and ended.garbled is None:
            ended.status = self._status(worker, _DYING_SECONDS)
        if ended.status is None:
            worker.kill()
            if not ended.hung:  # the driver takes its time to stop a kernel, and how it ended is known
                self._status(worker, _REAP_SECONDS)
        if not worker.forked:
            self._end_nursery()
        ended.output = worker.output()
        worker.close()

    def _discard(self, worker: _Worker) -> None:
        """End a worker without waiting for it: the driver takes its time to take a context down."""
        worker.kill()
        worker.close()
        if not worker.forked:
            self._end_nursery()

    def _status(self, worker: _Worker, seconds: float) -> int | None:
        if worker.forked:
            status: int | None = self._ask({"do": "status", "pid": worker.pid, "seconds": seconds})["status"]
            return status
        assert self._nursery is not None
        try:
            return self._nursery.wait(seconds)
        except subprocess.TimeoutExpired:
            return None


class _Worker:
    """A worker as the parent sees it."""

    def __init__(self, pid: int, forked: bool, channel: Channel, printed: int, known: set[str]) -> None:
        self.pid = pid
        self.forked = forked
        self.known = known
        self._channel = channel
        self._printed: int | None = printed
        self._output = bytearray()
        self._process = _watch(pid)
        os.set_blocking(printed, False)
        channel.socket.settimeout(_DYING_SECONDS)

    def wait_ready(self) -> None:
        """Wait until the worker has made its CUDA context. Raises Ended."""
        self.answer(_IMPORT_SECONDS)

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The answer to a request. Raises Ended where the worker ends, Gone where it had ended before."""
        try:
            self.send(request)
        except OSError:
            raise Gone from None
        return self.answer(seconds)

    def send(self, request: dict[str, Any]) -> None:
        """Give the worker a request. Raises OSError where it has ended."""
        self._output.clear()
        self._channel.send(request)

    def answer(self, seconds: float) -> dict[str, Any]:
        """The next answer. Raises Ended."""
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._channel.socket, selectors.EVENT_READ)
            if self._printed is not None:
                selector.register(self._printed, selectors.EVENT_READ)
            if self._process is not None:
                selector.register(self._process, selectors.EVENT_READ)
            while (left := deadline - time.monotonic()) > 0:
                ready = {key.fileobj for key, _ in selector.select(left)}
                if self._printed in ready and not self._read():
                    selector.unregister(self._printed)
                    self._close_output()
                # a process that the kernel started may hold the socket open after the worker's own end
                is_open = self._process not in ready
                if self._channel.socket not in ready and is_open:
                    continue
                try:
                    if self._channel.socket in ready:
                        is_open = self._channel.feed() and is_open
                    answer = self._channel.take()
                except Garbled as error:
                    raise Ended(garbled=str(error)) from None
                if answer is not None:
                    return answer
                if not is_open:
                    # the child's own watchdog, which prints a Python stack, is a moment ahead of this one
                    raise Ended(hung=deadline - time.monotonic() <= GRACE_SECONDS)
        raise Ended(hung=True)

    def _read(self) -> bool:
        """Read a piece of what the worker prints; False at its end."""
        assert self._printed is not None
        try:
            data = os.read(self._printed, 1 << 16)
        except BlockingIOError:
            return True
        self._output += data
        del self._output[:-_OUTPUT]
        return bool(data)

    def output(self) -> str:
        """The last of what the worker printed since the last request."""
        with selectors.DefaultSelector() as selector:
            if self._printed is not None:
                selector.register(self._printed, selectors.EVENT_READ)
                while selector.select(0) and self._read():
                    continue
        return self._output.decode("utf-8", "replace")

    def kill(self) -> None:
        """Kill the worker and what it started; nothing where it is dead."""
        _kill(self.pid)

    def close(self) -> None:
        """Close the parent's ends."""
        self._channel.close()
        self._close_output()
        if self._process is not None:
            os.close(self._process)
            self._process = None

    def _close_output(self) -> None:
        if self._printed is not None:
            os.close(self._printed)
            self._printed = None


def _watch(pid: int) -> int | None:
    """A descriptor that is readable once the process has ended, None where the system has none (Linux before 5.3)."""
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):
        return None


def _kill(pid: int) -> None:
    """Kill the process group that the process leads, or the process where it leads none yet."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return


def _import_message(answer: dict[str, Any]) -> str:
    return (
        f"a child process cannot import the op or the kernel: {answer['error']}\n{answer.get('traceback', '')}".strip()
    )


def describe(trial: Trial) -> dict[str, Any]:
    """What a child needs to set the trial up.

    Raises:
        conformance.device.address.NotImportable: the op or the kernel has no name that can be imported.
        IsolationError: a promise or a meta-parameter cannot be sent.
    """
    given = {
        "op": find(trial.op, "the op"),
        "kernel": find(trial.kernel, "the kernel"),
        "promises": trial.promises,
        "name": trial.name,
        "meta": trial.meta,
        "runtime": runtime.current(),
        "stock": runtime.stock(),
        "policy": policy.current(),
    }
    try:
        text = base64.b64encode(pickle.dumps(given)).decode()
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise IsolationError(f"the trial cannot be sent to a child process: {error}") from error
    return {"path": [path or os.getcwd() for path in sys.path], "given": text}


_process = Process()
atexit.register(_process.close)


def process() -> Process:
    """The child processes of this one."""
    return _process
