"""Produce: every version stores and answers, and each refusal has Kafka's number."""

from __future__ import annotations

from typing import Any

import pytest

from broker.apis.produce import API
from broker.connection import CloseConnection
from protocol.errors import ErrorCode
from protocol.messages.produce import ProduceRequest
from protocol.record_batch import read_header, seal
from protocol.records import Record, build_batch
from storage.errors import StorageFull
from tests.broker.support import START_MS, InProcessBroker

VERSIONS = range(API.min_version, API.max_version + 1)


def batch(count: int = 1, **fields: Any) -> bytearray:
    records = [Record(index, 0, b"key", b"value", ()) for index in range(count)]
    return build_batch(records, base_timestamp=START_MS, **fields)


def produce(
    broker: InProcessBroker,
    records: bytes | bytearray | None,
    version: int = 9,
    *,
    topic: str = "events",
    partition: int = 0,
    acks: int = -1,
    transactional_id: str | None = None,
) -> ProduceRequest:
    known = broker.broker.topics.get(topic)
    topic_id = bytes(16) if known is None else known.topic_id
    data = ProduceRequest.PartitionProduceData(
        index=partition, records=None if records is None else memoryview(records)
    )
    named = ProduceRequest.TopicProduceData(name=topic, topic_id=topic_id, partition_data=[data])
    return ProduceRequest(
        transactional_id=transactional_id, acks=acks, timeout_ms=1_000, topic_data=[named]
    )


def error_of(broker: InProcessBroker, request: ProduceRequest, version: int = 9) -> ErrorCode:
    answer = broker.call(request, version).responses[0].partition_responses[0]
    assert answer.base_offset == -1
    return ErrorCode(answer.error_code)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_stores_and_answers_the_offset(broker: InProcessBroker, version: int) -> None:
    topic = broker.create_topic("events")
    for expected in (0, 3):
        response = broker.call(produce(broker, batch(3), version), version).responses[0]
        answer = response.partition_responses[0]
        assert (answer.error_code, answer.base_offset) == (0, expected)
    assert topic.partitions[0].high_watermark == 6


def test_offset_and_epoch_are_written_into_the_stored_batch(broker: InProcessBroker) -> None:
    log = broker.create_topic("events").partitions[0].log
    broker.call(produce(broker, batch(2)), 9)
    broker.call(produce(broker, batch(1)), 9)
    found = log.read(2, 10_000, 3, at_least_one=True, may_block=True)
    assert found is not None
    header = read_header(found.data)
    assert (header.base_offset, header.leader_epoch) == (2, 0)


def test_a_retry_gets_its_first_offset_also_after_a_restart(broker: InProcessBroker) -> None:
    broker.create_topic("events")
    fields = {"producer_id": 9, "producer_epoch": 0}
    for sequence in range(5):
        broker.call(produce(broker, batch(base_sequence=sequence, **fields)), 9)
    broker.restart()
    for sequence in range(5):
        request = produce(broker, batch(base_sequence=sequence, **fields))
        answer = broker.call(request, 9).responses[0].partition_responses[0]
        assert (answer.error_code, answer.base_offset) == (0, sequence)


def test_other_bytes_under_a_known_sequence_are_refused(broker: InProcessBroker) -> None:
    topic = broker.create_topic("events")
    fields: dict[str, Any] = {"producer_id": 9, "producer_epoch": 0, "base_sequence": 0}
    broker.call(produce(broker, batch(**fields)), 9)
    other = build_batch([Record(0, 0, None, b"other", ())], base_timestamp=START_MS, **fields)
    answer = broker.call(produce(broker, other), 9).responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert answer.error_message == "conflicting_duplicate"
    assert topic.conflicting_duplicates == 1


def test_an_unknown_topic_or_partition_is_not_created(broker: InProcessBroker) -> None:
    broker.create_topic("events")
    request = produce(broker, batch(), topic="other")
    assert error_of(broker, request) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    request = produce(broker, batch(), partition=1)
    assert error_of(broker, request) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert error_of(broker, produce(broker, batch(), topic="other"), 13) == (
        ErrorCode.UNKNOWN_TOPIC_ID
    )
    assert broker.broker.topics.get("other") is None


