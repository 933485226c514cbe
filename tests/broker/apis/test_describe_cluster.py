"""DescribeCluster: one broker, which is everything."""

import pytest

from broker.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED
from protocol.errors import ErrorCode
from protocol.messages.describe_cluster import DescribeClusterRequest
from tests.broker.support import HOST, PORT, InProcessBroker

VERSIONS = range(3)
BROKERS, CONTROLLERS = 1, 2


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("include_fenced", [True, False])
def test_the_one_broker_is_told(
    broker: InProcessBroker, version: int, include_fenced: bool
) -> None:
    request = DescribeClusterRequest(include_fenced_brokers=version >= 2 and include_fenced)
    answer = broker.call(request, version)
    assert (answer.error_code, answer.error_message) == (0, None)
    assert (answer.endpoint_type, answer.controller_id) == (BROKERS, 1)
    assert answer.cluster_id == broker.broker.cluster_id
    assert [
        (one.broker_id, one.host, one.port, one.rack, one.is_fenced) for one in answer.brokers
    ] == [(1, HOST, PORT, None, False)]
    assert answer.cluster_authorized_operations == NOT_ASKED


@pytest.mark.parametrize("version", VERSIONS)
def test_authorized_operations_are_told_when_asked(broker: InProcessBroker, version: int) -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    answer = broker.call(request, version)
    assert answer.cluster_authorized_operations == CLUSTER_OPERATIONS


@pytest.mark.parametrize("version", VERSIONS[1:])
@pytest.mark.parametrize(
    ("endpoint_type", "error"),
    [
        (CONTROLLERS, ErrorCode.MISMATCHED_ENDPOINT_TYPE),
        (0, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
        (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
    ],
)
def test_this_is_a_brokers_endpoint(
    broker: InProcessBroker, version: int, endpoint_type: int, error: int
) -> None:
    answer = broker.call(DescribeClusterRequest(endpoint_type=endpoint_type), version)
    assert (answer.error_code, answer.brokers, answer.controller_id) == (error, [], -1)
    assert answer.error_message
