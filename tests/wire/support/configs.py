"""The three config APIs in short form.

Owns how a test says "these configs of that topic". Must never know a connection.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.wire.support import messages

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)

# Where a value comes from.
DYNAMIC_TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT_BROKER, STATIC_BROKER, DEFAULT = range(1, 6)


def describe(
    *names: str,
    keys: Sequence[str] | None = None,
    resource_type: int = TOPIC,
    include_synonyms: bool = False,
    include_documentation: bool = False,
) -> Any:
    resource = messages.DescribeConfigsRequest.DescribeConfigsResource
    return messages.DescribeConfigsRequest(
        resources=[
            resource(
                resource_type=resource_type,
                resource_name=name,
                configuration_keys=None if keys is None else list(keys),
            )
            for name in names
        ],
        include_synonyms=include_synonyms,
        include_documentation=include_documentation,
    )


def replacement(name: str, configs: Mapping[str, str | None], *, resource_type: int = TOPIC) -> Any:
    """One resource of an AlterConfigs: the whole new set."""
    resource = messages.AlterConfigsRequest.AlterConfigsResource
    return resource(
        resource_type=resource_type,
        resource_name=name,
        configs=[resource.AlterableConfig(name=key, value=value) for key, value in configs.items()],
    )


def replace(*resources: Any, validate_only: bool = False) -> Any:
    return messages.AlterConfigsRequest(resources=list(resources), validate_only=validate_only)


def change(name: str, *operations: tuple[str, int, str | None], resource_type: int = TOPIC) -> Any:
    """One resource of an IncrementalAlterConfigs: (key, operation, value) each."""
    resource = messages.IncrementalAlterConfigsRequest.AlterConfigsResource
    return resource(
        resource_type=resource_type,
        resource_name=name,
        configs=[
            resource.AlterableConfig(name=key, config_operation=operation, value=value)
            for key, operation, value in operations
        ],
    )


def incremental(*resources: Any, validate_only: bool = False) -> Any:
    return messages.IncrementalAlterConfigsRequest(
        resources=list(resources), validate_only=validate_only
    )
