"""Kafka's own command line tools against the broker: what operators type every day."""

import json
from pathlib import Path

import pytest

from tests.clients.support.java_console_client import run_tool
from tests.support.broker_process import BrokerProcess
from tests.wire.support import batches
from tests.wire.support.broker import Broker

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"

pytestmark = [pytest.mark.java, pytest.mark.slow]


def run(broker: BrokerProcess, tool: str, *arguments: str) -> str:
    return run_tool(tool, ["--bootstrap-server", broker.bootstrap, *arguments], b"").decode()


def test_topics_are_created_altered_described_listed_and_deleted(
    shared_broker: BrokerProcess, admin: Broker
) -> None:
    name = admin.unique_name()
    sizes = ["--partitions", "2", "--replication-factor", "3"]
    run(shared_broker, TOPICS, "--create", "--topic", name, *sizes, "--config", "segment.ms=70000")
    run(shared_broker, TOPICS, "--alter", "--topic", name, "--partitions", "3")
    described = run(shared_broker, TOPICS, "--describe", "--topic", name)
    assert "PartitionCount: 3" in described
    assert "segment.ms=70000" in described
    assert name in run(shared_broker, TOPICS, "--list").split()
    run(shared_broker, TOPICS, "--delete", "--topic", name)
    assert not admin.exists(name)


def test_configs_are_altered_and_described(shared_broker: BrokerProcess, admin: Broker) -> None:
    name = admin.create_topic(configs={"retention.ms": "70000"}).name
    entity = ["--entity-type", "topics", "--entity-name", name]
    run(shared_broker, CONFIGS, "--alter", *entity, "--add-config", "max.message.bytes=5000")
    run(shared_broker, CONFIGS, "--alter", *entity, "--delete-config", "retention.ms")
    described = run(shared_broker, CONFIGS, "--describe", *entity)
    assert "max.message.bytes=5000" in described
    assert "retention.ms" not in described


def test_offsets_are_printed_and_records_deleted(
    shared_broker: BrokerProcess, admin: Broker, tmp_path: Path
) -> None:
    topic = admin.create_topic()
    admin.produce(topic, batches.build([b"a", b"b", b"c"]))
    place = ["--topic", topic.name, "--time"]
    assert run(shared_broker, OFFSETS, *place, "latest").strip() == f"{topic.name}:0:3"
    assert run(shared_broker, OFFSETS, *place, "earliest").strip() == f"{topic.name}:0:0"
    wanted = tmp_path / "offsets.json"
    places = [{"topic": topic.name, "partition": 0, "offset": 2}]
    wanted.write_text(json.dumps({"partitions": places, "version": 1}))
    printed = run(shared_broker, DELETE_RECORDS, "--offset-json-file", str(wanted))
    assert "low_watermark: 2" in printed
    assert admin.earliest(topic) == 2
