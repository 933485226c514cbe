"""ListOffsets: the ends of logs, and records by their time."""

from typing import Any

import pytest

from broker.partition import Partition
from protocol.errors import ErrorCode, ProtocolError
from protocol.messages.list_offsets import ListOffsetsRequest
from storage.errors import CorruptSegment
from tests.broker.support import InProcessBroker

VERSIONS = range(1, 12)
LAST_VERSION = 11
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = range(-1, -7, -1)
READ_UNCOMMITTED, READ_COMMITTED = range(2)
NOTHING = (0, -1, -1, -1)

Asked = ListOffsetsRequest.ListOffsetsPartition


def request_for(*asked: Asked, name: str = "a", isolation_level: int = 0) -> ListOffsetsRequest:
    topic = ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=list(asked))
    return ListOffsetsRequest(replica_id=-1, isolation_level=isolation_level, topics=[topic])


def ask(
    broker: InProcessBroker,
    timestamp: int,
    version: int = LAST_VERSION,
    *,
    name: str = "a",
    partition: int = 0,
    epoch: int = -1,
    isolation_level: int = READ_UNCOMMITTED,
) -> tuple[int, int, int, int]:
    """Error code, offset, timestamp and leader epoch of the answer."""
    asked = Asked(partition_index=partition, timestamp=timestamp, current_leader_epoch=epoch)
    answer = broker.call(request_for(asked, name=name, isolation_level=isolation_level), version)
    ((topic,), (found,)) = answer.topics, answer.topics[0].partitions
    assert (topic.name, found.partition_index) == (name, partition)
    return found.error_code, found.offset, found.timestamp, found.leader_epoch


@pytest.fixture
def partition(broker: InProcessBroker) -> Partition:
    """Offsets 0-4, in batches of two, two and one."""
    partition = broker.create_topic("a").partitions[0]
    broker.append(partition, 100, 300)
    broker.append(partition, 200, 300)
    broker.append(partition, 50)
    return partition


@pytest.mark.parametrize("version", VERSIONS)
def test_both_ends_are_told(broker: InProcessBroker, partition: Partition, version: int) -> None:
    epoch = 0 if version >= 4 else -1
    assert ask(broker, LATEST, version) == (0, 5, -1, epoch)
    assert ask(broker, EARLIEST, version) == (0, 0, -1, epoch)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_first_record_that_is_not_older_is_found(
    broker: InProcessBroker, partition: Partition, version: int
) -> None:
    epoch = 0 if version >= 4 else -1
    assert ask(broker, 0, version) == (0, 0, 100, epoch)
    assert ask(broker, 101, version) == (0, 1, 300, epoch)
    assert ask(broker, 301, version) == NOTHING


@pytest.mark.parametrize("version", range(7, 12))
def test_the_first_record_with_the_largest_timestamp_is_found(
    broker: InProcessBroker, partition: Partition, version: int
) -> None:
    assert ask(broker, MAX_TIMESTAMP, version) == (0, 1, 300, 0)


def test_without_tiers_the_log_is_all_local(broker: InProcessBroker, partition: Partition) -> None:
    assert ask(broker, EARLIEST_LOCAL) == (0, 0, -1, 0)
    assert ask(broker, LATEST_TIERED) == NOTHING
    assert ask(broker, EARLIEST_PENDING) == NOTHING


def test_an_empty_log_has_ends_but_no_times(broker: InProcessBroker) -> None:
    broker.create_topic("a")
    assert ask(broker, LATEST) == (0, 0, -1, 0)
    assert ask(broker, EARLIEST) == (0, 0, -1, 0)
    assert ask(broker, MAX_TIMESTAMP) == NOTHING
    assert ask(broker, 0) == NOTHING


@pytest.mark.parametrize(
    ("timestamp", "first_version"),
    [(MAX_TIMESTAMP, 7), (EARLIEST_LOCAL, 8), (LATEST_TIERED, 9), (EARLIEST_PENDING, 11)],
)
def test_a_special_value_is_unsupported_before_its_version(
    broker: InProcessBroker, partition: Partition, timestamp: int, first_version: int
) -> None:
    for version in VERSIONS:
        error = ask(broker, timestamp, version)[0]
        assert error == (0 if version >= first_version else ErrorCode.UNSUPPORTED_VERSION)


