"""Asks a broker which requests it understands, with one ApiVersions request on a plain socket.

confluent-kafka asks the same when it connects but keeps the answer to itself. Version 0 is spoken
here: every broker answers it, and its encoding has not changed since 2016. Owns that one exchange.
"""

import socket
import struct
from typing import Final

API_VERSIONS: Final = 18
CLIENT_ID: Final = b"oncelog-doctor"
CORRELATION_ID: Final = 1
ANSWER_BYTES_MAX: Final = 64 * 1024

VersionRanges = dict[int, tuple[int, int]]


class ProbeError(Exception):
    """The peer's answer is not that of a Kafka broker; the message says why."""


def ask_versions(address: tuple[str, int], timeout_s: float) -> VersionRanges:
    """Lowest and highest version by api key; OSError when the connection fails."""
    with socket.create_connection(address, timeout=timeout_s) as connection:
        connection.settimeout(timeout_s)
        connection.sendall(encode_request())
        (size_bytes,) = struct.unpack(">i", _read_exactly(connection, 4))
        if not 0 < size_bytes <= ANSWER_BYTES_MAX:
            raise ProbeError(f"the answer claims a length of {size_bytes} bytes")
        return decode_answer(_read_exactly(connection, size_bytes))


def encode_request() -> bytes:
    header = struct.pack(">hhih", API_VERSIONS, 0, CORRELATION_ID, len(CLIENT_ID)) + CLIENT_ID
    return struct.pack(">i", len(header)) + header


def decode_answer(body: bytes) -> VersionRanges:
    try:
        correlation_id, error_code, count = struct.unpack_from(">ihi", body)
    except struct.error:
        raise ProbeError("the answer is too short") from None
    if correlation_id != CORRELATION_ID:
        raise ProbeError("the answer belongs to another request")
    if error_code != 0:
        raise ProbeError(f"the answer is error {error_code}")
    if count < 0 or len(body) != 10 + count * 6:
        raise ProbeError("the answer's length does not fit its content")
    ranges: VersionRanges = {}
    for key, low, high in struct.iter_unpack(">hhh", body[10:]):
        ranges[key] = (low, high)
    return ranges


def _read_exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = connection.recv(count - len(data))
        if not chunk:
            raise ProbeError("the connection was closed instead of an answer")
        data += chunk
    return data
