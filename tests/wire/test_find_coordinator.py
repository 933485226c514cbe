"""FindCoordinator: the one broker coordinates every group and every transaction."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.wire.support import messages
from tests.wire.support.broker import Broker, poll_until
from tests.wire.support.connection import Connection
from tests.wire.support.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    INVALID_REQUEST,
)

VERSIONS = range(7)
SINGLE_VERSIONS = range(4)
BATCHED_VERSIONS = range(4, 7)
GROUP, TRANSACTION, SHARE = range(3)

NOT_YET = (COORDINATOR_NOT_AVAILABLE, COORDINATOR_LOAD_IN_PROGRESS)


def ask(connection: Connection, keys: Sequence[str], key_type: int, version: int) -> list[Any]:
    """The coordinators of an answer of any version, asked until none is still being made."""
    request = messages.FindCoordinatorRequest(
        key=keys[0] if keys else "", key_type=key_type, coordinator_keys=list(keys)
    )

    def answered() -> list[Any] | None:
        answer = connection.call(request, version)
        assert answer.throttle_time_ms == 0
        found = [answer] if version < 4 else list(answer.coordinators)
        return None if any(one.error_code in NOT_YET for one in found) else found or [None]

    return [one for one in poll_until(answered, "a coordinator") if one is not None]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_group_is_coordinated_by_this_broker(
    connection: Connection, broker: Broker, version: int
) -> None:
    (found,) = ask(connection, ["some-group"], GROUP, version)
    assert (found.error_code, found.node_id) == (0, broker.node_id())
    assert f"{found.host}:{found.port}" == broker.bootstrap
    if version >= 4:
        assert found.key == "some-group"


@pytest.mark.parametrize("version", range(1, 7))
def test_a_transaction_is_coordinated_by_this_broker(
    connection: Connection, broker: Broker, version: int
) -> None:
    (found,) = ask(connection, ["some-transaction"], TRANSACTION, version)
    assert (found.error_code, found.node_id) == (0, broker.node_id())
    assert f"{found.host}:{found.port}" == broker.bootstrap


@pytest.mark.parametrize("version", BATCHED_VERSIONS)
@pytest.mark.parametrize("key_type", [GROUP, TRANSACTION])
def test_several_keys_are_answered_at_once(
    connection: Connection, version: int, key_type: int
) -> None:
    keys = [f"key-{index}" for index in range(20)]
    found = ask(connection, keys, key_type, version)
    assert [one.key for one in found] == keys
    assert {one.error_code for one in found} == {0}


@pytest.mark.parametrize("version", BATCHED_VERSIONS)
def test_no_keys_get_an_empty_answer(connection: Connection, version: int) -> None:
    assert ask(connection, [], GROUP, version) == []


@pytest.mark.parametrize("version", range(1, 4))
@pytest.mark.parametrize("key_type", [SHARE, 5, -1])
def test_an_unknown_kind_of_key_is_an_invalid_request(
    connection: Connection, version: int, key_type: int
) -> None:
    (found,) = ask(connection, ["x"], key_type, version)
    assert (found.error_code, found.node_id) == (INVALID_REQUEST, -1)


@pytest.mark.parametrize("version", BATCHED_VERSIONS)
@pytest.mark.parametrize("key_type", [5, -1])
def test_an_unknown_kind_of_key_is_an_invalid_request_for_each_key(
    connection: Connection, version: int, key_type: int
) -> None:
    found = ask(connection, ["x", "y"], key_type, version)
    assert [(one.key, one.error_code) for one in found] == [
        ("x", INVALID_REQUEST),
        ("y", INVALID_REQUEST),
    ]


@pytest.mark.parametrize("version", [4, 5])
def test_share_keys_are_unknown_before_version_six(connection: Connection, version: int) -> None:
    (found,) = ask(connection, ["x"], SHARE, version)
    assert found.error_code == INVALID_REQUEST
