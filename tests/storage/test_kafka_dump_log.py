"""Kafka's own tool reads our segments and finds nothing wrong with our indexes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from protocol.compression import GZIP, NONE
from protocol.control_records import build_end_marker
from protocol.record_batch import read_header, set_base_offset_and_epoch
from protocol.records import Record, build_batch
from scripts.apache_kafka import java_command
from storage.filesystem import OsFilesystem
from storage.store import Store

pytestmark = pytest.mark.java

DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"
# The tool says that -1 is followed by the base offset of any segment but the first.
COMPLAINTS = re.compile(
    r"mismatch|not found|out of order|corrupt|exception|(?<! -1) is followed by", re.IGNORECASE
)


def filled(root: Path) -> int:
    """A log of two segments with all kinds of batches; returns how many."""
    store = Store.open(OsFilesystem(str(root)))
    list(store.replay())
    log = store.open_log("t-0")
    for number in range(80):
        timestamps = [1000 + number * 10 + (number % 7) * 9 + delta for delta in range(3)]
        records = [
            Record(delta, time - timestamps[0], b"k%d" % number, bytes(500))
            for delta, time in enumerate(timestamps)
        ]
        codec = GZIP if number % 5 == 0 else NONE
        batch = build_batch(records, base_timestamp=timestamps[0], codec=codec)
        if number % 9 == 8:
            batch = build_end_marker(number % 2 == 0, 7, 0, 0, timestamps[0])
        set_base_offset_and_epoch(batch, 0, log.log_end_offset, 0)
        header = read_header(batch)
        log.append(
            bytes(batch),
            header.base_offset,
            header.last_offset,
            header.max_timestamp,
            roll=number == 50,
        )
    store.checkpoint()
    store.close()
    return 80


def test_kafka_dump_log_reads_log_index_and_time_index(tmp_path: Path) -> None:
    batches = filled(tmp_path)
    files = sorted((tmp_path / "topics" / "t-0").iterdir())
    assert len(files) == 6
    command = [*java_command(DUMP_LOG), "--deep-iteration", "--files", ",".join(map(str, files))]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert not COMPLAINTS.search(ended.stdout + ended.stderr), ended.stdout[-3000:]
    assert ended.stdout.count("baseOffset:") == batches
    assert ended.stdout.count("isvalid: true") == batches
    assert len(re.findall(r"^offset: \d+ position: \d+", ended.stdout, re.MULTILINE)) > 5
    assert len(re.findall(r"^timestamp: \d+ offset: \d+", ended.stdout, re.MULTILINE)) > 5


def test_the_tool_would_complain_about_a_wrong_index(tmp_path: Path) -> None:
    filled(tmp_path)
    index = tmp_path / "topics" / "t-0" / f"{0:020d}.index"
    content = bytearray(index.read_bytes())
    content[3] += 1
    index.write_bytes(content)
    command = [*java_command(DUMP_LOG), "--files", str(index)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert COMPLAINTS.search(ended.stdout + ended.stderr)
