"""kafka-python's admin client against the broker: topics, partitions, configs, offsets."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.broker_process import BrokerProcess
from tests.wire.support import batches
from tests.wire.support.broker import Broker
from tests.wire.support.kafka_python import load
from tests.wire.support.requests import Topic

_ADMIN: Any = load("kafka.admin")
_ERRORS: Any = load("kafka.errors")
_KAFKA: Any = load("kafka")


@pytest.fixture(scope="module")
def client(shared_broker: BrokerProcess) -> Iterator[Any]:
    admin = _ADMIN.KafkaAdminClient(bootstrap_servers=shared_broker.bootstrap)
    yield admin
    admin.close()


@pytest.fixture
def topic(client: Any, admin: Broker) -> str:
    """A topic of two partitions made by the client itself."""
    name = admin.unique_name()
    configs = {"retention.ms": "1000000000"}
    client.create_topics([_ADMIN.NewTopic(name, 2, 1, topic_configs=configs)])
    return name


def resource(name: str, configs: dict[str, str] | None = None) -> Any:
    return _ADMIN.ConfigResource(_ADMIN.ConfigResourceType.TOPIC, name, configs)


def configs_of(client: Any, name: str) -> dict[str, str]:
    """Every config of a topic by its name."""
    everything = _ADMIN.ConfigFilterType.ALL
    described = client.describe_configs([resource(name)], config_filter=everything)
    (by_type,) = described.values()
    return {key: found["value"] for key, found in by_type[name].items()}


def test_a_created_topic_is_listed_and_described(client: Any, topic: str) -> None:
    assert topic in client.list_topics()
    (described,) = client.describe_topics([topic])
    assert len(described["partitions"]) == 2


def test_a_topic_cannot_be_created_twice(client: Any, topic: str) -> None:
    with pytest.raises(_ERRORS.TopicAlreadyExistsError):
        client.create_topics([_ADMIN.NewTopic(topic, 1, 1)])


def test_a_deleted_topic_is_gone(client: Any, topic: str) -> None:
    client.delete_topics([topic])
    assert topic not in client.list_topics()


def test_partitions_are_added(client: Any, topic: str) -> None:
    client.create_partitions({topic: _ADMIN.NewPartitions(5)})
    (described,) = client.describe_topics([topic])
    assert len(described["partitions"]) == 5


@pytest.mark.parametrize("incremental", [True, False])
def test_configs_are_altered_and_described(client: Any, topic: str, incremental: bool) -> None:
    """In the old way the client itself first asks for the configs that are to stay."""
    assert configs_of(client, topic)["retention.ms"] == "1000000000"
    change = resource(topic, {"max.message.bytes": "5000"})
    client.alter_configs([change], incremental=incremental)
    found = configs_of(client, topic)
    assert found["max.message.bytes"] == "5000"
    assert found["retention.ms"] == "1000000000"


def test_configs_are_reset(client: Any, topic: str) -> None:
    client.reset_configs([resource(topic, {"retention.ms": ""})])
    assert configs_of(client, topic)["retention.ms"] == "604800000"


def test_offsets_are_listed_and_records_deleted(client: Any, admin: Broker, topic: str) -> None:
    known = Topic(topic, admin.describe(topic).topic_id)
    for index in range(10):
        admin.produce(known, batches.build([b"%d" % index]), partition=1)
    place = _KAFKA.TopicPartition(topic, 1)
    assert offset_of(client, place, _ADMIN.OffsetSpec.LATEST) == 10
    client.delete_records({place: 4})
    assert offset_of(client, place, _ADMIN.OffsetSpec.EARLIEST) == 4


def offset_of(client: Any, place: Any, spec: Any) -> int:
    return int(client.list_partition_offsets({place: spec})[place].offset)


def test_the_cluster_is_described(client: Any, shared_broker: BrokerProcess) -> None:
    cluster = client.describe_cluster()
    found = [f"{node['host']}:{node['port']}" for node in cluster["brokers"]]
    assert found == [shared_broker.bootstrap]
