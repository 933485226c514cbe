"""Kafka's own performance tools: its Java producer and its Java consumer.

Must never know: which broker answers.
"""

from __future__ import annotations

import re
import subprocess
import uuid
from dataclasses import dataclass

from scripts.apache_kafka import java_command
from scripts.benchmark import topic
from scripts.benchmark.consume_work import ensure_topic
from scripts.benchmark.measure import Measures
from scripts.benchmark.produce_work import SIZE_NAMES
from scripts.benchmark.work import Endpoint, Scale, Window, WorkError

PRODUCER_TOOL = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER_TOOL = "org.apache.kafka.tools.ConsumerPerformance"
TOOL_TIMEOUT_S = 100.0
CONSUMER_IDLE_TIMEOUT_MS = 15_000
PRODUCED = re.compile(r"^(\d+) records sent, ([\d.]+) records/sec .* 99\.9th", re.MULTILINE)
OUTPUT_TAIL = 400


def parse_producer(output: str) -> tuple[int, float]:
    """Records and records/s from the last line of ProducerPerformance."""
    found = PRODUCED.findall(output)
    if not found:
        raise WorkError(f"no figures from ProducerPerformance: {output[-OUTPUT_TAIL:]}")
    return int(found[-1][0]), float(found[-1][1])


def parse_consumer(output: str) -> tuple[int, float]:
    """Records and fetched records/s from the table of ConsumerPerformance."""
    lines = [line.split(", ") for line in output.splitlines() if line.count(", ") >= 9]
    if len(lines) < 2:
        raise WorkError(f"no figures from ConsumerPerformance: {output[-OUTPUT_TAIL:]}")
    row = dict(zip(lines[0], lines[-1], strict=True))
    return int(row["data.consumed.in.nMsg"]), float(row["fetch.nMsg.sec"])


def _run(command: list[str]) -> str:
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=TOOL_TIMEOUT_S, check=False
    )
    return result.stdout + result.stderr


@dataclass(frozen=True)
class JavaProduceWork:
    """ProducerPerformance with its defaults: idempotent, acks=all, one partition."""

    scale: Scale
    size_bytes: int

    @property
    def name(self) -> str:
        """For example java-produce-1KB."""
        return f"java-produce-{SIZE_NAMES[self.size_bytes]}"

    def run(self, endpoint: Endpoint) -> Measures:
        """The rate is the tool's own figure; the CPU is the broker's over the tool's life."""
        records = self.scale.produce_records[self.size_bytes]
        with topic.temporary(endpoint.bootstrap, 1) as name:
            command = java_command(PRODUCER_TOOL)
            command += ["--bootstrap-server", endpoint.bootstrap, "--topic", name]
            command += ["--num-records", str(records), "--record-size", str(self.size_bytes)]
            command += ["--throughput", "-1", "--command-property", "acks=all"]
            window = Window(endpoint.pid)
            output = _run(command)
            window.close()
            sent, rate = parse_producer(output)
            held = topic.record_count(endpoint.bootstrap, name, 1)
        if sent != records or held != records:
            raise WorkError(f"{records} wanted, {sent} sent, the broker holds {held}")
        return {**window.record_measures(records), "records_per_s": rate}


@dataclass(frozen=True)
class JavaConsumeWork:
    """ConsumerPerformance over the 1 KB topic; it joins a group, which the broker must have."""

    scale: Scale

    @property
    def name(self) -> str:
        """The one name."""
        return "java-consume-1KB"

    def run(self, endpoint: Endpoint) -> Measures:
        """The rate is the tool's own figure without the group's assignment."""
        name = ensure_topic(endpoint, self.scale)
        records = self.scale.consume_records
        command = java_command(CONSUMER_TOOL)
        command += ["--bootstrap-server", endpoint.bootstrap, "--topic", name]
        command += ["--num-records", str(records), "--group", f"bench-{uuid.uuid4().hex[:12]}"]
        command += ["--timeout", str(CONSUMER_IDLE_TIMEOUT_MS)]
        window = Window(endpoint.pid)
        output = _run(command)
        window.close()
        seen, rate = parse_consumer(output)
        if seen < records:
            raise WorkError(f"{records} wanted, {seen} consumed: {output[-OUTPUT_TAIL:]}")
        return {**window.record_measures(records), "records_per_s": rate}
