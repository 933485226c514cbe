"""Produce on the wire, by hand: request versions 3-13 in, response versions 3-13 out.

The same bytes as the generated ProduceRequest and ProduceResponse (the tests hold them together),
several times faster, because every record a client writes passes here. Owns these two layouts and
nothing else. Must never know what a record batch holds, which topics exist, or any broker state.

Which version has what: 5 log start offset; 8 record errors and error message; 9 flexible encoding;
10 current leader and node endpoints as tagged fields; 13 topic ids in place of topic names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from struct import error as struct_error
from typing import NamedTuple

from protocol.errors import ProtocolError

FIRST_VERSION = 3
LAST_VERSION = 13
FIRST_WITH_LOG_START_OFFSET = 5
FIRST_WITH_RECORD_ERRORS = 8
FIRST_FLEXIBLE = 9
FIRST_WITH_CURRENT_LEADER = 10
FIRST_WITH_TOPIC_IDS = 13

# Objects cost more than the bytes that ask for them: a partition of 6 bytes becomes 300 in memory.
# A real partition carries a batch of more than 61 bytes, so only a hostile request has this many
# topics and partitions in so few bytes.
FREE_ELEMENTS = 2048
BYTES_PER_FURTHER_ELEMENT = 32

TOPIC_ID_BYTES = 16
MAX_UNSIGNED_VARINT_BYTES = 5

ReadableBuffer = bytes | bytearray | memoryview
PartitionRecords = tuple[int, memoryview | None]
ProduceTopic = tuple[str | None, bytes | None, list[PartitionRecords]]


class ProduceRequest:
    """A decoded request; `records` are slices of the request's own buffer, never copies.

    Topics carry a name before version 13 and an id from then on; the other is None. A topic without
    partitions asks for nothing and is left out.
    """

    __slots__ = ("acks", "timeout_ms", "topics", "transactional_id")

    def __init__(
        self, transactional_id: str | None, acks: int, timeout_ms: int, topics: list[ProduceTopic]
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topics = topics


@dataclass(slots=True)
class PartitionProduced:
    """The answer for one partition; what a version cannot carry is left out when encoding."""

    index: int
    error_code: int
    base_offset: int
    log_append_time: int = -1
    log_start_offset: int = -1
    # (index of the record in its batch, message)
    record_errors: Sequence[tuple[int, str | None]] = ()
    error_message: str | None = None
    # (leader id, leader epoch)
    current_leader: tuple[int, int] | None = None


class NodeEndpoint(NamedTuple):
    """Where a leader named in some `current_leader` is reached."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


ProducedTopic = tuple[str | None, bytes | None, Sequence[PartitionProduced]]

_int16 = Struct(">h").unpack_from
_int32 = Struct(">i").unpack_from
_acks_timeout = Struct(">hi").unpack_from
_acks_timeout_count = Struct(">hii").unpack_from
_index_and_length = Struct(">ii").unpack_from


def decode_produce_request(
    buffer: ReadableBuffer, at: int, end: int, version: int
) -> ProduceRequest:
    """Decodes the body (after the request header) that lies in buffer[at:end], all of it."""
    # The view ends where the frame does, so no read can stray into the next frame.
    view = memoryview(buffer)[:end]
    try:
        if version >= FIRST_FLEXIBLE:
            request, at = _decode_flexible(view, at, end, version)
        else:
            request, at = _decode_fixed(view, at, end)
    except (struct_error, IndexError):
        raise ProtocolError("produce request is cut off") from None
    except UnicodeDecodeError:
        raise ProtocolError("produce request holds a string that is not UTF-8") from None
    if at != end:
        raise ProtocolError(f"produce request does not end where its frame does ({end - at} bytes)")
    return request


def _decode_fixed(view: memoryview, at: int, end: int) -> tuple[ProduceRequest, int]:
    """Versions 3-8: lengths and counts of fixed width."""
    (length,) = _int16(view, at)
    at += 2
    transactional_id: str | None = None
    if length >= 0:
        transactional_id = str(view[at : at + length], "utf-8")
        at += length
    elif length != -1:
        raise ProtocolError(f"transactional id of length {length}")
    acks, timeout_ms, topic_count = _acks_timeout_count(view, at)
    at += 10
    elements_left = _element_budget(end - at)
    elements_left -= _checked_count(topic_count, elements_left)
    topics: list[ProduceTopic] = []
    for _ in range(topic_count):
        (length,) = _int16(view, at)
        at += 2
        if length < 0:
            raise ProtocolError("topic name is null")
        name = str(view[at : at + length], "utf-8")
        at += length
        (count,) = _int32(view, at)
        at += 4
        elements_left -= _checked_count(count, elements_left)
        if count:
            partitions, at = _fixed_partitions(view, at, end, count)
            topics.append((name, None, partitions))
    return ProduceRequest(transactional_id, acks, timeout_ms, topics), at


