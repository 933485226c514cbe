"""DescribeCluster (key 60), versions 0-2.

Behaviour: names the one broker, which is also the controller, and the cluster id. This is a
broker's endpoint: whoever asks for controllers (endpoint type 2) gets MISMATCHED_ENDPOINT_TYPE, and
for anything else UNSUPPORTED_ENDPOINT_TYPE.

Versions: 1 endpoint type; 2 fenced brokers may be asked for; there never are any.

Deviations from Apache Kafka: none known.
"""

from __future__ import annotations

from broker.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED
from broker.context import Context
from broker.registry import Api
from protocol.errors import ErrorCode
from protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

API = Api(60, 0, 2, answers_from_durable=True)

BROKERS = 1
CONTROLLERS = 2


def handle(context: Context, request: DescribeClusterRequest) -> DescribeClusterResponse:
    """This broker as the whole cluster."""
    if request.endpoint_type == CONTROLLERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="The request was sent to a broker, but asks for controllers.",
        )
    if request.endpoint_type != BROKERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=f"Unsupported endpoint type {request.endpoint_type}",
        )
    broker = context.broker
    return DescribeClusterResponse(
        cluster_id=broker.cluster_id,
        controller_id=broker.node_id,
        brokers=[
            DescribeClusterResponse.DescribeClusterBroker(
                broker_id=broker.node_id, host=broker.host, port=broker.port
            )
        ],
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )
