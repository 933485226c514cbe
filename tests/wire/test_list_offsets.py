"""ListOffsets: the ends of a log, and offsets by time."""

from typing import Any

import pytest

from tests.wire.support import batches, requests
from tests.wire.support.batches import Record
from tests.wire.support.broker import Broker
from tests.wire.support.connection import Connection
from tests.wire.support.error_codes import (
    INVALID_REQUEST,
    UNKNOWN_LEADER_EPOCH,
    UNKNOWN_TOPIC_OR_PARTITION,
    UNSUPPORTED_VERSION,
)
from tests.wire.support.requests import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    Topic,
)

VERSIONS = range(1, 12)
LAST_VERSION = 11

# The first version that knows each special timestamp.
KNOWN_FROM = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING: 11}

# Offsets 0-9 in batches of 3, 1, 4 and 2 records; time goes back once, at offset 4.
TIMES = [[100, 110, 120], [200], [150, 300, 300, 250], [400, 390]]
NOTHING = (0, -1, -1)


def build(times: list[int], codec: int = batches.NONE) -> bytes:
    return batches.build([Record(bytes(500), timestamp=one) for one in times], codec=codec)


@pytest.fixture(scope="module")
def filled(broker: Broker) -> Topic:
    """Partition 0 holds the records of TIMES; partition 1 is empty."""
    topic = broker.create_topic(partitions=2)
    for times in TIMES:
        broker.produce(topic, build(times))
    return topic


def lookup(
    connection: Connection, topic: Topic, timestamp: int, version: int, **more: Any
) -> tuple[int, int, int]:
    """(error code, offset, timestamp) for partition 0, or another one if told."""
    partition = more.pop("partition", 0)
    request = requests.list_offsets(topic, [(partition, timestamp)], **more)
    answer = connection.call(request, version)
    assert [one.name for one in answer.topics] == [topic.name]
    (found,) = answer.topics[0].partitions
    assert found.partition_index == partition
    return found.error_code, found.offset, found.timestamp


@pytest.mark.parametrize("version", VERSIONS)
def test_earliest_is_the_log_start(connection: Connection, filled: Topic, version: int) -> None:
    assert lookup(connection, filled, EARLIEST, version) == (0, 0, -1)


@pytest.mark.parametrize("version", VERSIONS)
def test_latest_is_the_high_watermark(connection: Connection, filled: Topic, version: int) -> None:
    assert lookup(connection, filled, LATEST, version) == (0, 10, -1)


@pytest.mark.parametrize("version", range(2, 12))
@pytest.mark.parametrize("isolation_level", [READ_UNCOMMITTED, READ_COMMITTED])
def test_latest_is_the_same_in_both_isolations_without_transactions(
    connection: Connection, filled: Topic, version: int, isolation_level: int
) -> None:
    found = lookup(connection, filled, LATEST, version, isolation_level=isolation_level)
    assert found == (0, 10, -1)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("timestamp", [EARLIEST, LATEST])
def test_both_ends_of_an_empty_partition_are_zero(
    connection: Connection, filled: Topic, version: int, timestamp: int
) -> None:
    assert lookup(connection, filled, timestamp, version, partition=1) == (0, 0, -1)


@pytest.mark.parametrize("version", range(4, 12))
@pytest.mark.parametrize("timestamp", [EARLIEST, LATEST, 0])
def test_the_leader_epoch_is_told(
    connection: Connection, broker: Broker, filled: Topic, version: int, timestamp: int
) -> None:
    answer = connection.call(requests.list_offsets(filled, [(0, timestamp)]), version)
    assert answer.topics[0].partitions[0].leader_epoch == broker.leader_epoch(filled)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("timestamp", "offset", "found_timestamp"),
    [
        (0, 0, 100),
        (100, 0, 100),
        (101, 1, 110),
        (120, 2, 120),
        (121, 3, 200),
        (200, 3, 200),
        (201, 5, 300),
        (300, 5, 300),
        (301, 8, 400),
        (400, 8, 400),
    ],
)
def test_a_time_finds_the_first_record_not_older(
    connection: Connection,
    filled: Topic,
    version: int,
    timestamp: int,
    offset: int,
    found_timestamp: int,
) -> None:
    found = lookup(connection, filled, timestamp, version)
    assert found == (0, offset, found_timestamp)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_time_after_every_record_finds_nothing(
    connection: Connection, filled: Topic, version: int
) -> None:
    assert lookup(connection, filled, 401, version) == NOTHING


