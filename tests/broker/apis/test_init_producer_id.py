"""InitProducerId: ids that never come twice."""

from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest
from storage.errors import StorageFull
from tests.broker.support import InProcessBroker

VERSIONS = range(6)
LONGEST_TIMEOUT_MS = 15 * 60 * 1000


def ask(broker: InProcessBroker, version: int = 5, **fields: Any) -> tuple[int, int, int]:
    """Error code, producer id and epoch of the answer."""
    request = InitProducerIdRequest(**{"transactional_id": None, **fields})
    answer = broker.call(request, version)
    return answer.error_code, answer.producer_id, answer.producer_epoch


@pytest.mark.parametrize("version", VERSIONS)
def test_every_call_gets_another_id(broker: InProcessBroker, version: int) -> None:
    answers = [ask(broker, version) for _ in range(3)]
    assert {(error, epoch) for error, _, epoch in answers} == {(0, 0)}
    assert len({producer_id for _, producer_id, _ in answers}) == 3


def test_ids_do_not_come_again_after_a_restart(broker: InProcessBroker) -> None:
    before = [ask(broker)[1] for _ in range(3)]
    broker.restart()
    assert ask(broker)[1] > max(before)


def test_what_an_idempotent_producer_says_of_itself_is_ignored(broker: InProcessBroker) -> None:
    first = ask(broker)[1]
    error, producer_id, epoch = ask(
        broker, producer_id=first, producer_epoch=7, transaction_timeout_ms=-1
    )
    assert (error, epoch) == (0, 0)
    assert producer_id != first


@pytest.mark.parametrize("transactional_id", [None, "", "a"])
@pytest.mark.parametrize("fields", [{"producer_id": 5}, {"producer_epoch": 5}])
def test_an_id_without_an_epoch_or_the_reverse_is_an_invalid_request(
    broker: InProcessBroker, transactional_id: str | None, fields: dict[str, int]
) -> None:
    answer = ask(broker, transactional_id=transactional_id, **fields)
    assert answer == (ErrorCode.INVALID_REQUEST, -1, -1)


def test_an_empty_transactional_id_is_an_invalid_request(broker: InProcessBroker) -> None:
    answer = ask(broker, transactional_id="", transaction_timeout_ms=-1)
    assert answer == (ErrorCode.INVALID_REQUEST, -1, -1)


@pytest.mark.parametrize("timeout_ms", [-1, 0, LONGEST_TIMEOUT_MS + 1])
def test_a_transaction_timeout_out_of_bounds_is_refused(
    broker: InProcessBroker, timeout_ms: int
) -> None:
    answer = ask(broker, transactional_id="a", transaction_timeout_ms=timeout_ms)
    assert answer == (ErrorCode.INVALID_TRANSACTION_TIMEOUT, -1, -1)


@pytest.mark.parametrize("version", VERSIONS)
def test_transactions_are_refused_for_now(broker: InProcessBroker, version: int) -> None:
    answer = ask(broker, version, transactional_id="a", transaction_timeout_ms=LONGEST_TIMEOUT_MS)
    assert answer == (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1, -1)


def test_a_full_disk_is_an_error_that_clients_try_again(
    broker: InProcessBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.refuse_writes(monkeypatch, StorageFull("no space"))
    assert ask(broker) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1, -1)
