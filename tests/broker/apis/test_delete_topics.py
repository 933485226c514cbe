"""DeleteTopics: by name, by id, and what is refused."""

from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.primitives import ZERO_UUID
from storage.errors import StorageFull
from tests.broker.support import InProcessBroker

VERSIONS = range(1, 7)
BY_ID_VERSION = 6
SOME_ID = bytes(range(16))

State = DeleteTopicsRequest.DeleteTopicState


def delete(broker: InProcessBroker, *names: str, version: int = BY_ID_VERSION) -> list[Any]:
    """By name, the way the version has it."""
    request = DeleteTopicsRequest(
        topics=[State(name=name) for name in names], topic_names=list(names)
    )
    return list(broker.call(request, version).responses)


def delete_states(broker: InProcessBroker, *states: State) -> list[Any]:
    return list(broker.call(DeleteTopicsRequest(topics=list(states)), BY_ID_VERSION).responses)


def names(broker: InProcessBroker) -> list[str]:
    return broker.broker.topics.names()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_is_deleted_by_name_for_good(broker: InProcessBroker, version: int) -> None:
    topic = broker.create_topic("a", 2)
    broker.create_topic("b")
    (found,) = delete(broker, "a", version=version)
    assert (found.name, found.error_code, found.error_message) == ("a", 0, None)
    assert found.topic_id == (topic.topic_id if version >= BY_ID_VERSION else ZERO_UUID)
    broker.restart()
    assert names(broker) == ["b"]
    assert broker.broker.topics.partition_count == 1


def test_a_topic_is_deleted_by_id(broker: InProcessBroker) -> None:
    topic = broker.create_topic("a")
    (found,) = delete_states(broker, State(topic_id=topic.topic_id))
    assert (found.name, found.topic_id, found.error_code) == ("a", topic.topic_id, 0)
    assert names(broker) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_name_stops_no_other(broker: InProcessBroker, version: int) -> None:
    broker.create_topic("a")
    found = delete(broker, "absent", "a", version=version)
    assert [(one.name, one.error_code) for one in found] == [
        ("absent", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a", 0),
    ]
    assert (found[0].error_message is not None) == (version >= 5)


def test_an_unknown_id_is_an_error(broker: InProcessBroker) -> None:
    (found,) = delete_states(broker, State(topic_id=SOME_ID))
    assert (found.name, found.topic_id) == (None, SOME_ID)
    assert found.error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("has_both", [True, False])
def test_both_name_and_id_or_neither_is_an_invalid_request(
    broker: InProcessBroker, has_both: bool
) -> None:
    topic = broker.create_topic("a")
    state = State(name="a", topic_id=topic.topic_id) if has_both else State()
    (found,) = delete_states(broker, state)
    assert (found.name, found.topic_id) == (state.name, state.topic_id)
    assert found.error_code == ErrorCode.INVALID_REQUEST
    assert found.error_message
    assert names(broker) == ["a"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_name_given_twice_is_refused_once(broker: InProcessBroker, version: int) -> None:
    broker.create_topic("a")
    broker.create_topic("b")
    found = delete(broker, "a", "b", "a", version=version)
    assert [(one.name, one.error_code) for one in found] == [
        ("a", ErrorCode.INVALID_REQUEST),
        ("b", 0),
    ]
    assert names(broker) == ["a"]


def test_an_id_given_twice_is_refused_once(broker: InProcessBroker) -> None:
    state = State(topic_id=broker.create_topic("a").topic_id)
    found = delete_states(broker, state, state)
    assert [one.error_code for one in found] == [ErrorCode.INVALID_REQUEST]
    assert names(broker) == ["a"]


@pytest.mark.parametrize("id_first", [True, False])
def test_name_and_id_of_the_same_topic_are_refused_once(
    broker: InProcessBroker, id_first: bool
) -> None:
    topic = broker.create_topic("a")
    states = [State(name="a"), State(topic_id=topic.topic_id)]
    found = delete_states(broker, *(reversed(states) if id_first else states))
    assert [(one.name, one.topic_id, one.error_code) for one in found] == [
        ("a", topic.topic_id, ErrorCode.INVALID_REQUEST)
    ]
    assert names(broker) == ["a"]


@pytest.mark.parametrize("version", VERSIONS)
def test_deletion_may_be_disabled(version: int) -> None:
    with InProcessBroker(delete_topic_enable=False) as broker:
        broker.create_topic("a")
        (found,) = delete(broker, "a", version=version)
        assert found.error_code == (
            ErrorCode.TOPIC_DELETION_DISABLED if version >= 3 else ErrorCode.INVALID_REQUEST
        )
        assert names(broker) == ["a"]


def test_a_full_disk_is_a_storage_error(
    broker: InProcessBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.create_topic("a")
    broker.refuse_writes(monkeypatch, StorageFull("no space"))
    (found,) = delete(broker, "a")
    assert found.error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_topic_made_again_is_another_one(broker: InProcessBroker) -> None:
    first = broker.create_topic("a")
    broker.append(first.partitions[0], 100)
    delete(broker, "a")
    second = broker.create_topic("a")
    assert second.topic_id != first.topic_id
    assert second.partitions[0].high_watermark == 0
    broker.restart()
    again = broker.broker.topics.get("a")
    assert again is not None
    assert (again.topic_id, again.partitions[0].high_watermark) == (second.topic_id, 0)
