"""The child processes of isolation: a nursery that imports once and forks workers, which judge calls until they die.

Run by `conformance.device.isolation` through `main`. The nursery never touches a
GPU: a CUDA context does not survive a fork. Where an import of the user's touches it all the same, the nursery says so
and becomes the only worker itself.
"""

from __future__ import annotations

import array
import base64
import ctypes
import faulthandler
import os
import pickle
import signal
import socket
import sys
import time
import traceback
from typing import Any

from conformance.device.channel import Channel

# Exit codes that the suite can tell from those of a kernel are not possible; these only help people who debug it.
_DEVICE_LOST = 86
# The parent ends a call that hangs a moment after the child should have done so itself with a Python stack.
GRACE_SECONDS = 2.0
_DESCRIPTORS = 2  # a worker's socket, and where it prints


class Nursery:
    """Answers the parent: sets trials up, forks workers, reports how they ended."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.trials: dict[str, Any] = {}
        self.ended: dict[int, int] = {}  # exit status of workers that have ended, by process id

    def serve(self) -> None:
        """Answer until the parent is gone."""
        while True:
            request, descriptors = _receive(self.channel)
            if request is None:
                os._exit(0)
            if request["do"] == "fork":
                self._fork(descriptors)
            elif request["do"] == "status":
                self.channel.send({"status": self._status(request["pid"], request["seconds"])})
            else:
                self.channel.send(set_up(self.trials, request))

    def _status(self, pid: int, seconds: float) -> int | None:
        """How a worker ended: its exit code, or minus the signal that killed it; None if it has not within the time."""
        deadline = time.monotonic() + seconds
        while True:
            self._reap()
            if pid in self.ended or time.monotonic() > deadline:
                return self.ended.pop(pid, None)
            time.sleep(0.001)

    def _reap(self) -> None:
        while True:
            try:
                ended, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not ended:
                return
            self.ended[ended] = os.waitstatus_to_exitcode(status)

    def _fork(self, descriptors: list[int]) -> None:
        self._reap()
        own = cuda_in_use()
        pid = os.getpid() if own else os.fork()
        if pid and not own:
            for descriptor in descriptors:
                os.close(descriptor)
            self.channel.send({"pid": pid, "forked": True})
            return
        if own:
            self.channel.send({"pid": pid, "forked": False})
        self.channel.close()
        if not own:
            os.setsid()  # what the kernel starts in turn is killed with the worker
        os.dup2(descriptors[1], 1)
        os.dup2(descriptors[1], 2)
        os.close(descriptors[1])
        Worker(Channel(socket.socket(fileno=descriptors[0])), self.trials).serve()


class Worker:
    """Judges calls, one at a time, in a process that a kernel may end."""

    def __init__(self, channel: Channel, trials: dict[str, Any]) -> None:
        self.channel = channel
        self.trials = trials

    def serve(self) -> None:
        """Answer until the parent is gone or the device is lost."""
        from conformance import runtime

        faulthandler.enable()  # a segmentation fault leaves the Python stack in the output
        if runtime.current() == "gpu":
            _warm_up(runtime.device())
        self.channel.send({"ready": True})
        while True:
            request = self.channel.receive()
            if request is None:
                os._exit(0)
            if request["do"] == "set_up":
                self.channel.send(set_up(self.trials, request))
                continue
            faulthandler.dump_traceback_later(request["seconds"], exit=True)
            answer = self._judge(request)
            faulthandler.cancel_dump_traceback_later()
            self.channel.send(answer)
            if "lost" in answer:
                sys.stdout.flush()
                os._exit(_DEVICE_LOST)  # an orderly exit would touch the lost context

    def _judge(self, request: dict[str, Any]) -> dict[str, Any]:
        from conformance.op import OpError
        from conformance.runtime import CannotBeJudged

        answer: dict[str, Any]
        started = time.perf_counter()
        try:
            answer = _answer(self.trials[request["trial"]], request)
        except OpError as error:
            answer = {"op_error": str(error)}
        except CannotBeJudged as error:
            answer = {"unjudged": str(error)}
        except KeyboardInterrupt:
            os._exit(128 + signal.SIGINT)
        except BaseException as error:  # noqa: BLE001 - reported to the parent, which raises it
            answer = {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
        lost = lost_device()
        if lost is not None:
            answer = {"lost": lost}
        answer["seconds"] = time.perf_counter() - started
        return answer


def _answer(trial: Any, request: dict[str, Any]) -> dict[str, Any]:
    from conformance.device import precompile, verdicts, watch
    from conformance.lanes import LANES
    from conformance.launch import Settings
    from conformance.report.encoding import encode

    if request["do"] == "compile":
        calls = [*map(verdicts.decode_drawn, request["drawn"])]
        return {"counts": precompile.compile_calls(trial, LANES[request["lane"]], calls).to_json()}
    drawn = verdicts.decode_drawn(request["drawn"])
    if request["do"] == "geometry":
        return {"geometry": encode(trial.launch(drawn, Settings(dry=True)).geometry)}
    trial.tightness.clear()
    trial.launched = None
    with watch.counting() as counts:
        objections = LANES[request["lane"]].check(trial, drawn)
    tightness = trial.tightness
    return {
        "objections": [verdicts.encode_objection(each) for each in objections],
        "points": tightness.points,
        "biases": tightness.biases,
        "undecided": tightness.undecided,
        "judged": tightness.judged,
        "geometry": encode(trial.launched or ()),
        "counts": counts.to_json(),
    }


def set_up(trials: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """Import the op and the kernel of a trial; the answer says what failed."""
    try:
        sys.path[:] = request["path"]
        given = pickle.loads(base64.b64decode(request["given"]))
        from conformance import lanes, runtime
        from conformance.device import policy
        from conformance.trial import Trial

        assert lanes.LANES  # imported once here, not in every worker
        runtime.select(given["runtime"], stock=given["stock"])
        policy.select(given["policy"])
        trials[request["trial"]] = Trial(
            given["op"].load(), given["kernel"].load(), given["promises"], name=given["name"], meta=given["meta"]
        )
        if runtime.current() == "interpret":
            runtime.prepare()
    except SystemExit as error:
        return {"error": f"an import calls sys.exit({error.code!r})"}
    except Exception as error:  # noqa: BLE001 - whatever the user's modules raise is reported
        return {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
    return {"ok": True}


def _warm_up(device: Any) -> None:
    """Make the CUDA context, and let torch load the code that placing and comparing tensors needs: not in a call."""
    import torch

    from conformance.device import fence

    fence.unavailable(device)
    values = torch.arange(16, dtype=torch.float32)
    there = torch.empty(16, device=device).fill_(1.0)
    there.copy_(values)
    torch.equal(there.view(torch.uint8), there.view(torch.uint8).clone())
    there.cpu()


def lost_device() -> str | None:
    """The error that the CUDA device of this process gives to everything, None while it works."""
    import torch

    from conformance import runtime

    if runtime.hung():
        return "the kernel did not end"
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return None
    try:
        torch.cuda.synchronize()
    except RuntimeError as error:
        return str(error)
    return None


def cuda_in_use() -> bool:
    """Whether this process has initialized the CUDA driver, through whatever library."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return bool(library.cuDeviceGetCount(ctypes.byref(count)) == 0)  # 3, not initialized, before cuInit


def _receive(channel: Channel) -> tuple[dict[str, Any] | None, list[int]]:
    """The next request, and the file descriptors that came with it."""
    descriptors = array.array("i")
    space = socket.CMSG_SPACE(_DESCRIPTORS * descriptors.itemsize)
    while (request := channel.take()) is None:
        data, ancillary, _, _ = channel.socket.recvmsg(1 << 16, space)
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
        if not data:
            return None, []
        channel.put(data)
    return request, list(descriptors)


def main(descriptor: int) -> None:
    """Serve the parent at the other end of the socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's; it ends its children
    Nursery(Channel(socket.socket(fileno=descriptor))).serve()
