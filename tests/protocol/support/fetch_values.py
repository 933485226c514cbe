"""Fetch requests and responses of random values, encoded by others than the code under test.

Owns the way from plain values to kafka-python's messages and to the generated ones. It must never
use protocol/fetch_wire.py to encode or decode.
"""

from __future__ import annotations

import uuid
from typing import Any, NamedTuple

from hypothesis import strategies as st

from protocol.fetch_wire import FetchedTopic, PartitionFetched
from protocol.messages.fetch import FetchRequest as GeneratedRequest
from protocol.messages.fetch import FetchResponse as GeneratedResponse
from protocol.node_endpoints import NodeEndpoint
from protocol.primitives import Writer
from tests.wire.support.kafka_python import load

KafkaPythonRequest: Any = load("kafka.protocol.consumer").FetchRequest
KafkaPythonResponse: Any = load("kafka.protocol.consumer").FetchResponse
ResponseHeader: Any = load("kafka.protocol.api_header").ResponseHeader

VERSIONS = range(4, 19)
FLEXIBLE = range(12, 19)

int8s = st.integers(-(2**7), 2**7 - 1)
int16s = st.integers(-(2**15), 2**15 - 1)
int32s = st.integers(-(2**31), 2**31 - 1)
int64s = st.integers(-(2**63), 2**63 - 1)
names = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(["n" * 127, "é" * 64])
topic_ids = st.binary(min_size=16, max_size=16)


