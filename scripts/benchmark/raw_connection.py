"""A socket that sends prepared frames and reads whole answers: a client that costs almost nothing.

Must never know: what the frames mean.
"""

from __future__ import annotations

import socket
import struct
from types import TracebackType

RECEIVE_BYTES = 256 * 1024
TIMEOUT_S = 60.0
LENGTH = struct.Struct(">i")


class RawConnection:
    """One connection; answers come in order, so that nothing has to be matched."""

    def __init__(self, bootstrap: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._pending = bytearray()

    def send(self, frames: bytes) -> None:
        """Send one or many whole frames."""
        self.socket.sendall(frames)

    def receive_some(self) -> list[bytes]:
        """Wait for bytes once, then give every whole answer there is, length included."""
        answers = []
        received = self.socket.recv(RECEIVE_BYTES)
        if not received:
            raise ConnectionError("the broker closed the connection")
        self._pending += received
        at, end = 0, len(self._pending)
        while end - at >= LENGTH.size:
            size = LENGTH.unpack_from(self._pending, at)[0] + LENGTH.size
            if end - at < size:
                break
            answers.append(bytes(self._pending[at : at + size]))
            at += size
        del self._pending[:at]
        return answers

    def ask(self, frame: bytes) -> bytes:
        """Send one frame and wait for its answer; nothing else may be in flight."""
        self.send(frame)
        return self.receive()

    def receive(self) -> bytes:
        """Wait for the one answer in flight."""
        while True:
            answers = self.receive_some()
            if answers:
                return answers[0]

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()

    def __enter__(self) -> RawConnection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
