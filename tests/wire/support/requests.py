"""Short ways to say the requests that tests send most.

Owns argument defaults only. A topic carries both its name and its id, so that one request object
can be sent at any version. Must never know a connection.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.wire.support import messages

PRODUCE_TIMEOUT_MS = 10_000
ADMIN_TIMEOUT_MS = 30_000
UNLIMITED_BYTES = 0x7FFFFFFF
NO_ID = uuid.UUID(int=0)

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = range(-1, -7, -1)
READ_UNCOMMITTED, READ_COMMITTED = range(2)


@dataclass(frozen=True)
class Topic:
    """A topic as the broker told it."""

    name: str
    id: uuid.UUID = NO_ID


def produce(
    topic: Topic,
    batches: Mapping[int, bytes],
    *,
    acks: int = -1,
    transactional_id: str | None = None,
) -> Any:
    """Produce to partitions of one topic."""
    return produce_many([(topic, batches)], acks=acks, transactional_id=transactional_id)


def produce_many(
    topics: Sequence[tuple[Topic, Mapping[int, bytes]]],
    *,
    acks: int = -1,
    transactional_id: str | None = None,
) -> Any:
    data_class = messages.ProduceRequest.TopicProduceData
    return messages.ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=PRODUCE_TIMEOUT_MS,
        topic_data=[
            data_class(
                name=topic.name,
                topic_id=topic.id,
                partition_data=[
                    data_class.PartitionProduceData(index=index, records=records)
                    for index, records in batches.items()
                ],
            )
            for topic, batches in topics
        ],
    )


@dataclass(frozen=True)
class FetchFrom:
    """One partition of a Fetch."""

    topic: Topic
    offset: int = 0
    partition: int = 0
    max_bytes: int = UNLIMITED_BYTES
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1


def fetch(
    *partitions: FetchFrom,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = UNLIMITED_BYTES,
    isolation_level: int = READ_UNCOMMITTED,
    session_id: int = 0,
    session_epoch: int = -1,
    forgotten: Sequence[FetchFrom] = (),
) -> Any:
    """A Fetch; neighbours of the same topic share one topic entry."""
    return messages.FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=_fetch_topics(partitions),
        forgotten_topics_data=[
            messages.FetchRequest.ForgottenTopic(
                topic=one.topic.name, topic_id=one.topic.id, partitions=[one.partition]
            )
            for one in forgotten
        ],
    )


def _fetch_topics(partitions: Sequence[FetchFrom]) -> list[Any]:
    topic_class = messages.FetchRequest.FetchTopic
    topics: list[Any] = []
    for one in partitions:
        if not topics or topics[-1].topic != one.topic.name:
            topics.append(topic_class(topic=one.topic.name, topic_id=one.topic.id, partitions=[]))
        topics[-1].partitions.append(
            topic_class.FetchPartition(
                partition=one.partition,
                current_leader_epoch=one.current_leader_epoch,
                fetch_offset=one.offset,
                last_fetched_epoch=one.last_fetched_epoch,
                log_start_offset=-1,
                partition_max_bytes=one.max_bytes,
            )
        )
    return topics


def list_offsets(
    topic: Topic,
    timestamps: Sequence[tuple[int, int]],
    *,
    isolation_level: int = READ_UNCOMMITTED,
    current_leader_epoch: int = -1,
) -> Any:
    """ListOffsets of (partition, timestamp) pairs."""
    topic_class = messages.ListOffsetsRequest.ListOffsetsTopic
    return messages.ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[
            topic_class(
                name=topic.name,
                partitions=[
                    topic_class.ListOffsetsPartition(
                        partition_index=partition,
                        current_leader_epoch=current_leader_epoch,
                        timestamp=timestamp,
                    )
                    for partition, timestamp in timestamps
                ],
            )
        ],
        timeout_ms=PRODUCE_TIMEOUT_MS,
    )


def metadata(
    *names: str, every_topic: bool = False, allow_auto_topic_creation: bool = False, **more: Any
) -> Any:
    topic_class = messages.MetadataRequest.MetadataRequestTopic
    return messages.MetadataRequest(
        topics=None if every_topic else [topic_class(topic_id=NO_ID, name=name) for name in names],
        allow_auto_topic_creation=allow_auto_topic_creation,
        **more,
    )


def metadata_by_id(*ids: uuid.UUID) -> Any:
    topic_class = messages.MetadataRequest.MetadataRequestTopic
    return messages.MetadataRequest(
        topics=[topic_class(topic_id=topic_id, name=None) for topic_id in ids],
        allow_auto_topic_creation=False,
    )


def creatable(
    name: str,
    *,
    partitions: int = 1,
    replication_factor: int = 1,
    configs: Mapping[str, str | None] | None = None,
    assignments: Mapping[int, Sequence[int]] | None = None,
) -> Any:
    """One topic of a CreateTopics."""
    topic_class = messages.CreateTopicsRequest.CreatableTopic
    return topic_class(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        assignments=[
            topic_class.CreatableReplicaAssignment(partition_index=index, broker_ids=list(ids))
            for index, ids in (assignments or {}).items()
        ],
        configs=[
            topic_class.CreatableTopicConfig(name=key, value=value)
            for key, value in (configs or {}).items()
        ],
    )


def create_topics(*topics: Any, validate_only: bool = False) -> Any:
    return messages.CreateTopicsRequest(
        topics=list(topics), timeout_ms=ADMIN_TIMEOUT_MS, validate_only=validate_only
    )


def delete_records(topic: Topic, offsets: Mapping[int, int]) -> Any:
    topic_class = messages.DeleteRecordsRequest.DeleteRecordsTopic
    return messages.DeleteRecordsRequest(
        topics=[
            topic_class(
                name=topic.name,
                partitions=[
                    topic_class.DeleteRecordsPartition(partition_index=index, offset=offset)
                    for index, offset in offsets.items()
                ],
            )
        ],
        timeout_ms=ADMIN_TIMEOUT_MS,
    )
