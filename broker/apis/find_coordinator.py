"""FindCoordinator (key 10), versions 0-6.

Behaviour: this broker coordinates every group (key type 0) and every transactional id (key type 1),
so it always names itself, also for ids it has never seen.

Versions: 0 has no key type and means groups; 1 key type, error message; 3 flexible; 4 many keys in
one request, each with its own answer; 5 and 6 change nothing in layout. On success versions 1-3 say
"NONE" as the error message and later ones say nothing, as Kafka does.

Deviations from Apache Kafka: the answer is right the first time; Kafka first creates an internal
topic and says COORDINATOR_NOT_AVAILABLE meanwhile. Key type 2 (state of share groups, asked for by
brokers only) is INVALID_REQUEST in every version.
"""

from __future__ import annotations

from broker.context import Context
from broker.registry import Api
from protocol.errors import ErrorCode
from protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

API = Api(10, 0, 6, answers_from_durable=True)

KEY_TYPES = (0, 1)
"""Group and transactional id."""

MANY_KEYS_FROM_VERSION = 4
NO_PORT = -1
NO_NODE = -1


def handle(context: Context, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    """This broker, for each key."""
    broker = context.broker
    error = ErrorCode.NONE
    message: str | None = None
    node_id, host, port = broker.node_id, broker.host, broker.port
    if request.key_type not in KEY_TYPES:
        error = ErrorCode.INVALID_REQUEST
        message = f"there is no coordinator for key type {request.key_type}"
        node_id, host, port = NO_NODE, "", NO_PORT
    if context.version < MANY_KEYS_FROM_VERSION:
        return FindCoordinatorResponse(
            error_code=error,
            error_message=message or "NONE",
            node_id=node_id,
            host=host,
            port=port,
        )
    return FindCoordinatorResponse(
        coordinators=[
            FindCoordinatorResponse.Coordinator(
                key=key,
                node_id=node_id,
                host=host,
                port=port,
                error_code=error,
                error_message=message or "",
            )
            for key in request.coordinator_keys
        ]
    )
