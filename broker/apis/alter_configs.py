"""AlterConfigs (key 33), versions 0-2.

Behaviour: replaces the settings of topics: what the request does not name goes back to its default.
Each resource changes as a whole or not at all, and one bad resource never fails another. The answer
leaves when the new settings are durable; they count from the next record on. Errors, in this order:
the same resource twice, a key twice or a null value INVALID_REQUEST; the topic's name empty
INVALID_REQUEST, or bad INVALID_TOPIC_EXCEPTION; an unknown setting or a bad value INVALID_CONFIG;
an unknown topic UNKNOWN_TOPIC_OR_PARTITION. `validate_only` checks and changes nothing.

Versions: 2 flexible.

Deviations from Apache Kafka: settings of the broker (resource type 4) are read at its start only;
changing them is INVALID_REQUEST, and so are all other resource types. Kafka does not answer at all
when a resource is named twice.
"""

from __future__ import annotations

from broker.config_changes import ConfigChange, change_configs
from broker.context import Context
from broker.named_once import NamedOnce
from broker.registry import Api
from protocol.errors import KafkaError
from protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse

API = Api(33, 0, 2)

Result = AlterConfigsResponse.AlterConfigsResourceResponse


def handle(context: Context, request: AlterConfigsRequest) -> AlterConfigsResponse:
    """Replace the settings of each resource, or say why not."""
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
                [ConfigChange(config.name, config.value) for config in item.configs],
                replace=True,
                validate_only=request.validate_only,
            )
        except KafkaError as error:
            result.error_code = error.code
            result.error_message = error.message
        results.append(result)
    return AlterConfigsResponse(responses=results)
