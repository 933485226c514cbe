"""DescribeTopicPartitions (key 75), version 0.

Behaviour: describes topics in the order of their names, at most `response_partition_limit`
partitions (1 to 2000) in one answer; then `next_cursor` says where to go on, and the next request
brings it back as `cursor`. No topics named means all. A topic named twice is described once; a name
that cannot be a topic's is INVALID_TOPIC_EXCEPTION, an absent topic UNKNOWN_TOPIC_OR_PARTITION. A
cursor with a negative partition or, where topics are named, with none of these is INVALID_REQUEST
for all of them.

Versions: there is one.

Deviations from Apache Kafka: the empty name is INVALID_TOPIC_EXCEPTION too; Kafka fails the whole
request with UNKNOWN_SERVER_ERROR.
"""

from __future__ import annotations

from bisect import bisect_left

from broker.authorized_operations import TOPIC_OPERATIONS
from broker.context import Context
from broker.limits import DESCRIBED_PARTITIONS_MAX
from broker.partition import LEADER_EPOCH
from broker.registry import Api
from broker.topics import INTERNAL_TOPICS, Topic, validate_name
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)

# Not `answers_from_durable`: it may show a topic whose creation is still on its way to the disk.
API = Api(75, 0, 0)

Described = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
Cursor = DescribeTopicPartitionsResponse.Cursor


def handle(
    context: Context, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    """As many partitions as asked for, from the cursor on."""
    names = sorted({topic.name for topic in request.topics})
    cursor = request.cursor
    if cursor is not None and (
        cursor.partition_index < 0 or (names and cursor.topic_name not in names)
    ):
        return _refuse(request)
    if not names:
        names = context.broker.topics.names()
    first_partition = 0
    if cursor is not None:
        names = names[bisect_left(names, cursor.topic_name) :]
        if names and names[0] == cursor.topic_name:
            first_partition = cursor.partition_index
    return _describe(context, names, first_partition, request.response_partition_limit)


def _refuse(request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=[
            Described(error_code=ErrorCode.INVALID_REQUEST, name=topic.name)
            for topic in request.topics
        ]
    )


def _describe(
    context: Context, names: list[str], first_partition: int, limit: int
) -> DescribeTopicPartitionsResponse:
    response = DescribeTopicPartitionsResponse()
    left = max(1, min(limit, DESCRIBED_PARTITIONS_MAX))
    for name in names:
        if left == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        topic = context.broker.topics.get(name)
        if topic is None:
            response.topics.append(_absent(name))
        else:
            end = min(first_partition + left, len(topic.partitions))
            indexes = range(first_partition, end)
            response.topics.append(_described(topic, context.broker.node_id, indexes))
            left -= len(indexes)
            if end < len(topic.partitions):
                response.next_cursor = Cursor(topic_name=name, partition_index=end)
                break
        first_partition = 0
    return response


def _absent(name: str) -> Described:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        validate_name(name)
    except KafkaError as error:
        code = error.code
    return Described(
        error_code=code,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _described(topic: Topic, node_id: int, indexes: range) -> Described:
    replicas = [node_id]
    return Described(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[
            DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition(
                partition_index=index,
                leader_id=node_id,
                leader_epoch=LEADER_EPOCH,
                replica_nodes=replicas,
                isr_nodes=replicas,
                eligible_leader_replicas=[],
                last_known_elr=[],
            )
            for index in indexes
        ],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )
