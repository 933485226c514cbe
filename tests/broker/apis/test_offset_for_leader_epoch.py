"""OffsetForLeaderEpoch: one epoch that never ends before what was read."""

import pytest

from broker.partition import Partition
from protocol.errors import ErrorCode
from protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from tests.broker.support import InProcessBroker

VERSIONS = range(2, 5)
UNKNOWN = (0, -1, -1)


def ask(
    broker: InProcessBroker,
    leader_epoch: int,
    version: int = 4,
    *,
    name: str = "a",
    partition: int = 0,
    current: int = -1,
) -> tuple[int, int, int]:
    """Error code, leader epoch and end offset of the answer."""
    asked = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
        partition=partition, leader_epoch=leader_epoch, current_leader_epoch=current
    )
    topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=name, partitions=[asked])
    answer = broker.call(OffsetForLeaderEpochRequest(topics=[topic]), version)
    ((found_topic,), (found,)) = answer.topics, answer.topics[0].partitions
    assert (found_topic.topic, found.partition) == (name, partition)
    return found.error_code, found.leader_epoch, found.end_offset


@pytest.fixture
def partition(broker: InProcessBroker) -> Partition:
    """Offsets 2-4."""
    partition = broker.create_topic("a").partitions[0]
    broker.append(partition, *range(100, 105))
    broker.delete_records(partition, 2)
    return partition


@pytest.mark.parametrize("version", VERSIONS)
def test_the_epoch_ends_at_the_high_watermark(
    broker: InProcessBroker, partition: Partition, version: int
) -> None:
    assert ask(broker, 0, version) == (0, 0, 5)
    partition.high_watermark = 4
    assert ask(broker, 0, version) == (0, 0, 4)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("epoch", [1, 2**31 - 1, -1])
def test_a_later_epoch_or_none_is_unknown(
    broker: InProcessBroker, partition: Partition, version: int, epoch: int
) -> None:
    assert ask(broker, epoch, version) == UNKNOWN


def test_an_earlier_epoch_ended_where_the_log_begins(
    broker: InProcessBroker, partition: Partition
) -> None:
    assert ask(broker, -2) == (0, -2, 2)


def test_an_empty_partition_ends_where_it_begins(broker: InProcessBroker) -> None:
    broker.create_topic("a")
    assert ask(broker, 0) == (0, 0, 0)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("current", "error"),
    [(0, 0), (-1, 0), (1, ErrorCode.UNKNOWN_LEADER_EPOCH), (-2, ErrorCode.FENCED_LEADER_EPOCH)],
)
def test_the_clients_current_epoch_is_checked(
    broker: InProcessBroker, partition: Partition, version: int, current: int, error: int
) -> None:
    expected = (0, 0, 5) if not error else (error, -1, -1)
    assert ask(broker, 0, version, current=current) == expected


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("name", "index"), [("absent", 0), ("a", 1), ("a", -1)])
def test_an_unknown_partition_is_an_error(
    broker: InProcessBroker, partition: Partition, version: int, name: str, index: int
) -> None:
    found = ask(broker, 0, version, name=name, partition=index, current=9)
    assert found == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
