"""OffsetForLeaderEpoch: where an epoch ended, as consumers ask after a change of leader."""

from typing import Any

import pytest

from tests.wire.support import batches, messages
from tests.wire.support.broker import Broker
from tests.wire.support.connection import Connection
from tests.wire.support.error_codes import UNKNOWN_LEADER_EPOCH, UNKNOWN_TOPIC_OR_PARTITION
from tests.wire.support.requests import Topic

VERSIONS = range(2, 5)
UNDEFINED = (0, -1, -1)


@pytest.fixture(scope="module")
def filled(broker: Broker) -> Topic:
    """Partition 0 ends at offset 3; partition 1 is empty."""
    topic = broker.create_topic(partitions=2)
    broker.produce(topic, batches.build([b"a", b"b", b"c"]))
    return topic


def lookup(
    connection: Connection,
    topic: Topic,
    epoch: int,
    version: int,
    *,
    partition: int = 0,
    current_leader_epoch: int = -1,
) -> tuple[int, int, int]:
    """(error code, leader epoch, end offset)."""
    topic_class = messages.OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    asked = topic_class.OffsetForLeaderPartition(
        partition=partition, current_leader_epoch=current_leader_epoch, leader_epoch=epoch
    )
    request = messages.OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[topic_class(topic=topic.name, partitions=[asked])]
    )
    answer: Any = connection.call(request, version)
    assert [one.topic for one in answer.topics] == [topic.name]
    (found,) = answer.topics[0].partitions
    assert found.partition == partition
    return found.error_code, found.leader_epoch, found.end_offset


@pytest.mark.parametrize("version", VERSIONS)
def test_the_current_epoch_ends_at_the_end_of_the_log(
    connection: Connection, broker: Broker, filled: Topic, version: int
) -> None:
    epoch = broker.leader_epoch(filled)
    assert lookup(connection, filled, epoch, version) == (0, epoch, 3)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_end_moves_with_the_log(connection: Connection, broker: Broker, version: int) -> None:
    topic = broker.create_topic()
    epoch = broker.leader_epoch(topic)
    for end in (1, 2):
        broker.produce(topic, batches.build([b"a"]))
        assert lookup(connection, topic, epoch, version) == (0, epoch, end)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_current_epoch_of_an_empty_partition_ends_at_zero(
    connection: Connection, broker: Broker, filled: Topic, version: int
) -> None:
    epoch = broker.leader_epoch(filled, 1)
    assert lookup(connection, filled, epoch, version, partition=1) == (0, epoch, 0)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("ahead", [1, 1000])
def test_an_epoch_from_the_future_is_undefined(
    connection: Connection, broker: Broker, filled: Topic, version: int, ahead: int
) -> None:
    epoch = broker.leader_epoch(filled) + ahead
    assert lookup(connection, filled, epoch, version) == UNDEFINED


@pytest.mark.parametrize("version", VERSIONS)
def test_no_epoch_is_undefined(connection: Connection, filled: Topic, version: int) -> None:
    assert lookup(connection, filled, -1, version) == UNDEFINED


@pytest.mark.parametrize("version", VERSIONS)
def test_the_callers_current_epoch_is_checked(
    connection: Connection, broker: Broker, filled: Topic, version: int
) -> None:
    epoch = broker.leader_epoch(filled)
    right = lookup(connection, filled, epoch, version, current_leader_epoch=epoch)
    assert right == (0, epoch, 3)
    wrong = lookup(connection, filled, epoch, version, current_leader_epoch=epoch + 1)
    assert wrong == (UNKNOWN_LEADER_EPOCH, -1, -1)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_topic_is_an_error(connection: Connection, broker: Broker, version: int) -> None:
    found = lookup(connection, Topic(broker.unique_name()), 0, version)
    assert found == (UNKNOWN_TOPIC_OR_PARTITION, -1, -1)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_partition_is_an_error(
    connection: Connection, filled: Topic, version: int
) -> None:
    found = lookup(connection, filled, 0, version, partition=2)
    assert found == (UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