class Values(NamedTuple):
    """A request as the tests say it; topics have names and ids, and versions choose."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: list[tuple[str, bytes, list[tuple[int, int, int, int, int, int]]]]
    forgotten_topics: list[tuple[str, bytes, list[int]]]
    rack_id: str
    replica_id: int
    cluster_id: str | None


partitions = st.tuples(int32s, int32s, int64s, int32s, int64s, int32s)
requests = st.builds(
    Values,
    max_wait_ms=int32s,
    min_bytes=int32s,
    max_bytes=int32s,
    isolation_level=int8s,
    session_id=int32s,
    session_epoch=int32s,
    topics=st.lists(st.tuples(names, topic_ids, st.lists(partitions, max_size=3)), max_size=3),
    forgotten_topics=st.lists(
        st.tuples(names, topic_ids, st.lists(int32s, max_size=3)), max_size=2
    ),
    rack_id=names,
    replica_id=int32s,
    cluster_id=st.none() | names,
)


def generated_request(values: Values, version: int) -> bytes:
    writer = Writer()
    GeneratedRequest(
        cluster_id=values.cluster_id,
        replica_id=values.replica_id,
        replica_state=GeneratedRequest.ReplicaState(replica_id=values.replica_id, replica_epoch=7),
        max_wait_ms=values.max_wait_ms,
        min_bytes=values.min_bytes,
        max_bytes=values.max_bytes,
        isolation_level=values.isolation_level,
        session_id=values.session_id if version >= 7 else 0,
        session_epoch=values.session_epoch,
        topics=[
            GeneratedRequest.FetchTopic(
                topic=name,
                topic_id=topic_id,
                partitions=[
                    GeneratedRequest.FetchPartition(
                        partition=partition,
                        current_leader_epoch=leader_epoch,
                        fetch_offset=offset,
                        last_fetched_epoch=last_epoch,
                        log_start_offset=log_start_offset,
                        partition_max_bytes=max_bytes,
                        # Said by replicas only: to be skipped.
                        replica_directory_id=b"d" * 16,
                        high_watermark=5,
                    )
                    for (
                        partition,
                        leader_epoch,
                        offset,
                        last_epoch,
                        log_start_offset,
                        max_bytes,
                    ) in rows
                ],
            )
            for name, topic_id, rows in values.topics
        ],
        forgotten_topics_data=[
            GeneratedRequest.ForgottenTopic(topic=name, topic_id=topic_id, partitions=forgotten)
            for name, topic_id, forgotten in values.forgotten_topics
        ],
        rack_id=values.rack_id,
    ).encode(writer, version)
    return bytes(writer.buffer)


def kafka_python_request(values: Values, version: int) -> bytes:
    topic_type = KafkaPythonRequest.FetchTopic
    fields: dict[str, Any] = {}
    if values.cluster_id is not None and version >= 12:
        fields["cluster_id"] = values.cluster_id
    if version >= 15:
        fields["replica_state"] = KafkaPythonRequest.ReplicaState(
            replica_id=values.replica_id, replica_epoch=7
        )
    return bytes(
        KafkaPythonRequest(
            replica_id=values.replica_id,
            max_wait_ms=values.max_wait_ms,
            min_bytes=values.min_bytes,
            max_bytes=values.max_bytes,
            isolation_level=values.isolation_level,
            session_id=values.session_id,
            session_epoch=values.session_epoch,
            topics=[
                topic_type(
                    topic=name,
                    topic_id=uuid.UUID(bytes=topic_id),
                    partitions=[
                        topic_type.FetchPartition(
                            partition=partition,
                            current_leader_epoch=leader_epoch,
                            fetch_offset=offset,
                            last_fetched_epoch=last_epoch,
                            log_start_offset=log_start_offset,
                            partition_max_bytes=max_bytes,
                        )
                        for (
                            partition,
                            leader_epoch,
                            offset,
                            last_epoch,
                            log_start_offset,
                            max_bytes,
                        ) in rows
                    ],
                )
                for name, topic_id, rows in values.topics
            ],
            forgotten_topics_data=[
                KafkaPythonRequest.ForgottenTopic(
                    topic=name, topic_id=uuid.UUID(bytes=topic_id), partitions=forgotten
                )
                for name, topic_id, forgotten in values.forgotten_topics
            ],
            rack_id=values.rack_id,
            **fields,
        ).encode(version=version, header=False)
    )


def view_of(data: bytes) -> memoryview:
    return memoryview(data)


answers = st.builds(
    PartitionFetched,
    index=int32s,
    error_code=int16s,
    high_watermark=int64s,
    last_stable_offset=int64s,
    log_start_offset=int64s,
    aborted_transactions=st.none() | st.lists(st.tuples(int64s, int64s), max_size=3),
    preferred_read_replica=int32s,
    records=st.binary(max_size=40)
    | st.binary(max_size=40).map(view_of)
    | st.lists(st.binary(max_size=20), max_size=3)
    | st.sampled_from([b"r" * 126, b"r" * 127, b"r" * 128]),
    # Only what differs from the default of (-1, -1) is written.
    diverging_epoch=st.none() | st.tuples(st.integers(0, 9), int64s),
    current_leader=st.none() | st.tuples(st.integers(0, 9), int32s),
)
fetched_topics = st.lists(st.tuples(names, topic_ids, st.lists(answers, max_size=3)), max_size=3)
endpoints = st.lists(st.builds(NodeEndpoint, int32s, names, int32s, st.none() | names), max_size=2)


def joined(answer: PartitionFetched) -> bytes:
    if isinstance(answer.records, list):
        return b"".join(answer.records)
    return bytes(answer.records)


def generated_partition(answer: PartitionFetched) -> GeneratedResponse.PartitionData:
    epoch, end_offset = answer.diverging_epoch or (-1, -1)
    leader_id, leader_epoch = answer.current_leader or (-1, -1)
    aborted = answer.aborted_transactions
    return GeneratedResponse.PartitionData(
        partition_index=answer.index,
        error_code=answer.error_code,
        high_watermark=answer.high_watermark,
        last_stable_offset=answer.last_stable_offset,
        log_start_offset=answer.log_start_offset,
        diverging_epoch=GeneratedResponse.EpochEndOffset(epoch=epoch, end_offset=end_offset),
        current_leader=GeneratedResponse.LeaderIdAndEpoch(
            leader_id=leader_id, leader_epoch=leader_epoch
        ),
        aborted_transactions=None
        if aborted is None
        else [
            GeneratedResponse.AbortedTransaction(producer_id=producer_id, first_offset=offset)
            for producer_id, offset in aborted
        ],
        preferred_read_replica=answer.preferred_read_replica,
        records=joined(answer),
    )


class Response(NamedTuple):
    """The arguments of encode_fetch_response."""

    correlation_id: int
    version: int
    error_code: int
    session_id: int
    throttle_time_ms: int
    topics: list[FetchedTopic]
    node_endpoints: list[NodeEndpoint]


responses = st.builds(
    Response,
    correlation_id=int32s,
    version=st.sampled_from(VERSIONS),
    error_code=int16s,
    session_id=int32s,
    throttle_time_ms=int32s,
    topics=fetched_topics,
    node_endpoints=endpoints,
)


def generated_response(response: Response) -> bytes:
    writer = Writer()
    writer.int32(response.correlation_id)
    if response.version in FLEXIBLE:
        writer.empty_tagged_fields()
    GeneratedResponse(
        throttle_time_ms=response.throttle_time_ms,
        error_code=response.error_code,
        session_id=response.session_id if response.version >= 7 else 0,
        responses=[
            GeneratedResponse.FetchableTopicResponse(
                topic=name or "",
                topic_id=topic_id or bytes(16),
                partitions=[generated_partition(answer) for answer in topic_answers],
            )
            for name, topic_id, topic_answers in response.topics
        ],
        node_endpoints=[
            GeneratedResponse.NodeEndpoint(node_id=node_id, host=host, port=port, rack=rack)
            for node_id, host, port, rack in response.node_endpoints
        ],
    ).encode(writer, response.version)
    return bytes(writer.buffer)


def kafka_python_partition(answer: PartitionFetched) -> Any:
    partition_type = KafkaPythonResponse.FetchableTopicResponse.PartitionData
    aborted = answer.aborted_transactions
    tagged: dict[str, Any] = {}
    if answer.diverging_epoch is not None:
        epoch, end_offset = answer.diverging_epoch
        tagged["diverging_epoch"] = partition_type.EpochEndOffset(
            epoch=epoch, end_offset=end_offset
        )
    if answer.current_leader is not None:
        leader_id, leader_epoch = answer.current_leader
        tagged["current_leader"] = partition_type.LeaderIdAndEpoch(
            leader_id=leader_id, leader_epoch=leader_epoch
        )
    return partition_type(
        partition_index=answer.index,
        error_code=answer.error_code,
        high_watermark=answer.high_watermark,
        last_stable_offset=answer.last_stable_offset,
        log_start_offset=answer.log_start_offset,
        aborted_transactions=None
        if aborted is None
        else [
            partition_type.AbortedTransaction(producer_id=producer_id, first_offset=offset)
            for producer_id, offset in aborted
        ],
        preferred_read_replica=answer.preferred_read_replica,
        records=joined(answer),
        **tagged,
    )


def kafka_python_response(response: Response) -> bytes:
    header = ResponseHeader(correlation_id=response.correlation_id)
    body = KafkaPythonResponse(
        throttle_time_ms=response.throttle_time_ms,
        error_code=response.error_code,
        session_id=response.session_id,
        responses=[
            KafkaPythonResponse.FetchableTopicResponse(
                topic=name,
                topic_id=uuid.UUID(bytes=topic_id),
                partitions=[kafka_python_partition(answer) for answer in topic_answers],
            )
            for name, topic_id, topic_answers in response.topics
        ],
        node_endpoints=[
            KafkaPythonResponse.NodeEndpoint(node_id=node_id, host=host, port=port, rack=rack)
            for node_id, host, port, rack in response.node_endpoints
        ],
    ).encode(version=response.version, header=False)
    return bytes(header.encode(flexible=response.version in FLEXIBLE)) + bytes(body)
