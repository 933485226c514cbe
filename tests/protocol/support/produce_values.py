"""Produce requests and responses of random values, encoded by others than the code under test.

Owns the way from plain values to kafka-python's messages and to the generated ones. It must never
use protocol/produce_wire.py to encode or decode.
"""

from __future__ import annotations

import uuid
from typing import Any

from hypothesis import strategies as st

from protocol.messages.produce import ProduceRequest as GeneratedRequest
from protocol.messages.produce import ProduceResponse as GeneratedResponse
from protocol.node_endpoints import NodeEndpoint
from protocol.primitives import Writer
from protocol.produce_wire import PartitionProduced, ProducedTopic
from tests.wire.support.kafka_python import load

KafkaPythonRequest: Any = load("kafka.protocol.producer").ProduceRequest
KafkaPythonResponse: Any = load("kafka.protocol.producer").ProduceResponse
ResponseHeader: Any = load("kafka.protocol.api_header").ResponseHeader

VERSIONS = range(3, 14)
FLEXIBLE = range(9, 14)

int16s = st.integers(-(2**15), 2**15 - 1)
int32s = st.integers(-(2**31), 2**31 - 1)
int64s = st.integers(-(2**63), 2**63 - 1)
# Beyond 127 bytes a compact length takes two bytes; the fast path ends there.
names = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    ["n" * 125, "n" * 126, "n" * 127, "n" * 128, "n" * 249, "é" * 63, "é" * 64]
)
topic_ids = st.binary(min_size=16, max_size=16)
records = st.none() | st.binary(max_size=40) | st.sampled_from([b"r" * 126, b"r" * 127, b"r" * 128])
partitions = st.lists(st.tuples(int32s, records), max_size=3)
topics = st.lists(st.tuples(names, topic_ids, partitions), max_size=3)
requests = st.tuples(st.none() | names, int16s, int32s, topics)
Values = tuple[str | None, int, int, list[tuple[str, bytes, list[tuple[int, bytes | None]]]]]

record_errors = st.lists(st.tuples(int32s, st.none() | names), max_size=2)
answers = st.builds(
    PartitionProduced,
    index=int32s,
    error_code=int16s,
    base_offset=int64s,
    log_append_time=int64s,
    log_start_offset=int64s,
    record_errors=st.just(()) | record_errors,
    error_message=st.none() | names,
    # A leader of (-1, -1) is the default, which is not written.
    current_leader=st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)),
)
plain_answers = st.builds(
    PartitionProduced,
    index=int32s,
    error_code=int16s,
    base_offset=int64s,
    log_append_time=int64s,
    log_start_offset=int64s,
)
produced_topics = st.lists(
    st.tuples(names, topic_ids, st.lists(plain_answers | answers, max_size=3)), max_size=3
)
endpoints = st.lists(st.builds(NodeEndpoint, int32s, names, int32s, st.none() | names), max_size=2)


def kafka_python_request(values: Values, version: int) -> bytes:
    transactional_id, acks, timeout_ms, topic_values = values
    topic_type = KafkaPythonRequest.TopicProduceData
    encoded = KafkaPythonRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[
            topic_type(
                name=name,
                topic_id=uuid.UUID(bytes=topic_id),
                partition_data=[
                    topic_type.PartitionProduceData(index=index, records=data)
                    for index, data in partition_values
                ],
            )
            for name, topic_id, partition_values in topic_values
        ],
    ).encode(version=version, header=False)
    return bytes(encoded)


def generated_request(values: Values, version: int) -> bytes:
    transactional_id, acks, timeout_ms, topic_values = values
    writer = Writer()
    GeneratedRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[
            GeneratedRequest.TopicProduceData(
                name=name,
                topic_id=topic_id,
                partition_data=[
                    GeneratedRequest.PartitionProduceData(index=index, records=data)
                    for index, data in partition_values
                ],
            )
            for name, topic_id, partition_values in topic_values
        ],
    ).encode(writer, version)
    return bytes(writer.buffer)


def kafka_python_response(
    correlation_id: int,
    version: int,
    produced: list[ProducedTopic],
    throttle_time_ms: int,
    node_endpoints: list[NodeEndpoint],
) -> bytes:
    topic_type = KafkaPythonResponse.TopicProduceResponse
    partition_type = topic_type.PartitionProduceResponse
    body = KafkaPythonResponse(
        responses=[
            topic_type(
                name=name,
                topic_id=uuid.UUID(bytes=topic_id),
                partition_responses=[
                    partition_type(
                        index=answer.index,
                        error_code=answer.error_code,
                        base_offset=answer.base_offset,
                        log_append_time_ms=answer.log_append_time,
                        log_start_offset=answer.log_start_offset,
                        record_errors=[
                            partition_type.BatchIndexAndErrorMessage(
                                batch_index=index, batch_index_error_message=message
                            )
                            for index, message in answer.record_errors
                        ],
                        error_message=answer.error_message,
                        current_leader=None
                        if answer.current_leader is None
                        else partition_type.LeaderIdAndEpoch(
                            leader_id=answer.current_leader[0],
                            leader_epoch=answer.current_leader[1],
                        ),
                    )
                    for answer in topic_answers
                ],
            )
            for name, topic_id, topic_answers in produced
        ],
        throttle_time_ms=throttle_time_ms,
        node_endpoints=[
            KafkaPythonResponse.NodeEndpoint(node_id=node_id, host=host, port=port, rack=rack)
            for node_id, host, port, rack in node_endpoints
        ],
    ).encode(version=version, header=False)
    header = ResponseHeader(correlation_id=correlation_id).encode(flexible=version in FLEXIBLE)
    return bytes(header) + bytes(body)


def generated_response(
    correlation_id: int,
    version: int,
    produced: list[ProducedTopic],
    throttle_time_ms: int,
    node_endpoints: list[NodeEndpoint],
) -> bytes:
    writer = Writer()
    writer.int32(correlation_id)
    if version in FLEXIBLE:
        writer.empty_tagged_fields()
    GeneratedResponse(
        responses=[
            GeneratedResponse.TopicProduceResponse(
                name=name or "",
                topic_id=topic_id or bytes(16),
                partition_responses=[generated_partition(answer) for answer in topic_answers],
            )
            for name, topic_id, topic_answers in produced
        ],
        throttle_time_ms=throttle_time_ms,
        node_endpoints=[
            GeneratedResponse.NodeEndpoint(node_id=node_id, host=host, port=port, rack=rack)
            for node_id, host, port, rack in node_endpoints
        ],
    ).encode(writer, version)
    return bytes(writer.buffer)


def generated_partition(answer: PartitionProduced) -> GeneratedResponse.PartitionProduceResponse:
    leader_id, leader_epoch = answer.current_leader or (-1, -1)
    return GeneratedResponse.PartitionProduceResponse(
        index=answer.index,
        error_code=answer.error_code,
        base_offset=answer.base_offset,
        log_append_time_ms=answer.log_append_time,
        log_start_offset=answer.log_start_offset,
        record_errors=[
            GeneratedResponse.BatchIndexAndErrorMessage(
                batch_index=index, batch_index_error_message=message
            )
            for index, message in answer.record_errors
        ],
        error_message=answer.error_message,
        current_leader=GeneratedResponse.LeaderIdAndEpoch(
            leader_id=leader_id, leader_epoch=leader_epoch
        ),
    )
