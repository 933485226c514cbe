"""Produce on the wire, by hand: request versions 3-13 in, response versions 3-13 out.

The same bytes as the generated ProduceRequest and ProduceResponse (the tests hold them together),
several times faster, because every record a client writes passes here. Owns these two layouts and
nothing else. Must never know what a record batch holds, which topics exist, or any broker state.

Which version has what: 5 log start offset; 8 record errors and error message; 9 flexible encoding;
10 current leader and node endpoints as tagged fields; 13 topic ids in place of topic names.

Most requests carry one partition of one topic. Those take a fast path that reads ahead without
looking and believes nothing until the last byte it read proves to be the last one of the frame; on
any doubt it gives up, and the slow path, which checks every step, decides whether it is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from struct import error as struct_error
from typing import Final, TypeAlias

from protocol.errors import ProtocolError
from protocol.node_endpoints import NodeEndpoint, encode_node_endpoints
from protocol.primitives import CONTENT_FACTOR, Buffer, ElementSize, Reader, Writer, required

FIRST_WITH_LOG_START_OFFSET: Final = 5
FIRST_WITH_RECORD_ERRORS: Final = 8
FIRST_FLEXIBLE: Final = 9
FIRST_WITH_CURRENT_LEADER: Final = 10
FIRST_WITH_TOPIC_IDS: Final = 13

# What a topic (a tuple, its name or id, a list) and a partition (a tuple, a number, a view, which
# alone takes 200 bytes) cost in memory, against the fewest bytes that can ask for them.
_TOPIC_COST: Final = 272
_PARTITION_COST: Final = 320
_FIXED_TOPIC: Final[ElementSize] = (6, _TOPIC_COST - 6 * CONTENT_FACTOR)
_FIXED_PARTITION: Final[ElementSize] = (8, _PARTITION_COST - 8 * CONTENT_FACTOR)
_FLEXIBLE_TOPIC: Final[ElementSize] = (3, _TOPIC_COST - 3 * CONTENT_FACTOR)
_TOPIC_WITH_ID: Final[ElementSize] = (18, _TOPIC_COST - 18 * CONTENT_FACTOR)
_FLEXIBLE_PARTITION: Final[ElementSize] = (6, _PARTITION_COST - 6 * CONTENT_FACTOR)

PartitionRecords: TypeAlias = tuple[int, memoryview | None]
ProduceTopic: TypeAlias = tuple[str | None, bytes | None, list[PartitionRecords]]


class ProduceRequest:
    """A decoded request; `records` are slices of the request's own buffer, never copies.

    A topic is (name, id, partitions): a name before version 13, an id from then on, the other None.
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
    record_errors: Sequence[tuple[int, str | None]] = ()
    """(index of the record in its batch, message)"""
    error_message: str | None = None
    current_leader: tuple[int, int] | None = None
    """(leader id, leader epoch)"""


ProducedTopic: TypeAlias = tuple[str | None, bytes | None, Sequence[PartitionProduced]]


def decode_produce_request(buffer: Buffer, at: int, end: int, version: int) -> ProduceRequest:
    """Decodes the body (what follows the request header): buffer[at:end], all of it."""
    view = buffer if type(buffer) is memoryview else memoryview(buffer)
    if end > len(view):
        raise ValueError(f"frame ends at {end}, buffer at {len(view)}")
    try:
        if version < FIRST_FLEXIBLE:
            request = _only_partition_fixed(view, at, end)
        elif version < FIRST_WITH_TOPIC_IDS:
            request = _only_partition_flexible(view, at, end)
        else:
            request = _only_partition_by_topic_id(view, at, end)
        if request is not None:
            return request
    except (struct_error, IndexError, UnicodeDecodeError):
        pass  # The slow path finds it again, and says what it is.
    reader = Reader(view, at, end)
    request = _decode_flexible(reader, version) if version >= FIRST_FLEXIBLE else _decode(reader)
    if reader.remaining:
        raise ProtocolError(f"{reader.remaining} bytes too many in a produce request")
    return request


