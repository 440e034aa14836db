"""Messages between the suite and its child processes: JSON in frames over a socket of its own."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Sequence
from typing import Any

_HEADER = struct.Struct("<4sI")
_MAGIC = b"TCF1"
# A verdict is a few kilobytes; its largest parts, the flat indices of wrong elements, are capped at 4096.
_LARGEST = 1 << 26


class Garbled(Exception):
    """What came through the socket is no frame: the kernel wrote to a descriptor that is not its own."""


class Channel:
    """One end of a socket that carries messages."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self._buffer = bytearray()

    def send(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        """Send a message, with file descriptors where the socket is a Unix one.

        Raises OSError where the other end is gone, TypeError for what has no JSON form.
        """
        data = json.dumps(message).encode()
        frame = _HEADER.pack(_MAGIC, len(data)) + data
        if descriptors:
            socket.send_fds(self.socket, [frame], list(descriptors))
        else:
            self.socket.sendall(frame)

    def receive(self) -> dict[str, Any] | None:
        """The next message, waiting for it; None where the other end is closed. Raises Garbled."""
        while True:
            message = self.take()
            if message is not None:
                return message
            if not self.feed():
                return None

    def feed(self) -> bool:
        """Read what has come; False where the other end is closed."""
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionError:
            return False
        self.put(data)
        return bool(data)

    def put(self, data: bytes) -> None:
        """Take over bytes that were read from the socket elsewhere."""
        self._buffer += data

    def take(self) -> dict[str, Any] | None:
        """A message that has come as a whole, None if there is none. Raises Garbled."""
        if len(self._buffer) < _HEADER.size:
            return None
        magic, size = _HEADER.unpack_from(self._buffer)
        if magic != _MAGIC or size > _LARGEST:
            raise Garbled(bytes(self._buffer[:80]).decode("utf-8", "replace"))
        end = _HEADER.size + size
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[_HEADER.size : end])
        del self._buffer[:end]
        try:
            message = json.loads(body)
        except ValueError as error:
            raise Garbled(body[:80].decode("utf-8", "replace")) from error
        if not isinstance(message, dict):
            raise Garbled(body[:80].decode("utf-8", "replace"))
        return message

    def close(self) -> None:
        """Close this end."""
        self.socket.close()