def _fixed_partitions(
    view: memoryview, at: int, end: int, count: int
) -> tuple[list[PartitionRecords], int]:
    partitions: list[PartitionRecords] = []
    for _ in range(count):
        index, length = _index_and_length(view, at)
        at += 8
        if length < 0:
            if length != -1:
                raise ProtocolError(f"records of length {length}")
            partitions.append((index, None))
            continue
        after = at + length
        if after > end:
            raise ProtocolError("records reach past the end of the request")
        partitions.append((index, view[at:after]))
        at = after
    return partitions, at


def _decode_flexible(
    view: memoryview, at: int, end: int, version: int
) -> tuple[ProduceRequest, int]:
    """Versions 9-13: lengths and counts as varints, off by one, and tagged fields."""
    transactional_id: str | None = None
    length, at = _unsigned_varint(view, at)
    if length:
        after = at + length - 1
        transactional_id = str(view[at:after], "utf-8")
        at = after
    acks, timeout_ms = _acks_timeout(view, at)
    at += 6
    topic_count, at = _unsigned_varint(view, at)
    topic_count -= 1
    elements_left = _element_budget(end - at)
    elements_left -= _checked_count(topic_count, elements_left)
    topics: list[ProduceTopic] = []
    name: str | None = None
    topic_id: bytes | None = None
    for _ in range(topic_count):
        if version >= FIRST_WITH_TOPIC_IDS:
            after = at + TOPIC_ID_BYTES
            topic_id = bytes(view[at:after])
        else:
            length, at = _unsigned_varint(view, at)
            if not length:
                raise ProtocolError("topic name is null")
            after = at + length - 1
            name = str(view[at:after], "utf-8")
        count, at = _unsigned_varint(view, after)
        count -= 1
        elements_left -= _checked_count(count, elements_left)
        partitions, at = _flexible_partitions(view, at, end, count)
        at = _skip_tagged_fields(view, at, end)
        if count:
            topics.append((name, topic_id, partitions))
    at = _skip_tagged_fields(view, at, end)
    return ProduceRequest(transactional_id, acks, timeout_ms, topics), at


def _flexible_partitions(
    view: memoryview, at: int, end: int, count: int
) -> tuple[list[PartitionRecords], int]:
    partitions: list[PartitionRecords] = []
    for _ in range(count):
        (index,) = _int32(view, at)
        length, at = _unsigned_varint(view, at + 4)
        if length:
            after = at + length - 1
            if after > end:
                raise ProtocolError("records reach past the end of the request")
            partitions.append((index, view[at:after]))
            at = after
        else:
            partitions.append((index, None))
        if view[at]:
            at = _skip_tagged_fields(view, at, end)
        else:
            at += 1
    return partitions, at


def _element_budget(size: int) -> int:
    return FREE_ELEMENTS + size // BYTES_PER_FURTHER_ELEMENT


def _checked_count(count: int, elements_left: int) -> int:
    """Refuses a count before anything is built for it."""
    if count < 0:
        raise ProtocolError("array is null")
    if count > elements_left:
        raise ProtocolError(f"array of {count} elements in a request too small for them")
    return count