@pytest.mark.parametrize("version", VERSIONS)
def test_a_time_finds_nothing_in_an_empty_partition(
    connection: Connection, filled: Topic, version: int
) -> None:
    assert lookup(connection, filled, 0, version, partition=1) == NOTHING


@pytest.mark.parametrize("codec", [batches.GZIP, batches.SNAPPY, batches.LZ4, batches.ZSTD])
def test_a_time_finds_a_record_inside_a_compressed_batch(
    connection: Connection, broker: Broker, codec: int
) -> None:
    topic = broker.create_topic()
    for times in TIMES:
        broker.produce(topic, build(times, codec))
    found = [lookup(connection, topic, one, 7) for one in (101, 201, 301, 401)]
    assert found == [(0, 1, 110), (0, 5, 300), (0, 8, 400), NOTHING]
    assert lookup(connection, topic, MAX_TIMESTAMP, 7) == (0, 8, 400)


def test_a_time_finds_records_in_a_log_of_many_batches(
    connection: Connection, broker: Broker
) -> None:
    topic = broker.create_topic()
    for index in range(60):  # well over the interval of a time index
        broker.produce(topic, build([1000 + 10 * index]))
    for index in (0, 1, 7, 30, 58, 59):
        found = lookup(connection, topic, 1000 + 10 * index - 3, 7)
        assert found == (0, index, 1000 + 10 * index)


def test_a_time_finds_the_append_time_on_a_stamping_topic(
    connection: Connection, broker: Broker
) -> None:
    topic = broker.create_topic(configs={"message.timestamp.type": "LogAppendTime"})
    broker.produce(topic, build([1, 2]))
    stamp = batches.header_of(broker.stored(topic))["max_timestamp"]
    assert lookup(connection, topic, 1000, 7) == (0, 0, stamp)
    assert lookup(connection, topic, stamp, 7) == (0, 0, stamp)
    assert lookup(connection, topic, stamp + 1, 7) == NOTHING


@pytest.mark.parametrize("version", range(7, 12))
def test_the_largest_timestamp_is_found_at_its_first_record(
    connection: Connection, filled: Topic, version: int
) -> None:
    assert lookup(connection, filled, MAX_TIMESTAMP, version) == (0, 8, 400)


@pytest.mark.parametrize("version", range(7, 12))
def test_the_largest_timestamp_may_lie_in_the_middle(
    connection: Connection, broker: Broker, version: int
) -> None:
    topic = broker.create_topic()
    for times in ([10, 20], [30, 99, 99], [40, 99]):
        broker.produce(topic, build(times))
    assert lookup(connection, topic, MAX_TIMESTAMP, version) == (0, 3, 99)


@pytest.mark.parametrize("version", range(7, 12))
def test_an_empty_partition_has_no_largest_timestamp(
    connection: Connection, filled: Topic, version: int
) -> None:
    assert lookup(connection, filled, MAX_TIMESTAMP, version, partition=1) == NOTHING


@pytest.mark.parametrize("version", range(8, 12))
def test_the_earliest_local_offset_is_the_log_start(
    connection: Connection, filled: Topic, version: int
) -> None:
    assert lookup(connection, filled, EARLIEST_LOCAL, version) == (0, 0, -1)


@pytest.mark.parametrize("version", range(9, 12))
def test_there_is_no_tiered_offset(connection: Connection, filled: Topic, version: int) -> None:
    assert lookup(connection, filled, LATEST_TIERED, version) == NOTHING


