"""Produce: record timestamps, their bounds, and topics that stamp records themselves."""

import time
from typing import Any

import pytest

from tests.wire.support import batches, requests
from tests.wire.support.batches import LOG_APPEND_TIME_BIT, PAST_TIMESTAMP, Record
from tests.wire.support.broker import Broker
from tests.wire.support.connection import Connection
from tests.wire.support.error_codes import INVALID_TIMESTAMP
from tests.wire.support.requests import Topic

VERSIONS = range(3, 14)
RECORD_ERROR_VERSIONS = range(8, 14)

HOUR_MS = 3_600_000
# Far from any limit, so that the clocks of test and broker need not agree.
MINUTE_MS = 60_000


def now_ms() -> int:
    return int(time.time() * 1000)


@pytest.fixture(scope="module")
def topic(broker: Broker) -> Topic:
    return broker.create_topic()


@pytest.fixture(scope="module")
def stamping_topic(broker: Broker) -> Topic:
    return broker.create_topic(configs={"message.timestamp.type": "LogAppendTime"})


def send(connection: Connection, topic: Topic, records: bytes, version: int = 9) -> Any:
    answer = connection.call(requests.produce(topic, {0: records}), version)
    return answer.responses[0].partition_responses[0]


def last_stored(broker: Broker, topic: Topic) -> bytes:
    return batches.split(broker.stored(topic))[-1]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_timestamp_too_far_in_the_future_is_refused(
    connection: Connection, topic: Topic, version: int
) -> None:
    record = Record(b"v", timestamp=now_ms() + HOUR_MS + MINUTE_MS)
    answer = send(connection, topic, batches.build([record]), version)
    assert (answer.error_code, answer.base_offset) == (INVALID_TIMESTAMP, -1)


@pytest.mark.parametrize("version", RECORD_ERROR_VERSIONS)
def test_each_record_with_a_bad_timestamp_is_named(
    connection: Connection, topic: Topic, version: int
) -> None:
    future = now_ms() + HOUR_MS + MINUTE_MS
    records = [Record(b"good"), Record(b"bad", timestamp=future), Record(b"good")]
    records.append(Record(b"bad too", timestamp=future + 1))
    answer = send(connection, topic, batches.build(records), version)
    assert answer.error_code == INVALID_TIMESTAMP
    assert [one.batch_index for one in answer.record_errors] == [1, 3]
    assert all(one.batch_index_error_message for one in answer.record_errors)
    assert answer.error_message


def test_a_bad_timestamp_is_found_inside_a_compressed_batch(
    connection: Connection, topic: Topic
) -> None:
    future = now_ms() + HOUR_MS + MINUTE_MS
    records = [Record(bytes(1000)), Record(bytes(1000), timestamp=future)]
    answer = send(connection, topic, batches.build(records, codec=batches.LZ4))
    assert answer.error_code == INVALID_TIMESTAMP
    assert [one.batch_index for one in answer.record_errors] == [1]


def test_a_batch_with_one_bad_timestamp_is_not_stored_at_all(
    connection: Connection, broker: Broker
) -> None:
    topic = broker.create_topic()
    records = [Record(b"good"), Record(b"bad", timestamp=now_ms() + 2 * HOUR_MS)]
    assert send(connection, topic, batches.build(records)).error_code == INVALID_TIMESTAMP
    assert broker.latest(topic) == 0


@pytest.mark.parametrize("offset_ms", [0, HOUR_MS - MINUTE_MS, -HOUR_MS])
def test_a_timestamp_less_than_an_hour_ahead_is_accepted(
    connection: Connection, topic: Topic, offset_ms: int
) -> None:
    batch = batches.build([Record(b"v", timestamp=now_ms() + offset_ms)])
    assert send(connection, topic, batch).error_code == 0


@pytest.mark.parametrize("timestamp", [0, 1, PAST_TIMESTAMP])
def test_an_old_timestamp_is_accepted(
    connection: Connection, broker: Broker, topic: Topic, timestamp: int
) -> None:
    assert (
        send(connection, topic, batches.build([Record(b"v", timestamp=timestamp)])).error_code == 0
    )
    assert batches.header_of(last_stored(broker, topic))["max_timestamp"] == timestamp


