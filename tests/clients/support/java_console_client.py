"""Kafka's own Java client, through its console tools, as a client of these tests."""

import subprocess
from collections.abc import Sequence

from scripts.apache_kafka import java_command
from tests.clients.support.client import CODECS, DEADLINE_SECONDS
from tests.clients.support.records import (
    FIELD_END,
    KEY_END,
    RECORD_END,
    Headers,
    Record,
    text_records,
)

PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
NULL = "<null>"
NO_HEADERS = b"NO_HEADERS"

READER_PROPERTIES = {
    "parse.key": "true",
    "parse.headers": "true",
    "headers.delimiter": FIELD_END.decode(),
    "headers.separator": ",",
    "headers.key.separator": ":",
    "key.separator": KEY_END.decode(),
    "null.marker": NULL,
}
FORMATTER_PROPERTIES = {
    "print.key": "true",
    "print.headers": "true",
    "print.offset": "true",
    "key.separator": KEY_END.decode(),
    "headers.separator": ",",
    "line.separator": RECORD_END.decode(),
    "null.literal": NULL,
}


class JavaConsoleClient:
    """The console producer reads lines and chooses partitions itself: one partition only."""

    name = "java"
    codecs = CODECS

    def records(self, count: int) -> Sequence[Record]:
        return text_records(count)

    def produce(
        self, bootstrap: str, topic: str, codec: str, partitions: Sequence[Sequence[Record]]
    ) -> None:
        (records,) = partitions
        lines = b"".join(self._line(record) for record in records)
        arguments = ["--bootstrap-server", bootstrap, "--topic", topic]
        arguments += ["--compression-codec", codec, "--batch-size", "200000"]
        run_tool(PRODUCER, arguments + options("--reader-property", READER_PROPERTIES), lines)

    def _line(self, record: Record) -> bytes:
        null = NULL.encode()
        headers = b",".join(
            name.encode() + b":" + (null if value is None else value)
            for name, value in record.headers
        )
        key = null if record.key is None else record.key
        value = null if record.value is None else record.value
        return (headers or null) + FIELD_END + key + KEY_END + value + b"\n"

    def consume(self, bootstrap: str, topic: str, counts: Sequence[int]) -> list[list[Record]]:
        return [
            self._consume_partition(bootstrap, topic, partition, count)
            for partition, count in enumerate(counts)
        ]

    def _consume_partition(
        self, bootstrap: str, topic: str, partition: int, count: int
    ) -> list[Record]:
        arguments = ["--bootstrap-server", bootstrap, "--topic", topic]
        arguments += ["--partition", str(partition), "--offset", "earliest"]
        arguments += ["--max-messages", str(count), "--timeout-ms", "30000"]
        properties = options("--formatter-property", FORMATTER_PROPERTIES)
        printed = run_tool(CONSUMER, arguments + properties, b"")
        lines = printed.split(RECORD_END)[:-1]
        return [parse(line, offset) for offset, line in enumerate(lines)]


def options(flag: str, properties: dict[str, str]) -> list[str]:
    return [word for name, value in properties.items() for word in (flag, f"{name}={value}")]


def run_tool(main_class: str, arguments: list[str], given: bytes) -> bytes:
    """Run one of Kafka's tools; its standard output."""
    command = [*java_command(main_class), *arguments]
    ended = subprocess.run(
        command, input=given, capture_output=True, timeout=DEADLINE_SECONDS, check=False
    )
    if ended.returncode != 0:
        raise AssertionError(f"{main_class} ended with {ended.returncode}: {ended.stderr!r}")
    return ended.stdout


def parse(line: bytes, wanted_offset: int) -> Record:
    """One record as the console consumer prints it: offset, headers, key, value."""
    offset, headers, key, value = line.split(KEY_END)
    if offset != b"Offset:%d" % wanted_offset:
        raise AssertionError(f"{offset!r} instead of {wanted_offset}")
    null = NULL.encode()
    return Record(
        None if key == null else key, None if value == null else value, parse_headers(headers)
    )


def parse_headers(printed: bytes) -> Headers:
    if printed == NO_HEADERS:
        return ()
    pairs = [one.partition(b":") for one in printed.split(b",")]
    return tuple(
        (name.decode(), None if value == NULL.encode() else value) for name, _, value in pairs
    )