@pytest.mark.parametrize("acks", [-2, 2, 7])
def test_odd_acks_are_refused(broker: InProcessBroker, acks: int) -> None:
    broker.create_topic("events")
    request = produce(broker, batch(), acks=acks)
    assert error_of(broker, request) == ErrorCode.INVALID_REQUIRED_ACKS


def test_without_acks_there_is_no_answer_and_a_failure_hangs_up(broker: InProcessBroker) -> None:
    topic = broker.create_topic("events")
    assert broker.call(produce(broker, batch(), acks=0), 9) is None
    assert topic.partitions[0].high_watermark == 1
    with pytest.raises(CloseConnection):
        broker.call(produce(broker, batch(), acks=0, topic="other"), 9)


def test_a_transactional_batch_without_a_transaction_is_refused(broker: InProcessBroker) -> None:
    broker.create_topic("events")
    records = batch(producer_id=1, producer_epoch=0, base_sequence=0)
    records[22] |= 0x10
    seal(records, 0)
    request = produce(broker, records)
    assert error_of(broker, request) == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    request = produce(broker, records, transactional_id="t")
    assert error_of(broker, request) == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_zstd_needs_version_seven(broker: InProcessBroker) -> None:
    broker.create_topic("events")
    request = produce(broker, batch(codec=4))
    assert error_of(broker, request, 6) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


@pytest.mark.parametrize("records", [None, b"", b"short", bytes(80)])
def test_what_is_no_batch_is_an_invalid_record(
    broker: InProcessBroker, records: bytes | None
) -> None:
    broker.create_topic("events")
    assert error_of(broker, produce(broker, records)) == ErrorCode.INVALID_RECORD


def test_a_full_disk_is_a_storage_error_and_stores_nothing(
    broker: InProcessBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = broker.create_topic("events")
    broker.broker.disk_is_full = True
    assert error_of(broker, produce(broker, batch())) == ErrorCode.KAFKA_STORAGE_ERROR
    broker.broker.disk_is_full = False
    broker.refuse_writes(monkeypatch, StorageFull("no space"))
    assert error_of(broker, produce(broker, batch())) == ErrorCode.KAFKA_STORAGE_ERROR
    assert topic.partitions[0].log.log_end_offset == 0


def test_validation_of_every_record_finds_a_wrong_count(broker: InProcessBroker) -> None:
    records = batch(3)
    records[26] = 1  # last offset delta
    records[60] = 2  # record count
    seal(records, 0)
    broker.create_topic("events")
    assert broker.call(produce(broker, records), 9).responses[0].partition_responses[
        0
    ].error_code == (ErrorCode.NONE)
    with InProcessBroker(produce_validate_records=True) as careful:
        careful.create_topic("events")
        records[0:8] = bytes(8)
        assert error_of(careful, produce(careful, records)) == ErrorCode.INVALID_RECORD


def test_validation_of_every_record_puts_the_max_timestamp_right() -> None:
    with InProcessBroker(produce_validate_records=True) as careful:
        log = careful.create_topic("events").partitions[0].log
        records = batch(2)
        records[35:43] = (START_MS + 500).to_bytes(8, "big")
        seal(records, 0)
        careful.call(produce(careful, records), 9)
        found = log.read(0, 10_000, 2, at_least_one=True, may_block=True)
        assert found is not None
        assert read_header(found.data).max_timestamp == START_MS


def test_a_record_without_key_beside_an_untimely_one_makes_both_known(
    broker: InProcessBroker,
) -> None:
    broker.create_topic("events", cleanup_policy="compact")
    records = [Record(0, 0, None, b"v", ()), Record(1, 10**9, b"k", b"v", ())]
    batch_of_two = build_batch(records, base_timestamp=START_MS)
    answer = broker.call(produce(broker, batch_of_two), 9).responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [one.batch_index for one in answer.record_errors] == [0, 1]
