"""The hand-written Produce layouts, held against the generated ones and kafka-python's."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import ProtocolError
from protocol.messages.produce import ProduceRequest as GeneratedRequest
from protocol.node_endpoints import NodeEndpoint
from protocol.primitives import Reader, Writer
from protocol.produce_wire import (
    PartitionProduced,
    ProducedTopic,
    ProduceRequest,
    ProduceTopic,
    decode_produce_request,
    encode_produce_response,
)
from tests.protocol.support.produce_values import (
    VERSIONS,
    Values,
    endpoints,
    generated_request,
    generated_response,
    int32s,
    kafka_python_request,
    kafka_python_response,
    names,
    plain_answers,
    produced_topics,
    requests,
    topic_ids,
)

MEMORY_FACTOR = 10
MEMORY_SLACK_BYTES = 1 << 20


def expected_topics(values: Values, version: int) -> list[ProduceTopic]:
    return [
        (
            None if version >= 13 else name,
            topic_id if version >= 13 else None,
            [(index, None if data is None else memoryview(data)) for index, data in partition_list],
        )
        for name, topic_id, partition_list in values[3]
    ]


def assert_decodes_to(request: ProduceRequest, values: Values, version: int) -> None:
    assert request.transactional_id == values[0]
    assert request.acks == values[1]
    assert request.timeout_ms == values[2]
    assert request.topics == expected_topics(values, version)


ONE_PARTITION: Values = ("tx", -1, 1500, [("orders", b"i" * 16, [(7, b"batch" * 30)])])
MANY_PARTITIONS: Values = (
    None,
    1,
    1500,
    [
        ("orders", b"i" * 16, [(7, b"batch" * 30), (8, None), (9, b"")]),
        ("é" * 70, b"j" * 16, [(0, b"x")]),
        ("none", b"k" * 16, []),
    ],
)


@given(requests, st.sampled_from(VERSIONS))
def test_a_request_of_kafka_python_is_read_as_it_was_meant(values: Values, version: int) -> None:
    body = kafka_python_request(values, version)
    assert_decodes_to(decode_produce_request(body, 0, len(body), version), values, version)


@given(requests, st.sampled_from(VERSIONS))
def test_a_generated_request_is_read_as_it_was_meant(values: Values, version: int) -> None:
    body = generated_request(values, version)
    assert_decodes_to(decode_produce_request(body, 0, len(body), version), values, version)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("values", [ONE_PARTITION, MANY_PARTITIONS])
def test_a_request_between_others_in_a_buffer_is_read_without_its_neighbours(
    values: Values, version: int
) -> None:
    body = generated_request(values, version)
    buffer = bytearray(b"\xff" * 9 + body + body)
    request = decode_produce_request(buffer, 9, 9 + len(body), version)
    assert_decodes_to(request, values, version)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("values", [ONE_PARTITION, MANY_PARTITIONS])
def test_records_are_writable_views_of_the_request(values: Values, version: int) -> None:
    buffer = bytearray(generated_request(values, version))
    before = bytes(buffer)
    view = decode_produce_request(buffer, 0, len(buffer), version).topics[0][2][0][1]
    assert view is not None
    view[:5] = b"BATCH"
    assert bytes(buffer) == before.replace(b"batch", b"BATCH", 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_records_of_a_read_only_request_are_read_only(version: int) -> None:
    body = generated_request(ONE_PARTITION, version)
    view = decode_produce_request(body, 0, len(body), version).topics[0][2][0][1]
    assert view is not None
    assert view.readonly


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("values", [ONE_PARTITION, MANY_PARTITIONS])
@pytest.mark.parametrize("tail", [b"", b"\0" * 300, b"\xff" * 300])
def test_a_request_cut_off_anywhere_is_refused_whatever_follows_it(
    values: Values, version: int, tail: bytes
) -> None:
    body = generated_request(values, version)
    for end in range(len(body)):
        with pytest.raises(ProtocolError):
            decode_produce_request(body[:end] + tail, 0, end, version)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("values", [ONE_PARTITION, MANY_PARTITIONS])
def test_bytes_behind_the_last_field_are_refused(values: Values, version: int) -> None:
    body = generated_request(values, version) + b"\0"
    with pytest.raises(ProtocolError):
        decode_produce_request(body, 0, len(body), version)


def test_a_frame_that_ends_outside_the_buffer_is_a_mistake_of_the_caller() -> None:
    body = generated_request(ONE_PARTITION, 7)
    with pytest.raises(ValueError, match="buffer"):
        decode_produce_request(body, 0, len(body) + 1, 7)


def outcome_of_generated(body: bytes, version: int) -> Any:
    reader = Reader(body)
    try:
        message = GeneratedRequest.decode(reader, version)
    except ProtocolError:
        return ProtocolError
    if reader.remaining:
        return ProtocolError
    return (
        message.transactional_id,
        message.acks,
        message.timeout_ms,
        [
            (
                None if version >= 13 else topic.name,
                topic.topic_id if version >= 13 else None,
                [(partition.index, partition.records) for partition in topic.partition_data],
            )
            for topic in message.topic_data
        ],
    )


def outcome_by_hand(body: bytes, version: int) -> Any:
    try:
        request = decode_produce_request(body, 0, len(body), version)
    except ProtocolError:
        return ProtocolError
    return request.transactional_id, request.acks, request.timeout_ms, request.topics


@given(requests, st.sampled_from(VERSIONS), st.data())
def test_damaged_requests_are_judged_as_the_generated_decoder_judges_them(
    values: Values, version: int, data: st.DataObject
) -> None:
    body = bytearray(generated_request(values, version))
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    assert outcome_by_hand(bytes(body), version) == outcome_of_generated(bytes(body), version)


@pytest.mark.parametrize("version", [3, 9, 13])
def test_no_single_byte_leads_the_fast_path_to_another_judgement(version: int) -> None:
    values: Values = ("tx", 1, 5, [("t", b"i" * 16, [(0, b"records")])])
    original = generated_request(values, version)
    for position in range(len(original)):
        for byte in range(256):
            body = original[:position] + bytes([byte]) + original[position + 1 :]
            assert outcome_by_hand(body, version) == outcome_of_generated(body, version)


@given(st.binary(max_size=60), st.sampled_from(VERSIONS))
def test_noise_is_judged_as_the_generated_decoder_judges_it(body: bytes, version: int) -> None:
    assert outcome_by_hand(body, version) == outcome_of_generated(body, version)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_unknown_tagged_fields_are_skipped(at: int) -> None:
    values: Values = (None, 1, 5, [("t", bytes(16), [(3, b"records")])])
    body = generated_request(values, 9)
    cut = len(body) - at
    tagged = body[:cut] + b"\x02\x05\x03abc\x99\x01\x00" + body[cut + 1 :]
    assert_decodes_to(decode_produce_request(tagged, 0, len(tagged), 9), values, 9)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_string_that_is_not_utf8_is_refused(version: int) -> None:
    body = generated_request(("tx", 1, 5, [("orders", bytes(16), [(0, b"")])]), version)
    with pytest.raises(ProtocolError):
        decode_produce_request(body.replace(b"tx", b"\xff\xfe"), 0, len(body), version)


def peak_of_decoding(body: bytes, version: int) -> int:
    tracemalloc.start()
    try:
        decode_produce_request(body, 0, len(body), version)
    except ProtocolError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


HUGE_COMPACT = b"\xff\xff\xff\xff\x0f"
HUGE_FIXED = b"\x7f\xff\xff\xff"
FIXED_START = b"\xff\xff" + b"\0\1" + b"\0\0\0\5"
FLEXIBLE_START = b"\0" + b"\0\1" + b"\0\0\0\5"


@pytest.mark.parametrize(
    ("version", "body"),
    [
        (3, FIXED_START + HUGE_FIXED),
        (3, FIXED_START + b"\0\0\0\1" + b"\0\1t" + HUGE_FIXED),
        (9, FLEXIBLE_START + HUGE_COMPACT),
        (9, FLEXIBLE_START + b"\x02" + b"\x02t" + HUGE_COMPACT),
        (9, FLEXIBLE_START + b"\x02" + b"\x02t" + b"\x01" + HUGE_COMPACT),
        (9, HUGE_COMPACT + b"\0"),
        (13, FLEXIBLE_START + b"\x02" + b"i" * 16 + HUGE_COMPACT),
    ],
)
@pytest.mark.parametrize("padding", [0, 10_000])
def test_a_huge_count_is_refused_before_anything_is_allocated(
    version: int, body: bytes, padding: int
) -> None:
    body += b"\x01" * padding
    with pytest.raises(ProtocolError):
        decode_produce_request(body, 0, len(body), version)
    assert peak_of_decoding(body, version) <= MEMORY_FACTOR * len(body) + (1 << 16)


@pytest.mark.parametrize("count", [1_000, 5_000, 100_000])
@pytest.mark.parametrize(
    ("version", "start", "element", "end"),
    [
        (3, FIXED_START, b"\0\0" + b"\0\0\0\0", b""),
        (3, FIXED_START, b"\0\2ab" + b"\0\0\0\1" + b"\0\1\0\0" + b"\0\0\0\0", b""),
        (9, FLEXIBLE_START, b"\x01\x01\x00", b"\0"),
        (9, FLEXIBLE_START, b"\x03ab" + b"\x02" + b"\0\1\0\0\x01\0" + b"\0", b"\0"),
        (13, FLEXIBLE_START, b"i" * 16 + b"\x02" + b"\0\1\0\0\x01\0" + b"\0", b"\0"),
    ],
)
def test_many_small_topics_cost_no_more_than_ten_times_the_request(
    version: int, start: bytes, element: bytes, end: bytes, count: int
) -> None:
    writer = Writer()
    if version < 9:
        writer.count(count)
    else:
        writer.compact_count(count)
    body = start + bytes(writer.buffer) + element * count + end
    peak = peak_of_decoding(body, version)
    assert peak <= MEMORY_FACTOR * len(body) + MEMORY_SLACK_BYTES


@pytest.mark.parametrize("count", [1_000, 4_000, 100_000])
@pytest.mark.parametrize(
    ("version", "element"), [(3, b"\0\1\0\0\0\0\0\0"), (9, b"\0\1\0\0\x01\0"), (9, b"\0\1\0\0\0\0")]
)
def test_many_small_partitions_cost_no_more_than_ten_times_the_request(
    version: int, element: bytes, count: int
) -> None:
    writer = Writer()
    if version < 9:
        writer.buffer += FIXED_START + b"\0\0\0\1" + b"\0\1t"
        writer.count(count)
        end = b""
    else:
        writer.buffer += FLEXIBLE_START + b"\x02" + b"\x02t"
        writer.compact_count(count)
        end = b"\0\0"
    body = bytes(writer.buffer) + element * count + end
    peak = peak_of_decoding(body, version)
    assert peak <= MEMORY_FACTOR * len(body) + MEMORY_SLACK_BYTES


@pytest.mark.parametrize("version", [3, 9, 13])
def test_ten_thousand_partitions_with_a_batch_each_are_accepted(version: int) -> None:
    smallest_batch = b"b" * 68
    values: Values = (
        None,
        1,
        5,
        [("t", bytes(16), [(index, smallest_batch) for index in range(10_000)])],
    )
    body = generated_request(values, version)
    request = decode_produce_request(body, 0, len(body), version)
    assert len(request.topics[0][2]) == 10_000
    assert peak_of_decoding(body, version) <= MEMORY_FACTOR * len(body) + MEMORY_SLACK_BYTES


@given(int32s, st.sampled_from(VERSIONS), produced_topics, int32s, endpoints)
def test_a_response_is_byte_for_byte_that_of_kafka_python_and_of_the_generated_message(
    correlation_id: int,
    version: int,
    produced: list[ProducedTopic],
    throttle_time_ms: int,
    node_endpoints: list[NodeEndpoint],
) -> None:
    response = encode_produce_response(
        correlation_id, version, produced, throttle_time_ms, node_endpoints
    )
    arguments = correlation_id, version, produced, throttle_time_ms, node_endpoints
    assert response == kafka_python_response(*arguments)
    assert response == generated_response(*arguments)


@given(int32s, st.sampled_from(VERSIONS), names, topic_ids, plain_answers, int32s)
def test_the_answer_for_one_partition_is_byte_for_byte_that_of_kafka_python(
    correlation_id: int,
    version: int,
    name: str,
    topic_id: bytes,
    answer: PartitionProduced,
    throttle_time_ms: int,
) -> None:
    produced: list[ProducedTopic] = [(name, topic_id, [answer])]
    assert encode_produce_response(
        correlation_id, version, produced, throttle_time_ms
    ) == kafka_python_response(correlation_id, version, produced, throttle_time_ms, [])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("partition_count", [1, 2])
def test_a_topic_without_what_its_version_names_it_by_cannot_be_answered(
    version: int, partition_count: int
) -> None:
    topic: ProducedTopic = (
        "orders" if version >= 13 else None,
        None if version >= 13 else bytes(16),
        [PartitionProduced(0, 0, 1)] * partition_count,
    )
    with pytest.raises(ValueError, match="null"):
        encode_produce_response(1, version, [topic])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("length", [0, 1, 125, 126, 127, 128, 249, 300])
def test_names_of_every_length_are_answered_as_kafka_python_answers_them(
    version: int, length: int
) -> None:
    topic: ProducedTopic = ("n" * length, b"i" * 16, [PartitionProduced(1, 2, 3, 4, 5)])
    several: list[ProducedTopic] = [topic, topic]
    for produced in (several[:1], several):
        assert encode_produce_response(9, version, produced, 8) == kafka_python_response(
            9, version, produced, 8, []
        )


@pytest.mark.parametrize("version", VERSIONS)
def test_details_are_answered_in_the_versions_that_have_them(version: int) -> None:
    answer = PartitionProduced(
        1, 87, -1, 4, 5, [(0, "no key"), (3, None)], "some records have no key", (7, 8)
    )
    endpoint = NodeEndpoint(7, "localhost", 9092, "rack")
    produced: list[ProducedTopic] = [("orders", b"i" * 16, [answer])]
    assert encode_produce_response(9, version, produced, 8, [endpoint]) == kafka_python_response(
        9, version, produced, 8, [endpoint]
    )
