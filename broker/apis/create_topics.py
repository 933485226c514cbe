"""CreateTopics (key 19), versions 2-7.

Behaviour: every topic is created by itself; one bad topic never fails another. The answer leaves
when the new topics are durable. Checked in this order: named twice in the request (one answer,
INVALID_REQUEST); internal (INVALID_REQUEST); the name (INVALID_TOPIC_EXCEPTION), also when it
differs from an existing one only in '.' and '_'; exists (TOPIC_ALREADY_EXISTS); settings
(INVALID_CONFIG, null values too; of a setting given twice the last counts); with a manual
assignment both counts must be -1 (INVALID_REQUEST) and the assignment whole
(INVALID_REPLICA_ASSIGNMENT); else the replication factor (INVALID_REPLICATION_FACTOR) and the
number of partitions (INVALID_PARTITIONS), where -1 takes the broker's default; too many partitions
(POLICY_VIOLATION). `validate_only` checks and creates nothing.

Versions: -1 for the counts is meant for 4 and later but taken in all, as in Kafka; 5 the answer
shows number of partitions, replication factor and settings; 7 the topic id.

Deviations from Apache Kafka: a replication factor above 1 is accepted and counts as 1, which the
answer then says; so is an assignment to several brokers. All of Kafka's internal topics are
refused, not only the metadata log: there are none here. The timeout is not looked at: a topic is
there at once, or refused. With `validate_only` the topic id of the answer is zero; Kafka makes one
up. `segment.bytes` may be as small as 1024.
"""

from __future__ import annotations

from broker.config_entries import topic_entries
from broker.context import Context
from broker.named_once import NamedOnce
from broker.registry import Api
from broker.topic_changes import PartitionBudget, TopicPlan, TopicWish, create_topic, plan_topic
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from protocol.primitives import ZERO_UUID

API = Api(19, 2, 7)

CONFIGS_FROM_VERSION = 5
REPLICATION_FACTOR = 1

Result = CreateTopicsResponse.CreatableTopicResult


def handle(context: Context, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """Create each topic, or say why not."""
    named_once = NamedOnce(topic.name for topic in request.topics)
    budget = PartitionBudget()
    results: list[Result] = []
    for topic in request.topics:
        if not named_once.is_first(topic.name):
            continue
        try:
            named_once.check(topic.name, "topic name")
            results.append(_create(context, budget, topic, request.validate_only))
        except KafkaError as error:
            results.append(
                Result(name=topic.name, error_code=error.code, error_message=error.message)
            )
    return CreateTopicsResponse(topics=results)


def _create(
    context: Context,
    budget: PartitionBudget,
    asked: CreateTopicsRequest.CreatableTopic,
    validate_only: bool,
) -> Result:
    broker = context.broker
    plan = plan_topic(
        broker,
        budget,
        TopicWish(
            asked.name,
            asked.num_partitions,
            asked.replication_factor,
            [(item.partition_index, item.broker_ids) for item in asked.assignments],
            {item.name: item.value for item in asked.configs},
        ),
    )
    topic_id = ZERO_UUID if validate_only else create_topic(broker, plan).topic_id
    return Result(
        name=asked.name,
        topic_id=topic_id,
        error_code=ErrorCode.NONE,
        error_message=None,
        num_partitions=plan.partition_count,
        replication_factor=REPLICATION_FACTOR,
        configs=_configs(context, plan),
    )


def _configs(context: Context, plan: TopicPlan) -> list[CreateTopicsResponse.CreatableTopicConfigs]:
    if context.version < CONFIGS_FROM_VERSION:
        return []
    return [
        CreateTopicsResponse.CreatableTopicConfigs(
            name=entry.name,
            value=entry.value,
            read_only=entry.is_read_only,
            config_source=entry.source,
            is_sensitive=False,
        )
        for entry in topic_entries(plan.configs, context.broker.settings)
    ]
