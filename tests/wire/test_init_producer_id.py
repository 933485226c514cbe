"""InitProducerId without a transactional id: fresh ids for idempotent producers."""

from typing import Any

import pytest

from tests.wire.support import batches, messages
from tests.wire.support.broker import Broker, poll_until
from tests.wire.support.connection import Connection
from tests.wire.support.error_codes import COORDINATOR_LOAD_IN_PROGRESS, INVALID_REQUEST

VERSIONS = range(6)
EPOCH_VERSIONS = range(3, 6)


def ask(
    connection: Connection,
    version: int,
    *,
    transactional_id: str | None = None,
    transaction_timeout_ms: int = 60_000,
    producer_id: int = -1,
    producer_epoch: int = -1,
) -> Any:
    request = messages.InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=transaction_timeout_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )

    def answered() -> Any:
        # Kafka says so while it fetches a block of ids from its controller; clients ask again.
        answer = connection.call(request, version)
        return None if answer.error_code == COORDINATOR_LOAD_IN_PROGRESS else answer

    return poll_until(answered, "a producer id")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_fresh_id_comes_with_epoch_zero(connection: Connection, version: int) -> None:
    answer = ask(connection, version)
    assert (answer.error_code, answer.producer_epoch, answer.throttle_time_ms) == (0, 0, 0)
    assert answer.producer_id >= 0


@pytest.mark.parametrize("version", VERSIONS)
def test_no_id_is_given_twice(connection: Connection, broker: Broker, version: int) -> None:
    with broker.connect() as other:
        ids = [ask(one, version).producer_id for one in (connection, other) * 10]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("timeout_ms", [0, -1, 0x7FFFFFFF])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_transaction_timeout_does_not_matter(
    connection: Connection, version: int, timeout_ms: int
) -> None:
    assert ask(connection, version, transaction_timeout_ms=timeout_ms).error_code == 0


@pytest.mark.parametrize("version", EPOCH_VERSIONS)
def test_given_id_and_epoch_are_ignored(connection: Connection, version: int) -> None:
    first = ask(connection, version)
    again = ask(connection, version, producer_id=first.producer_id, producer_epoch=5)
    assert (again.error_code, again.producer_epoch) == (0, 0)
    assert again.producer_id != first.producer_id


@pytest.mark.parametrize(("producer_id", "producer_epoch"), [(5, -1), (-1, 5), (0, -1), (-1, 0)])
@pytest.mark.parametrize("version", EPOCH_VERSIONS)
def test_id_and_epoch_come_together_or_not_at_all(
    connection: Connection, version: int, producer_id: int, producer_epoch: int
) -> None:
    answer = ask(connection, version, producer_id=producer_id, producer_epoch=producer_epoch)
    assert answer.error_code == INVALID_REQUEST
    assert answer.producer_id == -1


@pytest.mark.parametrize("version", VERSIONS)
def test_an_empty_transactional_id_is_an_invalid_request(
    connection: Connection, version: int
) -> None:
    assert ask(connection, version, transactional_id="").error_code == INVALID_REQUEST


def test_the_id_can_be_used_at_once(connection: Connection, broker: Broker) -> None:
    topic = broker.create_topic()
    answer = ask(connection, 4)
    batch = batches.build(
        [b"v"],
        producer_id=answer.producer_id,
        producer_epoch=answer.producer_epoch,
        base_sequence=0,
    )
    assert [broker.produce(topic, batch) for _ in range(2)] == [0, 0]
