"""Metadata: brokers, topics by name and id, creation on first mention."""

from typing import Any

import pytest

from broker.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from broker.limits import NEW_PARTITIONS_PER_REQUEST_MAX
from protocol.errors import ErrorCode
from protocol.messages.metadata import MetadataRequest
from protocol.primitives import ZERO_UUID
from storage.errors import StorageFull
from tests.broker.support import HOST, PORT, InProcessBroker

VERSIONS = range(14)
BY_ID_VERSIONS = range(12, 14)
SOME_ID = bytes(range(16))


def named(*names: str | None, create: bool = False, **more: Any) -> MetadataRequest:
    topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=create, **more)


def by_id(*topic_ids: bytes, name: str | None = None) -> MetadataRequest:
    topic = MetadataRequest.MetadataRequestTopic
    return MetadataRequest(topics=[topic(name=name, topic_id=one) for one in topic_ids])


def errors(answer: Any) -> dict[str, int]:
    return {topic.name: topic.error_code for topic in answer.topics}


@pytest.mark.parametrize("version", VERSIONS)
def test_broker_and_topics_are_described(broker: InProcessBroker, version: int) -> None:
    topic = broker.create_topic("a", 2)
    answer = broker.call(named("a"), version)
    assert [(one.node_id, one.host, one.port, one.rack) for one in answer.brokers] == [
        (1, HOST, PORT, None)
    ]
    assert answer.error_code == 0
    if version >= 1:
        assert answer.controller_id == 1
    if version >= 2:
        assert answer.cluster_id == broker.broker.cluster_id
    (found,) = answer.topics
    assert (found.name, found.error_code, found.is_internal) == ("a", 0, False)
    assert found.topic_id == (topic.topic_id if version >= 10 else ZERO_UUID)
    assert [
        (one.partition_index, one.leader_id, one.leader_epoch, one.replica_nodes, one.isr_nodes)
        for one in found.partitions
    ] == [(index, 1, 0 if version >= 7 else -1, [1], [1]) for index in range(2)]


def test_an_empty_list_means_all_topics_in_version_0_only(broker: InProcessBroker) -> None:
    broker.create_topic("a")
    broker.create_topic("b")
    assert errors(broker.call(named(), 0)) == {"a": 0, "b": 0}
    for version in VERSIONS[1:]:
        assert broker.call(named(), version).topics == []


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_null_means_all_topics(broker: InProcessBroker, version: int) -> None:
    broker.create_topic("a")
    broker.create_topic("b")
    assert errors(broker.call(MetadataRequest(topics=None), version)) == {"a": 0, "b": 0}


def test_null_creates_nothing(broker: InProcessBroker) -> None:
    broker.call(MetadataRequest(topics=None), 12)
    assert len(broker.broker.topics) == 0


def test_a_topic_named_twice_is_described_once(broker: InProcessBroker) -> None:
    broker.create_topic("a")
    answer = broker.call(named("a", "b", "a", "b"), 12)
    assert [one.name for one in answer.topics] == ["a", "b"]


@pytest.mark.parametrize("version", VERSIONS[4:])
def test_an_absent_topic_is_unknown_unless_the_client_lets_it_be_created(
    broker: InProcessBroker, version: int
) -> None:
    answer = broker.call(named("a"), version)
    assert errors(answer) == {"a": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert len(broker.broker.topics) == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_is_created_and_described_in_the_same_answer(version: int) -> None:
    with InProcessBroker(num_partitions=3) as broker:
        (found,) = broker.call(named("a", create=True), version).topics
        assert (found.error_code, len(found.partitions)) == (0, 3)
        broker.restart()
        topic = broker.broker.topics.get("a")
        assert topic is not None
        assert len(topic.partitions) == 3


def test_the_broker_may_forbid_creation() -> None:
    with InProcessBroker(auto_create_topics_enable=False) as broker:
        answer = broker.call(named("a", create=True), 12)
        assert errors(answer) == {"a": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "\u00fc", "x" * 250])
@pytest.mark.parametrize("create", [True, False])
def test_a_bad_name_is_an_invalid_topic(broker: InProcessBroker, name: str, create: bool) -> None:
    answer = broker.call(named(name, create=create), 12)
    assert errors(answer) == {name: ErrorCode.INVALID_TOPIC_EXCEPTION}


def test_a_name_that_collides_is_not_created(broker: InProcessBroker) -> None:
    broker.create_topic("a.b")
    answer = broker.call(named("a_b", create=True), 12)
    assert errors(answer) == {"a_b": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_internal_topics_are_never_created(broker: InProcessBroker) -> None:
    (found,) = broker.call(named("__consumer_offsets", create=True), 12).topics
    assert found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert found.is_internal


def test_one_request_creates_only_so_many_partitions() -> None:
    with InProcessBroker(num_partitions=NEW_PARTITIONS_PER_REQUEST_MAX) as broker:
        first = broker.call(named("a", "b", create=True), 12)
        assert errors(first) == {"a": 0, "b": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        second = broker.call(named("a", "b", create=True), 12)
        assert errors(second) == {"a": 0, "b": 0}


def test_a_full_disk_leaves_the_topic_unknown(
    broker: InProcessBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.refuse_writes(monkeypatch, StorageFull("no space"))
    answer = broker.call(named("a", create=True), 12)
    assert errors(answer) == {"a": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


@pytest.mark.parametrize("version", BY_ID_VERSIONS)
def test_topics_are_found_by_id(broker: InProcessBroker, version: int) -> None:
    topic = broker.create_topic("a", 2)
    answer = broker.call(by_id(topic.topic_id, SOME_ID, topic.topic_id), version)
    assert [(one.error_code, one.name, one.topic_id) for one in answer.topics] == [
        (0, "a", topic.topic_id),
        (ErrorCode.UNKNOWN_TOPIC_ID, None, SOME_ID),
    ]


@pytest.mark.parametrize("version", BY_ID_VERSIONS)
def test_names_do_not_count_beside_ids(broker: InProcessBroker, version: int) -> None:
    topic = broker.create_topic("a")
    request = by_id(topic.topic_id, name="other")
    (request.topics or []).append(MetadataRequest.MetadataRequestTopic(name="new"))
    assert errors(broker.call(request, version)) == {"a": 0}
    assert len(broker.broker.topics) == 1


@pytest.mark.parametrize("version", [10, 11])
def test_ids_before_version_12_are_an_invalid_request(
    broker: InProcessBroker, version: int
) -> None:
    topic = broker.create_topic("a")
    answer = broker.call(by_id(topic.topic_id, name="a"), version)
    assert errors(answer) == {"a": ErrorCode.INVALID_REQUEST}


@pytest.mark.parametrize("version", range(10, 14))
def test_neither_name_nor_id_is_an_invalid_request(broker: InProcessBroker, version: int) -> None:
    answer = broker.call(by_id(ZERO_UUID), version)
    assert errors(answer) == {"": ErrorCode.INVALID_REQUEST}


@pytest.mark.parametrize("version", range(8, 14))
def test_authorized_operations_are_told_when_asked(broker: InProcessBroker, version: int) -> None:
    broker.create_topic("a")
    silent = broker.call(named("a"), version)
    assert silent.topics[0].topic_authorized_operations == NOT_ASKED
    assert silent.cluster_authorized_operations == NOT_ASKED
    request = named("a", include_topic_authorized_operations=True)
    request.include_cluster_authorized_operations = version <= 10
    told = broker.call(request, version)
    assert told.topics[0].topic_authorized_operations == TOPIC_OPERATIONS
    if version <= 10:
        assert told.cluster_authorized_operations == CLUSTER_OPERATIONS
