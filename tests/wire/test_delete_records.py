"""DeleteRecords: moving the start of a log."""

from typing import Any

import pytest

from tests.wire.support import batches, requests
from tests.wire.support.broker import Broker
from tests.wire.support.connection import Connection
from tests.wire.support.error_codes import (
    OFFSET_OUT_OF_RANGE,
    POLICY_VIOLATION,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from tests.wire.support.requests import Topic

VERSIONS = range(3)
TO_HIGH_WATERMARK = -1


@pytest.fixture
def filled(broker: Broker) -> Topic:
    """Partitions 0 and 1 hold offsets 0-9 in batches of two."""
    topic = broker.create_topic(partitions=2)
    for partition in range(2):
        for _ in range(5):
            broker.produce(topic, batches.build([b"a", b"b"]), partition=partition)
    return topic


def delete(connection: Connection, topic: Topic, offsets: dict[int, int], version: int) -> Any:
    """Partition to (error code, low watermark)."""
    answer = connection.call(requests.delete_records(topic, offsets), version)
    assert [one.name for one in answer.topics] == [topic.name]
    assert answer.throttle_time_ms == 0
    return {
        one.partition_index: (one.error_code, one.low_watermark)
        for one in answer.topics[0].partitions
    }


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("offset", [1, 4, 10])
def test_the_log_start_moves_to_the_offset(
    connection: Connection, broker: Broker, filled: Topic, version: int, offset: int
) -> None:
    assert delete(connection, filled, {0: offset}, version) == {0: (0, offset)}
    assert (broker.earliest(filled), broker.latest(filled)) == (offset, 10)


@pytest.mark.parametrize("version", VERSIONS)
def test_minus_one_deletes_everything(
    connection: Connection, broker: Broker, filled: Topic, version: int
) -> None:
    assert delete(connection, filled, {0: TO_HIGH_WATERMARK}, version) == {0: (0, 10)}
    assert (broker.earliest(filled), broker.latest(filled)) == (10, 10)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("offset", [11, 1000, -2])
def test_an_offset_outside_the_log_is_out_of_range(
    connection: Connection, broker: Broker, filled: Topic, version: int, offset: int
) -> None:
    assert delete(connection, filled, {0: offset}, version) == {0: (OFFSET_OUT_OF_RANGE, -1)}
    assert broker.earliest(filled) == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_the_log_start_never_moves_back(
    connection: Connection, broker: Broker, filled: Topic, version: int
) -> None:
    delete(connection, filled, {0: 5}, version)
    assert delete(connection, filled, {0: 3}, version) == {0: (0, 5)}
    assert broker.earliest(filled) == 5


@pytest.mark.parametrize("version", VERSIONS)
def test_other_partitions_are_left_alone(
    connection: Connection, broker: Broker, filled: Topic, version: int
) -> None:
    delete(connection, filled, {1: 6}, version)
    assert (broker.earliest(filled, 0), broker.earliest(filled, 1)) == (0, 6)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_partition_is_answered_for_itself(
    connection: Connection, filled: Topic, version: int
) -> None:
    found = delete(connection, filled, {0: 3, 1: 99, 7: 0}, version)
    assert found == {
        0: (0, 3),
        1: (OFFSET_OUT_OF_RANGE, -1),
        7: (UNKNOWN_TOPIC_OR_PARTITION, -1),
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_topic_is_an_error(connection: Connection, broker: Broker, version: int) -> None:
    nowhere = Topic(broker.unique_name())
    found = delete(connection, nowhere, {0: 0}, version)
    assert found == {0: (UNKNOWN_TOPIC_OR_PARTITION, -1)}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_that_is_only_compacted_is_refused(
    connection: Connection, broker: Broker, version: int
) -> None:
    topic = broker.create_topic(configs={"cleanup.policy": "compact"})
    broker.produce(topic, batches.build([batches.Record(b"v", b"k")]))
    assert delete(connection, topic, {0: 1}, version) == {0: (POLICY_VIOLATION, -1)}


def test_a_topic_that_is_compacted_and_deleted_is_accepted(
    connection: Connection, broker: Broker
) -> None:
    topic = broker.create_topic(configs={"cleanup.policy": "compact,delete"})
    broker.produce(topic, batches.build([batches.Record(b"v", b"k")]))
    assert delete(connection, topic, {0: 1}, 2) == {0: (0, 1)}


def test_the_rest_can_be_read_from_the_middle_of_a_batch(
    connection: Connection, broker: Broker, filled: Topic
) -> None:
    delete(connection, filled, {0: 5}, 2)
    found = broker.fetch(filled, 5)
    assert (found.error_code, found.log_start_offset) == (0, 5)
    assert batches.offsets(bytes(found.records)) == [(4, 5), (6, 7), (8, 9)]


def test_offsets_go_on_after_everything_was_deleted(
    connection: Connection, broker: Broker, filled: Topic
) -> None:
    delete(connection, filled, {0: TO_HIGH_WATERMARK}, 2)
    assert broker.produce(filled, batches.build([b"next"])) == 10
    assert batches.offsets(broker.stored(filled)) == [(10, 10)]


def test_an_empty_partition_has_nothing_to_delete(connection: Connection, broker: Broker) -> None:
    topic = broker.create_topic()
    assert delete(connection, topic, {0: TO_HIGH_WATERMARK}, 2) == {0: (0, 0)}
    assert delete(connection, topic, {0: 1}, 2) == {0: (OFFSET_OUT_OF_RANGE, -1)}
