"""DeleteRecords: the log start moves up, never down."""

import pytest

from broker.partition import Partition
from protocol.errors import ErrorCode
from protocol.messages.delete_records import DeleteRecordsRequest
from storage.errors import StorageFull
from tests.broker.support import InProcessBroker

VERSIONS = range(3)
TO_HIGH_WATERMARK = -1

Asked = DeleteRecordsRequest.DeleteRecordsPartition


def cut(
    broker: InProcessBroker,
    *offsets: tuple[int, int],
    name: str = "a",
    version: int = 2,
) -> list[tuple[int, int, int]]:
    """Partition, error code and low watermark of each answer."""
    asked = [Asked(partition_index=index, offset=offset) for index, offset in offsets]
    topic = DeleteRecordsRequest.DeleteRecordsTopic(name=name, partitions=asked)
    (found,) = broker.call(DeleteRecordsRequest(topics=[topic]), version).topics
    assert found.name == name
    return [(one.partition_index, one.error_code, one.low_watermark) for one in found.partitions]


@pytest.fixture
def partition(broker: InProcessBroker) -> Partition:
    """Offsets 0-4."""
    partition = broker.create_topic("a", 2).partitions[0]
    broker.append(partition, 100, 101)
    broker.append(partition, 102, 103, 104)
    return partition


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("offset", [0, 1, 3, 5])
def test_the_log_start_moves_to_the_offset_and_stays_there(
    broker: InProcessBroker, partition: Partition, version: int, offset: int
) -> None:
    assert cut(broker, (0, offset), version=version) == [(0, 0, offset)]
    broker.restart()
    topic = broker.broker.topics.get("a")
    assert topic is not None
    again = topic.partitions[0]
    assert (again.log.log_start_offset, again.high_watermark) == (offset, 5)


@pytest.mark.parametrize("version", VERSIONS)
def test_minus_one_means_the_high_watermark(
    broker: InProcessBroker, partition: Partition, version: int
) -> None:
    assert cut(broker, (0, TO_HIGH_WATERMARK), version=version) == [(0, 0, 5)]


def test_a_lower_offset_changes_nothing(broker: InProcessBroker, partition: Partition) -> None:
    assert cut(broker, (0, 3)) == [(0, 0, 3)]
    assert cut(broker, (0, 1)) == [(0, 0, 3)]
    assert partition.log.log_start_offset == 3


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("offset", [6, -2, 2**63 - 1])
def test_an_offset_outside_the_log_is_out_of_range(
    broker: InProcessBroker, partition: Partition, version: int, offset: int
) -> None:
    found = cut(broker, (0, offset), version=version)
    assert found == [(0, ErrorCode.OFFSET_OUT_OF_RANGE, -1)]
    assert partition.log.log_start_offset == 0


def test_what_is_not_durable_cannot_be_deleted(
    broker: InProcessBroker, partition: Partition
) -> None:
    partition.high_watermark = 2
    assert cut(broker, (0, 3)) == [(0, ErrorCode.OFFSET_OUT_OF_RANGE, -1)]
    assert cut(broker, (0, TO_HIGH_WATERMARK)) == [(0, 0, 2)]


def test_each_partition_is_answered_for_itself(
    broker: InProcessBroker, partition: Partition
) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert cut(broker, (2, 0), (1, 1), (0, 2), (-1, 0)) == [
        (2, unknown, -1),
        (1, ErrorCode.OFFSET_OUT_OF_RANGE, -1),
        (0, 0, 2),
        (-1, unknown, -1),
    ]


def test_of_a_partition_named_twice_the_last_counts(
    broker: InProcessBroker, partition: Partition
) -> None:
    assert cut(broker, (0, 4), (0, 3)) == [(0, 0, 3)]


def test_an_unknown_topic_is_an_error(broker: InProcessBroker) -> None:
    assert cut(broker, (0, 0)) == [(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)]


def test_an_internal_topic_is_an_invalid_topic(broker: InProcessBroker) -> None:
    found = cut(broker, (0, 0), name="__consumer_offsets")
    assert found == [(0, ErrorCode.INVALID_TOPIC_EXCEPTION, -1)]


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        ("compact", ErrorCode.POLICY_VIOLATION),
        ("compact,delete", ErrorCode.OFFSET_OUT_OF_RANGE),
        ("delete", ErrorCode.OFFSET_OUT_OF_RANGE),
        ("", ErrorCode.OFFSET_OUT_OF_RANGE),
    ],
)
def test_a_topic_that_is_only_compacted_is_refused_before_the_offset_is_looked_at(
    broker: InProcessBroker, policy: str, error: int
) -> None:
    broker.create_topic("a", cleanup_policy=policy)
    assert cut(broker, (0, 99)) == [(0, error, -1)]


def test_a_full_disk_is_a_storage_error(
    broker: InProcessBroker, partition: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.refuse_writes(monkeypatch, StorageFull("no space"))
    assert cut(broker, (0, 2)) == [(0, ErrorCode.KAFKA_STORAGE_ERROR, -1)]


def test_offsets_go_on_after_everything_was_deleted(
    broker: InProcessBroker, partition: Partition
) -> None:
    cut(broker, (0, TO_HIGH_WATERMARK))
    broker.append(partition, 105)
    assert (partition.log.log_start_offset, partition.high_watermark) == (5, 6)
