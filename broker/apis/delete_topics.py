"""DeleteTopics (key 20), versions 1-6.

Behaviour: every topic is deleted by itself, with all its records; the answer leaves when that is
durable, and answers come in the order of the request. Errors: TOPIC_DELETION_DISABLED for all if
`delete.topic.enable` is false; both name and id, or neither: INVALID_REQUEST; a name or an id given
twice: one INVALID_REQUEST, and so if a name and an id mean the same topic; an unknown name
UNKNOWN_TOPIC_OR_PARTITION, an unknown id UNKNOWN_TOPIC_ID.

Versions: 1-2 say INVALID_REQUEST when deletion is disabled; 4 flexible; 5 error messages; 6 topics
by id, and the answer shows name and id of each.

Deviations from Apache Kafka: the timeout is not looked at, as nothing is waited for; Kafka answers
REQUEST_TIMED_OUT to a timeout of 0 and deletes all the same. Kafka shuffles the answers.
"""

from __future__ import annotations

from broker.context import Context
from broker.named_once import NamedOnce
from broker.registry import Api
from broker.topic_changes import delete_topic
from broker.topics import Topic
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from protocol.primitives import ZERO_UUID

API = Api(20, 1, 6)

DISABLED_FROM_VERSION = 3
BY_ID_FROM_VERSION = 6

Result = DeleteTopicsResponse.DeletableTopicResult
Target = tuple[str | None, bytes]
"""Name and id, as the request has them."""


def handle(context: Context, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    """Delete each topic, or say why not."""
    targets = _targets(context, request)
    named_once = NamedOnce(targets)
    found_once = NamedOnce(
        topic for target in dict.fromkeys(targets) if (topic := _find(context, target)) is not None
    )
    results: list[Result] = []
    for target in targets:
        topic = _find(context, target)
        if not named_once.is_first(target) or (topic and not found_once.is_first(topic)):
            continue
        try:
            _check(context, target, topic, named_once, found_once)
            results.append(_delete(context, target, topic))
        except KafkaError as error:
            results.append(_refused(target, topic, found_once, error))
    return DeleteTopicsResponse(responses=results)


def _targets(context: Context, request: DeleteTopicsRequest) -> list[Target]:
    if context.version < BY_ID_FROM_VERSION:
        return [(name, ZERO_UUID) for name in request.topic_names]
    return [(topic.name, topic.topic_id) for topic in request.topics]


def _find(context: Context, target: Target) -> Topic | None:
    """The topic that is meant; None also where the request does not say it properly."""
    name, topic_id = target
    topics = context.broker.topics
    if topic_id == ZERO_UUID:
        return topics.get(name)
    return topics.get_by_id(topic_id) if name is None else None


def _check(
    context: Context,
    target: Target,
    topic: Topic | None,
    named_once: NamedOnce,
    found_once: NamedOnce,
) -> None:
    name, topic_id = target
    if not context.broker.settings.delete_topic_enable:
        raise KafkaError(
            ErrorCode.TOPIC_DELETION_DISABLED
            if context.version >= DISABLED_FROM_VERSION
            else ErrorCode.INVALID_REQUEST,
            "Topic deletion is disabled.",
        )
    if name is not None and topic_id != ZERO_UUID:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id."
        )
    if name is None and topic_id == ZERO_UUID:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    named_once.check(target, "topic id" if name is None else "topic name")
    if topic is not None and not found_once.is_alone(topic):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, "The provided topic name maps to an id that is also given."
        )


def _delete(context: Context, target: Target, topic: Topic | None) -> Result:
    if topic is None:
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_ID
            if target[0] is None
            else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "This server does not host this topic.",
        )
    delete_topic(context.broker, topic)
    return Result(name=topic.name, topic_id=topic.topic_id)


def _refused(
    target: Target, topic: Topic | None, found_once: NamedOnce, error: KafkaError
) -> Result:
    name, topic_id = target
    if topic is not None and not found_once.is_alone(topic):
        name, topic_id = topic.name, topic.topic_id
    return Result(name=name, topic_id=topic_id, error_code=error.code, error_message=error.message)
