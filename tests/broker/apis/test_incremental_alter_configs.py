"""IncrementalAlterConfigs: single settings change, a resource as a whole or not at all."""

import pytest

from protocol.errors import ErrorCode
from protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from storage.errors import StorageFull
from tests.broker.support import InProcessBroker

VERSIONS = range(2)
TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
THROTTLED = "leader.replication.throttled.replicas"

Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
Config = IncrementalAlterConfigsRequest.AlterableConfig
Change = tuple[str, int, str | None]


def resource(name: str, *changes: Change, resource_type: int = TOPIC) -> Resource:
    return Resource(
        resource_type=resource_type,
        resource_name=name,
        configs=[
            Config(name=key, config_operation=operation, value=value)
            for key, operation, value in changes
        ],
    )


def alter(
    broker: InProcessBroker, *resources: Resource, version: int = 1, validate_only: bool = False
) -> list[int]:
    request = IncrementalAlterConfigsRequest(resources=list(resources), validate_only=validate_only)
    answer = broker.call(request, version)
    for one in answer.responses:
        assert (one.error_message is None) == (one.error_code == 0)
    assert [(one.resource_type, one.resource_name) for one in answer.responses] == [
        (one.resource_type, one.resource_name) for one in resources
    ]
    return [one.error_code for one in answer.responses]


def change(broker: InProcessBroker, *changes: Change) -> int:
    (error,) = alter(broker, resource("a", *changes))
    return error


def own(broker: InProcessBroker) -> dict[str, str]:
    topic = broker.broker.topics.get("a")
    return {} if topic is None else topic.configs


@pytest.mark.parametrize("version", VERSIONS)
def test_settings_are_set_and_deleted_for_good(broker: InProcessBroker, version: int) -> None:
    broker.create_topic("a", retention_ms="5", segment_ms="6")
    target = resource("a", ("retention.ms", SET, "7"), ("segment.ms", DELETE, None))
    assert alter(broker, target, version=version) == [0]
    broker.restart()
    topic = broker.broker.topics.get("a")
    assert topic is not None
    assert topic.configs == {"retention.ms": "7"}
    assert (topic.config.retention_ms, topic.config.segment_ms) == (7, 604_800_000)


@pytest.mark.parametrize("name", ["segment.ms", "no.such.setting"])
@pytest.mark.parametrize("value", [None, "ignored"])
def test_deleting_what_is_not_set_changes_nothing(
    broker: InProcessBroker, name: str, value: str | None
) -> None:
    broker.create_topic("a", retention_ms="5")
    assert change(broker, (name, DELETE, value)) == 0
    assert own(broker) == {"retention.ms": "5"}


def test_lists_grow_and_shrink_from_the_default(broker: InProcessBroker) -> None:
    broker.create_topic("a")
    steps = [
        (APPEND, "compact", "delete,compact"),
        (APPEND, "compact", "delete,compact"),
        (SUBTRACT, "delete", "compact"),
        (SUBTRACT, "delete", "compact"),
        (SUBTRACT, "compact", ""),
        (APPEND, "delete", "delete"),
    ]
    for operation, value, expected in steps:
        assert change(broker, ("cleanup.policy", operation, value)) == 0
        assert own(broker) == {"cleanup.policy": expected}


def test_a_list_that_does_not_change_becomes_the_topics_own(broker: InProcessBroker) -> None:
    broker.create_topic("a")
    assert change(broker, ("cleanup.policy", SUBTRACT, "compact")) == 0
    assert own(broker) == {"cleanup.policy": "delete"}


def test_several_items_are_appended_and_subtracted_at_once(broker: InProcessBroker) -> None:
    broker.create_topic("a")
    assert change(broker, (THROTTLED, APPEND, "0:1, 1:1,2:1")) == 0
    assert own(broker) == {THROTTLED: "0:1,1:1,2:1"}
    assert change(broker, (THROTTLED, SUBTRACT, "2:1,0:1")) == 0
    assert own(broker) == {THROTTLED: "1:1"}