# The fast path. Positions only ever grow, so a last position equal to `end` proves that every read
# before it stayed inside the frame.

_unpack_fixed_start = Struct(">hhiih").unpack_from
_unpack_fixed_after_id = Struct(">hiih").unpack_from
_unpack_fixed_partition = Struct(">iii").unpack_from
_unpack_flexible_start = Struct(">hiBB").unpack_from
_unpack_flexible_partition = Struct(">BiB").unpack_from
_unpack_topic_id_start = Struct(">hiB16sBiB").unpack_from


def _only_partition_fixed(view: memoryview, at: int, end: int) -> ProduceRequest | None:
    transactional_id: str | None = None
    length, acks, timeout_ms, topic_count, name_length = _unpack_fixed_start(view, at)
    if length == -1:
        at += 14
    else:
        if length < 0:
            return None
        after = at + 2 + length
        transactional_id = str(view[at + 2 : after], "utf-8")
        acks, timeout_ms, topic_count, name_length = _unpack_fixed_after_id(view, after)
        at = after + 12
    if topic_count != 1 or name_length < 0:
        return None
    after = at + name_length
    name = str(view[at:after], "utf-8")
    partition_count, index, size = _unpack_fixed_partition(view, after)
    at = after + 12
    if partition_count != 1 or size < 0 or at + size != end:
        return None
    return ProduceRequest(
        transactional_id, acks, timeout_ms, [(name, None, [(index, view[at:end])])]
    )


def _only_partition_flexible(view: memoryview, at: int, end: int) -> ProduceRequest | None:
    transactional_id: str | None = None
    length = view[at]
    at += 1
    if length:
        if length > 0x7F:
            return None
        after = at + length - 1
        transactional_id = str(view[at:after], "utf-8")
        at = after
    acks, timeout_ms, topic_count, length = _unpack_flexible_start(view, at)
    if topic_count != 2 or not 0 < length <= 0x7F:
        return None
    at += 8
    after = at + length - 1
    name = str(view[at:after], "utf-8")
    partition_count, index, size = _unpack_flexible_partition(view, after)
    records = _last_records(view, after + 6, end, size)
    if partition_count != 2 or records is None:
        return None
    return ProduceRequest(transactional_id, acks, timeout_ms, [(name, None, [(index, records)])])


def _only_partition_by_topic_id(view: memoryview, at: int, end: int) -> ProduceRequest | None:
    transactional_id: str | None = None
    length = view[at]
    at += 1
    if length:
        if length > 0x7F:
            return None
        after = at + length - 1
        transactional_id = str(view[at:after], "utf-8")
        at = after
    acks, timeout_ms, topic_count, topic_id, partition_count, index, size = _unpack_topic_id_start(
        view, at
    )
    records = _last_records(view, at + 29, end, size)
    if topic_count != 2 or partition_count != 2 or records is None:
        return None
    return ProduceRequest(
        transactional_id, acks, timeout_ms, [(None, topic_id, [(index, records)])]
    )


def _last_records(view: memoryview, at: int, end: int, size: int) -> memoryview | None:
    """The records at `at`, if after them come three empty tag sections and the end of the frame.

    `size` is the first byte of their length, which is a varint one too large.
    """
    if size > 0x7F:
        size &= 0x7F
        for shift in (7, 14, 21, 28):
            byte = view[at]
            at += 1
            size |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
        else:
            return None
    after = at + size - 1
    if not size or after + 3 != end or view[after] or view[after + 1] or view[after + 2]:
        return None
    return view[at:after]


# The slow path.


