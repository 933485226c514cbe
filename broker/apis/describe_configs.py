"""DescribeConfigs (key 32), versions 1-4.

Behaviour: shows the settings of topics (resource type 2) and of this broker (type 4, named by its
node id), all or those whose keys are asked for; unknown keys are passed over, and an empty list of
keys means all. Each value comes with its source (1 topic, 4 given at the broker's start, 5 default)
and, if asked for, with the synonyms that compete for it, strongest first, and with documentation.
Errors, by resource: a bad topic name INVALID_TOPIC_EXCEPTION; an unknown topic
UNKNOWN_TOPIC_OR_PARTITION; another broker's id or no number INVALID_REQUEST. The broker with the
empty name stands for settings of the whole cluster, of which there are none.

Versions: 3 types and documentation; 4 flexible.

Deviations from Apache Kafka: broker loggers (8), client metrics (16) and groups (32) are
INVALID_REQUEST. All settings of the broker are read-only. `inter.broker.protocol.version`, gone
from Kafka since 4.0, is shown because tools guess the version from it. A broker setting counts as
given at the start if it differs from the default.
"""

from __future__ import annotations

from broker.broker_configs import broker_entries
from broker.config_entries import ConfigEntry, topic_entries
from broker.config_resources import (
    ALL_BROKERS,
    ResourceType,
    check_broker_name,
    find_topic,
    unknown_type,
)
from broker.context import Context
from broker.registry import Api
from protocol.errors import KafkaError
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse

# Not `answers_from_durable`: it may show a setting that is still on its way to the disk.
API = Api(32, 1, 4)

Result = DescribeConfigsResponse.DescribeConfigsResult
Shown = DescribeConfigsResponse.DescribeConfigsResourceResult


def handle(context: Context, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """The settings of each resource, or why not."""
    results: list[Result] = []
    for resource in request.resources:
        result = Result(
            error_message="",
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        try:
            entries = _entries(context, resource.resource_type, resource.resource_name)
        except KafkaError as error:
            result.error_code = error.code
            result.error_message = error.message
        else:
            keys = resource.configuration_keys
            result.configs = [
                _shown(entry, request) for entry in entries if not keys or entry.name in keys
            ]
        results.append(result)
    return DescribeConfigsResponse(results=results)


def _entries(context: Context, resource_type: int, name: str) -> list[ConfigEntry]:
    broker = context.broker
    if resource_type == ResourceType.TOPIC:
        return topic_entries(find_topic(broker, name).configs, broker.settings)
    if resource_type == ResourceType.BROKER:
        check_broker_name(broker, name)
        return [] if name == ALL_BROKERS else broker_entries(broker)
    raise unknown_type(resource_type)


def _shown(entry: ConfigEntry, request: DescribeConfigsRequest) -> Shown:
    synonyms = entry.synonyms if request.include_synonyms else []
    return Shown(
        name=entry.name,
        value=entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        is_sensitive=False,
        synonyms=[
            DescribeConfigsResponse.DescribeConfigsSynonym(name=name, value=value, source=source)
            for name, value, source in synonyms
        ],
        config_type=entry.config_type,
        documentation=entry.documentation if request.include_documentation else None,
    )
