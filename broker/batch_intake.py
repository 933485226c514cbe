"""BatchIntake: from the bytes a producer sent for one partition to a journaled batch, or an error.

Owns: the order of checks on a client's batch (reference order of Apache Kafka), the patching of
offset, epoch and append time in place.
Never knows: the wire layout of Produce, answers of other
partitions, durability.

The batch is judged by its 61-byte header and its CRC. Records are walked (`record_checks.py`) only
where a rule needs them: keys on compacted topics, timestamps that may be out of bounds, or when the
setting `produce.validate.records` wants every record looked at.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from broker.changes import BatchAppended
from broker.limits import DECOMPRESSED_BATCH_BYTES_MAX
from broker.partition import LEADER_EPOCH, Partition
from broker.record_checks import walk_records
from broker.settings import INT64_MAX
from broker.topics import Topic
from protocol.compression import ZSTD
from protocol.errors import ErrorCode, KafkaError, ProtocolError
from protocol.recompression import recompress
from protocol.record_batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    CONTROL_BIT,
    CURRENT_MAGIC,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC_AT,
    BatchHeader,
    crc_of,
    read_header,
    seal,
    set_base_offset_and_epoch,
    set_log_append_time,
)
from storage.errors import CorruptData, StorageFull
from txn.eos_manager import CONFLICTING_DUPLICATE, Duplicate, Refused

if TYPE_CHECKING:
    from broker.broker import Broker

logger = logging.getLogger("oncelog.intake")

RECORD_BYTES_MIN = 7
"""An empty record: one byte each for length, attributes, two deltas, key, value and header count.
"""


class Stored(NamedTuple):
    """Where a batch lies in the log."""

    base_offset: int
    log_append_time: int


def only_batch(records: memoryview | None) -> tuple[memoryview, BatchHeader]:
    """The one batch that must fill a partition's records exactly, with its header."""
    if records is None or len(records) < HEADER_BYTES:
        raise KafkaError(ErrorCode.INVALID_RECORD, "exactly one record batch is needed")
    magic = records[MAGIC_AT]
    if magic != CURRENT_MAGIC:
        raise KafkaError(
            ErrorCode.INVALID_RECORD, f"record batches of format {magic} are not taken"
        )
    try:
        header = read_header(records)
    except ProtocolError as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
    size = header.size_bytes
    if size > len(records):
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "the record batch is cut short")
    if size < len(records):
        raise KafkaError(ErrorCode.INVALID_RECORD, "more than one record batch for a partition")
    return records, header


def take_batch(
    broker: Broker, partition: Partition, batch: memoryview, header: BatchHeader
) -> Stored:
    """Check, journal and apply one client batch; KafkaError says why not."""
    topic = partition.topic
    if topic.is_internal:
        raise KafkaError(
            ErrorCode.INVALID_TOPIC_EXCEPTION, f"topic {topic.name} is internal to the broker"
        )
    if header.base_offset != 0:
        raise KafkaError(ErrorCode.INVALID_RECORD, "the base offset of a produced batch must be 0")
    _check_size(topic, len(batch))
    crc = crc_of(batch, 0, len(batch))
    if crc != header.crc:
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE, f"the batch's CRC is {crc:08x}, it says {header.crc:08x}"
        )
    now_ms = broker.now_ms()
    _check_header(header, len(batch))
    if _needs_walk(broker, topic, header, now_ms):
        walk_records(topic, header, batch, now_ms)
    if header.producer_id >= 0:
        verdict = partition.eos.decide(header, crc)
        if verdict is not None:
            return _not_accepted(partition, header, verdict)
    if topic.config.codec is not None and topic.config.codec != header.attributes & CODEC_MASK:
        batch = _recompressed(topic, header, batch)
    return _store(broker, partition, batch, crc, now_ms)


def _check_size(topic: Topic, size: int) -> None:
    config = topic.config
    if size > config.max_message_bytes:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"the batch has {size} bytes, topic {topic.name} takes {config.max_message_bytes}",
        )
    if size > config.segment_bytes:
        raise KafkaError(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"the batch has {size} bytes, a segment of {topic.name} {config.segment_bytes}",
        )


