"""IncrementalAlterConfigs (key 44), versions 0-1.

Behaviour: changes single settings of topics: 0 sets, 1 deletes (back to the default), 2 appends to
and 3 subtracts from a list, which is the default if the topic has none of its own. Each resource
changes as a whole or not at all, and one bad resource never fails another. The answer leaves when
the new settings are durable; they count from the next record on. Errors, in this order: the same
resource twice, a key twice, an unknown operation or a null value (but to delete) INVALID_REQUEST;
the topic's name empty INVALID_REQUEST, or bad INVALID_TOPIC_EXCEPTION; an unknown setting, a bad
value, or 2 and 3 on a setting that is no list INVALID_CONFIG; an unknown topic
UNKNOWN_TOPIC_OR_PARTITION. Deleting a setting that is not set or does not exist changes nothing.
`validate_only` checks and changes nothing.

Versions: 1 flexible.

Deviations from Apache Kafka: settings of the broker (resource type 4) are read at its start only;
changing them is INVALID_REQUEST, and so are all other resource types. An unknown operation fails
its resource; Kafka fails the whole request with UNKNOWN_SERVER_ERROR.
"""

from __future__ import annotations

from broker.config_changes import ConfigChange, change_configs
from broker.context import Context
from broker.named_once import NamedOnce
from broker.registry import Api
from protocol.errors import KafkaError
from protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

API = Api(44, 0, 1)

Result = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse


def handle(
    context: Context, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """Change the settings of each resource, or say why not."""
    named_once = NamedOnce((item.resource_type, item.resource_name) for item in request.resources)
    results: list[Result] = []
    for item in request.resources:
        resource = (item.resource_type, item.resource_name)
        result = Result(resource_type=resource[0], resource_name=resource[1], error_message=None)
        try:
            named_once.check(resource, "resource")
            change_configs(
                context.broker,
                resource,
                [
                    ConfigChange(config.name, config.value, config.config_operation)
                    for config in item.configs
                ],
                replace=False,
                validate_only=request.validate_only,
            )
        except KafkaError as error:
            result.error_code = error.code
            result.error_message = error.message
        results.append(result)
    return IncrementalAlterConfigsResponse(responses=results)
