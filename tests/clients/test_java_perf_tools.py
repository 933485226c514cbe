"""Kafka's own performance tools: a hundred thousand records in every codec, none lost, in order."""

import itertools
import re

import pytest

from tests.clients.support.client import CODECS
from tests.clients.support.confluent_client import ConfluentClient
from tests.clients.support.java_console_client import run_tool
from tests.support.broker_process import BrokerProcess
from tests.wire.support.broker import Broker

PRODUCER = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER = "org.apache.kafka.tools.ConsumerPerformance"
RECORDS = 100_000
PARTITIONS = 3

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(300)]


def produce(bootstrap: str, topic: str, codec: str) -> str:
    """The records hold the numbers 0, 1, 2, ... as text; returns what the tool printed."""
    arguments = ["--bootstrap-server", bootstrap, "--topic", topic, "--throughput", "-1"]
    arguments += ["--num-records", str(RECORDS), "--payload-monotonic"]
    arguments += ["--command-property", f"compression.type={codec}"]
    return run_tool(PRODUCER, arguments, b"").decode()


@pytest.mark.parametrize("codec", CODECS)
def test_all_records_of_the_producer_arrive_in_order(
    shared_broker: BrokerProcess, admin: Broker, codec: str
) -> None:
    topic = admin.create_topic(partitions=PARTITIONS)
    printed = produce(shared_broker.bootstrap, topic.name, codec)
    assert f"{RECORDS} records sent" in printed
    counts = [admin.latest(topic, index) for index in range(PARTITIONS)]
    found = ConfluentClient().consume(shared_broker.bootstrap, topic.name, counts)
    numbers = [[int(record.value or b"-1") for record in records] for records in found]
    assert all(one == sorted(one) for one in numbers)
    assert sorted(itertools.chain(*numbers)) == list(range(RECORDS))


@pytest.mark.xfail(strict=True, reason="the tool joins a group, and groups are not built yet")
def test_the_consumer_reads_all_records(shared_broker: BrokerProcess, admin: Broker) -> None:
    topic = admin.create_topic(partitions=PARTITIONS)
    produce(shared_broker.bootstrap, topic.name, "lz4")
    arguments = ["--bootstrap-server", shared_broker.bootstrap, "--topic", topic.name]
    arguments += ["--num-records", str(RECORDS), "--hide-header", "--timeout", "20000"]
    printed = run_tool(CONSUMER, arguments, b"").decode()
    # start, end, MB, MB/s, records, ...
    assert [int(found) for found in re.findall(r"(?:[^,\n]+, ){4}(\d+),", printed)] == [RECORDS]