@pytest.mark.parametrize("operation", [APPEND, SUBTRACT])
@pytest.mark.parametrize("name", ["retention.ms", "no.such.setting"])
def test_only_lists_take_items(broker: InProcessBroker, operation: int, name: str) -> None:
    broker.create_topic("a", retention_ms="5")
    assert change(broker, (name, operation, "1")) == ErrorCode.INVALID_CONFIG
    assert own(broker) == {"retention.ms": "5"}


@pytest.mark.parametrize("operation", [SET, APPEND, SUBTRACT])
def test_a_null_value_is_an_invalid_request(broker: InProcessBroker, operation: int) -> None:
    broker.create_topic("a")
    assert change(broker, ("cleanup.policy", operation, None)) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("operation", [-1, 4, 9])
def test_an_unknown_operation_is_an_invalid_request(
    broker: InProcessBroker, operation: int
) -> None:
    broker.create_topic("a")
    assert change(broker, ("retention.ms", operation, "1")) == ErrorCode.INVALID_REQUEST


def test_a_key_twice_is_an_invalid_request(broker: InProcessBroker) -> None:
    broker.create_topic("a")
    changes = ("retention.ms", SET, "1"), ("retention.ms", DELETE, None)
    assert change(broker, *changes) == ErrorCode.INVALID_REQUEST
    assert own(broker) == {}


@pytest.mark.parametrize(
    "bad", [("segment.ms", SET, "soon"), ("no.such.setting", SET, "1"), ("segment.ms", SET, "")]
)
def test_one_bad_setting_changes_nothing(broker: InProcessBroker, bad: Change) -> None:
    broker.create_topic("a")
    assert change(broker, ("retention.ms", SET, "1"), bad) == ErrorCode.INVALID_CONFIG
    assert own(broker) == {}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_resource_twice_is_refused_each_time_and_stops_no_other(
    broker: InProcessBroker, version: int
) -> None:
    broker.create_topic("a")
    broker.create_topic("b")
    retention, segment = ("retention.ms", SET, "1"), ("segment.ms", SET, "1")
    targets = resource("a", retention), resource("b", retention), resource("a", segment)
    assert alter(broker, *targets, version=version) == [
        ErrorCode.INVALID_REQUEST,
        0,
        ErrorCode.INVALID_REQUEST,
    ]
    assert own(broker) == {}


@pytest.mark.parametrize(
    ("name", "key", "error"),
    [
        ("absent", "retention.ms", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("absent", "no.such.setting", ErrorCode.INVALID_CONFIG),
        ("a b", "retention.ms", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("", "retention.ms", ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_topic_that_cannot_be_changed(
    broker: InProcessBroker, name: str, key: str, error: int
) -> None:
    assert alter(broker, resource(name, (key, SET, "1"))) == [error]


@pytest.mark.parametrize(
    ("resource_type", "name"),
    [(BROKER, "1"), (BROKER, ""), (BROKER, "2"), (BROKER, "x"), (8, "1"), (16, "a"), (0, "a")],
)
def test_only_topics_can_be_changed(broker: InProcessBroker, resource_type: int, name: str) -> None:
    target = resource(name, ("num.partitions", SET, "1"), resource_type=resource_type)
    assert alter(broker, target) == [ErrorCode.INVALID_REQUEST]


def test_no_change_of_the_broker_is_no_error(broker: InProcessBroker) -> None:
    assert alter(broker, resource("1", resource_type=BROKER)) == [0]


@pytest.mark.parametrize("version", VERSIONS)
def test_validate_only_finds_faults_and_changes_nothing(
    broker: InProcessBroker, version: int
) -> None:
    broker.create_topic("a")
    good, bad = ("retention.ms", SET, "1"), ("retention.ms", SET, "soon")
    assert alter(broker, resource("a", good), version=version, validate_only=True) == [0]
    found = alter(broker, resource("a", bad), version=version, validate_only=True)
    assert found == [ErrorCode.INVALID_CONFIG]
    assert own(broker) == {}


def test_a_full_disk_is_a_storage_error(
    broker: InProcessBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.create_topic("a", retention_ms="5")
    broker.refuse_writes(monkeypatch, StorageFull("no space"))
    assert change(broker, ("retention.ms", SET, "6")) == ErrorCode.KAFKA_STORAGE_ERROR
    assert change(broker, ("retention.ms", SET, "5")) == 0
