"""The hand-written Fetch layouts, held against the generated ones and kafka-python's."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import ProtocolError
from protocol.fetch_wire import (
    FetchedTopic,
    FetchRequest,
    PartitionFetched,
    decode_fetch_request,
    encode_fetch_response,
)
from protocol.messages.fetch import FetchRequest as GeneratedRequest
from protocol.messages.fetch import FetchResponse as GeneratedResponse
from protocol.primitives import Buffer, Reader, Writer
from tests.protocol.support.fetch_values import (
    FLEXIBLE,
    VERSIONS,
    Response,
    Values,
    generated_request,
    generated_response,
    kafka_python_request,
    kafka_python_response,
    requests,
    responses,
)

MEMORY_FACTOR = 10
MEMORY_SLACK_BYTES = 1 << 20

EXAMPLE = Values(
    max_wait_ms=500,
    min_bytes=1,
    max_bytes=50 << 20,
    isolation_level=1,
    session_id=77,
    session_epoch=3,
    topics=[
        ("orders", b"i" * 16, [(0, 4, 1234, 4, 0, 1 << 20), (1, 4, 9, -1, 0, 1 << 20)]),
        ("é" * 64, b"j" * 16, [(9, -1, 0, -1, -1, 1000)]),
    ],
    forgotten_topics=[("gone", b"g" * 16, [1, 2, 3])],
    rack_id="rack",
    replica_id=-1,
    cluster_id="cluster",
)


def expected(values: Values, version: int) -> FetchRequest:
    """What is left of the values in a version that cannot say all of them."""
    has_ids = version >= 13
    return FetchRequest(
        max_wait_ms=values.max_wait_ms,
        min_bytes=values.min_bytes,
        max_bytes=values.max_bytes,
        isolation_level=values.isolation_level,
        session_id=values.session_id if version >= 7 else 0,
        session_epoch=values.session_epoch if version >= 7 else -1,
        topics=[
            (
                None if has_ids else name,
                topic_id if has_ids else None,
                [
                    (
                        row[0],
                        row[1] if version >= 9 else -1,
                        row[2],
                        row[3] if version >= 12 else -1,
                        row[4] if version >= 5 else -1,
                        row[5],
                    )
                    for row in rows
                ],
            )
            for name, topic_id, rows in values.topics
        ],
        forgotten_topics=[
            (None if has_ids else name, topic_id if has_ids else None, forgotten)
            for name, topic_id, forgotten in values.forgotten_topics
        ]
        if version >= 7
        else [],
        rack_id=values.rack_id if version >= 11 else "",
        replica_id=values.replica_id,
        cluster_id=values.cluster_id if version >= 12 else None,
    )


def without_forgotten_topics_where_there_are_none(values: Values, version: int) -> Values:
    return values if version >= 7 else values._replace(forgotten_topics=[])


@given(requests, st.sampled_from(VERSIONS))
def test_a_request_of_kafka_python_is_read_as_it_was_meant(values: Values, version: int) -> None:
    values = without_forgotten_topics_where_there_are_none(values, version)
    body = kafka_python_request(values, version)
    assert decode_fetch_request(body, 0, len(body), version) == expected(values, version)


@given(requests, st.sampled_from(VERSIONS))
def test_a_generated_request_is_read_as_it_was_meant(values: Values, version: int) -> None:
    values = without_forgotten_topics_where_there_are_none(values, version)
    body = generated_request(values, version)
    assert decode_fetch_request(body, 0, len(body), version) == expected(values, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_between_others_in_a_buffer_is_read_without_its_neighbours(version: int) -> None:
    values = without_forgotten_topics_where_there_are_none(EXAMPLE, version)
    body = generated_request(values, version)
    buffer = memoryview(bytearray(b"\xff" * 9 + body + body))
    assert decode_fetch_request(buffer, 9, 9 + len(body), version) == expected(values, version)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("tail", [b"", b"\0" * 300, b"\xff" * 300])
def test_a_request_cut_off_anywhere_is_refused_whatever_follows_it(
    version: int, tail: bytes
) -> None:
    body = generated_request(
        without_forgotten_topics_where_there_are_none(EXAMPLE, version), version
    )
    for end in range(len(body)):
        with pytest.raises(ProtocolError):
            decode_fetch_request(body[:end] + tail, 0, end, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_bytes_behind_the_last_field_are_refused(version: int) -> None:
    values = without_forgotten_topics_where_there_are_none(EXAMPLE, version)
    body = generated_request(values, version) + b"\0"
    with pytest.raises(ProtocolError):
        decode_fetch_request(body, 0, len(body), version)


def test_a_frame_that_ends_outside_the_buffer_is_a_mistake_of_the_caller() -> None:
    body = generated_request(EXAMPLE, 11)
    with pytest.raises(ValueError, match="buffer"):
        decode_fetch_request(body, 0, len(body) + 1, 11)


def outcome_of_generated(body: bytes, version: int) -> FetchRequest | None:
    reader = Reader(body)
    try:
        message = GeneratedRequest.decode(reader, version)
    except ProtocolError:
        return None
    if reader.remaining:
        return None
    has_ids = version >= 13
    return FetchRequest(
        max_wait_ms=message.max_wait_ms,
        min_bytes=message.min_bytes,
        max_bytes=message.max_bytes,
        isolation_level=message.isolation_level,
        session_id=message.session_id,
        session_epoch=message.session_epoch,
        topics=[
            (
                None if has_ids else topic.topic,
                topic.topic_id if has_ids else None,
                [
                    (
                        row.partition,
                        row.current_leader_epoch,
                        row.fetch_offset,
                        row.last_fetched_epoch,
                        row.log_start_offset,
                        row.partition_max_bytes,
                    )
                    for row in topic.partitions
                ],
            )
            for topic in message.topics
        ],
        forgotten_topics=[
            (
                None if has_ids else topic.topic,
                topic.topic_id if has_ids else None,
                topic.partitions,
            )
            for topic in message.forgotten_topics_data
        ],
        rack_id=message.rack_id,
        replica_id=message.replica_id if version < 15 else message.replica_state.replica_id,
        cluster_id=message.cluster_id,
    )


def outcome_by_hand(body: bytes, version: int) -> FetchRequest | None:
    try:
        return decode_fetch_request(body, 0, len(body), version)
    except ProtocolError:
        return None


# Versions 17 and 18 look into tagged fields of partitions that are skipped here.
@given(requests, st.sampled_from(range(4, 17)), st.data())
def test_damaged_requests_are_judged_as_the_generated_decoder_judges_them(
    values: Values, version: int, data: st.DataObject
) -> None:
    values = without_forgotten_topics_where_there_are_none(values, version)
    body = bytearray(generated_request(values, version))
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    assert outcome_by_hand(bytes(body), version) == outcome_of_generated(bytes(body), version)


@pytest.mark.parametrize("version", range(4, 17))
def test_no_single_byte_leads_to_another_judgement_than_the_generated_decoders(
    version: int,
) -> None:
    original = generated_request(
        without_forgotten_topics_where_there_are_none(
            EXAMPLE._replace(topics=[("t", b"i" * 16, [(0, 4, 1234, 4, 0, 1 << 20)])]), version
        ),
        version,
    )
    for position, before in enumerate(original):
        for byte in {0, 1, 2, 0x7F, 0x80, 0xFF, (before + 1) & 0xFF, (before - 1) & 0xFF}:
            body = original[:position] + bytes([byte]) + original[position + 1 :]
            assert outcome_by_hand(body, version) == outcome_of_generated(body, version)


@pytest.mark.parametrize("version", [12, 13, 14])
def test_what_later_versions_say_in_a_tagged_field_means_nothing_to_earlier_ones(
    version: int,
) -> None:
    values = EXAMPLE._replace(cluster_id=None)
    body = generated_request(values, version)
    assert body[-1] == 0
    replica_state = b"\x01\x0d" + b"\0\0\0\5" + bytes(8) + b"\0"
    body = body[:-1] + b"\x01" + replica_state
    assert decode_fetch_request(body, 0, len(body), version) == expected(values, version)


@given(st.binary(max_size=60), st.sampled_from(VERSIONS))
def test_noise_is_refused_or_read_but_never_anything_else(body: bytes, version: int) -> None:
    outcome_by_hand(body, version)


def peak_of_decoding(body: bytes, version: int) -> int:
    tracemalloc.start()
    try:
        outcome_by_hand(body, version)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


HUGE_COMPACT = b"\xff\xff\xff\xff\x0f"
HUGE_FIXED = b"\x7f\xff\xff\xff"
START_OF_4 = b"\xff" * 4 + bytes(13)
START_OF_7 = b"\xff" * 4 + bytes(13 + 8)
START_OF_15 = bytes(13 + 8)


@pytest.mark.parametrize(
    ("version", "body"),
    [
        (4, START_OF_4 + HUGE_FIXED),
        (4, START_OF_4 + b"\0\0\0\1" + b"\0\1t" + HUGE_FIXED),
        (7, START_OF_7 + b"\0\0\0\0" + HUGE_FIXED),
        (7, START_OF_7 + b"\0\0\0\0" + b"\0\0\0\1" + b"\0\1t" + HUGE_FIXED),
        (12, START_OF_7 + HUGE_COMPACT),
        (12, START_OF_7 + b"\x02" + b"\x02t" + HUGE_COMPACT),
        (15, START_OF_15 + HUGE_COMPACT),
        (15, START_OF_15 + b"\x02" + b"i" * 16 + HUGE_COMPACT),
        (15, START_OF_15 + b"\x01" + HUGE_COMPACT),
        (15, START_OF_15 + b"\x01" + b"\x02" + b"i" * 16 + HUGE_COMPACT),
        (15, START_OF_15 + b"\x01" + b"\x01" + HUGE_COMPACT),
        (15, START_OF_15 + b"\x01" + b"\x01" + b"\x01" + HUGE_COMPACT),
    ],
)
@pytest.mark.parametrize("padding", [0, 10_000])
def test_a_huge_count_is_refused_before_anything_is_allocated(
    version: int, body: bytes, padding: int
) -> None:
    body += b"\x01" * padding
    assert outcome_by_hand(body, version) is None
    assert peak_of_decoding(body, version) <= MEMORY_FACTOR * len(body) + (1 << 16)


def request_of_equal_topics(version: int, topic: bytes, count: int) -> bytes:
    writer = Writer(bytearray({4: START_OF_4, 12: START_OF_7, 15: START_OF_15}[version]))
    if version == 4:
        writer.count(count)
        return bytes(writer.buffer) + topic * count
    writer.compact_count(count)
    return bytes(writer.buffer) + topic * count + b"\x01" + b"\x01" + b"\0"


@pytest.mark.parametrize("count", [1_000, 4_000, 100_000])
@pytest.mark.parametrize(
    ("version", "topic"),
    [
        (4, b"\0\0" + b"\0\0\0\0"),
        (4, b"\0\2ab" + b"\0\0\0\1" + b"\x11" * 16),
        (12, b"\x01\x01\0"),
        (12, b"\x03ab" + b"\x02" + b"\x11" * 32 + b"\0" + b"\0"),
        (15, b"i" * 16 + b"\x02" + b"\x11" * 32 + b"\0" + b"\0"),
    ],
)
def test_many_small_topics_cost_no_more_than_ten_times_the_request(
    version: int, topic: bytes, count: int
) -> None:
    body = request_of_equal_topics(version, topic, count)
    assert peak_of_decoding(body, version) <= MEMORY_FACTOR * len(body) + MEMORY_SLACK_BYTES


@pytest.mark.parametrize("count", [10_000, 100_000])
@pytest.mark.parametrize(("version", "row"), [(4, b"\x11" * 16), (12, b"\x11" * 32 + b"\0")])
def test_many_partitions_cost_no_more_than_ten_times_the_request(
    version: int, row: bytes, count: int
) -> None:
    writer = Writer()
    if version == 4:
        writer.string("t")
        writer.count(count)
        topic = bytes(writer.buffer) + row * count
    else:
        writer.compact_string("t")
        writer.compact_count(count)
        topic = bytes(writer.buffer) + row * count + b"\0"
    body = request_of_equal_topics(version, topic, 1)
    assert peak_of_decoding(body, version) <= MEMORY_FACTOR * len(body) + MEMORY_SLACK_BYTES


@pytest.mark.parametrize("count", [10_000, 30_000])
@pytest.mark.parametrize("version", [5, 9, 12, 13, 18])
def test_tens_of_thousands_of_partitions_of_one_topic_are_accepted(
    version: int, count: int
) -> None:
    rows = [(index, 1000, 2**40 + index, 1000, 2**40, 2**20) for index in range(count)]
    values = EXAMPLE._replace(topics=[("orders", b"i" * 16, rows)], forgotten_topics=[])
    body = kafka_python_request(values, version)
    request = decode_fetch_request(body, 0, len(body), version)
    assert len(request.topics[0][2]) == count
    assert peak_of_decoding(body, version) <= MEMORY_FACTOR * len(body) + MEMORY_SLACK_BYTES


@given(responses)
def test_a_response_is_byte_for_byte_that_of_kafka_python_and_of_the_generated_message(
    response: Response,
) -> None:
    written = b"".join(encode_fetch_response(*response))
    assert written == kafka_python_response(response)
    assert written == generated_response(response)


@pytest.mark.parametrize("version", VERSIONS)
def test_records_are_handed_on_as_they_are_and_never_copied(version: int) -> None:
    one = memoryview(b"one batch" * 10)
    several: list[memoryview] = [memoryview(b"first"), memoryview(b"second")]
    topics: list[FetchedTopic] = [
        (
            "orders",
            b"i" * 16,
            [
                PartitionFetched(0, 0, 10, records=one),
                PartitionFetched(1, 0, 0),
                PartitionFetched(2, 0, 10, records=several),
            ],
        )
    ]
    parts = encode_fetch_response(1, version, 0, 0, 0, topics)
    for buffer in (one, *several):
        assert sum(part is buffer for part in parts) == 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("nothing", [b"", memoryview(b""), [], [b""]])
def test_no_records_are_zero_bytes_and_not_null(
    version: int, nothing: Buffer | list[bytes]
) -> None:
    topics: list[FetchedTopic] = [("t", b"i" * 16, [PartitionFetched(0, 0, 5, records=nothing)])]
    body = b"".join(encode_fetch_response(1, version, 0, 0, 0, topics))
    reader = Reader(body, 5 if version in FLEXIBLE else 4)
    decoded = GeneratedResponse.decode(reader, version).responses[0].partitions[0]
    assert decoded.records is not None
    assert len(decoded.records) == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_without_what_its_version_names_it_by_cannot_be_answered(version: int) -> None:
    topic: FetchedTopic = (
        "orders" if version >= 13 else None,
        None if version >= 13 else bytes(16),
        [PartitionFetched(0, 0, 1)],
    )
    with pytest.raises(ValueError, match="null"):
        encode_fetch_response(1, version, 0, 0, 0, [topic])
