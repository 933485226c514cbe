"""confluent-kafka's AdminClient against the broker: topics, partitions, configs, offsets."""

import time
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from tests.support.broker_process import BrokerProcess
from tests.wire.support import batches
from tests.wire.support.broker import Broker
from tests.wire.support.requests import Topic

TIMEOUT_SECONDS = 30.0


@pytest.fixture(scope="module")
def client(shared_broker: BrokerProcess) -> AdminClient:
    return AdminClient({"bootstrap.servers": shared_broker.bootstrap, "log_level": 0})


@pytest.fixture
def topic(client: AdminClient, admin: Broker) -> str:
    """A topic of two partitions made by the client itself."""
    name = admin.unique_name()
    wanted = NewTopic(name, 2, 1, config={"retention.ms": "1000000000"})
    result(client.create_topics([wanted])[name])
    return name


def result(future: Any) -> Any:
    return future.result(TIMEOUT_SECONDS)


def config_of(client: AdminClient, name: str) -> dict[str, ConfigEntry]:
    resource = ConfigResource(ResourceType.TOPIC, name)
    found: dict[str, ConfigEntry] = result(client.describe_configs([resource])[resource])
    return found


def test_a_created_topic_is_listed_and_described(client: AdminClient, topic: str) -> None:
    assert len(client.list_topics(topic, TIMEOUT_SECONDS).topics[topic].partitions) == 2
    assert topic in client.list_topics(timeout=TIMEOUT_SECONDS).topics
    described = result(client.describe_topics(TopicCollection([topic]))[topic])
    assert described.name == topic
    assert [one.id for one in described.partitions] == [0, 1]
    assert all(one.leader is not None for one in described.partitions)


def test_a_topic_cannot_be_created_twice(client: AdminClient, topic: str) -> None:
    with pytest.raises(KafkaException) as refusal:
        result(client.create_topics([NewTopic(topic, 1, 1)])[topic])
    assert refusal.value.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS


def test_three_replicas_may_be_asked_for(client: AdminClient, admin: Broker) -> None:
    """Applications are written for clusters; there is one replica all the same."""
    name = admin.unique_name()
    result(client.create_topics([NewTopic(name, 1, 3)])[name])
    assert len(client.list_topics(name, TIMEOUT_SECONDS).topics[name].partitions[0].replicas) == 1


def test_a_deleted_topic_is_gone(client: AdminClient, topic: str) -> None:
    result(client.delete_topics([topic])[topic])
    assert topic not in client.list_topics(timeout=TIMEOUT_SECONDS).topics


def test_partitions_are_added(client: AdminClient, topic: str) -> None:
    result(client.create_partitions([NewPartitions(topic, 5)])[topic])
    assert len(client.list_topics(topic, TIMEOUT_SECONDS).topics[topic].partitions) == 5


def test_partitions_are_never_taken_away(client: AdminClient, topic: str) -> None:
    with pytest.raises(KafkaException) as refusal:
        result(client.create_partitions([NewPartitions(topic, 1)])[topic])
    assert refusal.value.args[0].code() == KafkaError.INVALID_PARTITIONS


def test_configs_are_described(client: AdminClient, topic: str) -> None:
    found = config_of(client, topic)
    assert found["retention.ms"].value == "1000000000"
    assert not found["retention.ms"].is_default
    assert found["cleanup.policy"].value == "delete"
    assert found["cleanup.policy"].is_default


def test_one_config_is_altered_and_the_others_stay(client: AdminClient, topic: str) -> None:
    change = ConfigEntry("max.message.bytes", "5000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
    result(client.incremental_alter_configs([resource])[resource])
    found = config_of(client, topic)
    assert found["max.message.bytes"].value == "5000"
    assert found["retention.ms"].value == "1000000000"


def test_all_configs_are_replaced(client: AdminClient, topic: str) -> None:
    resource = ConfigResource(ResourceType.TOPIC, topic, set_config={"segment.ms": "70000"})
    with pytest.warns(DeprecationWarning, match="incremental_alter_configs"):
        future = client.alter_configs([resource])[resource]
    result(future)
    found = config_of(client, topic)
    assert found["segment.ms"].value == "70000"
    assert found["retention.ms"].is_default


def test_a_bad_config_is_refused(client: AdminClient, topic: str) -> None:
    change = ConfigEntry("max.message.bytes", "many", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
    with pytest.raises(KafkaException) as refusal:
        result(client.incremental_alter_configs([resource])[resource])
    assert refusal.value.args[0].code() == KafkaError.INVALID_CONFIG


def test_the_broker_describes_its_configs(client: AdminClient) -> None:
    node_id = next(iter(client.list_topics(timeout=TIMEOUT_SECONDS).brokers))
    resource = ConfigResource(ResourceType.BROKER, str(node_id))
    found = result(client.describe_configs([resource])[resource])
    assert found["num.partitions"].value == "4"


def test_offsets_are_listed_and_records_deleted(
    client: AdminClient, admin: Broker, topic: str
) -> None:
    known = Topic(topic, admin.describe(topic).topic_id)
    now_ms = int(time.time() * 1000)
    for index in range(10):
        record = batches.Record(b"%d" % index, timestamp=now_ms + index)
        admin.produce(known, batches.build([record]), partition=1)
    place = TopicPartition(topic, 1)
    assert offset_of(client, place, OffsetSpec.latest()) == 10
    assert offset_of(client, place, OffsetSpec.earliest()) == 0
    assert offset_of(client, place, OffsetSpec.for_timestamp(now_ms + 5)) == 5
    assert offset_of(client, place, OffsetSpec.max_timestamp()) == 9
    deleted = result(client.delete_records([TopicPartition(topic, 1, 4)])[place])
    assert deleted.low_watermark == 4
    assert offset_of(client, place, OffsetSpec.earliest()) == 4


def offset_of(client: AdminClient, place: TopicPartition, spec: Any) -> int:
    return int(result(client.list_offsets({place: spec})[place]).offset)


def test_the_cluster_is_described(client: AdminClient, shared_broker: BrokerProcess) -> None:
    cluster = result(client.describe_cluster())
    assert [f"{node.host}:{node.port}" for node in cluster.nodes] == [shared_broker.bootstrap]
    assert cluster.controller.id == cluster.nodes[0].id
    assert cluster.cluster_id
