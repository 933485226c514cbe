"""`oncelog produce` and `oncelog consume` against a broker: what goes in comes out."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from oncelog.client import TOPIC_NAME_RULE
from tests.support.broker_process import BrokerProcess
from tests.support.command_line import oncelog, succeed

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def read(bootstrap: str, topic: str, *flags: str) -> bytes:
    return succeed("consume", topic, "--exit-at-end", *flags, "--bootstrap", bootstrap).stdout


def write(bootstrap: str, topic: str, lines: bytes, *flags: str) -> None:
    succeed("produce", topic, "--partition", "0", *flags, "--bootstrap", bootstrap, stdin=lines)


@pytest.mark.parametrize("codec", CODECS)
def test_lines_come_back_byte_for_byte(bootstrap: str, topic: str, codec: str) -> None:
    lines = b"one\n\n\xff\x00\xfe\nlast\r\n" + b"x" * 5000 + b"\n"
    write(bootstrap, topic, lines, "--codec", codec)
    assert read(bootstrap, topic) == lines


def test_a_file_is_read_and_a_last_line_without_newline_counts(
    bootstrap: str, topic: str, tmp_path: Path
) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"a\nb")
    write(bootstrap, topic, b"", "--file", str(file))
    assert read(bootstrap, topic) == b"a\nb\n"


def test_keys_headers_offsets_and_nulls_are_shown(bootstrap: str, topic: str) -> None:
    flags = ("--key-separator", ":", "--null", "-", "--header", "h=1", "--header", "i=2")
    write(bootstrap, topic, b"k:v\n-:w\nx:-\n", *flags)
    shown = read(bootstrap, topic, "--keys", "--headers", "--offsets", "--separator", "|")
    assert shown == b"0:0|h=1,i=2|k|v\n0:1|h=1,i=2|NULL|w\n0:2|h=1,i=2|x|NULL\n"


def test_json_out_is_json_in(bootstrap: str, topic: str) -> None:
    records: list[dict[str, Any]] = [
        {"key": None, "value": "v", "headers": [], "timestamp_ms": 1_700_000_000_000},
        {"key": {"base64": "/w=="}, "value": None, "headers": [["a", None], ["a", "b"]]},
        {"key": "", "value": "", "headers": [["", ""]]},
    ]
    lines = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    write(bootstrap, topic, lines, "--input", "json")
    first = [json.loads(line) for line in read(bootstrap, topic, "--json").splitlines()]
    for record, found in zip(records, first, strict=True):
        assert {name: found[name] for name in record} == record
    copied = read(bootstrap, topic, "--json")
    write(bootstrap, topic + "-copy", copied, "--input", "json")
    again = [json.loads(line) for line in read(bootstrap, topic + "-copy", "--json").splitlines()]
    assert [{**found, "topic": topic} for found in again] == first


def test_produce_says_where_records_went(bootstrap: str, topic: str) -> None:
    where = ("--partition", "0", "--bootstrap", bootstrap)
    said = succeed("produce", topic, "--json", *where, stdin=b"a\nbc\n").document
    assert (said["sent"], said["acknowledged"], said["failed"], said["bytes"]) == (2, 2, 0, 3)
    assert said["partitions"] == [
        {"partition": 0, "records": 2, "first_offset": 0, "last_offset": 1}
    ]
    lines = succeed("produce", topic, "--json", "--verbose", *where, stdin=b"d\n").documents
    assert lines[0] == {"topic": topic, "partition": 0, "offset": 2}
    assert lines[1]["acknowledged"] == 1
    text = succeed("produce", topic, "--verbose", *where, stdin=b"e\n").out
    assert text.startswith(f"{topic} partition 0 offset 3\n1 record acknowledged in 1 partition")


def test_a_record_that_is_too_large_fails_with_its_reason(bootstrap: str, topic: str) -> None:
    flags = ("--bootstrap", bootstrap, "-X", "message.max.bytes=2000000")
    said = oncelog("produce", topic, *flags, stdin=b"x" * 1_500_000 + b"\n")
    assert said.exit_code == 1
    assert "1 of 1 record was not written: line 1 is larger than the topic's " in said.err


def test_a_line_longer_than_a_record_may_be_is_named_with_the_limit(
    bootstrap: str, topic: str
) -> None:
    flags = ("--partition", "0", "--bootstrap", bootstrap, "-X", "message.max.bytes=1000")
    said = oncelog("produce", topic, *flags, stdin=b"a\n" + b"x" * 2000 + b"\nb\n")
    assert said.exit_code == 1
    why = "it has 2000 bytes, the limit is 1000"
    assert said.err.startswith(f"oncelog: line 2 is too long for a record: {why}; ")
    assert read(bootstrap, topic) == b"a\n"


def test_produce_says_what_is_wrong_with_a_name_or_a_partition(bootstrap: str, topic: str) -> None:
    said = oncelog("produce", "bad name", "--bootstrap", bootstrap, stdin=b"a\n")
    assert (said.exit_code, said.out.startswith("0 records acknowledged, ")) == (1, True)
    assert f"1 of 1 record was not written: {TOPIC_NAME_RULE}" in said.err
    flags = ("--partitions", "2", "--bootstrap", bootstrap)
    succeed("topics", "create", topic, *flags)
    said = oncelog("produce", topic, "-p", "99", "--bootstrap", bootstrap, stdin=b"a\n")
    assert said.exit_code == 1
    assert said.err.endswith(f": {topic} has no partition 99; its last partition is 1\n")


def test_a_line_that_is_not_json_stops_after_the_good_ones(bootstrap: str, topic: str) -> None:
    flags = ("--input", "json", "--bootstrap", bootstrap)
    said = oncelog("produce", topic, *flags, stdin=b'{"value": "good"}\nbad\n')
    assert said.exit_code == 1
    assert said.err.startswith("oncelog: line 2 is not a record: not JSON")
    assert read(bootstrap, topic) == b"good\n"


@pytest.fixture(scope="module")
def five_records(bootstrap: str) -> str:
    """A topic with the records 0 to 4 in partition 0, one millisecond apart."""
    topic = f"five-records-{os.urandom(4).hex()}"
    lines = [json.dumps({"value": str(i), "timestamp_ms": 1_700_000_000_000 + i}) for i in range(5)]
    # One record a batch, so that a batch's timestamp is that of its record.
    flags = ("--input", "json", "-X", "batch.num.messages=1")
    write(bootstrap, topic, "\n".join(lines).encode(), *flags)
    return topic


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("beginning", b"0\n1\n2\n3\n4\n"),
        ("end", b""),
        ("3", b"3\n4\n"),
        ("5", b""),
        ("-2", b"3\n4\n"),
        ("-99", b"0\n1\n2\n3\n4\n"),
        ("@1700000000002", b"2\n3\n4\n"),
        ("2023-11-14T22:13:20.003Z", b"3\n4\n"),
        ("2099-01-01", b""),
    ],
)
def test_reading_starts_where_it_is_told_to(
    bootstrap: str, five_records: str, start: str, expected: bytes
) -> None:
    assert read(bootstrap, five_records, "--partition", "0", "--from", start) == expected


def test_a_start_past_the_end_is_noted(bootstrap: str, five_records: str) -> None:
    flags = ("--partition", "0", "--from", "99", "--exit-at-end", "--bootstrap", bootstrap)
    said = oncelog("consume", five_records, *flags)
    assert (said.exit_code, said.out) == (0, "")
    note = "offset 99 is past the end of partition 0; starting at the end"
    assert said.err == f"oncelog: note: {note}\n"


def test_a_record_that_was_damaged_on_disk_is_an_error_and_is_not_shown(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        write(broker.bootstrap, "t", b"precious\n")
        for file in (tmp_path / "data").rglob("*"):
            if file.is_file() and b"precious" in (found := file.read_bytes()):
                with file.open("r+b") as stream:
                    stream.seek(found.index(b"precious"))
                    stream.write(b"P")
        said = oncelog("consume", "t", "--exit-at-end", "--bootstrap", broker.bootstrap)
    assert said.exit_code == 1
    assert said.out == ""


def test_count_ends_after_so_many_records(bootstrap: str, topic: str) -> None:
    write(bootstrap, topic, b"a\nb\nc\n")
    said = succeed("consume", topic, "--count", "2", "--bootstrap", bootstrap)
    assert said.stdout == b"a\nb\n"


def test_all_partitions_are_read(bootstrap: str, topic: str) -> None:
    succeed("topics", "create", topic, "--partitions", "3", "--bootstrap", bootstrap)
    for partition in ("0", "1", "2"):
        flags = ("--partition", partition, "--bootstrap", bootstrap)
        succeed("produce", topic, *flags, stdin=partition.encode())
    assert sorted(read(bootstrap, topic).split()) == [b"0", b"1", b"2"]
    assert read(bootstrap, topic, "-p", "2", "-p", "0", "--offsets").count(b"\n") == 2


def test_committed_records_are_read_with_read_committed(bootstrap: str, topic: str) -> None:
    write(bootstrap, topic, b"a\n")
    assert read(bootstrap, topic, "--read-committed") == b"a\n"


def test_a_topic_or_partition_that_is_not_there_is_one_line(bootstrap: str, topic: str) -> None:
    said = oncelog("consume", topic, "--bootstrap", bootstrap)
    assert said.exit_code == 1
    assert said.err.startswith(f"oncelog: cannot consume {topic}: ")
    write(bootstrap, topic, b"a\n")
    said = oncelog("consume", topic, "--partition", "99", "--bootstrap", bootstrap)
    assert said.exit_code == 1
    assert said.err.startswith(f"oncelog: {topic} has no partition 99: its last partition is ")
