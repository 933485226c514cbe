"""What one client sends, every other client reads: bytes, nulls, headers, order."""

import pytest

from tests.clients.support.client import Client
from tests.clients.support.clients import pairs
from tests.clients.support.confluent_client import ConfluentClient
from tests.clients.support.java_console_client import JavaConsoleClient
from tests.clients.support.records import difference
from tests.support.broker_process import BrokerProcess
from tests.wire.support.broker import Broker
from tests.wire.support.requests import Topic

RECORDS = 5_000

# kafka-python has no snappy of its own; the round trips of the others cover it.
CODEC_OF = {
    "confluent-kafka": "lz4",
    "kcat": "none",
    "aiokafka": "zstd",
    "kafka-python": "gzip",
    "java": "zstd",
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sent(admin: Broker) -> dict[str, Topic]:
    """One topic for each producer, filled on first use."""
    return {}


@pytest.mark.parametrize(("producer", "reader"), pairs())
def test_what_one_sends_another_reads(
    shared_broker: BrokerProcess,
    admin: Broker,
    sent: dict[str, Topic],
    producer: Client,
    reader: Client,
) -> None:
    records = producer.records(RECORDS)
    if producer.name not in sent:
        topic = admin.create_topic()
        codec = CODEC_OF[producer.name]
        producer.produce(shared_broker.bootstrap, topic.name, codec, [records])
        sent[producer.name] = topic
    topic = sent[producer.name]
    found = reader.consume(shared_broker.bootstrap, topic.name, [RECORDS])
    assert difference([records], found) is None


@pytest.mark.java
def test_snappy_as_java_frames_it_is_read_by_librdkafka(
    shared_broker: BrokerProcess, admin: Broker
) -> None:
    java, confluent = JavaConsoleClient(), ConfluentClient()
    topic = admin.create_topic()
    records = java.records(RECORDS)
    java.produce(shared_broker.bootstrap, topic.name, "snappy", [records])
    found = confluent.consume(shared_broker.bootstrap, topic.name, [RECORDS])
    assert difference([records], found) is None
