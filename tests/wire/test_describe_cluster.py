"""DescribeCluster: brokers, controller, and kinds of endpoints."""

from typing import Any

import pytest

from tests.wire.support import messages, requests
from tests.wire.support.broker import Broker
from tests.wire.support.connection import Connection
from tests.wire.support.error_codes import MISMATCHED_ENDPOINT_TYPE, UNSUPPORTED_ENDPOINT_TYPE

VERSIONS = range(3)
BROKERS, CONTROLLERS = 1, 2


def ask(connection: Connection, version: int, **more: Any) -> Any:
    return connection.call(messages.DescribeClusterRequest(**more), version)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_one_broker_is_told_with_its_reachable_address(
    connection: Connection, broker: Broker, version: int
) -> None:
    answer = ask(connection, version)
    assert (answer.error_code, answer.error_message, answer.throttle_time_ms) == (0, None, 0)
    assert answer.endpoint_type == BROKERS
    (only,) = answer.brokers
    assert only.broker_id == broker.node_id()
    assert f"{only.host}:{only.port}" == broker.bootstrap
    assert (only.rack, bool(only.is_fenced)) == (None, False)


@pytest.mark.parametrize("version", VERSIONS)
def test_cluster_and_controller_are_those_of_metadata(connection: Connection, version: int) -> None:
    metadata = connection.call(requests.metadata(), 12)
    answer = ask(connection, version)
    assert answer.cluster_id == metadata.cluster_id
    assert answer.controller_id in [one.broker_id for one in answer.brokers]


@pytest.mark.parametrize("version", VERSIONS)
def test_authorized_operations_are_told_only_when_asked(
    connection: Connection, version: int
) -> None:
    assert ask(connection, version).authorized_operations is None  # -2147483648 on the wire
    answer = ask(connection, version, include_cluster_authorized_operations=True)
    assert {5, 8} <= set(answer.authorized_operations)  # create, describe


@pytest.mark.parametrize("version", range(1, 3))
def test_controllers_are_not_told_by_a_broker(connection: Connection, version: int) -> None:
    answer = ask(connection, version, endpoint_type=CONTROLLERS)
    assert answer.error_code == MISMATCHED_ENDPOINT_TYPE
    assert answer.error_message
    assert answer.brokers == []


@pytest.mark.parametrize("version", range(1, 3))
@pytest.mark.parametrize("endpoint_type", [0, 3, 127, -1])
def test_an_unknown_kind_of_endpoint_is_refused(
    connection: Connection, version: int, endpoint_type: int
) -> None:
    answer = ask(connection, version, endpoint_type=endpoint_type)
    assert answer.error_code == UNSUPPORTED_ENDPOINT_TYPE
    assert answer.brokers == []


@pytest.mark.parametrize("include_fenced_brokers", [False, True])
def test_a_live_broker_is_not_fenced(connection: Connection, include_fenced_brokers: bool) -> None:
    answer = ask(connection, 2, include_fenced_brokers=include_fenced_brokers)
    assert [one.is_fenced for one in answer.brokers] == [False]