@pytest.mark.parametrize("timestamp", [-7, -100, -(2**63)])
@pytest.mark.parametrize("name", ["a", "absent"])
def test_an_unknown_special_value_is_unsupported_even_without_a_topic(
    broker: InProcessBroker, partition: Partition, timestamp: int, name: str
) -> None:
    answer = ask(broker, timestamp, name=name)
    assert answer == (ErrorCode.UNSUPPORTED_VERSION, -1, -1, -1)


@pytest.mark.parametrize(("name", "index"), [("absent", 0), ("a", 1), ("a", -1), ("a b", 0)])
def test_an_unknown_partition_is_an_error(
    broker: InProcessBroker, partition: Partition, name: str, index: int
) -> None:
    answer = ask(broker, LATEST, name=name, partition=index)
    assert answer == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1, -1)


@pytest.mark.parametrize(
    ("epoch", "error"),
    [(0, 0), (-1, 0), (1, ErrorCode.UNKNOWN_LEADER_EPOCH), (-2, ErrorCode.FENCED_LEADER_EPOCH)],
)
@pytest.mark.parametrize("timestamp", [LATEST, 100])
def test_the_clients_leader_epoch_is_checked(
    broker: InProcessBroker, partition: Partition, epoch: int, error: int, timestamp: int
) -> None:
    assert ask(broker, timestamp, epoch=epoch)[0] == error


def test_a_partition_named_twice_is_refused_once(
    broker: InProcessBroker, partition: Partition
) -> None:
    twice = request_for(
        Asked(partition_index=0, timestamp=LATEST), Asked(partition_index=0, timestamp=EARLIEST)
    )
    other = request_for(Asked(partition_index=0, timestamp=LATEST), name="absent")
    twice.topics += other.topics + twice.topics
    answer = broker.call(twice, LAST_VERSION)
    assert [
        (topic.name, [one.error_code for one in topic.partitions]) for topic in answer.topics
    ] == [
        ("a", [ErrorCode.INVALID_REQUEST]),
        ("absent", [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]),
    ]


def test_an_unknown_isolation_level_fails_everything(
    broker: InProcessBroker, partition: Partition
) -> None:
    assert ask(broker, LATEST, isolation_level=2)[0] == ErrorCode.UNKNOWN_SERVER_ERROR


def test_read_committed_ends_at_the_last_stable_offset(
    broker: InProcessBroker, partition: Partition
) -> None:
    partition.last_stable_offset = 1
    assert ask(broker, LATEST, isolation_level=READ_COMMITTED)[1] == 1
    assert ask(broker, LATEST, isolation_level=READ_UNCOMMITTED)[1] == 5
    assert ask(broker, 200, isolation_level=READ_COMMITTED) == NOTHING
    assert ask(broker, MAX_TIMESTAMP, isolation_level=READ_COMMITTED) == NOTHING
    assert ask(broker, 100, isolation_level=READ_COMMITTED) == (0, 0, 100, 0)


def test_what_is_not_durable_is_not_told(broker: InProcessBroker, partition: Partition) -> None:
    partition.high_watermark = 1
    assert ask(broker, LATEST)[1] == 1
    assert ask(broker, 200) == NOTHING


def test_deleted_records_are_not_found(broker: InProcessBroker, partition: Partition) -> None:
    broker.delete_records(partition, 2)
    assert ask(broker, EARLIEST)[1] == 2
    assert ask(broker, 0) == (0, 2, 200, 0)
    assert ask(broker, MAX_TIMESTAMP) == (0, 3, 300, 0)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (CorruptSegment("a", 0, "bad"), ErrorCode.KAFKA_STORAGE_ERROR),
        (ProtocolError("bad"), ErrorCode.CORRUPT_MESSAGE),
    ],
)
def test_a_fault_in_one_partition_leaves_the_others_alone(
    broker: InProcessBroker, monkeypatch: pytest.MonkeyPatch, fault: Exception, error: int
) -> None:
    bad, good = broker.create_topic("a", 2).partitions
    broker.append(bad, 100)
    broker.append(good, 100)

    def fail(*_: Any) -> None:
        raise fault

    monkeypatch.setattr(type(bad.log), "offset_for_timestamp", fail)
    request = request_for(
        Asked(partition_index=0, timestamp=0), Asked(partition_index=1, timestamp=LATEST)
    )
    (topic,) = broker.call(request, LAST_VERSION).topics
    assert [(one.error_code, one.offset) for one in topic.partitions] == [(error, -1), (0, 1)]
