"""Produce: what makes a batch unacceptable, and which check speaks first."""

import struct
from typing import Any

import pytest

from tests.wire.support import batches, requests
from tests.wire.support.batches import Record
from tests.wire.support.broker import Broker
from tests.wire.support.connection import Connection, ConnectionClosedError
from tests.wire.support.error_codes import (
    CORRUPT_MESSAGE,
    INVALID_RECORD,
    MESSAGE_TOO_LARGE,
    RECORD_LIST_TOO_LARGE,
    UNKNOWN_TOPIC_OR_PARTITION,
    UNSUPPORTED_COMPRESSION_TYPE,
)
from tests.wire.support.requests import Topic

VERSIONS = range(3, 14)
RECORD_ERROR_VERSIONS = range(8, 14)


DEFAULT_MAX_MESSAGE_BYTES = 1_048_588
SMALL_MAX_MESSAGE_BYTES = 1000
SMALLEST_SEGMENT_BYTES = 1 << 20

GOOD = batches.build([b"first", b"second"])


@pytest.fixture
def topic(broker: Broker) -> Topic:
    return broker.create_topic()


@pytest.fixture
def small_topic(broker: Broker) -> Topic:
    return broker.create_topic(configs={"max.message.bytes": str(SMALL_MAX_MESSAGE_BYTES)})


@pytest.fixture
def compacted_topic(broker: Broker) -> Topic:
    return broker.create_topic(configs={"cleanup.policy": "compact"})


def send(connection: Connection, topic: Topic, records: bytes, version: int = 9) -> Any:
    answer = connection.call(requests.produce(topic, {0: records}), version)
    return answer.responses[0].partition_responses[0]


def assert_refused(
    connection: Connection, broker: Broker, topic: Topic, records: bytes, code: int
) -> None:
    answer = send(connection, topic, records)
    assert (answer.error_code, answer.base_offset) == (code, -1)
    assert broker.latest(topic) == 0


def legacy_message(magic: int) -> bytes:
    """An uncompressed message of the old formats, with a CRC that does not matter here."""
    timestamp = b"" if magic == 0 else struct.pack(">q", batches.PAST_TIMESTAMP)
    body = struct.pack(">bb", magic, 0) + timestamp + struct.pack(">ii", -1, 3) + b"old"
    return struct.pack(">qiI", 0, len(body) + 4, 0) + body


