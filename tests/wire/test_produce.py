"""Produce: offsets, acknowledgements, unknown targets, independence of partitions."""

import uuid
from typing import Any

import pytest

from tests.wire.support import batches, requests
from tests.wire.support.broker import Broker
from tests.wire.support.connection import Connection
from tests.wire.support.error_codes import (
    CORRUPT_MESSAGE,
    INVALID_RECORD,
    INVALID_REQUIRED_ACKS,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from tests.wire.support.requests import Topic

VERSIONS = range(3, 14)
ID_VERSION = 13


@pytest.fixture
def topic(broker: Broker) -> Topic:
    return broker.create_topic(partitions=2)


def errors(answer: Any) -> dict[int, int]:
    """Partition to error code of the first topic."""
    return {one.index: one.error_code for one in answer.responses[0].partition_responses}


def broken_crc(batch: bytes) -> bytes:
    return batch[:-1] + bytes([batch[-1] ^ 1])


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("version", VERSIONS)
def test_offsets_are_given_in_order(
    connection: Connection, topic: Topic, version: int, acks: int
) -> None:
    for expected, values in [(0, [b"a", b"b"]), (2, [b"c"]), (3, [b"d"])]:
        request = requests.produce(topic, {1: batches.build(values)}, acks=acks)
        answer = connection.call(request, version)
        assert len(answer.responses) == 1
        only = answer.responses[0].partition_responses[0]
        assert (only.index, only.error_code, only.base_offset) == (1, 0, expected)
        assert only.log_append_time_ms == -1
        assert answer.throttle_time_ms == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_the_answer_names_the_topic_as_the_request_did(
    connection: Connection, topic: Topic, version: int
) -> None:
    answer = connection.call(requests.produce(topic, {0: batches.build([b"a"])}), version)
    found = answer.responses[0]
    if version >= ID_VERSION:
        assert found.topic_id == topic.id
    else:
        assert found.name == topic.name


@pytest.mark.parametrize("version", range(5, 14))
def test_the_log_start_offset_is_told(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    broker.produce(topic, batches.build([b"a", b"b", b"c"]))
    broker.delete_records(topic, {0: 2})
    answer = connection.call(requests.produce(topic, {0: batches.build([b"d"])}), version)
    assert answer.responses[0].partition_responses[0].log_start_offset == 2


@pytest.mark.parametrize("version", range(8, 14))
def test_success_carries_no_record_errors(
    connection: Connection, topic: Topic, version: int
) -> None:
    answer = connection.call(requests.produce(topic, {0: batches.build([b"a"])}), version)
    only = answer.responses[0].partition_responses[0]
    assert only.record_errors == []
    assert only.error_message is None


def test_what_is_acknowledged_can_be_read_back(broker: Broker, topic: Topic) -> None:
    records = [
        batches.Record(b"value", b"key", batches.PAST_TIMESTAMP, (("h", b"1"), ("h", None))),
        batches.Record(None, b"tombstone", batches.PAST_TIMESTAMP + 1),
        batches.Record(b"", b"", batches.PAST_TIMESTAMP - 1, (("", b""),)),
        batches.Record(None, None, 0),
    ]
    broker.produce(topic, batches.build(records))
    assert batches.read(broker.stored(topic)) == list(enumerate(records))


@pytest.mark.parametrize("version", VERSIONS)
def test_acks_zero_writes_and_sends_no_answer(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    request = requests.produce(topic, {0: batches.build([b"a"])}, acks=0)
    connection.send_without_answer(request, version)
    # The connection checks that this answer carries its own correlation id.
    assert len(connection.call(requests.metadata(), 9).brokers) == 1
    assert broker.latest(topic) == 1


def test_acks_zero_between_answered_requests_keeps_the_order(
    connection: Connection, broker: Broker, topic: Topic
) -> None:
    for index in range(3):
        connection.send(requests.produce(topic, {0: batches.build([b"%d" % index])}), 9)
        silent = requests.produce(topic, {0: batches.build([b"silent"])}, acks=0)
        connection.send_without_answer(silent, 9)
    offsets = [connection.receive().responses[0].partition_responses[0] for _ in range(3)]
    assert [one.base_offset for one in offsets] == [0, 2, 4]


@pytest.mark.parametrize("version", [3, 12, 13])
def test_an_error_with_acks_zero_closes_the_connection(
    connection: Connection, version: int
) -> None:
    nowhere = Topic("no-such-topic", uuid.uuid4())
    request = requests.produce(nowhere, {0: batches.build([b"a"])}, acks=0)
    connection.send_without_answer(request, version)
    connection.expect_close()


def test_a_corrupt_batch_with_acks_zero_closes_the_connection(
    connection: Connection, broker: Broker, topic: Topic
) -> None:
    bad = broken_crc(batches.build([b"a"]))
    connection.send_without_answer(requests.produce(topic, {0: bad}, acks=0), 9)
    connection.expect_close()
    assert broker.latest(topic) == 0


@pytest.mark.parametrize("acks", [2, -2, 32767])
@pytest.mark.parametrize("version", VERSIONS)
def test_other_acks_are_refused_on_every_partition(
    connection: Connection, broker: Broker, topic: Topic, version: int, acks: int
) -> None:
    batch = batches.build([b"a"])
    answer = connection.call(requests.produce(topic, {0: batch, 1: batch}, acks=acks), version)
    assert errors(answer) == {0: INVALID_REQUIRED_ACKS, 1: INVALID_REQUIRED_ACKS}
    assert broker.latest(topic) == 0


@pytest.mark.parametrize("version", range(3, 13))
def test_an_unknown_topic_is_refused_and_not_created(
    connection: Connection, broker: Broker, version: int
) -> None:
    name = broker.unique_name()
    answer = connection.call(requests.produce(Topic(name), {0: batches.build([b"a"])}), version)
    assert errors(answer) == {0: UNKNOWN_TOPIC_OR_PARTITION}
    assert answer.responses[0].partition_responses[0].base_offset == -1
    assert not broker.exists(name)


def test_an_unknown_topic_id_is_refused(connection: Connection) -> None:
    unknown = Topic("", uuid.uuid4())
    answer = connection.call(requests.produce(unknown, {0: batches.build([b"a"])}), ID_VERSION)
    assert errors(answer) == {0: UNKNOWN_TOPIC_ID}
    assert answer.responses[0].topic_id == unknown.id


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("partition", [2, -1, 0x7FFFFFFF])
def test_an_unknown_partition_is_refused(
    connection: Connection, topic: Topic, version: int, partition: int
) -> None:
    answer = connection.call(requests.produce(topic, {partition: batches.build([b"a"])}), version)
    assert errors(answer) == {partition: UNKNOWN_TOPIC_OR_PARTITION}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_bad_partition_fails_no_other(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    good = batches.build([b"a"])
    request = requests.produce(topic, {0: broken_crc(good), 1: good, 7: good})
    answer = connection.call(request, version)
    assert errors(answer) == {0: CORRUPT_MESSAGE, 1: 0, 7: UNKNOWN_TOPIC_OR_PARTITION}
    assert (broker.latest(topic, 0), broker.latest(topic, 1)) == (0, 1)


@pytest.mark.parametrize("version", [9, 13])
def test_a_bad_topic_fails_no_other(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    batch = batches.build([b"a"])
    unknown = Topic(broker.unique_name(), uuid.uuid4())
    request = requests.produce_many([(unknown, {0: batch}), (topic, {0: batch})])
    answer = connection.call(request, version)
    codes = sorted(one.partition_responses[0].error_code for one in answer.responses)
    assert codes == [0, UNKNOWN_TOPIC_ID if version >= ID_VERSION else UNKNOWN_TOPIC_OR_PARTITION]
    assert broker.latest(topic) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_without_topics_gets_an_empty_answer(
    connection: Connection, version: int
) -> None:
    assert connection.call(requests.produce_many([]), version).responses == []


def test_existence_is_checked_before_acks(
    connection: Connection, broker: Broker, topic: Topic
) -> None:
    batch = batches.build([b"a"])
    answer = connection.call(requests.produce(topic, {0: batch, 7: batch}, acks=5), 9)
    assert errors(answer) == {0: INVALID_REQUIRED_ACKS, 7: UNKNOWN_TOPIC_OR_PARTITION}


def test_the_number_of_batches_is_checked_before_acks(connection: Connection, topic: Topic) -> None:
    batch = batches.build([b"a"])
    answer = connection.call(requests.produce(topic, {0: batch, 1: batch + batch}, acks=5), 9)
    assert errors(answer) == {0: INVALID_REQUIRED_ACKS, 1: INVALID_RECORD}


def test_acks_are_checked_before_the_crc(connection: Connection, topic: Topic) -> None:
    bad = broken_crc(batches.build([b"a"]))
    answer = connection.call(requests.produce(topic, {0: bad}, acks=5), 9)
    assert errors(answer) == {0: INVALID_REQUIRED_ACKS}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_transactional_batch_without_transactional_id_fails_every_partition(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    plain = batches.build([b"a"])
    transactional = batches.patched(
        plain, attributes=0x10, producer_id=1, producer_epoch=0, base_sequence=0
    )
    answer = connection.call(requests.produce(topic, {0: plain, 1: transactional}), version)
    refused = TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert errors(answer) == {0: refused, 1: refused}
    assert broker.latest(topic) == 0


def test_the_transactional_id_is_checked_before_existence(
    connection: Connection, broker: Broker
) -> None:
    batch = batches.patched(
        batches.build([b"a"]), attributes=0x10, producer_id=1, producer_epoch=0, base_sequence=0
    )
    nowhere = Topic(broker.unique_name())
    answer = connection.call(requests.produce(nowhere, {0: batch}), 9)
    assert errors(answer) == {0: TRANSACTIONAL_ID_AUTHORIZATION_FAILED}


def test_partitions_of_one_request_are_written_independently(
    connection: Connection, broker: Broker, topic: Topic
) -> None:
    request = requests.produce(
        topic, {1: batches.build([b"one"]), 0: batches.build([b"zero", b"zero"])}
    )
    assert errors(connection.call(request, 9)) == {0: 0, 1: 0}
    assert [record.value for _, record in batches.read(broker.stored(topic, 0))] == [b"zero"] * 2
    assert [record.value for _, record in batches.read(broker.stored(topic, 1))] == [b"one"]