def test_there_is_no_offset_pending_upload(connection: Connection, filled: Topic) -> None:
    assert lookup(connection, filled, EARLIEST_PENDING, LAST_VERSION) == NOTHING


@pytest.mark.parametrize(
    ("timestamp", "version"),
    [(special, version) for special, first in KNOWN_FROM.items() for version in range(1, first)],
)
def test_a_special_timestamp_newer_than_the_version_is_unsupported(
    connection: Connection, filled: Topic, timestamp: int, version: int
) -> None:
    found = lookup(connection, filled, timestamp, version)
    assert found == (UNSUPPORTED_VERSION, -1, -1)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("timestamp", [-7, -100, -(2**63)])
def test_any_other_negative_timestamp_is_unsupported(
    connection: Connection, filled: Topic, version: int, timestamp: int
) -> None:
    found = lookup(connection, filled, timestamp, version)
    assert found == (UNSUPPORTED_VERSION, -1, -1)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_topic_is_an_error(connection: Connection, broker: Broker, version: int) -> None:
    found = lookup(connection, Topic(broker.unique_name()), LATEST, version)
    assert found == (UNKNOWN_TOPIC_OR_PARTITION, -1, -1)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("partition", [2, -1])
def test_an_unknown_partition_is_an_error(
    connection: Connection, filled: Topic, version: int, partition: int
) -> None:
    found = lookup(connection, filled, LATEST, version, partition=partition)
    assert found == (UNKNOWN_TOPIC_OR_PARTITION, -1, -1)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_partition_named_twice_is_an_invalid_request(
    connection: Connection, filled: Topic, version: int
) -> None:
    request = requests.list_offsets(filled, [(0, LATEST), (0, EARLIEST), (1, LATEST)])
    answer = connection.call(request, version)
    codes = {(one.partition_index, one.error_code) for one in answer.topics[0].partitions}
    assert codes == {(0, INVALID_REQUEST), (1, 0)}


@pytest.mark.parametrize("version", range(4, 12))
def test_a_leader_epoch_from_the_future_is_unknown(
    connection: Connection, broker: Broker, filled: Topic, version: int
) -> None:
    epoch = broker.leader_epoch(filled) + 1
    found = lookup(connection, filled, LATEST, version, current_leader_epoch=epoch)
    assert found == (UNKNOWN_LEADER_EPOCH, -1, -1)


@pytest.mark.parametrize("version", range(4, 12))
def test_the_current_leader_epoch_is_accepted(
    connection: Connection, broker: Broker, filled: Topic, version: int
) -> None:
    epoch = broker.leader_epoch(filled)
    found = lookup(connection, filled, LATEST, version, current_leader_epoch=epoch)
    assert found == (0, 10, -1)


def test_several_partitions_are_answered_side_by_side(
    connection: Connection, filled: Topic
) -> None:
    pairs = [(0, LATEST), (1, LATEST), (7, LATEST)]
    answer = connection.call(requests.list_offsets(filled, pairs), 7)
    found = {one.partition_index: one.offset for one in answer.topics[0].partitions}
    assert found == {0: 10, 1: 0, 7: -1}


def test_deleted_records_move_earliest_and_hide_times(
    connection: Connection, broker: Broker
) -> None:
    topic = broker.create_topic()
    for times in TIMES:
        broker.produce(topic, build(times))
    broker.delete_records(topic, {0: 4})
    assert lookup(connection, topic, EARLIEST, 7) == (0, 4, -1)
    assert lookup(connection, topic, 0, 7) == (0, 4, 150)
    assert lookup(connection, topic, LATEST, 7) == (0, 10, -1)


def test_looking_does_not_create_a_topic(connection: Connection, broker: Broker) -> None:
    name = broker.unique_name()
    lookup(connection, Topic(name), LATEST, 7)
    assert not broker.exists(name)
