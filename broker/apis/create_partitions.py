"""CreatePartitions (key 37), versions 0-3.

Behaviour: every topic grows by itself to the given number of partitions; existing partitions and
their records stay as they are. The answer leaves when the new partitions are durable. Checked in
this order: named twice in the request (one answer, INVALID_REQUEST); unknown
(UNKNOWN_TOPIC_OR_PARTITION); not more than now (INVALID_PARTITIONS); an assignment, if there is
one, that is not one list of brokers for each new partition (INVALID_REPLICA_ASSIGNMENT); too many
partitions (POLICY_VIOLATION). `validate_only` checks and changes nothing.

Versions: 2 flexible; 3 is 2.

Deviations from Apache Kafka: an assignment to several brokers is accepted and counts as one to this
broker. The timeout is not looked at, as nothing is waited for.
"""

from __future__ import annotations

from broker.context import Context
from broker.named_once import NamedOnce
from broker.registry import Api
from broker.topic_changes import PartitionBudget, add_partitions, check_growth
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse

API = Api(37, 0, 3)

Result = CreatePartitionsResponse.CreatePartitionsTopicResult


def handle(context: Context, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    """Grow each topic, or say why not."""
    named_once = NamedOnce(topic.name for topic in request.topics)
    budget = PartitionBudget()
    results: list[Result] = []
    for topic in request.topics:
        if not named_once.is_first(topic.name):
            continue
        result = Result(name=topic.name)
        try:
            named_once.check(topic.name, "topic name")
            _grow(context, budget, topic, request.validate_only)
        except KafkaError as error:
            result.error_code = error.code
            result.error_message = error.message
        results.append(result)
    return CreatePartitionsResponse(results=results)


def _grow(
    context: Context,
    budget: PartitionBudget,
    asked: CreatePartitionsRequest.CreatePartitionsTopic,
    validate_only: bool,
) -> None:
    broker = context.broker
    topic = broker.topics.get(asked.name)
    if topic is None:
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{asked.name}' does not exist."
        )
    assignments = None
    if asked.assignments is not None:
        assignments = [item.broker_ids for item in asked.assignments]
    check_growth(broker, budget, topic, asked.count, assignments)
    if not validate_only:
        add_partitions(broker, topic, asked.count)
