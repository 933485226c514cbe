"""DeleteTopics: by name, by id, and what is left afterwards."""

import uuid
from collections.abc import Sequence
from typing import Any

import pytest

from tests.wire.support import batches, messages, requests
from tests.wire.support.broker import Broker, poll_until
from tests.wire.support.connection import Connection
from tests.wire.support.error_codes import (
    INVALID_REQUEST,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from tests.wire.support.requests import ADMIN_TIMEOUT_MS, NO_ID, Topic

VERSIONS = range(1, 7)
ID_VERSION = 6


def request_of(targets: Sequence[tuple[str | None, uuid.UUID]]) -> Any:
    """A request for (name, id) pairs; before version 6 only the names are sent."""
    state = messages.DeleteTopicsRequest.DeleteTopicState
    return messages.DeleteTopicsRequest(
        topics=[state(name=name, topic_id=topic_id) for name, topic_id in targets],
        topic_names=[name for name, _ in targets],
        timeout_ms=ADMIN_TIMEOUT_MS,
    )


def delete_names(connection: Connection, *names: str, version: int = ID_VERSION) -> Any:
    answer = connection.call(request_of([(name, NO_ID) for name in names]), version)
    assert answer.throttle_time_ms == 0
    return answer.responses


def wait_until_gone(broker: Broker, name: str) -> None:
    poll_until(lambda: not broker.exists(name), f"{name} to be gone")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_is_deleted_by_name(connection: Connection, broker: Broker, version: int) -> None:
    topic = broker.create_topic()
    (found,) = delete_names(connection, topic.name, version=version)
    assert (found.name, found.error_code, found.error_message) == (topic.name, 0, None)
    if version >= ID_VERSION:
        assert found.topic_id == topic.id
    wait_until_gone(broker, topic.name)
    assert broker.describe(topic.name).error_code == UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_is_deleted_by_id(connection: Connection, broker: Broker) -> None:
    topic = broker.create_topic()
    (found,) = connection.call(request_of([(None, topic.id)]), ID_VERSION).responses
    assert (found.name, found.topic_id, found.error_code) == (topic.name, topic.id, 0)
    wait_until_gone(broker, topic.name)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_name_is_an_error(connection: Connection, broker: Broker, version: int) -> None:
    name = broker.unique_name()
    (found,) = delete_names(connection, name, version=version)
    assert (found.name, found.error_code) == (name, UNKNOWN_TOPIC_OR_PARTITION)
    if version >= 5:
        assert found.error_message


def test_an_unknown_id_is_an_error(connection: Connection) -> None:
    unknown = uuid.uuid4()
    (found,) = connection.call(request_of([(None, unknown)]), ID_VERSION).responses
    assert (found.name, found.topic_id, found.error_code) == (None, unknown, UNKNOWN_TOPIC_ID)


def test_name_and_id_exclude_each_other(connection: Connection, broker: Broker) -> None:
    topic = broker.create_topic()
    answer = connection.call(request_of([(topic.name, topic.id)]), ID_VERSION)
    assert [one.error_code for one in answer.responses] == [INVALID_REQUEST]
    assert broker.exists(topic.name)


def test_neither_name_nor_id_is_an_invalid_request(connection: Connection) -> None:
    answer = connection.call(request_of([(None, NO_ID)]), ID_VERSION)
    assert [one.error_code for one in answer.responses] == [INVALID_REQUEST]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_name_given_twice_is_an_invalid_request(
    connection: Connection, broker: Broker, version: int
) -> None:
    topic = broker.create_topic()
    found = delete_names(connection, topic.name, topic.name, version=version)
    assert {one.error_code for one in found} == {INVALID_REQUEST}
    assert broker.exists(topic.name)


def test_an_id_given_twice_is_an_invalid_request(connection: Connection, broker: Broker) -> None:
    topic = broker.create_topic()
    request = request_of([(None, topic.id), (None, topic.id)])
    answer = connection.call(request, ID_VERSION)
    assert {one.error_code for one in answer.responses} == {INVALID_REQUEST}
    assert broker.exists(topic.name)


def test_a_topic_given_by_name_and_again_by_id_is_an_invalid_request(
    connection: Connection, broker: Broker
) -> None:
    topic = broker.create_topic()
    request = request_of([(topic.name, NO_ID), (None, topic.id)])
    answer = connection.call(request, ID_VERSION)
    assert {one.error_code for one in answer.responses} == {INVALID_REQUEST}
    assert broker.exists(topic.name)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_bad_target_stops_no_other(connection: Connection, broker: Broker, version: int) -> None:
    topic, unknown = broker.create_topic(), broker.unique_name()
    found = delete_names(connection, unknown, topic.name, version=version)
    codes = {one.name: one.error_code for one in found}
    assert codes == {topic.name: 0, unknown: UNKNOWN_TOPIC_OR_PARTITION}
    wait_until_gone(broker, topic.name)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_without_topics_gets_an_empty_answer(
    connection: Connection, version: int
) -> None:
    assert delete_names(connection, version=version) == []


def test_a_deleted_topic_takes_no_more_records(connection: Connection, broker: Broker) -> None:
    topic = broker.create_topic()
    delete_names(connection, topic.name)
    wait_until_gone(broker, topic.name)
    request = requests.produce(topic, {0: batches.build([b"late"])})
    by_name = connection.call(request, 12).responses[0].partition_responses[0]
    assert by_name.error_code == UNKNOWN_TOPIC_OR_PARTITION
    by_id = connection.call(request, 13).responses[0].partition_responses[0]
    assert by_id.error_code == UNKNOWN_TOPIC_ID


def test_a_topic_made_again_is_empty_and_has_another_id(
    connection: Connection, broker: Broker
) -> None:
    first = broker.create_topic(partitions=2)
    broker.produce(first, batches.build([b"old"]))
    delete_names(connection, first.name)
    wait_until_gone(broker, first.name)
    second = broker.create_topic(name=first.name)
    assert second.id != first.id
    assert broker.latest(second) == 0
    assert broker.stored(second) == b""


def test_the_old_id_of_a_topic_made_again_is_unknown(
    connection: Connection, broker: Broker
) -> None:
    first = broker.create_topic()
    delete_names(connection, first.name)
    wait_until_gone(broker, first.name)
    broker.create_topic(name=first.name)
    request = requests.fetch(requests.FetchFrom(first))
    found = connection.call(request, 13).responses[0].partitions[0]
    assert found.error_code == UNKNOWN_TOPIC_ID


def test_sequences_start_anew_in_a_topic_made_again(connection: Connection, broker: Broker) -> None:
    first = broker.create_topic()
    batch = batches.build([b"v"], producer_id=4711, producer_epoch=2, base_sequence=0)
    broker.produce(first, batch)
    delete_names(connection, first.name)
    wait_until_gone(broker, first.name)
    second = broker.create_topic(name=first.name)
    older = batches.build([b"v"], producer_id=4711, producer_epoch=1, base_sequence=9)
    assert broker.produce(second, older) == 0


def test_a_waiting_fetch_survives_the_end_of_its_topic(
    connection: Connection, broker: Broker
) -> None:
    topic = broker.create_topic()
    with broker.connect() as waiting:
        waiting.send(requests.fetch(requests.FetchFrom(Topic(topic.name)), max_wait_ms=500), 12)
        delete_names(connection, topic.name)
        found = waiting.receive().responses[0].partitions[0]
        assert found.records == b""
