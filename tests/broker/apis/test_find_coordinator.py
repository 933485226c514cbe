"""FindCoordinator: always this broker."""

import pytest

from protocol.errors import ErrorCode
from protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.broker.support import HOST, PORT, InProcessBroker

GROUP, TRANSACTION, SHARE = range(3)
HERE = (0, 1, HOST, PORT)
NOWHERE = (ErrorCode.INVALID_REQUEST, -1, "", -1)


def ask_one(broker: InProcessBroker, version: int, key_type: int) -> tuple[int, int, str, int]:
    answer = broker.call(FindCoordinatorRequest(key="a", key_type=key_type), version)
    return answer.error_code, answer.node_id, answer.host, answer.port


@pytest.mark.parametrize("version", range(4))
def test_groups_are_coordinated_here(broker: InProcessBroker, version: int) -> None:
    assert ask_one(broker, version, GROUP) == HERE


@pytest.mark.parametrize("version", range(1, 4))
def test_transactions_are_coordinated_here(broker: InProcessBroker, version: int) -> None:
    assert ask_one(broker, version, TRANSACTION) == HERE


@pytest.mark.parametrize("version", range(1, 4))
@pytest.mark.parametrize("key_type", [SHARE, 9, -1])
def test_other_key_types_are_an_invalid_request(
    broker: InProcessBroker, version: int, key_type: int
) -> None:
    assert ask_one(broker, version, key_type) == NOWHERE


@pytest.mark.parametrize("version", range(1, 4))
def test_success_is_called_none_in_the_message(broker: InProcessBroker, version: int) -> None:
    answer = broker.call(FindCoordinatorRequest(key="a"), version)
    assert answer.error_message == "NONE"


@pytest.mark.parametrize("version", range(4, 7))
@pytest.mark.parametrize("key_type", [GROUP, TRANSACTION])
def test_each_key_is_answered(broker: InProcessBroker, version: int, key_type: int) -> None:
    keys = ["a", "", "b", "a"]
    answer = broker.call(FindCoordinatorRequest(coordinator_keys=keys, key_type=key_type), version)
    assert [one.key for one in answer.coordinators] == keys
    for one in answer.coordinators:
        assert (one.error_code, one.node_id, one.host, one.port) == HERE
        assert one.error_message == ""


@pytest.mark.parametrize("version", range(4, 7))
def test_each_key_of_an_unknown_type_is_refused(broker: InProcessBroker, version: int) -> None:
    request = FindCoordinatorRequest(coordinator_keys=["a", "b"], key_type=SHARE)
    answer = broker.call(request, version)
    assert len(answer.coordinators) == 2
    for one in answer.coordinators:
        assert (one.error_code, one.node_id, one.host, one.port) == NOWHERE
        assert one.error_message