def _decode(reader: Reader) -> ProduceRequest:
    transactional_id = reader.nullable_string()
    acks = reader.int16()
    timeout_ms = reader.int32()
    topics: list[ProduceTopic] = []
    for _ in range(reader.count(_FIXED_TOPIC)):
        name = reader.string()
        partitions = [
            (reader.int32(), reader.nullable_records())
            for _ in range(reader.count(_FIXED_PARTITION))
        ]
        topics.append((name, None, partitions))
    return ProduceRequest(transactional_id, acks, timeout_ms, topics)


def _decode_flexible(reader: Reader, version: int) -> ProduceRequest:
    transactional_id = reader.compact_nullable_string()
    acks = reader.int16()
    timeout_ms = reader.int32()
    topics: list[ProduceTopic] = []
    has_ids = version >= FIRST_WITH_TOPIC_IDS
    for _ in range(reader.compact_count(_TOPIC_WITH_ID if has_ids else _FLEXIBLE_TOPIC)):
        name = None if has_ids else reader.compact_string()
        topic_id = reader.uuid() if has_ids else None
        partitions: list[PartitionRecords] = []
        for _ in range(reader.compact_count(_FLEXIBLE_PARTITION)):
            partitions.append((reader.int32(), reader.compact_nullable_records()))
            reader.skip_tagged_fields()
        reader.skip_tagged_fields()
        topics.append((name, topic_id, partitions))
    reader.skip_tagged_fields()
    return ProduceRequest(transactional_id, acks, timeout_ms, topics)


_CURRENT_LEADER_TAG: Final = 0
# Compact lengths and counts are one more than they say, so that 0 can mean null.
_COMPACT_NULL: Final = 0
_COMPACT_EMPTY: Final = 1
_COMPACT_ONE: Final = 2
_NO_TAGS: Final = 0
_MAX_ONE_BYTE_LENGTH: Final = 0x7E

_pack_fixed_head = Struct(">iih").pack
_pack_flexible_head = Struct(">iBBB").pack
_pack_topic_id_head = Struct(">iBB16s").pack
_pack_partition = Struct(">ihqqq").pack
_pack_partition_of_3 = Struct(">ihqq").pack
# The only partition: its count in front, the end of the response behind.
_pack_only_of_3 = Struct(">iihqqi").pack
_pack_only_of_5 = Struct(">iihqqqi").pack
_pack_only_of_8 = Struct(">iihqqqihi").pack
_pack_only_flexible = Struct(">BihqqqBBBBiB").pack


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
        if len(topic[2]) == 1:
            answer = topic[2][0]
            if not answer.record_errors and answer.error_message is None is answer.current_leader:
                if version < FIRST_FLEXIBLE:
                    return _encode_only_fixed(correlation_id, version, topic, throttle_time_ms)
                return _encode_only_flexible(correlation_id, version, topic, throttle_time_ms)
    writer = Writer()
    writer.int32(correlation_id)
    if version < FIRST_FLEXIBLE:
        _encode(writer, version, topics, throttle_time_ms)
    else:
        _encode_flexible(writer, version, topics, throttle_time_ms, node_endpoints)
    return bytes(writer.buffer)


def _encode_only_fixed(
    correlation_id: int, version: int, topic: ProducedTopic, throttle_time_ms: int
) -> bytes:
    answer = topic[2][0]
    name = required(topic[0]).encode()
    head = _pack_fixed_head(correlation_id, 1, len(name)) + name
    if version >= FIRST_WITH_RECORD_ERRORS:
        return head + _pack_only_of_8(
            1, answer.index, answer.error_code, answer.base_offset, answer.log_append_time,
            answer.log_start_offset, 0, -1, throttle_time_ms,
        )  # fmt: skip
    if version >= FIRST_WITH_LOG_START_OFFSET:
        return head + _pack_only_of_5(
            1, answer.index, answer.error_code, answer.base_offset, answer.log_append_time,
            answer.log_start_offset, throttle_time_ms,
        )  # fmt: skip
    return head + _pack_only_of_3(
        1, answer.index, answer.error_code, answer.base_offset, answer.log_append_time,
        throttle_time_ms,
    )  # fmt: skip


