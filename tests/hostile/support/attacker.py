"""A client that does not play by the rules: sockets without frames, deadlines against hangs.

Owns the sending of arbitrary bytes and the reading of whatever comes. Must never know the broker's
inside; it sees what any stranger on the network sees.
"""

import contextlib
import socket
import struct
from types import TracebackType
from typing import Final, Self

DEADLINE_SECONDS: Final = 30.0
RECEIVE_BYTES: Final = 1 << 18
API_VERSIONS: Final = 18
PROBE_ID: Final = 0x0ECA11ED
RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


def frame(payload: bytes) -> bytes:
    """A payload with its right size in front."""
    return struct.pack(">i", len(payload)) + payload


def api_versions(correlation_id: int = PROBE_ID) -> bytes:
    """The smallest request there is: ApiVersions version 0 without a client id."""
    return frame(struct.pack(">hhih", API_VERSIONS, 0, correlation_id, -1))


class Attacker:
    """One raw connection."""

    def __init__(self, bootstrap: str, *, receive_buffer_bytes: int | None = None) -> None:
        host, port = bootstrap.rsplit(":", 1)
        self.socket = socket.socket()
        if receive_buffer_bytes is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Thousands of connections a minute: none may stay behind in TIME_WAIT and use up the ports.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self.socket.settimeout(DEADLINE_SECONDS)
        self.socket.connect((host, int(port)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, data: bytes) -> bool:
        """Send all of it; False when the broker hung up meanwhile."""
        try:
            self.socket.sendall(data)
        except ConnectionError:
            return False
        return True

    def finish_sending(self) -> None:
        """Half-close: the broker knows that nothing more comes. It may have hung up already."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def send_until_blocked(self, data: bytes, patience_seconds: float) -> int:
        """Send as much as the broker takes; stop once it takes nothing for this long."""
        view = memoryview(data)
        self.socket.settimeout(patience_seconds)
        sent = 0
        try:
            while sent < len(view):
                sent += self.socket.send(view[sent : sent + RECEIVE_BYTES])
        except (TimeoutError, ConnectionError):
            pass
        self.socket.settimeout(DEADLINE_SECONDS)
        return sent

    def receive(self) -> bytes:
        """Whatever comes next; empty when the broker hung up."""
        try:
            return self.socket.recv(RECEIVE_BYTES)
        except ConnectionError:
            return b""

    def receive_frame(self) -> bytes | None:
        """The payload of the next answer; None when the broker hung up."""
        head = self._receive_exactly(4)
        return None if head is None else self._receive_exactly(int.from_bytes(head, "big"))

    def receive_to_the_end(self) -> bytes:
        """Everything until the broker hangs up."""
        pieces = []
        while piece := self.receive():
            pieces.append(piece)
        return b"".join(pieces)

    def is_answered(self, correlation_id: int = PROBE_ID) -> bool:
        """Read until the answer with this id (True) or until the broker hangs up (False)."""
        while (answer := self.receive_frame()) is not None:
            if int.from_bytes(answer[:4], "big") == correlation_id:
                return True
        return False

    def _receive_exactly(self, size: int) -> bytes | None:
        pieces = []
        while size > 0:
            try:
                piece = self.socket.recv(min(size, RECEIVE_BYTES))
            except ConnectionError:
                return None
            if not piece:
                return None
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)


def is_refused(bootstrap: str, data: bytes) -> bool:
    """Whether the broker hangs up on these bytes instead of going on to the request after them."""
    with Attacker(bootstrap) as attacker:
        attacker.send(data + api_versions())
        return not attacker.is_answered()
