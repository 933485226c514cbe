"""Fetch on the wire, by hand: request versions 4-18 in, response versions 4-18 out.

The same bytes as the generated FetchRequest and FetchResponse (the tests hold them together), but
records are never copied: a response is a list of buffers to be written one after the other. Owns
these two layouts and nothing else. Must never know sessions, offsets' meaning or any broker state.

Which version has what: 5 log start offset; 7 sessions, forgotten topics and a top-level error;
9 current leader epoch; 11 rack and preferred read replica; 12 flexible encoding, last fetched
epoch, cluster id, diverging epoch and current leader; 13 topic ids in place of topic names; 15 the
replica id moves to a tagged field; 16 node endpoints. What only a replica says about itself (its
epoch, its directory, its high watermark) is skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from struct import error as struct_error
from typing import Final, TypeAlias

from protocol.errors import ProtocolError
from protocol.node_endpoints import NodeEndpoint, encode_node_endpoints
from protocol.primitives import (
    CONTENT_FACTOR,
    INT32_ELEMENT,
    Buffer,
    ElementSize,
    Reader,
    Writer,
    required,
)

FIRST_WITH_LOG_START_OFFSET: Final = 5
FIRST_WITH_SESSIONS: Final = 7
FIRST_WITH_LEADER_EPOCH: Final = 9
FIRST_WITH_RACK: Final = 11
FIRST_FLEXIBLE: Final = 12
FIRST_WITH_TOPIC_IDS: Final = 13
FIRST_WITH_REPLICA_STATE: Final = 15
FIRST_WITH_NODE_ENDPOINTS: Final = 16

NO_REPLICA: Final = -1
NO_EPOCH: Final = -1
NO_LOG_START_OFFSET: Final = -1
NO_SESSION: Final = 0
# What a request that knows no sessions means: a full fetch that opens none.
FINAL_SESSION_EPOCH: Final = -1

FetchPartition: TypeAlias = tuple[int, int, int, int, int, int]
"""partition, current leader epoch, fetch offset, last fetched epoch, log start offset, max bytes"""
FetchTopic: TypeAlias = tuple[str | None, bytes | None, list[FetchPartition]]
FetchedRecords: TypeAlias = Buffer | list[memoryview] | list[bytes] | list[Buffer]
ForgottenTopic: TypeAlias = tuple[str | None, bytes | None, list[int]]


@dataclass(slots=True)
class FetchRequest:
    """A decoded request; fields its version lacks have the values that mean "not said".

    A topic is (name, id, partitions): a name before version 13, an id from then on, the other None.
    """

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: list[FetchTopic]
    forgotten_topics: list[ForgottenTopic]
    rack_id: str = ""
    replica_id: int = NO_REPLICA
    cluster_id: str | None = None


@dataclass(slots=True)
class PartitionFetched:
    """The answer for one partition; what a version cannot carry is left out when encoding."""

    index: int
    error_code: int
    high_watermark: int
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted_transactions: Sequence[tuple[int, int]] | None = None
    """(producer id, first offset); None unless the reader wants committed records only"""
    preferred_read_replica: int = -1
    records: FetchedRecords = b""
    """One buffer or several in a row. Nothing to send is zero bytes, never null"""
    diverging_epoch: tuple[int, int] | None = None
    """(epoch, its end offset)"""
    current_leader: tuple[int, int] | None = None
    """(leader id, leader epoch)"""


FetchedTopic: TypeAlias = tuple[str | None, bytes | None, Sequence[PartitionFetched]]

_CLUSTER_ID_TAG: Final = 0
_REPLICA_STATE_TAG: Final = 1

# In memory a topic is a tuple, its name or id and a list; a partition a tuple of six numbers.
_TOPIC_COST: Final = 272
_FIXED_TOPIC: Final[ElementSize] = (6, _TOPIC_COST - 6 * CONTENT_FACTOR)
_FLEXIBLE_TOPIC: Final[ElementSize] = (3, _TOPIC_COST - 3 * CONTENT_FACTOR)
_TOPIC_WITH_ID: Final[ElementSize] = (18, _TOPIC_COST - 18 * CONTENT_FACTOR)

_PARTITION_OF_4: Final = Struct(">iqi")
_PARTITION_OF_5: Final = Struct(">iqqi")
_PARTITION_OF_9: Final = Struct(">iiqqi")
_PARTITION_OF_12: Final = Struct(">iiqiqi")
_PARTITION_SIZE_OF_4: Final[ElementSize] = (16, 212 - 16 * CONTENT_FACTOR)
_PARTITION_SIZE_OF_5: Final[ElementSize] = (24, 244 - 24 * CONTENT_FACTOR)
_PARTITION_SIZE_OF_9: Final[ElementSize] = (28, 276 - 28 * CONTENT_FACTOR)
_PARTITION_SIZE_OF_12: Final[ElementSize] = (33, 308 - 33 * CONTENT_FACTOR)
_SESSION: Final = Struct(">ii")
_LIMITS: Final = Struct(">iiib")
_REPLICA_STATE: Final = Struct(">iq")


def decode_fetch_request(buffer: Buffer, at: int, end: int, version: int) -> FetchRequest:
    """Decodes the body (what follows the request header): buffer[at:end], all of it."""
    reader = Reader(buffer, at, end)
    if reader.end != end:
        raise ValueError(f"frame ends at {end}, buffer at {reader.end}")
    replica_id = reader.int32() if version < FIRST_WITH_REPLICA_STATE else NO_REPLICA
    max_wait_ms, min_bytes, max_bytes, isolation_level = reader.unpack(_LIMITS)
    session_id, session_epoch = NO_SESSION, FINAL_SESSION_EPOCH
    if version >= FIRST_WITH_SESSIONS:
        session_id, session_epoch = reader.unpack(_SESSION)
    request = FetchRequest(
        max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, [], [],
        "", replica_id,
    )  # fmt: skip
    if version >= FIRST_FLEXIBLE:
        _decode_flexible_rest(reader, version, request)
    else:
        _decode_fixed_rest(reader, version, request)
    if reader.remaining:
        raise ProtocolError(f"{reader.remaining} bytes too many in a fetch request")
    return request


def _decode_fixed_rest(reader: Reader, version: int, request: FetchRequest) -> None:
    for _ in range(reader.count(_FIXED_TOPIC)):
        name = reader.string()
        request.topics.append((name, None, _fixed_partitions(reader, version)))
    if version >= FIRST_WITH_SESSIONS:
        for _ in range(reader.count(_FIXED_TOPIC)):
            name = reader.string()
            forgotten = reader.int32_list(reader.count(INT32_ELEMENT))
            request.forgotten_topics.append((name, None, forgotten))
    if version >= FIRST_WITH_RACK:
        request.rack_id = reader.string()


def _fixed_partitions(reader: Reader, version: int) -> list[FetchPartition]:
    """Partitions of versions 4-11: no tagged fields, so all of them are unpacked in one go."""
    if version >= FIRST_WITH_LEADER_EPOCH:
        rows = reader.take(reader.count(_PARTITION_SIZE_OF_9) * _PARTITION_OF_9.size)
        return [
            (partition, leader_epoch, offset, NO_EPOCH, log_start_offset, max_bytes)
            for partition, leader_epoch, offset, log_start_offset, max_bytes in (
                _PARTITION_OF_9.iter_unpack(rows)
            )
        ]
    if version >= FIRST_WITH_LOG_START_OFFSET:
        rows = reader.take(reader.count(_PARTITION_SIZE_OF_5) * _PARTITION_OF_5.size)
        return [
            (partition, NO_EPOCH, offset, NO_EPOCH, log_start_offset, max_bytes)
            for partition, offset, log_start_offset, max_bytes in _PARTITION_OF_5.iter_unpack(rows)
        ]
    rows = reader.take(reader.count(_PARTITION_SIZE_OF_4) * _PARTITION_OF_4.size)
    return [
        (partition, NO_EPOCH, offset, NO_EPOCH, NO_LOG_START_OFFSET, max_bytes)
        for partition, offset, max_bytes in _PARTITION_OF_4.iter_unpack(rows)
    ]


def _decode_flexible_rest(reader: Reader, version: int, request: FetchRequest) -> None:
    has_ids = version >= FIRST_WITH_TOPIC_IDS
    topic_size = _TOPIC_WITH_ID if has_ids else _FLEXIBLE_TOPIC
    for _ in range(reader.compact_count(topic_size)):
        name = None if has_ids else reader.compact_string()
        topic_id = reader.uuid() if has_ids else None
        partitions = _flexible_partitions(reader)
        reader.skip_tagged_fields()
        request.topics.append((name, topic_id, partitions))
    for _ in range(reader.compact_count(topic_size)):
        name = None if has_ids else reader.compact_string()
        topic_id = reader.uuid() if has_ids else None
        forgotten = reader.int32_list(reader.compact_count(INT32_ELEMENT))
        reader.skip_tagged_fields()
        request.forgotten_topics.append((name, topic_id, forgotten))
    request.rack_id = reader.compact_string()
    _decode_tagged_fields(reader, version, request)


def _flexible_partitions(reader: Reader) -> list[FetchPartition]:
    """The order on the wire is that of the tuple, so what is unpacked is what is kept."""
    partitions: list[FetchPartition] = []
    unpack = _PARTITION_OF_12.unpack_from
    view = reader.buffer
    try:
        for _ in range(reader.compact_count(_PARTITION_SIZE_OF_12)):
            at = reader.position
            partitions.append(unpack(view, at))
            at += _PARTITION_OF_12.size
            if view[at]:
                reader.position = at
                reader.skip_tagged_fields()
            else:
                reader.position = at + 1
    except (struct_error, IndexError):
        raise ProtocolError("fetch request is cut off") from None
    return partitions


def _decode_tagged_fields(reader: Reader, version: int, request: FetchRequest) -> None:
    for _ in range(reader.tag_count()):
        tag, after = reader.tag()
        if tag == _CLUSTER_ID_TAG:
            request.cluster_id = reader.compact_nullable_string()
            reader.end_tag(after)
        elif tag == _REPLICA_STATE_TAG and version >= FIRST_WITH_REPLICA_STATE:
            request.replica_id = reader.unpack(_REPLICA_STATE)[0]
            reader.skip_tagged_fields()
            reader.end_tag(after)
        else:
            reader.position = after


_DIVERGING_EPOCH_TAG: Final = 0
_CURRENT_LEADER_TAG: Final = 1

_pack_head_of_4 = Struct(">iii").pack
_pack_head_of_7 = Struct(">iihii").pack
_pack_head_of_12 = Struct(">iBihi").pack
_pack_offsets_of_4 = Struct(">ihqq").pack
_pack_offsets_of_5 = Struct(">ihqqq").pack
_pack_int64_pair = Struct(">qq").pack
_pack_diverging_epoch = Struct(">iqB").pack
_pack_current_leader = Struct(">iiB").pack
_NO_TAGS: Final = 0


def encode_fetch_response(
    correlation_id: int,
    version: int,
    error_code: int,
    session_id: int,
    throttle_time_ms: int,
    topics: Sequence[FetchedTopic],
    node_endpoints: Sequence[NodeEndpoint] = (),
) -> list[Buffer]:
    """The response with its header, whole but for the four bytes of frame size in front.

    To be written in order; the frame's size is the sum of the lengths. Records are the very buffers
    that came in, so whoever owns them must leave them alone until they are written.
    """
    parts: list[Buffer] = []
    writer = Writer()
    if version >= FIRST_FLEXIBLE:
        writer.buffer += _pack_head_of_12(
            correlation_id, _NO_TAGS, throttle_time_ms, error_code, session_id
        )
        _encode_flexible(parts, writer, version, topics)
        has_endpoints = version >= FIRST_WITH_NODE_ENDPOINTS
        encode_node_endpoints(writer, node_endpoints if has_endpoints else ())
    else:
        if version >= FIRST_WITH_SESSIONS:
            writer.buffer += _pack_head_of_7(
                correlation_id, throttle_time_ms, error_code, session_id, len(topics)
            )
        else:
            writer.buffer += _pack_head_of_4(correlation_id, throttle_time_ms, len(topics))
        _encode_fixed(parts, writer, version, topics)
    if writer.buffer:
        parts.append(writer.buffer)
    return parts


def _put_records(parts: list[Buffer], writer: Writer, records: FetchedRecords) -> None:
    """Moves what was written so far to `parts`, and the records behind it."""
    parts.append(writer.buffer)
    if isinstance(records, list):
        parts += records
    else:
        parts.append(records)
    writer.buffer = bytearray()


def _size_of(records: FetchedRecords) -> int:
    return sum(map(len, records)) if isinstance(records, list) else len(records)


def _encode_fixed(
    parts: list[Buffer], writer: Writer, version: int, topics: Sequence[FetchedTopic]
) -> None:
    for name, _, answers in topics:
        writer.string(required(name))
        writer.count(len(answers))
        for answer in answers:
            _encode_offsets(writer, version, answer)
            aborted = answer.aborted_transactions
            if aborted is None:
                writer.null_count()
            else:
                writer.count(len(aborted))
                for producer_id, first_offset in aborted:
                    writer.buffer += _pack_int64_pair(producer_id, first_offset)
            if version >= FIRST_WITH_RACK:
                writer.int32(answer.preferred_read_replica)
            size = _size_of(answer.records)
            writer.int32(size)
            if size:
                _put_records(parts, writer, answer.records)


def _encode_offsets(writer: Writer, version: int, answer: PartitionFetched) -> None:
    if version >= FIRST_WITH_LOG_START_OFFSET:
        writer.buffer += _pack_offsets_of_5(
            answer.index, answer.error_code, answer.high_watermark, answer.last_stable_offset,
            answer.log_start_offset,
        )  # fmt: skip
    else:
        writer.buffer += _pack_offsets_of_4(
            answer.index, answer.error_code, answer.high_watermark, answer.last_stable_offset
        )


def _encode_flexible(
    parts: list[Buffer], writer: Writer, version: int, topics: Sequence[FetchedTopic]
) -> None:
    writer.compact_count(len(topics))
    for name, topic_id, answers in topics:
        if version >= FIRST_WITH_TOPIC_IDS:
            writer.uuid(required(topic_id))
        else:
            writer.compact_string(required(name))
        writer.compact_count(len(answers))
        for answer in answers:
            _encode_offsets(writer, version, answer)
            aborted = answer.aborted_transactions
            if aborted is None:
                writer.compact_null_count()
            else:
                writer.compact_count(len(aborted))
                for producer_id, first_offset in aborted:
                    writer.buffer += _pack_int64_pair(producer_id, first_offset)
                    writer.empty_tagged_fields()
            writer.int32(answer.preferred_read_replica)
            size = _size_of(answer.records)
            writer.unsigned_varint(size + 1)
            if size:
                _put_records(parts, writer, answer.records)
            _encode_partition_tags(writer, answer)
        writer.empty_tagged_fields()


def _encode_partition_tags(writer: Writer, answer: PartitionFetched) -> None:
    diverging, leader = answer.diverging_epoch, answer.current_leader
    if diverging is None and leader is None:
        writer.empty_tagged_fields()
        return
    tags: list[tuple[int, Writer]] = []
    if diverging is not None:
        content = _pack_diverging_epoch(diverging[0], diverging[1], _NO_TAGS)
        tags.append((_DIVERGING_EPOCH_TAG, Writer(bytearray(content))))
    if leader is not None:
        content = _pack_current_leader(leader[0], leader[1], _NO_TAGS)
        tags.append((_CURRENT_LEADER_TAG, Writer(bytearray(content))))
    writer.tagged_fields(tags)