def _encode_only_flexible(
    correlation_id: int, version: int, topic: ProducedTopic, throttle_time_ms: int
) -> bytes:
    answer = topic[2][0]
    if version >= FIRST_WITH_TOPIC_IDS:
        head = _pack_topic_id_head(correlation_id, _NO_TAGS, _COMPACT_ONE, required(topic[1]))
    else:
        name = required(topic[0]).encode()
        if len(name) > _MAX_ONE_BYTE_LENGTH:
            writer = Writer()
            writer.int32(correlation_id)
            _encode_flexible(writer, version, (topic,), throttle_time_ms, ())
            return bytes(writer.buffer)
        head = _pack_flexible_head(correlation_id, _NO_TAGS, _COMPACT_ONE, len(name) + 1) + name
    return head + _pack_only_flexible(
        _COMPACT_ONE, answer.index, answer.error_code, answer.base_offset, answer.log_append_time,
        answer.log_start_offset, _COMPACT_EMPTY, _COMPACT_NULL, _NO_TAGS, _NO_TAGS,
        throttle_time_ms, _NO_TAGS,
    )  # fmt: skip


def _encode(
    writer: Writer, version: int, topics: Sequence[ProducedTopic], throttle_time_ms: int
) -> None:
    writer.count(len(topics))
    for name, _, answers in topics:
        writer.string(required(name))
        writer.count(len(answers))
        for answer in answers:
            _encode_partition_start(writer, version, answer)
            if version < FIRST_WITH_RECORD_ERRORS:
                continue
            writer.count(len(answer.record_errors))
            for batch_index, message in answer.record_errors:
                writer.int32(batch_index)
                writer.nullable_string(message)
            writer.nullable_string(answer.error_message)
    writer.int32(throttle_time_ms)


def _encode_partition_start(writer: Writer, version: int, answer: PartitionProduced) -> None:
    if version < FIRST_WITH_LOG_START_OFFSET:
        writer.buffer += _pack_partition_of_3(
            answer.index, answer.error_code, answer.base_offset, answer.log_append_time
        )
    else:
        writer.buffer += _pack_partition(
            answer.index, answer.error_code, answer.base_offset, answer.log_append_time,
            answer.log_start_offset,
        )  # fmt: skip


def _encode_flexible(
    writer: Writer,
    version: int,
    topics: Sequence[ProducedTopic],
    throttle_time_ms: int,
    node_endpoints: Sequence[NodeEndpoint],
) -> None:
    writer.empty_tagged_fields()
    writer.compact_count(len(topics))
    for name, topic_id, answers in topics:
        if version >= FIRST_WITH_TOPIC_IDS:
            writer.uuid(required(topic_id))
        else:
            writer.compact_string(required(name))
        writer.compact_count(len(answers))
        for answer in answers:
            _encode_flexible_partition(writer, version, answer)
        writer.empty_tagged_fields()
    writer.int32(throttle_time_ms)
    encode_node_endpoints(writer, node_endpoints if version >= FIRST_WITH_CURRENT_LEADER else ())


def _encode_flexible_partition(writer: Writer, version: int, answer: PartitionProduced) -> None:
    _encode_partition_start(writer, version, answer)
    writer.compact_count(len(answer.record_errors))
    for batch_index, message in answer.record_errors:
        writer.int32(batch_index)
        writer.compact_nullable_string(message)
        writer.empty_tagged_fields()
    writer.compact_nullable_string(answer.error_message)
    if answer.current_leader is None or version < FIRST_WITH_CURRENT_LEADER:
        writer.empty_tagged_fields()
        return
    leader = Writer()
    leader.int32(answer.current_leader[0])
    leader.int32(answer.current_leader[1])
    leader.empty_tagged_fields()
    writer.tagged_fields([(_CURRENT_LEADER_TAG, leader)])