def test_a_record_without_timestamp_is_accepted(
    connection: Connection, broker: Broker, topic: Topic
) -> None:
    batch = batches.patched(batches.build([b"v"]), base_timestamp=-1, max_timestamp=-1)
    answer = send(connection, topic, batch)
    assert (answer.error_code, answer.log_append_time_ms) == (0, -1)
    assert batches.header_of(last_stored(broker, topic))["max_timestamp"] == -1


def test_a_topic_may_bound_the_past(connection: Connection, broker: Broker) -> None:
    topic = broker.create_topic(configs={"message.timestamp.before.max.ms": str(HOUR_MS)})
    old = Record(b"v", timestamp=now_ms() - HOUR_MS - MINUTE_MS)
    answer = send(connection, topic, batches.build([Record(b"v", timestamp=now_ms()), old]))
    assert answer.error_code == INVALID_TIMESTAMP
    assert [one.batch_index for one in answer.record_errors] == [1]
    young = Record(b"v", timestamp=now_ms() - HOUR_MS + MINUTE_MS)
    assert send(connection, topic, batches.build([young])).error_code == 0


def test_a_topic_may_widen_the_future(connection: Connection, broker: Broker) -> None:
    topic = broker.create_topic(configs={"message.timestamp.after.max.ms": str(24 * HOUR_MS)})
    ahead = now_ms() + 23 * HOUR_MS
    assert send(connection, topic, batches.build([Record(b"v", timestamp=ahead)])).error_code == 0
    beyond = now_ms() + 25 * HOUR_MS
    answer = send(connection, topic, batches.build([Record(b"v", timestamp=beyond)]))
    assert answer.error_code == INVALID_TIMESTAMP


@pytest.mark.parametrize("codec", [batches.NONE, batches.GZIP, batches.LZ4])
def test_a_clients_claim_of_log_append_time_is_cleared(
    connection: Connection, broker: Broker, topic: Topic, codec: int
) -> None:
    batch = batches.build([bytes(1000)], codec=codec)
    claimed = batches.patched(batch, attributes=codec | LOG_APPEND_TIME_BIT)
    assert send(connection, topic, claimed).error_code == 0
    stored = last_stored(broker, topic)
    assert batches.header_of(stored)["attributes"] == codec
    assert batches.crc_is_right(stored)


@pytest.mark.parametrize("codec", [batches.NONE, batches.GZIP, batches.LZ4, batches.ZSTD])
def test_a_stamping_topic_gives_every_record_the_time_of_append(
    connection: Connection, broker: Broker, stamping_topic: Topic, codec: int
) -> None:
    before = now_ms()
    batch = batches.build([bytes(1000), bytes(1000)], codec=codec)
    answer = send(connection, stamping_topic, batch)
    assert answer.error_code == 0
    assert before - MINUTE_MS <= answer.log_append_time_ms <= now_ms() + MINUTE_MS
    stored = last_stored(broker, stamping_topic)
    header = batches.header_of(stored)
    assert header["attributes"] == codec | LOG_APPEND_TIME_BIT
    assert header["max_timestamp"] == answer.log_append_time_ms
    assert batches.crc_is_right(stored)
    stamps = {record.timestamp for _, record in batches.read(stored)}
    assert stamps == {answer.log_append_time_ms}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_stamping_topic_tells_the_time_in_every_version(
    connection: Connection, stamping_topic: Topic, version: int
) -> None:
    answer = send(connection, stamping_topic, batches.build([b"v"]), version)
    assert answer.log_append_time_ms > PAST_TIMESTAMP


@pytest.mark.parametrize("timestamp", [0, 4_000_000_000_000])
def test_a_stamping_topic_takes_any_client_timestamp(
    connection: Connection, stamping_topic: Topic, timestamp: int
) -> None:
    batch = batches.build([Record(b"v", timestamp=timestamp)])
    assert send(connection, stamping_topic, batch).error_code == 0
