"""`oncelog produce`: writes records, one for each line of its input.

Owns the reading of lines and the sending. What a line means is in `records`, what became of the
records is in `delivery`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from oncelog.client import Target, explain, kafka_errors, reason_of
from oncelog.delivery import Delivery
from oncelog.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, CommandError
from oncelog.options import json_option, parse_pairs, target_options
from oncelog.output import Output
from oncelog.progress import RECORDS_BETWEEN_UPDATES, Update, progress_bar
from oncelog.records import (
    Headers,
    InputRecord,
    LineFormat,
    RecordFormatError,
    parse_json_record,
)
from oncelog.wording import counted

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
FLUSH_STEP_S: Final = 0.1
# librdkafka's own limit of a record where --property sets no other.
RECORD_BYTES_MAX: Final = 1_000_000


@click.command()
@click.argument("topic")
@click.option("-f", "--file", "file_name", metavar="FILE", help="Read FILE instead of stdin.")
@click.option("-k", "--key-separator", metavar="TEXT", help="What stands between key and value.")
@click.option(
    "-H", "--header", "headers", multiple=True, metavar="NAME=VALUE", help="For all records."
)
@click.option("--null", "null_text", metavar="TEXT", help="A key or value that means null.")
@click.option("-p", "--partition", type=click.IntRange(min=0), help="Default: by key, or any.")
@click.option("-z", "--codec", type=click.Choice(CODECS), default="none", show_default=True)
@click.option("--acks", type=click.Choice(["all", "1", "0"]), default="all", show_default=True)
@click.option(
    "--input",
    "input_form",
    type=click.Choice(["lines", "json"]),
    default="lines",
    show_default=True,
    help="json: lines as `oncelog consume --json` writes them.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show every acknowledgement.")
@target_options
@json_option
def command(
    topic: str,
    file_name: str | None,
    key_separator: str | None,
    headers: tuple[str, ...],
    null_text: str | None,
    partition: int | None,
    codec: str,
    acks: str,
    input_form: str,
    verbose: bool,
    target: Target,
    output: Output,
) -> int:
    """Write one record to TOPIC for each line of stdin or of a file.

    With --acks all, the default, the producer is idempotent: a record that had to be sent again is
    stored once. The last line says how many records were acknowledged; the exit code is 1 if any
    was not.

    \b
    Examples:
      echo hello | oncelog produce greetings
      oncelog produce orders --file orders.txt --key-separator : --codec lz4
      oncelog consume orders --exit-at-end --json | oncelog produce copy --input json
    """
    line_format = LineFormat(_encode(key_separator), _encode(null_text))
    delivery = Delivery(topic)
    sender = Sender(
        producer=target.producer(producer_configuration(codec, acks, target.timeout_s)),
        delivery=delivery,
        parse=parse_json_record if input_form == "json" else line_format.parse,
        headers=tuple((name, value.encode()) for name, value in parse_pairs(headers, "-H").items()),
        partition=partition,
        show=_acknowledgement_printer(output) if verbose else None,
        record_bytes_max=target.properties.get("message.max.bytes", f"{RECORD_BYTES_MAX}"),
    )
    started_s = time.monotonic()
    with _opened(file_name) as stream, kafka_errors(f"cannot produce to {topic}"):
        wanted = not (output.as_json or verbose or stream.isatty())
        with progress_bar(delivery, _size_of(stream), wanted=wanted) as update:
            try:
                sender.send_all(stream, update)
            except KeyboardInterrupt:
                raise interruption(delivery) from None
    elapsed_s = time.monotonic() - started_s
    if output.as_json:
        # After the lines of --verbose the summary is one more line, not a document over several.
        (output.json_line if verbose else output.document)(delivery.as_json(elapsed_s))
    else:
        output.text(delivery.as_text(elapsed_s))
    if delivery.failed:
        raise CommandError(
            delivery.failure_as_text(), delivery.first_failure, sender.advice(target.timeout_s)
        )
    return EXIT_OK


def interruption(delivery: Delivery) -> CommandError:
    """Ctrl-C: what is known of the records that were sent before it."""
    text = f"interrupted; {counted(delivery.acknowledged, 'record')} acknowledged"
    unknown = delivery.sent - delivery.acknowledged
    if unknown:
        text += f", {unknown:,} not: some may be stored"
    return CommandError(text, exit_code=EXIT_INTERRUPTED)


def producer_configuration(codec: str, acks: str, timeout_s: float) -> dict[str, Any]:
    return {
        "acks": acks,
        "enable.idempotence": acks == "all",
        "compression.type": codec,
        "message.timeout.ms": int(timeout_s * 1000),
    }


@dataclass(slots=True)
class Sender:
    """Sends lines as records and counts the acknowledgements."""

    producer: Producer
    delivery: Delivery
    parse: Callable[[bytes], InputRecord]
    headers: Headers
    partition: int | None
    show: Callable[[Message], None] | None
    record_bytes_max: str
    bytes_read: int = field(default=0)
    has_unknown_partition: bool = field(default=False)

    def send_all(self, stream: BinaryIO, update: Update) -> None:
        """Sends every line; whatever was sent is waited for, even when a line is bad."""
        try:
            for number, line in enumerate(stream, start=1):
                self.bytes_read += len(line)
                self._send_line(number, line.removesuffix(b"\n"))
                self.producer.poll(0)
                if number % RECORDS_BETWEEN_UPDATES == 0:
                    update(self.bytes_read)
        finally:
            while self.producer.flush(FLUSH_STEP_S):
                update(self.bytes_read)

    def _send_line(self, number: int, line: bytes) -> None:
        from confluent_kafka import KafkaError, KafkaException

        try:
            record = self.parse(line)
        except RecordFormatError as error:
            what = f"line {number} is not a record"
            raise CommandError(what, str(error), "the lines before it were sent") from None
        self.delivery.send(len(record.key or b"") + len(record.value or b""))
        arguments = self._arguments(number, record)
        while True:
            try:
                self.producer.produce(self.delivery.topic, **arguments)
            except BufferError:
                # The queue is full: wait for acknowledgements, then try the same record again.
                self.producer.poll(FLUSH_STEP_S)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.MSG_SIZE_TOO_LARGE:
                    raise
                raise self._too_long(number, len(line)) from None
            else:
                return

    def _too_long(self, number: int, size_bytes: int) -> CommandError:
        return CommandError(
            f"line {number} is too long for a record",
            f"it has {size_bytes} bytes, the limit is {self.record_bytes_max}",
            "the lines before it were sent; raise the limit with -X message.max.bytes=N "
            "and the topic's max.message.bytes",
        )

    def advice(self, timeout_s: float) -> str:
        """What to do about records that were refused."""
        if not self.has_unknown_partition:
            return "see: oncelog doctor"
        topic = self.delivery.topic
        with kafka_errors(f"cannot produce to {topic}"):
            there = self.producer.list_topics(topic, timeout=timeout_s).topics[topic].partitions
        return f"its last partition is {len(there) - 1}"

    def _arguments(self, number: int, record: InputRecord) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "key": record.key,
            "value": record.value,
            "headers": list(record.headers + self.headers),
            "on_delivery": partial(self._on_delivery, number),
        }
        partition = record.partition if self.partition is None else self.partition
        if partition is not None:
            arguments["partition"] = partition
        if record.timestamp_ms is not None:
            arguments["timestamp"] = record.timestamp_ms
        return arguments

    def _on_delivery(self, number: int, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._refuse(number, error, message)
            return
        self.delivery.acknowledge(message.partition() or 0, message.offset() or 0)
        if self.show is not None:
            self.show(message)

    def _refuse(self, number: int, error: KafkaError, message: Message) -> None:
        from confluent_kafka import KafkaError

        reason = explain(error)
        if error.code() == KafkaError._UNKNOWN_PARTITION:
            self.has_unknown_partition = True
            reason = f"{self.delivery.topic} has no partition {message.partition()}"
        elif error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            reason = f"line {number} is larger than the topic's max.message.bytes"
        unheard = (
            KafkaError._MSG_TIMED_OUT,
            KafkaError._TIMED_OUT,
            KafkaError._TRANSPORT,
            KafkaError.REQUEST_TIMED_OUT,
            KafkaError.NETWORK_EXCEPTION,
        )
        self.delivery.refuse(reason, doubtful=error.code() in unheard)


def _acknowledgement_printer(output: Output) -> Callable[[Message], None]:
    def show(message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        if output.as_json:
            output.json_line({"topic": message.topic(), "partition": partition, "offset": offset})
        else:
            output.text(f"{message.topic()} partition {partition} offset {offset}")

    return show


def _opened(file_name: str | None) -> Any:
    if file_name is None:
        if sys.stdin.isatty():
            click.echo("one record for each line; end with Ctrl-D", err=True)
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(file_name).open("rb")
    except OSError as error:
        raise CommandError(
            f"cannot read {file_name}", reason_of(error), exit_code=EXIT_USAGE
        ) from None


def _size_of(stream: BinaryIO) -> int | None:
    """The size of a file; none for a pipe, which shows a bar without an end."""
    try:
        return os.fstat(stream.fileno()).st_size or None
    except OSError:
        return None


def _encode(text: str | None) -> bytes | None:
    return None if text is None else text.encode()
