"""Kafka frames by hand: the few requests that the raw clients send, and reading their answers.

Independent of oncelog's own protocol rooms on purpose: both sides of a measurement must not share
a mistake. Must never know: sockets, clocks' meaning.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import crc32c

API_VERSIONS, PRODUCE, FETCH = 18, 0, 1
API_VERSIONS_VERSION, PRODUCE_VERSION, FETCH_VERSION = 0, 11, 12
CLIENT_ID = b"bench"
PRODUCE_TIMEOUT_MS = 30_000
FETCH_MAX_BYTES = 1024 * 1024
TOPIC_NAME_BYTES_MAX = 100
NO_TAGS = b"\x00"
ACKS_ALL = -1


class FetchAnswer(NamedTuple):
    """What a raw consumer wants to know of a Fetch response with one partition."""

    error_code: int
    high_watermark: int
    records_bytes: int


def _unsigned_varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _varint(value: int) -> bytes:
    return _unsigned_varint((value << 1) ^ (value >> 63))


def _compact(content: bytes) -> bytes:
    return _unsigned_varint(len(content) + 1) + content


def _one(element: bytes) -> bytes:
    """A compact array of one element."""
    return _unsigned_varint(2) + element


def _topic(name: str) -> bytes:
    encoded = name.encode()
    if len(encoded) > TOPIC_NAME_BYTES_MAX:
        # Below 127 bytes its length is one byte, so that answers can be read at fixed places.
        raise ValueError("topic name too long for the raw client")
    return _compact(encoded)


def _frame(api_key: int, version: int, body: bytes, *, is_flexible: bool) -> bytes:
    header = struct.pack(">hhih", api_key, version, 1, len(CLIENT_ID)) + CLIENT_ID
    content = header + (NO_TAGS if is_flexible else b"") + body
    return struct.pack(">i", len(content)) + content


def one_record_batch(value: bytes, timestamp_ms: int) -> bytes:
    """A record batch (v2) with one record, no key, no producer id."""
    record = b"\x00" + _varint(0) + _varint(0) + _varint(-1) + _varint(len(value)) + value
    record += _varint(0)
    content = struct.pack(">hiqqqhii", 0, 0, timestamp_ms, timestamp_ms, -1, -1, -1, 1)
    content += _varint(len(record)) + record
    head = struct.pack(">ibI", -1, 2, crc32c.crc32c(content))
    return struct.pack(">qi", 0, len(head) + len(content)) + head + content


def api_versions_request() -> bytes:
    """ApiVersions v0: the question any node answers first."""
    return _frame(API_VERSIONS, API_VERSIONS_VERSION, b"", is_flexible=False)


def produce_request(topic: str, partition: int, batch: bytes) -> bytes:
    """A Produce frame, acks=all, with one batch for one partition."""
    partitions = _one(struct.pack(">i", partition) + _compact(batch) + NO_TAGS)
    topics = _one(_topic(topic) + partitions + NO_TAGS)
    body = b"\x00" + struct.pack(">hi", ACKS_ALL, PRODUCE_TIMEOUT_MS) + topics + NO_TAGS
    return _frame(PRODUCE, PRODUCE_VERSION, body, is_flexible=True)


def fetch_request(topic: str, partition: int, offset: int, max_wait_ms: int) -> bytes:
    """A Fetch frame for one partition, without a session, answered at the first byte."""
    position = struct.pack(">iiqiqi", partition, -1, offset, -1, -1, FETCH_MAX_BYTES)
    topics = _one(_topic(topic) + _one(position + NO_TAGS) + NO_TAGS)
    # replica -1, wait, min 1 byte, max bytes, read_uncommitted, session 0, epoch -1
    head = struct.pack(">iiiibii", -1, max_wait_ms, 1, FETCH_MAX_BYTES, 0, 0, -1)
    body = head + topics + _unsigned_varint(1) + _compact(b"") + NO_TAGS
    return _frame(FETCH, FETCH_VERSION, body, is_flexible=True)


def produce_error_at(topic: str) -> int:
    """Where a Produce answer to produce_request(topic) holds its error code, from the length on."""
    # length, correlation id, tags, one topic, its name, one partition, index
    return 4 + 4 + 1 + 1 + len(_topic(topic)) + 1 + 4


def read_fetch_answer(topic: str, answer: bytes | bytearray) -> FetchAnswer:
    """Read the answer to fetch_request(topic), length included."""
    # length, correlation id, tags, throttle, error, session, then the topics
    top_error = struct.unpack_from(">h", answer, 4 + 4 + 1 + 4)[0]
    at = 4 + 4 + 1 + 4 + 2 + 4
    if top_error or answer[at] != 2:
        return FetchAnswer(top_error or -1, -1, 0)
    at += 1 + len(_topic(topic)) + 1 + 4
    error_code, high_watermark = struct.unpack_from(">hq", answer, at)
    # error, high watermark, last stable, log start, aborted (null or empty), preferred replica
    at += 2 + 8 + 8 + 8 + 1 + 4
    size, shift = 0, 0
    while True:
        byte = answer[at]
        size |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            break
    return FetchAnswer(error_code, high_watermark, max(size - 1, 0))
