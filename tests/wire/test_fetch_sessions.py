"""Fetch sessions: opening one is the broker's choice, and both choices must be sound."""

from typing import Any

import pytest

from tests.wire.support import batches, requests
from tests.wire.support.broker import Broker
from tests.wire.support.connection import Connection
from tests.wire.support.error_codes import FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH
from tests.wire.support.requests import FetchFrom, Topic

VERSIONS = range(7, 19)

FINAL_EPOCH = -1
INITIAL_EPOCH = 0
NO_SESSION = 0
UNKNOWN_SESSION = 123_456_789


@pytest.fixture(scope="module")
def topic(broker: Broker) -> Topic:
    made = broker.create_topic(partitions=2)
    for partition in range(2):
        broker.produce(made, batches.build([b"a", b"b"]), partition=partition)
    return made


def ask(
    connection: Connection,
    version: int,
    *partitions: FetchFrom,
    session: tuple[int, int],
    forgotten: tuple[FetchFrom, ...] = (),
) -> Any:
    session_id, session_epoch = session
    request = requests.fetch(
        *partitions, session_id=session_id, session_epoch=session_epoch, forgotten=forgotten
    )
    return connection.call(request, version)


def found_in(answer: Any) -> dict[int, list[tuple[int, int]]]:
    return {
        one.partition_index: batches.offsets(bytes(one.records))
        for part in answer.responses
        for one in part.partitions
    }


def open_session(connection: Connection, version: int, *partitions: FetchFrom) -> int:
    """The id of a new session; skips the test where the broker gives none, which is legal."""
    answer = ask(connection, version, *partitions, session=(NO_SESSION, INITIAL_EPOCH))
    assert answer.error_code == 0
    if answer.session_id == NO_SESSION:
        pytest.skip("this broker opens no fetch sessions")
    return int(answer.session_id)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_sessionless_fetch_is_answered_without_session(
    connection: Connection, topic: Topic, version: int
) -> None:
    answer = ask(connection, version, FetchFrom(topic), session=(NO_SESSION, FINAL_EPOCH))
    assert (answer.error_code, answer.session_id) == (0, NO_SESSION)
    assert found_in(answer) == {0: [(0, 1)]}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_fetch_that_offers_a_session_is_answered_in_full(
    connection: Connection, topic: Topic, version: int
) -> None:
    partitions = [FetchFrom(topic, 0, 0), FetchFrom(topic, 2, 1)]
    answer = ask(connection, version, *partitions, session=(NO_SESSION, INITIAL_EPOCH))
    assert answer.error_code == 0
    assert found_in(answer) == {0: [(0, 1)], 1: []}


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_session_is_not_found(
    connection: Connection, topic: Topic, version: int
) -> None:
    answer = ask(connection, version, FetchFrom(topic), session=(UNKNOWN_SESSION, 1))
    assert (answer.error_code, answer.session_id) == (FETCH_SESSION_ID_NOT_FOUND, NO_SESSION)
    assert answer.responses == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("epoch", [INITIAL_EPOCH, FINAL_EPOCH])
def test_leaving_an_unknown_session_is_a_full_fetch(
    connection: Connection, topic: Topic, version: int, epoch: int
) -> None:
    answer = ask(connection, version, FetchFrom(topic), session=(UNKNOWN_SESSION, epoch))
    assert answer.error_code == 0
    assert found_in(answer) == {0: [(0, 1)]}


@pytest.mark.parametrize("version", VERSIONS)
def test_an_incremental_fetch_tells_only_what_changed(
    connection: Connection, broker: Broker, version: int
) -> None:
    topic = broker.create_topic(partitions=2)
    both = [FetchFrom(topic, 0, 0), FetchFrom(topic, 0, 1)]
    session_id = open_session(connection, version, *both)
    quiet = ask(connection, version, session=(session_id, 1))
    assert (quiet.error_code, quiet.session_id, found_in(quiet)) == (0, session_id, {})
    broker.produce(topic, batches.build([b"new"]), partition=1)
    news = ask(connection, version, session=(session_id, 2))
    assert found_in(news) == {1: [(0, 0)]}


@pytest.mark.parametrize("version", [7, 18])
def test_a_wrong_session_epoch_is_refused(
    connection: Connection, topic: Topic, version: int
) -> None:
    session_id = open_session(connection, version, FetchFrom(topic, 2))
    answer = ask(connection, version, session=(session_id, 5))
    assert (answer.error_code, answer.responses) == (INVALID_FETCH_SESSION_EPOCH, [])


@pytest.mark.parametrize("version", [7, 18])
def test_a_forgotten_partition_is_told_no_more(
    connection: Connection, broker: Broker, version: int
) -> None:
    topic = broker.create_topic(partitions=2)
    both = [FetchFrom(topic, 0, 0), FetchFrom(topic, 0, 1)]
    session_id = open_session(connection, version, *both)
    broker.produce(topic, batches.build([b"new"]), partition=0)
    broker.produce(topic, batches.build([b"new"]), partition=1)
    answer = ask(connection, version, session=(session_id, 1), forgotten=(both[0],))
    assert found_in(answer) == {1: [(0, 0)]}


@pytest.mark.parametrize("version", [7, 18])
def test_a_closed_session_is_gone(connection: Connection, topic: Topic, version: int) -> None:
    session_id = open_session(connection, version, FetchFrom(topic))
    ask(connection, version, FetchFrom(topic), session=(session_id, FINAL_EPOCH))
    answer = ask(connection, version, session=(session_id, 1))
    assert answer.error_code == FETCH_SESSION_ID_NOT_FOUND