def _unsigned_varint(view: memoryview, at: int) -> tuple[int, int]:
    """The value and the position after it."""
    byte = view[at]
    if byte < 0x80:
        return byte, at + 1
    value = byte & 0x7F
    shift = 7
    for position in range(at + 1, at + MAX_UNSIGNED_VARINT_BYTES):
        byte = view[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
        shift += 7
    raise ProtocolError("varint is longer than five bytes")


def _skip_tagged_fields(view: memoryview, at: int, end: int) -> int:
    """Produce requests have no tagged field of their own: skips all, keeps none."""
    count, at = _unsigned_varint(view, at)
    for _ in range(count):
        _, at = _unsigned_varint(view, at)
        length, at = _unsigned_varint(view, at)
        at += length
        if at > end:
            raise ProtocolError("tagged field reaches past the end of the request")
    return at


_pack_int16 = Struct(">h").pack
_pack_int32 = Struct(">i").pack
_fixed_head = Struct(">iih").pack
_flexible_head = Struct(">iBB").pack
_current_leader = Struct(">BBBiiB").pack

# A partition without details, by what its version carries.
_partition_3 = Struct(">ihqq").pack
_partition_5 = Struct(">ihqqq").pack
# The same as the only partition of the only topic: count in front, end of the response behind.
_single_3 = Struct(">iihqqi").pack
_single_5 = Struct(">iihqqqi").pack
_single_8 = Struct(">iihqqqihi").pack
_single_9 = Struct(">BihqqqBBBBiB").pack

# Compact lengths and counts are one more than they say, so that 0 can mean null.
_COMPACT_NULL = 0
_COMPACT_EMPTY = 1
_COMPACT_ONE = 2
_MAX_ONE_BYTE_LENGTH = 0x7E
_NO_TAGS = 0
_CURRENT_LEADER_TAG = 0
_NODE_ENDPOINTS_TAG = 0
# Two int32 and the end of the struct's own tagged fields.
_CURRENT_LEADER_BYTES = 9


def encode_produce_response(
    correlation_id: int,
    version: int,
    topics: Sequence[ProducedTopic],
    throttle_time_ms: int = 0,
    node_endpoints: Sequence[NodeEndpoint] = (),
) -> bytes:
    """The response with its header, whole but for the four bytes of frame size in front."""
    if len(topics) == 1 and not node_endpoints:
        topic = topics[0]
        if len(topic[2]) == 1 and _has_no_details(topic[2][0]):
            if version >= FIRST_FLEXIBLE:
                return _single_flexible(correlation_id, version, topic, throttle_time_ms)
            return _single_fixed(correlation_id, version, topic, throttle_time_ms)
    if version >= FIRST_FLEXIBLE:
        return _encode_flexible(correlation_id, version, topics, throttle_time_ms, node_endpoints)
    return _encode_fixed(correlation_id, version, topics, throttle_time_ms)


def _has_no_details(answer: PartitionProduced) -> bool:
    return (
        not answer.record_errors and answer.error_message is None and answer.current_leader is None
    )


def _single_fixed(
    correlation_id: int, version: int, topic: ProducedTopic, throttle_time_ms: int
) -> bytes:
    answer = topic[2][0]
    name = _name_of(topic)
    head = _fixed_head(correlation_id, 1, len(name)) + name
    if version >= FIRST_WITH_RECORD_ERRORS:
        return head + _single_8(
            1, answer.index, answer.error_code, answer.base_offset, answer.log_append_time,
            answer.log_start_offset, 0, -1, throttle_time_ms,
        )  # fmt: skip
    if version >= FIRST_WITH_LOG_START_OFFSET:
        return head + _single_5(
            1, answer.index, answer.error_code, answer.base_offset, answer.log_append_time,
            answer.log_start_offset, throttle_time_ms,
        )  # fmt: skip
    return head + _single_3(
        1, answer.index, answer.error_code, answer.base_offset, answer.log_append_time,
        throttle_time_ms,
    )  # fmt: skip


def _single_flexible(
    correlation_id: int, version: int, topic: ProducedTopic, throttle_time_ms: int
) -> bytes:
    answer = topic[2][0]
    return (
        _flexible_head(correlation_id, _NO_TAGS, _COMPACT_ONE)
        + _flexible_topic(version, topic)
        + _single_9(
            _COMPACT_ONE, answer.index, answer.error_code, answer.base_offset,
            answer.log_append_time, answer.log_start_offset,
            _COMPACT_EMPTY, _COMPACT_NULL, _NO_TAGS, _NO_TAGS, throttle_time_ms, _NO_TAGS,
        )
    )  # fmt: skip


def _encode_fixed(
    correlation_id: int, version: int, topics: Sequence[ProducedTopic], throttle_time_ms: int
) -> bytes:
    parts = [_pack_int32(correlation_id), _pack_int32(len(topics))]
    for topic in topics:
        parts.append(_fixed_string(topic[0]))
        parts.append(_pack_int32(len(topic[2])))
        parts += [_fixed_partition(version, partition) for partition in topic[2]]
    parts.append(_pack_int32(throttle_time_ms))
    return b"".join(parts)


def _fixed_partition(version: int, answer: PartitionProduced) -> bytes:
    if version < FIRST_WITH_LOG_START_OFFSET:
        return _partition_3(
            answer.index, answer.error_code, answer.base_offset, answer.log_append_time
        )
    head = _partition_5(
        answer.index, answer.error_code, answer.base_offset, answer.log_append_time,
        answer.log_start_offset,
    )  # fmt: skip
    if version < FIRST_WITH_RECORD_ERRORS:
        return head
    parts = [head, _pack_int32(len(answer.record_errors))]
    for batch_index, message in answer.record_errors:
        parts.append(_pack_int32(batch_index))
        parts.append(_fixed_string(message))
    parts.append(_fixed_string(answer.error_message))
    return b"".join(parts)


def _encode_flexible(
    correlation_id: int,
    version: int,
    topics: Sequence[ProducedTopic],
    throttle_time_ms: int,
    node_endpoints: Sequence[NodeEndpoint],
) -> bytes:
    parts = [_pack_int32(correlation_id), b"\0", _compact_length(len(topics))]
    for topic in topics:
        parts.append(_flexible_topic(version, topic))
        parts.append(_compact_length(len(topic[2])))
        parts += [_flexible_partition(version, partition) for partition in topic[2]]
        parts.append(b"\0")
    parts.append(_pack_int32(throttle_time_ms))
    if node_endpoints and version >= FIRST_WITH_CURRENT_LEADER:
        parts.append(_node_endpoints(node_endpoints))
    else:
        parts.append(b"\0")
    return b"".join(parts)


def _flexible_partition(version: int, answer: PartitionProduced) -> bytes:
    parts = [
        _partition_5(
            answer.index, answer.error_code, answer.base_offset, answer.log_append_time,
            answer.log_start_offset,
        ),
        _compact_length(len(answer.record_errors)),
    ]  # fmt: skip
    for batch_index, message in answer.record_errors:
        parts += (_pack_int32(batch_index), _compact_string(message), b"\0")
    parts.append(_compact_string(answer.error_message))
    if answer.current_leader is None or version < FIRST_WITH_CURRENT_LEADER:
        parts.append(b"\0")
    else:
        leader_id, leader_epoch = answer.current_leader
        parts.append(
            _current_leader(
                1, _CURRENT_LEADER_TAG, _CURRENT_LEADER_BYTES, leader_id, leader_epoch, _NO_TAGS
            )
        )
    return b"".join(parts)


def _node_endpoints(node_endpoints: Sequence[NodeEndpoint]) -> bytes:
    """The last tagged-field section of the response, with the endpoints as its only field."""
    parts = [_compact_length(len(node_endpoints))]
    for node_id, host, port, rack in node_endpoints:
        parts.append(_pack_int32(node_id) + _compact_string(host))
        parts.append(_pack_int32(port) + _compact_string(rack) + b"\0")
    body = b"".join(parts)
    return bytes((1, _NODE_ENDPOINTS_TAG)) + _unsigned_varint_bytes(len(body)) + body


def _name_of(topic: ProducedTopic) -> bytes:
    if topic[0] is None:
        raise ValueError("this version of Produce answers by topic name")
    return topic[0].encode()


def _flexible_topic(version: int, topic: ProducedTopic) -> bytes:
    if version >= FIRST_WITH_TOPIC_IDS:
        topic_id = topic[1]
        if topic_id is None or len(topic_id) != TOPIC_ID_BYTES:
            raise ValueError("this version of Produce answers by topic id")
        return topic_id
    name = _name_of(topic)
    return _compact_length(len(name)) + name


def _fixed_string(value: str | None) -> bytes:
    if value is None:
        return b"\xff\xff"
    encoded = value.encode()
    return _pack_int16(len(encoded)) + encoded


def _compact_string(value: str | None) -> bytes:
    if value is None:
        return b"\0"
    encoded = value.encode()
    return _compact_length(len(encoded)) + encoded


_ONE_BYTE_LENGTHS = tuple(bytes((length + 1,)) for length in range(_MAX_ONE_BYTE_LENGTH + 1))


def _compact_length(length: int) -> bytes:
    if length <= _MAX_ONE_BYTE_LENGTH:
        return _ONE_BYTE_LENGTHS[length]
    return _unsigned_varint_bytes(length + 1)


def _unsigned_varint_bytes(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
