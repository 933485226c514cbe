"""Metadata (key 3), versions 0-13.

Behaviour: names the one broker, which is also the controller, and describes the topics asked for:
by name, by id, or all. A topic named twice is described once. A name that cannot be a topic's is
INVALID_TOPIC_EXCEPTION, an absent topic UNKNOWN_TOPIC_OR_PARTITION, an absent id UNKNOWN_TOPIC_ID.
An absent topic is created with the broker's default number of partitions if both the broker
(`auto.create.topics.enable`) and the client allow it; what cannot be created (its name collides
with another topic's, it is internal, the disk is full) is UNKNOWN_TOPIC_OR_PARTITION. If any topic
is asked for by id, names are not looked at, as in Kafka.

Versions: 0: an empty list means all topics; 1: null means all, an empty list none; 2 cluster id; 4
the client allows or forbids creation, before that it allows; 5 offline replicas; 7 leader epochs; 8
authorized operations (of the cluster only up to 10); 10 topic ids in answers; 12 topics by id (10
and 11 have the field, but answer it with INVALID_REQUEST); 13 an error for the whole answer.

Deviations from Apache Kafka: a topic that this request creates is described without error in the
very same answer, which leaves when the topic is durable; Kafka says UNKNOWN_TOPIC_OR_PARTITION
first and lets the client ask again. Internal topics do not exist here and are never created. A
topic with neither name nor id is INVALID_REQUEST in versions 12 and 13 too; Kafka answers
UNKNOWN_SERVER_ERROR there.
"""

from __future__ import annotations

import logging

from broker.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from broker.context import Context
from broker.partition import LEADER_EPOCH
from broker.registry import Api
from broker.topic_changes import PartitionBudget, auto_create_topic
from broker.topics import INTERNAL_TOPICS, Topic, validate_name
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.metadata import MetadataRequest, MetadataResponse
from protocol.primitives import ZERO_UUID

# Not `answers_from_durable`: it may show a topic whose creation is still on its way to the disk.
API = Api(3, 0, 13)

BY_ID_FROM_VERSION = 12

logger = logging.getLogger("oncelog.metadata")


def handle(context: Context, request: MetadataRequest) -> MetadataResponse:
    """The broker and the topics asked for."""
    asked = request.topics
    if asked is not None and _is_malformed(context, asked):
        return _refuse(asked)
    broker = context.broker
    topic_operations = NOT_ASKED
    if request.include_topic_authorized_operations:
        topic_operations = TOPIC_OPERATIONS
    return MetadataResponse(
        brokers=[
            MetadataResponse.MetadataResponseBroker(
                node_id=broker.node_id, host=broker.host, port=broker.port
            )
        ],
        cluster_id=broker.cluster_id,
        controller_id=broker.node_id,
        topics=_topics(context, request, topic_operations),
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def _is_malformed(context: Context, asked: list[MetadataRequest.MetadataRequestTopic]) -> bool:
    if context.version < BY_ID_FROM_VERSION:
        return any(topic.name is None or topic.topic_id != ZERO_UUID for topic in asked)
    return any(topic.name is None and topic.topic_id == ZERO_UUID for topic in asked)


def _refuse(asked: list[MetadataRequest.MetadataRequestTopic]) -> MetadataResponse:
    return MetadataResponse(
        topics=[
            MetadataResponse.MetadataResponseTopic(
                error_code=ErrorCode.INVALID_REQUEST,
                name=topic.name or "",
                topic_id=topic.topic_id,
            )
            for topic in asked
        ]
    )


def _topics(
    context: Context, request: MetadataRequest, operations: int
) -> list[MetadataResponse.MetadataResponseTopic]:
    topics = context.broker.topics
    asked = request.topics
    node_id = context.broker.node_id
    if asked is None or (context.version == 0 and not asked):
        return [_described(topic, node_id, operations) for topic in topics]
    ids = dict.fromkeys(topic.topic_id for topic in asked if topic.topic_id != ZERO_UUID)
    if ids:
        found_by_id = ((topic_id, topics.get_by_id(topic_id)) for topic_id in ids)
        return [
            _unknown_id(topic_id) if topic is None else _described(topic, node_id, operations)
            for topic_id, topic in found_by_id
        ]
    names = dict.fromkeys(topic.name for topic in asked if topic.name is not None)
    may_create = context.broker.settings.auto_create_topics_enable
    budget = PartitionBudget() if may_create and request.allow_auto_topic_creation else None
    return [_named(context, name, budget, operations) for name in names]


def _named(
    context: Context, name: str, budget: PartitionBudget | None, operations: int
) -> MetadataResponse.MetadataResponseTopic:
    broker = context.broker
    topic = broker.topics.get(name)
    if topic is None:
        try:
            validate_name(name)
        except KafkaError as error:
            return _absent(name, error.code, operations)
        if budget is not None:
            try:
                topic = auto_create_topic(broker, budget, name)
            except KafkaError as error:
                logger.debug("topic %s that a client asked for is not created: %s", name, error)
    if topic is None:
        return _absent(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, operations)
    return _described(topic, broker.node_id, operations)


def _absent(name: str, error: ErrorCode, operations: int) -> MetadataResponse.MetadataResponseTopic:
    return MetadataResponse.MetadataResponseTopic(
        error_code=error,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=operations,
    )


def _unknown_id(topic_id: bytes) -> MetadataResponse.MetadataResponseTopic:
    return MetadataResponse.MetadataResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id
    )


def _described(
    topic: Topic, node_id: int, operations: int
) -> MetadataResponse.MetadataResponseTopic:
    replicas = [node_id]
    return MetadataResponse.MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[
            MetadataResponse.MetadataResponsePartition(
                partition_index=index,
                leader_id=node_id,
                leader_epoch=LEADER_EPOCH,
                replica_nodes=replicas,
                isr_nodes=replicas,
            )
            for index in range(len(topic.partitions))
        ],
        topic_authorized_operations=operations,
    )
