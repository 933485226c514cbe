"""One TCP connection to a broker, synchronous and raw.

Owns framing, correlation ids and deadlines on the client's side. Must never know what a request
means, nor anything of the broker behind the socket.
"""

import contextlib
import socket
import struct
from collections import deque
from types import TracebackType
from typing import Any

from tests.wire.support.messages import API_VERSIONS, decode, response_class

# Longer than any answer may take, shorter than the waits that must be cut short by an event.
ANSWER_TIMEOUT_SECONDS = 15.0
RECEIVE_BYTES = 1 << 16


class ConnectionClosedError(Exception):
    """The broker closed the connection instead of answering."""


def request_header(
    api_key: int,
    version: int,
    correlation_id: int,
    client_id: str | None,
    *,
    flexible: bool,
    tags: bytes = b"\x00",
) -> bytes:
    """A request header; the client id keeps its two-byte length in flexible headers too."""
    encoded = None if client_id is None else client_id.encode()
    length = -1 if encoded is None else len(encoded)
    fixed = struct.pack(">hhih", api_key, version, correlation_id, length)
    return fixed + (encoded or b"") + (tags if flexible else b"")


def frame(payload: bytes) -> bytes:
    """A payload with its size in front."""
    return struct.pack(">i", len(payload)) + payload


class Connection:
    """A socket that speaks frames; requests may be pipelined, answers come in order."""

    def __init__(self, bootstrap: str, *, client_id: str | None = "wire-tests") -> None:
        host, port = bootstrap.rsplit(":", 1)
        self.client_id = client_id
        self._socket = socket.create_connection((host, int(port)), timeout=ANSWER_TIMEOUT_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray()
        self._next_correlation_id = 1
        self._expected: deque[tuple[int, Any, int]] = deque()

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> "Connection":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def encode(self, request: Any, version: int, *, correlation_id: int | None = None) -> bytes:
        """The frame of a request; remembers which answer is to come."""
        if correlation_id is None:
            correlation_id = self._next_correlation_id
            self._next_correlation_id += 1
        header = request_header(
            request.API_KEY,
            version,
            correlation_id,
            self.client_id,
            flexible=type(request).flexible_version_q(version),
        )
        self._expected.append((correlation_id, response_class(type(request)), version))
        return frame(header + bytes(request.encode(version=version)))

    def send_bytes(self, data: bytes) -> None:
        self._socket.sendall(data)

    def send(self, request: Any, version: int, *, correlation_id: int | None = None) -> None:
        self.send_bytes(self.encode(request, version, correlation_id=correlation_id))

    def send_without_answer(self, request: Any, version: int) -> None:
        """For Produce with acks=0."""
        self.send(request, version)
        self._expected.pop()

    def receive(self) -> Any:
        """The answer to the oldest unanswered request."""
        correlation_id, message_class, version = self._expected.popleft()
        payload = self.receive_frame()
        got = struct.unpack_from(">i", payload)[0]
        if got != correlation_id:
            raise AssertionError(f"expected the answer to {correlation_id}, got that to {got}")
        flexible = message_class.flexible_version_q(version)
        if not flexible or message_class.API_KEY == API_VERSIONS:
            return decode(message_class, payload[4:], version)
        if payload[4] != 0:
            raise AssertionError("tagged fields in a response header")
        return decode(message_class, payload[5:], version)

    def call(self, request: Any, version: int) -> Any:
        self.send(request, version)
        return self.receive()

    def receive_frame(self) -> bytes:
        """The payload of the next frame, correlation id included."""
        (size,) = struct.unpack(">i", self._receive_exactly(4))
        return self._receive_exactly(size)

    def _receive_exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            try:
                data = self._socket.recv(RECEIVE_BYTES)
            except ConnectionError as error:
                raise ConnectionClosedError from error
            if not data:
                raise ConnectionClosedError
            self._buffer += data
        result = bytes(self._buffer[:size])
        del self._buffer[:size]
        return result

    def expect_close(self) -> None:
        """Wait for the broker to close; any answer in between is an error."""
        with contextlib.suppress(ConnectionError):
            data = bytes(self._buffer) or self._socket.recv(RECEIVE_BYTES)
            if data:
                raise AssertionError(f"an answer instead of a close: {data!r}")

    def finish_sending(self) -> None:
        """Half-close: the broker sees the end of our requests, we still read answers."""
        self._socket.shutdown(socket.SHUT_WR)
