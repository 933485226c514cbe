"""BatchIntake: from the bytes a producer sent for one partition to a journaled batch, or an error.

Owns: the order of checks on a client's batch (reference order of Apache Kafka), the patching of
offset, epoch and append time in place. Never knows: the wire layout of Produce, answers of other
partitions, durability.

The batch is judged by its 61-byte header and its CRC. Records are walked only where a rule needs
them: keys on compacted topics, timestamps that may be out of bounds.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from broker.changes import BatchAppended
from broker.limits import DECOMPRESSED_BATCH_BYTES_MAX
from broker.partition import LEADER_EPOCH, Partition
from broker.settings import INT64_MAX
from protocol.errors import ErrorCode, KafkaError, ProtocolError
from protocol.record_batch import (
    CODEC_MASK,
    CONTROL_BIT,
    CURRENT_MAGIC,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    BatchHeader,
    crc_of,
    read_header,
    set_base_offset_and_epoch,
    set_log_append_time,
)
from protocol.records import read_records
from storage.errors import StorageFull
from txn.eos_manager import CONFLICTING_DUPLICATE, Duplicate, Refused

if TYPE_CHECKING:
    from broker.broker import Broker

logger = logging.getLogger("oncelog.intake")

RECORD_BYTES_MIN = 7
"""An empty record: one byte each for length, attributes, two deltas, key, value and header count.
"""

NO_TIMESTAMP = -1


class RecordsRefused(KafkaError):
    """Single records of a batch are at fault; names them by their index."""

    def __init__(
        self, code: ErrorCode, message: str, record_errors: Sequence[tuple[int, str | None]]
    ) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors


class Stored(NamedTuple):
    """Where a batch lies in the log."""

    base_offset: int
    log_append_time: int


def take_batch(broker: Broker, partition: Partition, records: memoryview | None) -> Stored:
    """Check, journal and apply one client batch; KafkaError says why not."""
    header, size = _only_batch(records)
    assert_records: memoryview = records  # type: ignore[assignment]
    topic = partition.topic
    config = topic.config
    if topic.is_internal:
        raise KafkaError(
            ErrorCode.INVALID_TOPIC_EXCEPTION, f"topic {topic.name} is internal to the broker"
        )
    if header.base_offset != 0:
        raise KafkaError(ErrorCode.INVALID_RECORD, "the base offset of a produced batch must be 0")
    if size > config.max_message_bytes:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"the batch has {size} bytes, topic {topic.name} takes {config.max_message_bytes}",
        )
    crc = crc_of(assert_records, 0, size)
    if crc != header.crc:
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE, f"the batch's CRC is {crc:08x}, it says {header.crc:08x}"
        )
    now_ms = broker.now_ms()
    _check_content(partition, header, assert_records, size, now_ms)
    if size > config.segment_bytes:
        raise KafkaError(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"the batch has {size} bytes, a segment of {topic.name} {config.segment_bytes}",
        )
    if header.producer_id >= 0:
        verdict = partition.eos.decide(header, crc)
        if verdict is not None:
            return _not_accepted(partition, header, verdict)
    return _store(broker, partition, header, assert_records, crc, now_ms)


def _only_batch(records: memoryview | None) -> tuple[BatchHeader, int]:
    """The header and size of the one batch that must fill the records exactly."""
    if records is None or len(records) < HEADER_BYTES:
        raise KafkaError(ErrorCode.INVALID_RECORD, "exactly one record batch is needed")
    if records[16] != CURRENT_MAGIC:
        raise KafkaError(
            ErrorCode.INVALID_RECORD, f"record batches of format {records[16]} are not taken"
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
    return header, size


def _check_content(
    partition: Partition, header: BatchHeader, records: memoryview, size: int, now_ms: int
) -> None:
    count = header.record_count
    if count <= 0 or header.last_offset_delta + 1 != count:
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            f"record count {count} and last offset delta {header.last_offset_delta} disagree",
        )
    if header.attributes & CODEC_MASK == 0 and count * RECORD_BYTES_MIN > size - HEADER_BYTES:
        raise KafkaError(
            ErrorCode.INVALID_RECORD, f"{size} bytes cannot hold {count} uncompressed records"
        )
    attributes = header.attributes
    if attributes & CONTROL_BIT:
        raise KafkaError(ErrorCode.INVALID_RECORD, "clients must not write control records")
    if header.producer_id >= 0 and (header.base_sequence < 0 or header.producer_epoch < 0):
        raise KafkaError(
            ErrorCode.INVALID_RECORD, "a batch with a producer id needs an epoch and a sequence"
        )
    config = partition.topic.config
    if attributes & LOG_APPEND_TIME_BIT and not config.uses_log_append_time:
        raise KafkaError(ErrorCode.INVALID_TIMESTAMP, "a producer must not claim log append time")
    latest_ms = now_ms + config.timestamp_after_max_ms
    checks_time = not config.uses_log_append_time and (
        header.max_timestamp > latest_ms or config.timestamp_before_max_ms < INT64_MAX
    )
    if checks_time or config.is_compacted:
        _walk(partition, header, records, now_ms, checks_time)


def _walk(
    partition: Partition,
    header: BatchHeader,
    records: memoryview,
    now_ms: int,
    checks_time: bool,
) -> None:
    """Look at every record: a key on compacted topics, a timestamp within bounds."""
    config = partition.topic.config
    earliest_ms = now_ms - config.timestamp_before_max_ms
    latest_ms = now_ms + config.timestamp_after_max_ms
    keyless: list[tuple[int, str | None]] = []
    untimely: list[tuple[int, str | None]] = []
    try:
        for index, record in enumerate(
            read_records(records, 0, header, DECOMPRESSED_BATCH_BYTES_MAX)
        ):
            if config.is_compacted and record.key is None:
                keyless.append(
                    (index, "Compacted topic cannot accept message without key in topic partition")
                )
            timestamp = header.base_timestamp + record.timestamp_delta
            timely = timestamp == NO_TIMESTAMP or earliest_ms <= timestamp <= latest_ms
            if checks_time and not timely:
                limits = f"[{earliest_ms}, {latest_ms}]"
                untimely.append((index, f"Timestamp {timestamp} is out of range {limits}"))
    except ProtocolError as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
    if keyless:
        raise RecordsRefused(
            ErrorCode.INVALID_RECORD,
            "One or more records have been rejected: a compacted topic needs keys",
            keyless,
        )
    if untimely:
        raise RecordsRefused(
            ErrorCode.INVALID_TIMESTAMP,
            "One or more records have been rejected due to invalid timestamp",
            untimely,
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


def _store(
    broker: Broker,
    partition: Partition,
    header: BatchHeader,
    batch: memoryview,
    crc: int,
    now_ms: int,
) -> Stored:
    topic = partition.topic
    config = topic.config
    log = partition.log
    base_offset = log.log_end_offset
    append_time = -1
    set_base_offset_and_epoch(batch, 0, base_offset, LEADER_EPOCH)
    if config.uses_log_append_time:
        set_log_append_time(batch, 0, now_ms)
        append_time = now_ms
    header = read_header(batch)
    roll = log.wants_roll(
        len(batch), header.max_timestamp, now_ms, config.segment_bytes, config.segment_ms
    )
    if broker.disk_is_full:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the disk is nearly full")
    change = BatchAppended(topic.topic_id, partition.index, header, batch, crc, now_ms, roll)
    try:
        broker.durability.commit((change,))
    except StorageFull as error:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from None
    return Stored(base_offset, append_time)