def _check_header(header: BatchHeader, size: int) -> None:
    """What the header alone can give away."""
    count = header.record_count
    if count <= 0 or header.last_offset_delta + 1 != count:
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            f"record count {count} and last offset delta {header.last_offset_delta} disagree",
        )
    attributes = header.attributes
    codec = attributes & CODEC_MASK
    if codec == 0 and count * RECORD_BYTES_MIN > size - HEADER_BYTES:
        raise KafkaError(
            ErrorCode.INVALID_RECORD, f"{size} bytes cannot hold {count} uncompressed records"
        )
    if codec > ZSTD:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"no codec has the number {codec}")
    if attributes & CONTROL_BIT:
        raise KafkaError(ErrorCode.INVALID_RECORD, "clients must not write control records")
    if header.producer_id >= 0 and (header.base_sequence < 0 or header.producer_epoch < 0):
        raise KafkaError(
            ErrorCode.INVALID_RECORD, "a batch with a producer id needs an epoch and a sequence"
        )


def _needs_walk(broker: Broker, topic: Topic, header: BatchHeader, now_ms: int) -> bool:
    config = topic.config
    if config.is_compacted or broker.settings.produce_validate_records:
        return True
    return not config.uses_log_append_time and (
        header.max_timestamp > now_ms + config.timestamp_after_max_ms
        or config.timestamp_before_max_ms < INT64_MAX
    )


def _not_accepted(
    partition: Partition, header: BatchHeader, verdict: Duplicate | Refused
) -> Stored:
    if isinstance(verdict, Duplicate):
        # Kafka answers the stored batch's max timestamp here even on CreateTime topics.
        return Stored(verdict.base_offset, verdict.max_timestamp)
    if verdict.message == CONFLICTING_DUPLICATE:
        logger.warning(
            "producer %d sent other bytes under sequence %d of %s-%d again: refused",
            header.producer_id,
            header.base_sequence,
            partition.topic.name,
            partition.index,
        )
        partition.topic.conflicting_duplicates += 1
    raise KafkaError(verdict.error, verdict.message)


def _recompressed(topic: Topic, header: BatchHeader, batch: memoryview) -> memoryview:
    codec = topic.config.codec
    try:
        fresh = recompress(batch, header, codec or 0, DECOMPRESSED_BATCH_BYTES_MAX)
    except ProtocolError as error:
        raise KafkaError(ErrorCode.INVALID_RECORD, str(error)) from None
    _check_size(topic, len(fresh))
    return memoryview(fresh)


def _store(
    broker: Broker, partition: Partition, batch: memoryview, crc: int, now_ms: int
) -> Stored:
    """Give the batch its place and time, in place, and make it a change."""
    topic = partition.topic
    config = topic.config
    log = partition.log
    base_offset = log.log_end_offset
    if broker.disk_is_full:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the disk is nearly full")
    set_base_offset_and_epoch(batch, 0, base_offset, LEADER_EPOCH)
    append_time = -1
    if config.uses_log_append_time:
        set_log_append_time(batch, 0, now_ms)
        append_time = now_ms
    elif batch[ATTRIBUTES_AT + 1] & LOG_APPEND_TIME_BIT:
        # A producer must not claim the broker's clock; Kafka takes the claim away, too.
        batch[ATTRIBUTES_AT + 1] &= ~LOG_APPEND_TIME_BIT
        seal(batch, 0)
    header = read_header(batch)
    try:
        log.prepare_append()
    except (CorruptData, OSError) as error:
        logger.error("cannot append to %s-%d: %s", topic.name, partition.index, error)
        raise KafkaError(
            ErrorCode.KAFKA_STORAGE_ERROR, "the partition's files are damaged"
        ) from None
    roll = log.wants_roll(
        len(batch),
        header.max_timestamp,
        now_ms,
        config.segment_bytes,
        config.segment_ms,
        header.record_count,
    )
    change = BatchAppended(topic.topic_id, partition.index, header, batch, crc, now_ms, roll)
    try:
        broker.durability.commit((change,))
    except StorageFull as error:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from None
    return Stored(base_offset, append_time)
