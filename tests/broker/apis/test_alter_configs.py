"""AlterConfigs: the whole set is replaced. What it shares with IncrementalAlterConfigs is there."""

import pytest

from protocol.errors import ErrorCode
from protocol.messages.alter_configs import AlterConfigsRequest
from tests.broker.support import InProcessBroker

VERSIONS = range(3)
TOPIC, BROKER = 2, 4

Resource = AlterConfigsRequest.AlterConfigsResource


def resource(name: str, *configs: tuple[str, str | None], resource_type: int = TOPIC) -> Resource:
    config = AlterConfigsRequest.AlterableConfig
    return Resource(
        resource_type=resource_type,
        resource_name=name,
        configs=[config(name=key, value=value) for key, value in configs],
    )


def alter(
    broker: InProcessBroker, *resources: Resource, version: int = 2, validate_only: bool = False
) -> list[int]:
    request = AlterConfigsRequest(resources=list(resources), validate_only=validate_only)
    answer = broker.call(request, version)
    for one in answer.responses:
        assert (one.error_message is None) == (one.error_code == 0)
    assert [(one.resource_type, one.resource_name) for one in answer.responses] == [
        (one.resource_type, one.resource_name) for one in resources
    ]
    return [one.error_code for one in answer.responses]


def own(broker: InProcessBroker) -> dict[str, str]:
    topic = broker.broker.topics.get("a")
    return {} if topic is None else topic.configs


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_not_named_goes_back_to_its_default(broker: InProcessBroker, version: int) -> None:
    broker.create_topic("a", retention_ms="5", cleanup_policy="compact")
    assert alter(broker, resource("a", ("segment.ms", "7")), version=version) == [0]
    assert own(broker) == {"segment.ms": "7"}
    assert alter(broker, resource("a"), version=version) == [0]
    broker.restart()
    assert own(broker) == {}


@pytest.mark.parametrize(
    ("configs", "error"),
    [
        ([("segment.ms", None)], ErrorCode.INVALID_REQUEST),
        ([("segment.ms", "1"), ("segment.ms", "2")], ErrorCode.INVALID_REQUEST),
        ([("segment.ms", "soon")], ErrorCode.INVALID_CONFIG),
        ([("segment.ms", "1"), ("no.such.setting", "1")], ErrorCode.INVALID_CONFIG),
    ],
)
@pytest.mark.parametrize("validate_only", [True, False])
def test_bad_settings_change_nothing(
    broker: InProcessBroker,
    configs: list[tuple[str, str | None]],
    error: int,
    validate_only: bool,
) -> None:
    broker.create_topic("a", retention_ms="5")
    found = alter(broker, resource("a", *configs), validate_only=validate_only)
    assert found == [error]
    assert own(broker) == {"retention.ms": "5"}


def test_validate_only_changes_nothing(broker: InProcessBroker) -> None:
    broker.create_topic("a", retention_ms="5")
    assert alter(broker, resource("a", ("segment.ms", "7")), validate_only=True) == [0]
    assert own(broker) == {"retention.ms": "5"}


def test_an_unknown_topic_stops_no_other(broker: InProcessBroker) -> None:
    broker.create_topic("a")
    found = alter(broker, resource("absent"), resource("a", ("segment.ms", "7")))
    assert found == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0]
    assert own(broker) == {"segment.ms": "7"}


def test_a_resource_twice_is_refused_each_time(broker: InProcessBroker) -> None:
    broker.create_topic("a", retention_ms="5")
    assert alter(broker, resource("a"), resource("a")) == [ErrorCode.INVALID_REQUEST] * 2
    assert own(broker) == {"retention.ms": "5"}


@pytest.mark.parametrize(("resource_type", "name"), [(BROKER, "1"), (0, "a")])
def test_only_topics_can_be_changed(broker: InProcessBroker, resource_type: int, name: str) -> None:
    target = resource(name, ("num.partitions", "1"), resource_type=resource_type)
    assert alter(broker, target) == [ErrorCode.INVALID_REQUEST]
