"""Fetch: what is visible, in which pieces, and how much of it."""

import uuid
from typing import Any

import pytest

from tests.wire.support import batches, requests
from tests.wire.support.broker import Broker
from tests.wire.support.connection import Connection
from tests.wire.support.error_codes import (
    OFFSET_OUT_OF_RANGE,
    UNKNOWN_LEADER_EPOCH,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from tests.wire.support.requests import READ_COMMITTED, READ_UNCOMMITTED, FetchFrom, Topic

VERSIONS = range(4, 19)
ID_VERSIONS = range(13, 19)
NAME_VERSIONS = range(4, 13)


FOUR_BATCHES = [batches.build([b"%d-%d" % (index, n) for n in range(3)]) for index in range(4)]


@pytest.fixture(scope="module")
def filled(broker: Broker) -> Topic:
    """Partition 0 holds offsets 0-11 in batches of three; partition 1 is empty."""
    topic = broker.create_topic(partitions=2)
    for batch in FOUR_BATCHES:
        broker.produce(topic, batch)
    return topic


def fetch_one(connection: Connection, request: Any, version: int) -> Any:
    """The one partition of an answer to one partition."""
    answer = connection.call(request, version)
    assert answer.error_code == 0
    assert len(answer.responses) == 1
    assert len(answer.responses[0].partitions) == 1
    return answer.responses[0].partitions[0]


def data_of(answer: Any) -> list[bytes]:
    """The records of every partition in the order of the answer."""
    return [bytes(one.records) for topic in answer.responses for one in topic.partitions]


@pytest.mark.parametrize("version", VERSIONS)
def test_batches_come_back_whole_and_in_order(
    connection: Connection, filled: Topic, version: int
) -> None:
    found = fetch_one(connection, requests.fetch(FetchFrom(filled)), version)
    assert (found.partition_index, found.error_code) == (0, 0)
    stored = batches.split(bytes(found.records))
    assert [batches.crc_covered(one) for one in stored] == [
        batches.crc_covered(one) for one in FOUR_BATCHES
    ]
    assert batches.offsets(bytes(found.records)) == [(0, 2), (3, 5), (6, 8), (9, 11)]
    assert all(batches.crc_is_right(one) for one in stored)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_answer_tells_watermarks(connection: Connection, filled: Topic, version: int) -> None:
    found = fetch_one(connection, requests.fetch(FetchFrom(filled)), version)
    assert (found.high_watermark, found.last_stable_offset) == (12, 12)
    if version >= 5:
        assert found.log_start_offset == 0
    assert found.preferred_read_replica == -1


@pytest.mark.parametrize("version", VERSIONS)
def test_the_answer_names_the_topic_as_the_request_did(
    connection: Connection, filled: Topic, version: int
) -> None:
    answer = connection.call(requests.fetch(FetchFrom(filled)), version)
    assert answer.throttle_time_ms == 0
    if version >= 13:
        assert answer.responses[0].topic_id == filled.id
    else:
        assert answer.responses[0].topic == filled.name


def test_stored_batches_carry_the_leader_epoch(broker: Broker, filled: Topic) -> None:
    epoch = broker.leader_epoch(filled)
    found = [batches.header_of(one)["leader_epoch"] for one in batches.split(broker.stored(filled))]
    assert found == [epoch] * 4


@pytest.mark.parametrize("version", VERSIONS)
def test_an_empty_partition_has_zero_bytes_not_null(
    connection: Connection, filled: Topic, version: int
) -> None:
    found = fetch_one(connection, requests.fetch(FetchFrom(filled, partition=1)), version)
    assert (found.error_code, found.high_watermark) == (0, 0)
    assert found.records == b""


@pytest.mark.parametrize("version", VERSIONS)
def test_the_end_of_the_log_is_empty_and_no_error(
    connection: Connection, filled: Topic, version: int
) -> None:
    found = fetch_one(connection, requests.fetch(FetchFrom(filled, 12)), version)
    assert (found.error_code, found.high_watermark, found.records) == (0, 12, b"")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("isolation_level", [READ_UNCOMMITTED, READ_COMMITTED])
def test_aborted_transactions_are_null_or_a_list_by_isolation(
    connection: Connection, filled: Topic, version: int, isolation_level: int
) -> None:
    request = requests.fetch(FetchFrom(filled), isolation_level=isolation_level)
    found = fetch_one(connection, request, version)
    assert found.aborted_transactions == (None if isolation_level == READ_UNCOMMITTED else [])
    assert batches.offsets(bytes(found.records))[-1] == (9, 11)


@pytest.mark.parametrize(
    ("offset", "first_base"), [(0, 0), (1, 0), (2, 0), (3, 3), (5, 3), (10, 9), (11, 9)]
)
def test_data_starts_with_the_batch_that_contains_the_offset(
    connection: Connection, filled: Topic, offset: int, first_base: int
) -> None:
    found = fetch_one(connection, requests.fetch(FetchFrom(filled, offset)), 12)
    assert batches.offsets(bytes(found.records))[0][0] == first_base


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("offset", [13, 1000, 2**62, -1, -2])
def test_an_offset_outside_the_log_is_out_of_range(
    connection: Connection, filled: Topic, version: int, offset: int
) -> None:
    found = fetch_one(connection, requests.fetch(FetchFrom(filled, offset)), version)
    assert found.error_code == OFFSET_OUT_OF_RANGE
    assert (found.high_watermark, found.last_stable_offset) == (-1, -1)
    if version >= 5:
        assert found.log_start_offset == -1
    assert found.records == b""


@pytest.mark.parametrize("version", VERSIONS)
def test_an_offset_before_the_log_start_is_out_of_range(
    connection: Connection, broker: Broker, version: int
) -> None:
    topic = broker.create_topic()
    broker.produce(topic, FOUR_BATCHES[0])
    broker.delete_records(topic, {0: 2})
    below = fetch_one(connection, requests.fetch(FetchFrom(topic, 1)), version)
    assert below.error_code == OFFSET_OUT_OF_RANGE
    at = fetch_one(connection, requests.fetch(FetchFrom(topic, 2)), version)
    assert at.error_code == 0
    assert batches.offsets(bytes(at.records)) == [(0, 2)]
    if version >= 5:
        assert at.log_start_offset == 2


@pytest.mark.parametrize("version", NAME_VERSIONS)
def test_an_unknown_topic_is_an_error_of_its_partition(
    connection: Connection, broker: Broker, version: int
) -> None:
    request = requests.fetch(FetchFrom(Topic(broker.unique_name())))
    found = fetch_one(connection, request, version)
    assert (found.error_code, found.high_watermark) == (UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert found.records == b""


@pytest.mark.parametrize("version", ID_VERSIONS)
def test_an_unknown_topic_id_is_an_error_of_its_partition(
    connection: Connection, version: int
) -> None:
    unknown = Topic("", uuid.uuid4())
    answer = connection.call(requests.fetch(FetchFrom(unknown)), version)
    assert answer.error_code == 0
    assert answer.responses[0].topic_id == unknown.id
    found = answer.responses[0].partitions[0]
    assert (found.error_code, found.high_watermark) == (UNKNOWN_TOPIC_ID, -1)
    assert found.records == b""


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_partition_is_an_error(
    connection: Connection, filled: Topic, version: int
) -> None:
    found = fetch_one(connection, requests.fetch(FetchFrom(filled, partition=2)), version)
    assert found.error_code == UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", [4, 12, 13, 18])
def test_a_bad_partition_hides_no_other(
    connection: Connection, broker: Broker, filled: Topic, version: int
) -> None:
    unknown = Topic(broker.unique_name(), uuid.uuid4())
    request = requests.fetch(FetchFrom(unknown), FetchFrom(filled, 9, 0), FetchFrom(filled, 0, 1))
    answer = connection.call(request, version)
    found = {
        (one.topic_id if version >= 13 else one.topic, part.partition_index): part.error_code
        for one in answer.responses
        for part in one.partitions
    }
    expected = UNKNOWN_TOPIC_ID if version >= 13 else UNKNOWN_TOPIC_OR_PARTITION
    assert found == {
        (unknown.id if version >= 13 else unknown.name, 0): expected,
        (filled.id if version >= 13 else filled.name, 0): 0,
        (filled.id if version >= 13 else filled.name, 1): 0,
    }


@pytest.mark.parametrize("version", range(9, 19))
def test_a_leader_epoch_from_the_future_is_unknown(
    connection: Connection, broker: Broker, filled: Topic, version: int
) -> None:
    epoch = broker.leader_epoch(filled) + 1
    request = requests.fetch(FetchFrom(filled, current_leader_epoch=epoch))
    found = fetch_one(connection, request, version)
    assert (found.error_code, found.records) == (UNKNOWN_LEADER_EPOCH, b"")


@pytest.mark.parametrize("version", range(9, 19))
def test_the_current_leader_epoch_is_accepted(
    connection: Connection, broker: Broker, filled: Topic, version: int
) -> None:
    epoch = broker.leader_epoch(filled)
    request = requests.fetch(FetchFrom(filled, current_leader_epoch=epoch))
    assert fetch_one(connection, request, version).error_code == 0


@pytest.mark.parametrize("version", range(12, 19))
def test_the_last_fetched_epoch_agrees_with_the_log(
    connection: Connection, broker: Broker, filled: Topic, version: int
) -> None:
    epoch = broker.leader_epoch(filled)
    request = requests.fetch(FetchFrom(filled, 3, last_fetched_epoch=epoch))
    found = fetch_one(connection, request, version)
    assert (found.error_code, found.diverging_epoch) == (0, None)
    assert batches.offsets(bytes(found.records))[0] == (3, 5)


@pytest.mark.parametrize("version", range(12, 19))
def test_a_last_fetched_epoch_the_log_never_had_is_out_of_range(
    connection: Connection, broker: Broker, filled: Topic, version: int
) -> None:
    epoch = broker.leader_epoch(filled) + 5
    request = requests.fetch(FetchFrom(filled, 3, last_fetched_epoch=epoch))
    assert fetch_one(connection, request, version).error_code == OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("version", [4, 12, 13, 18])
def test_partitions_are_answered_in_the_order_asked(
    connection: Connection, broker: Broker, version: int
) -> None:
    first, second = broker.create_topic(partitions=3), broker.create_topic(partitions=2)
    order = [(second, 1), (second, 0), (first, 2), (first, 0), (first, 1)]
    request = requests.fetch(*(FetchFrom(topic, 0, partition) for topic, partition in order))
    answer = connection.call(request, version)
    found = [
        (one.topic_id if version >= 13 else one.topic, part.partition_index)
        for one in answer.responses
        for part in one.partitions
    ]
    assert found == [(t.id if version >= 13 else t.name, part) for t, part in order]


@pytest.mark.parametrize("codec", [batches.GZIP, batches.SNAPPY, batches.LZ4, batches.ZSTD])
@pytest.mark.parametrize("version", [4, 9, 10, 18])
def test_every_codec_is_sent_as_stored_in_every_version(
    connection: Connection, broker: Broker, version: int, codec: int
) -> None:
    topic = broker.create_topic()
    batch = batches.build([bytes(1000)] * 3, codec=codec)
    broker.produce(topic, batch)
    found = fetch_one(connection, requests.fetch(FetchFrom(topic)), version)
    assert found.error_code == 0
    assert batches.crc_covered(bytes(found.records)) == batches.crc_covered(batch)


def test_a_record_acknowledged_with_acks_one_is_visible(
    connection: Connection, broker: Broker
) -> None:
    topic = broker.create_topic()
    answer = connection.call(requests.produce(topic, {0: FOUR_BATCHES[0]}, acks=1), 9)
    assert answer.responses[0].partition_responses[0].error_code == 0
    assert broker.fetch(topic).high_watermark == 3
