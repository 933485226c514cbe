"""`oncelog consume`: reads records and prints them.

Owns the loop over the partitions and when it ends. How a record looks is in `records`, where
reading starts is in `start_point`. Reads by assignment: no group is joined, no offset is committed.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

from oncelog.client import Target, explain, kafka_errors
from oncelog.errors import EXIT_OK, EXIT_USAGE, CommandError
from oncelog.options import json_option, target_options
from oncelog.output import Output
from oncelog.records import Columns, Headers, StoredRecord, record_as_json
from oncelog.start_point import StartKind, StartPoint, parse_start_point

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, TopicPartition

POLL_S: Final = 0.2
FETCH_WAIT_MS: Final = 10
FOLLOW_WAIT_MS: Final = 500
RECORDS_PER_POLL: Final = 500
NO_TIMESTAMP: Final = 0


@click.command()
@click.argument("topic")
@click.option(
    "--from",
    "start_text",
    default="beginning",
    show_default=True,
    metavar="WHERE",
    help="beginning, end, an offset, -N (the last N of each partition), "
    "@MILLISECONDS or a time such as 2026-01-31T12:00:00Z.",
)
@click.option(
    "-p",
    "--partition",
    "partitions",
    type=click.IntRange(min=0),
    multiple=True,
    help="Only this one; may be repeated.",
)
@click.option("-n", "--count", type=click.IntRange(min=1), help="Stop after so many records.")
@click.option("-e", "--exit-at-end", is_flag=True, help="Stop when everything has been read.")
@click.option("--read-committed", is_flag=True, help="Leave out open and aborted transactions.")
@click.option("-k", "--keys", is_flag=True, help="Show keys.")
@click.option("-H", "--headers", is_flag=True, help="Show headers.")
@click.option("-t", "--timestamps", is_flag=True, help="Show timestamps.")
@click.option("-o", "--offsets", is_flag=True, help="Show partitions and offsets.")
@click.option("--separator", default="\\t", metavar="TEXT", help="Between columns; default: a tab.")
@click.option("--null", "null_text", default="NULL", show_default=True, help="Shown for null.")
@target_options
@json_option
def command(
    topic: str,
    start_text: str,
    partitions: tuple[int, ...],
    count: int | None,
    exit_at_end: bool,
    read_committed: bool,
    target: Target,
    output: Output,
    separator: str,
    null_text: str,
    **shown: bool,
) -> int:
    """Read records of TOPIC and print their values, one on each line.

    Goes on until Ctrl-C unless --count or --exit-at-end is given. With --json each record is one
    JSON object on one line, with everything in it.

    \b
    Examples:
      oncelog consume greetings --exit-at-end
      oncelog consume orders --from -10 --keys --offsets --exit-at-end
      oncelog consume orders --from 2026-01-31T12:00:00Z --count 100 --json
    """
    start = _start_point(start_text)
    columns = Columns(
        separator=separator.replace("\\t", "\t").encode(), null=null_text.encode(), **shown
    )
    consumer = target.consumer(
        {
            "enable.partition.eof": True,
            # The end of a partition is seen when a fetch comes back empty; do not wait long for it.
            "fetch.wait.max.ms": FETCH_WAIT_MS if exit_at_end else FOLLOW_WAIT_MS,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed" if read_committed else "read_uncommitted",
        }
    )
    reader = Reader(
        target, consumer, _json_line if output.as_json else columns.render, count, exit_at_end
    )
    with kafka_errors(f"cannot consume {topic}"):
        try:
            reader.open = set(_partitions_of(consumer, topic, partitions, target.timeout_s))
            places = _places(consumer, topic, sorted(reader.open), start, target.timeout_s)
            consumer.assign(places)
            reader.run()
        finally:
            consumer.close()
    return EXIT_OK


@dataclass(slots=True)
class Reader:
    """Prints records until enough were read or every partition has come to its end."""

    target: Target
    consumer: Consumer
    render: Callable[[StoredRecord], bytes]
    count: int | None
    exit_at_end: bool
    # Partitions whose end has not been seen yet.
    open: set[int] = field(default_factory=set)
    records_read: int = 0

    def run(self) -> None:
        heard_s = time.monotonic()
        while not self._is_done():
            messages = self._wait_for_some()
            for message in messages:
                self._take(message)
            if messages:
                heard_s = time.monotonic()
                sys.stdout.buffer.flush()
            elif time.monotonic() - heard_s > self.target.timeout_s:
                # Silence is normal at the end of a topic. A broker that has gone is not.
                self.target.require_reachable()
                heard_s = time.monotonic()

    def _wait_for_some(self) -> list[Message]:
        """Waits for one and takes what is there; consume() alone would wait for a full list."""
        first = self.consumer.poll(POLL_S)
        if first is None:
            return []
        wanted = RECORDS_PER_POLL
        if self.count is not None:
            wanted = min(wanted, self.count - self.records_read - 1)
        return [first, *(self.consumer.consume(wanted, 0) if wanted > 0 else [])]

    def _is_done(self) -> bool:
        enough = self.count is not None and self.records_read >= self.count
        return enough or (self.exit_at_end and not self.open)

    def _take(self, message: Message) -> None:
        from confluent_kafka import KafkaError

        error = message.error()
        if error is None:
            self.records_read += 1
            sys.stdout.buffer.write(self.render(stored_record(message)) + b"\n")
        elif error.code() == KafkaError._PARTITION_EOF:
            self.open.discard(message.partition() or 0)
        else:
            raise CommandError(f"cannot read on in {message.topic()}", explain(error))


def stored_record(message: Message) -> StoredRecord:
    kind, timestamp_ms = message.timestamp()
    headers: Any = message.headers() or []
    pairs: Headers = tuple((name, value) for name, value in headers)
    return StoredRecord(
        topic=message.topic() or "",
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        timestamp_ms=None if kind == NO_TIMESTAMP else timestamp_ms,
        key=message.key(),
        value=message.value(),
        headers=pairs,
    )


def _json_line(record: StoredRecord) -> bytes:
    return json.dumps(record_as_json(record), ensure_ascii=False).encode()


def _start_point(text: str) -> StartPoint:
    try:
        return parse_start_point(text)
    except ValueError as error:
        raise CommandError("--from is not understood", str(error), exit_code=EXIT_USAGE) from None


def _partitions_of(
    consumer: Consumer, topic: str, wanted: tuple[int, ...], timeout_s: float
) -> list[int]:
    metadata = consumer.list_topics(topic, timeout=timeout_s).topics[topic]
    if metadata.error is not None:
        raise CommandError(
            f"cannot consume {topic}", explain(metadata.error), "see: oncelog topics list"
        )
    there = sorted(metadata.partitions)
    missing = sorted(set(wanted) - set(there))
    if missing:
        why = f"its last partition is {len(there) - 1}"
        raise CommandError(f"{topic} has no partition {missing[0]}", why)
    return list(wanted) or there


def _places(
    consumer: Consumer, topic: str, partitions: list[int], start: StartPoint, timeout_s: float
) -> list[TopicPartition]:
    """Where to start in each partition."""
    from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, TopicPartition

    if start.kind is StartKind.TIME:
        asked = [TopicPartition(topic, partition, start.number) for partition in partitions]
        return consumer.offsets_for_times(asked, timeout=timeout_s)
    if start.kind in (StartKind.BEGINNING, StartKind.END):
        logical = OFFSET_BEGINNING if start.kind is StartKind.BEGINNING else OFFSET_END
        return [TopicPartition(topic, partition, logical) for partition in partitions]
    places = []
    short: list[int] = []
    for partition in partitions:
        place = TopicPartition(topic, partition)
        low, high = consumer.get_watermark_offsets(place, timeout=timeout_s) or (0, 0)
        places.append(TopicPartition(topic, partition, start.offset_between(low, high)))
        if start.kind is StartKind.OFFSET and start.number > high:
            short.append(partition)
    if short:
        noun = "partition" if len(short) == 1 else "partitions"
        which = ", ".join(map(str, short))
        note = f"offset {start.number} is past the end of {noun} {which}; starting at the end"
        click.echo(f"oncelog: note: {note}", err=True)
    return places
