"""The checks on single records of a client's batch, for topics and settings that want them.

Owns: walking a batch's records, which record is at fault and why, a max timestamp put right.
Never knows: producers, the journal.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.limits import DECOMPRESSED_BATCH_BYTES_MAX, RECORD_ERRORS_MAX, WALKED_RECORDS_MAX
from broker.topics import Topic
from protocol.errors import ErrorCode, KafkaError, ProtocolError
from protocol.record_batch import BatchHeader, set_max_timestamp
from protocol.records import read_records

NO_TIMESTAMP = -1

RecordErrors = Sequence[tuple[int, str | None]]


class RecordsRefused(KafkaError):
    """Single records of a batch are at fault; names them by their index."""

    def __init__(
        self, code: ErrorCode, message: str, record_errors: Sequence[tuple[int, str | None]]
    ) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors


def walk_records(topic: Topic, header: BatchHeader, batch: memoryview, now_ms: int) -> None:
    """Look at every record; RecordsRefused names those at fault."""
    if header.record_count > WALKED_RECORDS_MAX:
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            f"{header.record_count} records in a batch; where each is checked at most "
            f"{WALKED_RECORDS_MAX} are taken",
        )
    config = topic.config
    earliest_ms = now_ms - config.timestamp_before_max_ms
    latest_ms = now_ms + config.timestamp_after_max_ms
    limits = f"[{earliest_ms}, {latest_ms}]"
    keyless: list[tuple[int, str | None]] = []
    untimely: list[tuple[int, str | None]] = []
    max_timestamp = NO_TIMESTAMP
    try:
        records = read_records(batch, 0, header, DECOMPRESSED_BATCH_BYTES_MAX)
        for index, record in enumerate(records):
            if config.is_compacted and record.key is None:
                keyless.append((index, "a record of a compacted topic needs a key"))
            if len(keyless) + len(untimely) >= RECORD_ERRORS_MAX:
                break
            timestamp = header.base_timestamp + record.timestamp_delta
            max_timestamp = max(max_timestamp, timestamp)
            timely = timestamp == NO_TIMESTAMP or earliest_ms <= timestamp <= latest_ms
            if not timely and not config.uses_log_append_time:
                untimely.append((index, f"Timestamp {timestamp} is out of range {limits}"))
    except ProtocolError as error:
        raise KafkaError(ErrorCode.INVALID_RECORD, str(error)) from None
    if untimely:
        message = "One or more records have been rejected due to invalid timestamp"
        raise RecordsRefused(ErrorCode.INVALID_TIMESTAMP, message, sorted(keyless + untimely))
    if keyless:
        message = "One or more records have been rejected: a compacted topic needs keys"
        raise RecordsRefused(ErrorCode.INVALID_RECORD, message, keyless)
    if max_timestamp != header.max_timestamp:
        set_max_timestamp(batch, 0, max_timestamp)
