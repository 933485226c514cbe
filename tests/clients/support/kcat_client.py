"""kcat (librdkafka on the command line) as a client of these tests."""

import itertools
import subprocess
from collections.abc import Sequence

from tests.clients.support.client import CODECS, DEADLINE_SECONDS
from tests.clients.support.records import KEY_END, RECORD_END, Headers, Record, kcat_records

# Lengths come first: key and value are then taken by length, whatever bytes they hold.
FORMAT = r"%K %S %o \x1f%k%s%h\x1e"


class KcatClient:
    """kcat sends one set of headers per run, so a list of records may take several runs."""

    name = "kcat"
    codecs = CODECS

    def records(self, count: int) -> Sequence[Record]:
        return kcat_records(count)

    def produce(
        self, bootstrap: str, topic: str, codec: str, partitions: Sequence[Sequence[Record]]
    ) -> None:
        for partition, records in enumerate(partitions):
            for headers, group in itertools.groupby(records, lambda record: record.headers):
                place = ["-t", topic, "-p", str(partition)]
                self._produce_run(bootstrap, [*place, "-z", codec], headers, list(group))

    def _produce_run(
        self, bootstrap: str, place: list[str], headers: Headers, records: list[Record]
    ) -> None:
        flags = ["-P", "-D", r"\x1e", "-K", r"\x1f", "-X", "enable.idempotence=true"]
        if any(record.key is None or record.value is None for record in records):
            if any(record.key == b"" or record.value == b"" for record in records):
                raise AssertionError("kcat cannot send nulls and empty ones in one run")
            flags.append("-Z")
        for name, value in headers:
            flags += ["-H", f"{name}={(value or b'').decode()}"]
        lines = [(record.key or b"") + KEY_END + (record.value or b"") for record in records]
        self._run(bootstrap, [*flags, *place], RECORD_END.join(lines))

    def consume(self, bootstrap: str, topic: str, counts: Sequence[int]) -> list[list[Record]]:
        return [
            self._consume_partition(bootstrap, topic, partition, count)
            for partition, count in enumerate(counts)
        ]

    def _consume_partition(
        self, bootstrap: str, topic: str, partition: int, count: int
    ) -> list[Record]:
        place = ["-t", topic, "-p", str(partition), "-o", "beginning", "-c", str(count)]
        printed = self._run(bootstrap, ["-C", "-q", "-e", *place, "-f", FORMAT], b"")
        found: list[Record] = []
        at = 0
        while at < len(printed):
            record, offset, at = parse(printed, at)
            if offset != len(found):
                raise AssertionError(f"offset {offset} instead of {len(found)}")
            found.append(record)
        return found

    def _run(self, bootstrap: str, arguments: list[str], given: bytes) -> bytes:
        command = ["kcat", "-b", bootstrap, *arguments]
        ended = subprocess.run(
            command, input=given, capture_output=True, timeout=DEADLINE_SECONDS, check=False
        )
        if ended.returncode != 0:
            raise AssertionError(f"kcat ended with {ended.returncode}: {ended.stderr!r}")
        return ended.stdout


def parse(printed: bytes, at: int) -> tuple[Record, int, int]:
    """The record printed at a position, its offset, and where the next one begins."""
    fields_end = printed.index(KEY_END, at)
    key_length, value_length, offset = map(int, printed[at:fields_end].split())
    at = fields_end + 1
    key = None if key_length < 0 else printed[at : at + key_length]
    at += max(key_length, 0)
    value = None if value_length < 0 else printed[at : at + value_length]
    at += max(value_length, 0)
    end = printed.index(RECORD_END, at)
    return Record(key, value, parse_headers(printed[at:end])), offset, end + 1


def parse_headers(printed: bytes) -> Headers:
    """name=value, separated by commas; no value here holds one."""
    if not printed:
        return ()
    pairs = [one.partition(b"=") for one in printed.split(b",")]
    return tuple((name.decode(), None if value == b"NULL" else value) for name, _, value in pairs)
