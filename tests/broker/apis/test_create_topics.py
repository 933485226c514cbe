"""CreateTopics: what is made, what is refused, in which order it is checked."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from broker.limits import NEW_PARTITIONS_PER_REQUEST_MAX, PARTITIONS_MAX, PARTITIONS_PER_TOPIC_MAX
from protocol.errors import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.primitives import ZERO_UUID
from storage.errors import StorageFull
from tests.broker.support import START_MS, InProcessBroker

VERSIONS = range(2, 8)
LAST_VERSION = 7
OWN_NODE = 1
TOPIC_SOURCE, STATIC_SOURCE, DEFAULT_SOURCE = 1, 4, 5


def wish(
    name: str = "a",
    partitions: int = 1,
    replicas: int = 1,
    assignments: Sequence[tuple[int, list[int]]] = (),
    configs: Sequence[tuple[str, str | None]] | Mapping[str, str | None] = (),
) -> CreateTopicsRequest.CreatableTopic:
    pairs = configs.items() if isinstance(configs, Mapping) else configs
    return CreateTopicsRequest.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[
            CreateTopicsRequest.CreatableReplicaAssignment(partition_index=index, broker_ids=nodes)
            for index, nodes in assignments
        ],
        configs=[
            CreateTopicsRequest.CreatableTopicConfig(name=key, value=value) for key, value in pairs
        ],
    )


def assigned(*assignments: tuple[int, list[int]]) -> CreateTopicsRequest.CreatableTopic:
    return wish(partitions=-1, replicas=-1, assignments=assignments)


def create(
    broker: InProcessBroker,
    *topics: CreateTopicsRequest.CreatableTopic,
    version: int = LAST_VERSION,
    validate_only: bool = False,
) -> list[Any]:
    request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
    answer = broker.call(request, version)
    return list(answer.topics)


def error_of(broker: InProcessBroker, topic: CreateTopicsRequest.CreatableTopic) -> int:
    """The error code; a refused topic must have a message, tell nothing and not exist."""
    before = len(broker.broker.topics)
    (found,) = create(broker, topic)
    if found.error_code:
        assert found.error_message
        assert (found.num_partitions, found.replication_factor) == (-1, -1)
        assert (found.configs, found.topic_id) == ([], ZERO_UUID)
        assert len(broker.broker.topics) == before
    return int(found.error_code)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_is_created_and_survives(broker: InProcessBroker, version: int) -> None:
    (found,) = create(broker, wish(partitions=3, configs={"retention.ms": "7"}), version=version)
    assert (found.name, found.error_code, found.error_message) == ("a", 0, None)
    if version >= 5:
        assert (found.num_partitions, found.replication_factor) == (3, 1)
    broker.restart()
    topic = broker.broker.topics.get("a")
    assert topic is not None
    assert (len(topic.partitions), topic.configs) == (3, {"retention.ms": "7"})
    assert topic.created_ms == START_MS
    assert found.topic_id == (topic.topic_id if version >= 7 else ZERO_UUID)


@pytest.mark.parametrize("version", range(5, 8))
def test_the_answer_tells_all_settings_with_their_sources(version: int) -> None:
    with InProcessBroker(log_retention_bytes=5) as broker:
        (found,) = create(broker, wish(configs={"retention.ms": "+7"}), version=version)
    configs = {one.name: (one.value, one.config_source) for one in found.configs}
    assert configs["retention.ms"] == ("7", TOPIC_SOURCE)
    assert configs["retention.bytes"] == ("5", STATIC_SOURCE)
    assert configs["cleanup.policy"] == ("delete", DEFAULT_SOURCE)
    assert not any(one.read_only or one.is_sensitive for one in found.configs)


@pytest.mark.parametrize("version", VERSIONS)
def test_minus_one_takes_the_brokers_defaults(version: int) -> None:
    with InProcessBroker(num_partitions=6) as broker:
        create(broker, wish(partitions=-1, replicas=-1), version=version)
        topic = broker.broker.topics.get("a")
        assert topic is not None
        assert len(topic.partitions) == 6


@pytest.mark.parametrize("replicas", [2, 3, 32767])
def test_more_replicas_than_brokers_count_as_one(broker: InProcessBroker, replicas: int) -> None:
    (found,) = create(broker, wish(replicas=replicas))
    assert (found.error_code, found.replication_factor) == (0, 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_named_twice_is_refused_once(broker: InProcessBroker, version: int) -> None:
    found = create(broker, wish("a"), wish("b"), wish("a"), version=version)
    assert [(one.name, one.error_code) for one in found] == [
        ("a", ErrorCode.INVALID_REQUEST),
        ("b", 0),
    ]
    assert broker.broker.topics.get("a") is None


@pytest.mark.parametrize(
    "name", ["__consumer_offsets", "__transaction_state", "__cluster_metadata"]
)
def test_internal_topics_are_refused(broker: InProcessBroker, name: str) -> None:
    assert error_of(broker, wish(name)) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "\u00fc", "x" * 250])
def test_a_bad_name_is_refused(broker: InProcessBroker, name: str) -> None:
    assert error_of(broker, wish(name)) == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_the_longest_name_is_accepted(broker: InProcessBroker) -> None:
    assert error_of(broker, wish("x" * 249)) == 0


def test_names_that_differ_only_in_dots_collide(broker: InProcessBroker) -> None:
    assert error_of(broker, wish("a.b_c")) == 0
    assert error_of(broker, wish("a_b.c")) == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_name_is_free_again_after_its_collision_is_deleted(broker: InProcessBroker) -> None:
    from broker.topic_changes import delete_topic

    delete_topic(broker.broker, broker.create_topic("a.b"))
    assert error_of(broker, wish("a_b")) == 0


def test_an_existing_topic_is_refused_before_its_counts_are_looked_at(
    broker: InProcessBroker,
) -> None:
    broker.create_topic("a")
    assert error_of(broker, wish(partitions=0)) == ErrorCode.TOPIC_ALREADY_EXISTS


@pytest.mark.parametrize("partitions", [0, -2])
def test_a_topic_needs_partitions(broker: InProcessBroker, partitions: int) -> None:
    assert error_of(broker, wish(partitions=partitions)) == ErrorCode.INVALID_PARTITIONS


@pytest.mark.parametrize("replicas", [0, -2])
def test_a_topic_needs_replicas_and_that_is_checked_first(
    broker: InProcessBroker, replicas: int
) -> None:
    error = error_of(broker, wish(partitions=0, replicas=replicas))
    assert error == ErrorCode.INVALID_REPLICATION_FACTOR


def test_too_many_partitions_violate_the_policy(
    broker: InProcessBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    too_many = wish(partitions=PARTITIONS_PER_TOPIC_MAX + 1)
    assert error_of(broker, too_many) == ErrorCode.POLICY_VIOLATION
    monkeypatch.setattr(broker.broker.topics, "partition_count", PARTITIONS_MAX - 1)
    assert error_of(broker, wish(partitions=2)) == ErrorCode.POLICY_VIOLATION
    assert error_of(broker, wish(partitions=1)) == 0


def test_one_request_can_make_so_many_partitions(broker: InProcessBroker) -> None:
    half = NEW_PARTITIONS_PER_REQUEST_MAX // 2
    found = create(broker, wish("a", half), wish("b", half + 1), wish("c", half))
    assert [one.error_code for one in found] == [0, ErrorCode.POLICY_VIOLATION, 0]


@pytest.mark.parametrize(
    "configs",
    [
        [("no.such.setting", "1")],
        [("no.such.setting", None)],
        [("retention.ms", None)],
        [("retention.ms", "soon")],
        [("retention.ms", "1"), ("cleanup.policy", "burn")],
    ],
)
def test_bad_settings_are_refused_before_the_counts_are_looked_at(
    broker: InProcessBroker, configs: list[tuple[str, str | None]]
) -> None:
    topic = wish(partitions=0, replicas=0, configs=configs)
    assert error_of(broker, topic) == ErrorCode.INVALID_CONFIG


def test_of_a_setting_given_twice_the_last_counts(broker: InProcessBroker) -> None:
    assert error_of(broker, wish(configs=[("retention.ms", "1"), ("retention.ms", "2")])) == 0
    topic = broker.broker.topics.get("a")
    assert topic is not None
    assert topic.config.retention_ms == 2


@pytest.mark.parametrize(
    "topic",
    [
        assigned((1, [OWN_NODE]), (0, [OWN_NODE])),
        assigned((0, [OWN_NODE, 2, 3]), (1, [2, 3, 4])),
    ],
)
def test_an_assignment_counts_the_partitions(
    broker: InProcessBroker, topic: CreateTopicsRequest.CreatableTopic
) -> None:
    (found,) = create(broker, topic)
    assert (found.error_code, found.num_partitions, found.replication_factor) == (0, 2, 1)


@pytest.mark.parametrize(
    "topic",
    [
        assigned((1, [OWN_NODE])),
        assigned((0, [OWN_NODE]), (2, [OWN_NODE])),
        assigned((0, [OWN_NODE]), (0, [OWN_NODE])),
        assigned((-1, [OWN_NODE]), (0, [OWN_NODE])),
        assigned((0, [])),
        assigned((0, [OWN_NODE, OWN_NODE])),
        assigned((0, [99])),
        assigned((0, [OWN_NODE, -1])),
    ],
)
def test_a_senseless_assignment_is_refused(
    broker: InProcessBroker, topic: CreateTopicsRequest.CreatableTopic
) -> None:
    assert error_of(broker, topic) == ErrorCode.INVALID_REPLICA_ASSIGNMENT


@pytest.mark.parametrize(("partitions", "replicas"), [(1, -1), (-1, 1), (1, 1), (0, 0)])
def test_an_assignment_beside_counts_is_an_invalid_request(
    broker: InProcessBroker, partitions: int, replicas: int
) -> None:
    topic = wish(partitions=partitions, replicas=replicas, assignments=[(0, [OWN_NODE])])
    assert error_of(broker, topic) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", VERSIONS)
def test_validate_only_answers_as_if_and_creates_nothing(
    broker: InProcessBroker, version: int
) -> None:
    found = create(broker, wish("a", 2), wish("b", 0), version=version, validate_only=True)
    assert [one.error_code for one in found] == [0, ErrorCode.INVALID_PARTITIONS]
    if version >= 5:
        assert found[0].num_partitions == 2
    assert len(broker.broker.topics) == 0


def test_a_full_disk_is_a_storage_error(
    broker: InProcessBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.refuse_writes(monkeypatch, StorageFull("no space"))
    assert error_of(broker, wish()) == ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize("version", VERSIONS)
def test_no_topics_no_answers(broker: InProcessBroker, version: int) -> None:
    assert create(broker, version=version) == []


def test_a_message_that_quotes_the_client_still_fits_its_answer(broker: InProcessBroker) -> None:
    config = CreateTopicsRequest.CreatableTopicConfig(name="x" * 32_750, value="1")
    topic = CreateTopicsRequest.CreatableTopic(
        name="events", num_partitions=1, replication_factor=1, configs=[config]
    )
    for version in (2, 7):
        (answer,) = broker.call(CreateTopicsRequest(topics=[topic]), version).topics
        assert answer.error_code == ErrorCode.INVALID_CONFIG
        assert len(answer.error_message) < 2_000