@pytest.mark.parametrize("version", VERSIONS)
def test_two_batches_in_one_partition_are_refused(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    assert send(connection, topic, GOOD + GOOD, version).error_code == INVALID_RECORD
    assert broker.latest(topic) == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_no_batch_at_all_is_refused(connection: Connection, topic: Topic, version: int) -> None:
    assert send(connection, topic, b"", version).error_code == INVALID_RECORD


@pytest.mark.oncelog_only
@pytest.mark.parametrize("version", VERSIONS)
def test_null_records_are_refused_not_left_unanswered(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    request = requests.produce(topic, {0: b""})
    request.topic_data[0].partition_data[0].records = None
    try:
        answer = connection.call(request, version)
    except ConnectionClosedError:
        pass
    else:
        assert answer.responses[0].partition_responses[0].error_code != 0
    assert broker.latest(topic) == 0


@pytest.mark.parametrize("magic", [0, 1])
def test_old_message_formats_are_refused(
    connection: Connection, broker: Broker, topic: Topic, magic: int
) -> None:
    assert_refused(connection, broker, topic, legacy_message(magic), INVALID_RECORD)


@pytest.mark.parametrize("version", range(3, 7))
def test_zstd_is_refused_before_version_seven(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    batch = batches.build([bytes(1000)], codec=batches.ZSTD)
    assert send(connection, topic, batch, version).error_code == UNSUPPORTED_COMPRESSION_TYPE
    assert broker.latest(topic) == 0


def test_a_base_offset_other_than_zero_is_refused(
    connection: Connection, broker: Broker, topic: Topic
) -> None:
    assert_refused(connection, broker, topic, batches.patched(GOOD, base_offset=1), INVALID_RECORD)


@pytest.mark.parametrize("at", [21, 40, 61, len(GOOD) - 1])
def test_a_flipped_bit_anywhere_under_the_crc_is_refused(
    connection: Connection, broker: Broker, topic: Topic, at: int
) -> None:
    # Bit 6 of the attributes' high byte, and of data: no other check looks at it first.
    flipped = bytearray(GOOD)
    flipped[at] ^= 0x40
    assert_refused(connection, broker, topic, bytes(flipped), CORRUPT_MESSAGE)


def test_a_wrong_crc_field_is_refused(connection: Connection, broker: Broker, topic: Topic) -> None:
    crc = batches.header_of(GOOD)["crc"] ^ 1
    assert_refused(connection, broker, topic, batches.patched(GOOD, crc=crc), CORRUPT_MESSAGE)


@pytest.mark.parametrize(
    ("last_offset_delta", "record_count"),
    [(0, 2), (2, 2), (1, 1), (1, 3), (-1, 0), (-1, 2), (1, -1)],
)
def test_count_and_last_offset_delta_must_agree_and_be_positive(
    connection: Connection,
    broker: Broker,
    topic: Topic,
    last_offset_delta: int,
    record_count: int,
) -> None:
    batch = batches.patched(GOOD, last_offset_delta=last_offset_delta, record_count=record_count)
    assert_refused(connection, broker, topic, batch, INVALID_RECORD)


def test_an_empty_batch_is_refused(connection: Connection, broker: Broker, topic: Topic) -> None:
    empty = batches.patched(GOOD[: batches.HEADER.size], last_offset_delta=0, record_count=0)
    assert_refused(connection, broker, topic, empty, INVALID_RECORD)


def test_a_control_batch_from_a_client_is_refused(
    connection: Connection, broker: Broker, topic: Topic
) -> None:
    batch = batches.patched(GOOD, attributes=batches.CONTROL_BIT)
    assert_refused(connection, broker, topic, batch, INVALID_RECORD)


@pytest.mark.parametrize("base_sequence", [-1, -2])
def test_a_producer_id_without_a_sequence_is_refused(
    connection: Connection, broker: Broker, topic: Topic, base_sequence: int
) -> None:
    batch = batches.patched(GOOD, producer_id=5, producer_epoch=0, base_sequence=base_sequence)
    assert_refused(connection, broker, topic, batch, INVALID_RECORD)


def test_a_batch_of_exactly_the_limit_is_accepted(connection: Connection, broker: Broker) -> None:
    topic = broker.create_topic(configs={"max.message.bytes": str(SMALL_MAX_MESSAGE_BYTES)})
    batch = batches.batch_of_size(SMALL_MAX_MESSAGE_BYTES)
    assert send(connection, topic, batch).error_code == 0


def test_a_batch_one_byte_over_the_limit_is_refused(
    connection: Connection, broker: Broker, small_topic: Topic
) -> None:
    batch = batches.batch_of_size(SMALL_MAX_MESSAGE_BYTES + 1)
    assert_refused(connection, broker, small_topic, batch, MESSAGE_TOO_LARGE)


def test_the_limit_counts_compressed_bytes(connection: Connection, broker: Broker) -> None:
    topic = broker.create_topic(configs={"max.message.bytes": str(SMALL_MAX_MESSAGE_BYTES)})
    batch = batches.build([bytes(10 * SMALL_MAX_MESSAGE_BYTES)], codec=batches.LZ4)
    assert send(connection, topic, batch).error_code == 0


@pytest.mark.parametrize(("over", "code"), [(0, 0), (1, MESSAGE_TOO_LARGE)])
def test_the_limit_is_a_mebibyte_and_a_bit_by_default(
    connection: Connection, broker: Broker, over: int, code: int
) -> None:
    batch = batches.batch_of_size(DEFAULT_MAX_MESSAGE_BYTES + over)
    assert send(connection, broker.create_topic(), batch).error_code == code


def test_a_batch_larger_than_a_segment_is_refused(connection: Connection, broker: Broker) -> None:
    configs = {"max.message.bytes": "4000000", "segment.bytes": str(SMALLEST_SEGMENT_BYTES)}
    topic = broker.create_topic(configs=configs)
    batch = batches.batch_of_size(SMALLEST_SEGMENT_BYTES + 1)
    assert_refused(connection, broker, topic, batch, RECORD_LIST_TOO_LARGE)


def test_existence_is_checked_before_the_number_of_batches(
    connection: Connection, broker: Broker
) -> None:
    nowhere = Topic(broker.unique_name())
    assert send(connection, nowhere, GOOD + GOOD).error_code == UNKNOWN_TOPIC_OR_PARTITION


def test_the_base_offset_is_checked_before_the_size(
    connection: Connection, broker: Broker, small_topic: Topic
) -> None:
    batch = batches.patched(batches.batch_of_size(2000), base_offset=1)
    assert_refused(connection, broker, small_topic, batch, INVALID_RECORD)


def test_the_size_is_checked_before_the_crc(
    connection: Connection, broker: Broker, small_topic: Topic
) -> None:
    batch = batches.patched(batches.batch_of_size(2000), crc=1)
    assert_refused(connection, broker, small_topic, batch, MESSAGE_TOO_LARGE)


def test_the_crc_is_checked_before_the_content(
    connection: Connection, broker: Broker, topic: Topic
) -> None:
    batch = batches.patched(GOOD, record_count=5, crc=1)
    assert_refused(connection, broker, topic, batch, CORRUPT_MESSAGE)


@pytest.mark.parametrize("version", RECORD_ERROR_VERSIONS)
def test_a_record_without_key_is_named_on_a_compacted_topic(
    connection: Connection, broker: Broker, compacted_topic: Topic, version: int
) -> None:
    records = [Record(b"v", b"k"), Record(b"v"), Record(b"v", b""), Record(None)]
    answer = send(connection, compacted_topic, batches.build(records), version)
    assert (answer.error_code, answer.base_offset) == (INVALID_RECORD, -1)
    assert [one.batch_index for one in answer.record_errors] == [1, 3]
    assert all(one.batch_index_error_message for one in answer.record_errors)
    assert answer.error_message
    assert broker.latest(compacted_topic) == 0


@pytest.mark.parametrize("version", range(3, 8))
def test_a_record_without_key_is_refused_on_a_compacted_topic_in_old_versions_too(
    connection: Connection, compacted_topic: Topic, version: int
) -> None:
    answer = send(connection, compacted_topic, batches.build([b"no key"]), version)
    assert answer.error_code == INVALID_RECORD


@pytest.mark.parametrize("codec", [batches.GZIP, batches.SNAPPY, batches.LZ4, batches.ZSTD])
def test_a_record_without_key_is_found_inside_a_compressed_batch(
    connection: Connection, broker: Broker, compacted_topic: Topic, codec: int
) -> None:
    batch = batches.build([Record(bytes(1000), b"k"), Record(bytes(1000))], codec=codec)
    answer = send(connection, compacted_topic, batch)
    assert answer.error_code == INVALID_RECORD
    assert [one.batch_index for one in answer.record_errors] == [1]
    assert broker.latest(compacted_topic) == 0


def test_records_with_keys_are_accepted_on_a_compacted_topic(
    connection: Connection, broker: Broker
) -> None:
    topic = broker.create_topic(configs={"cleanup.policy": "compact,delete"})
    assert send(connection, topic, batches.build([Record(None, b"k")])).error_code == 0


@pytest.mark.parametrize("length", [-1, 0, 48, 10_000_000, 0x7FFFFFFF])
def test_a_batch_length_that_does_not_fit_is_refused(
    connection: Connection, broker: Broker, topic: Topic, length: int
) -> None:
    answer = send(connection, topic, batches.patched(GOOD, batch_length=length))
    assert answer.error_code != 0
    assert broker.latest(topic) == 0


def test_bytes_behind_a_batch_are_never_stored(connection: Connection, broker: Broker) -> None:
    topic = broker.create_topic()
    answer = send(connection, topic, GOOD + b"tail")
    stored = broker.stored(topic)
    assert stored == (GOOD if answer.error_code == 0 else b"")
