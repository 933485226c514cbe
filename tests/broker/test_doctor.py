"""Doctor: finds what is wrong with a data directory, names it, and changes nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from broker import checkpoint_tables
from broker.batch_intake import only_batch, take_batch
from broker.broker import Broker
from broker.doctor import ERROR, OK, Finding, examine
from broker.durability import Durability
from broker.recovery import recover
from broker.settings import Settings
from broker.topic_changes import TopicPlan, create_topic
from protocol.records import Record, build_batch
from storage.filesystem import OsFilesystem

BATCHES = 20


def fail(error: BaseException) -> None:
    raise AssertionError from error


@pytest.fixture(params=["checkpoint", "journal only"])
def data_dir(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A directory with one topic of twenty batches, left by a clean stop or by a crash."""
    settings = Settings(data_dir=str(tmp_path), journal_file_bytes=64 * 1024)
    state = recover(settings, OsFilesystem(str(tmp_path)))
    loop = asyncio.new_event_loop()
    durability = Durability(state, loop, None, fail)
    broker = Broker(settings, state, durability)
    topic = create_topic(broker, TopicPlan("events", 1, {}))
    for number in range(BATCHES):
        batch = build_batch([Record(0, 0, None, b"value %d" % number, ())], base_timestamp=1)
        take_batch(broker, topic.partitions[0], *only_batch(memoryview(batch)))
        durability.flush()
        state.store.journal.sync()
    if request.param == "checkpoint":
        state.store.checkpoint(checkpoint_tables.collect(state))
    state.store.close()
    loop.close()
    return tmp_path


def contents(directory: Path) -> dict[str, bytes]:
    """Every file but the lock, which says who held it, and what SQLite keeps beside its file."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != "lock" and not path.name.endswith(("-shm", "-wal"))
    }


def errors(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity == ERROR]


def test_a_healthy_directory_is_well_and_stays_as_it_is(data_dir: Path) -> None:
    before = contents(data_dir)
    findings = examine(str(data_dir))
    assert {finding.severity for finding in findings} == {OK}
    assert "topics: 1, partitions: 1" in findings[0].what
    assert "producers" in findings[1].what
    assert contents(data_dir) == before


@pytest.mark.parametrize("data_dir", ["checkpoint"], indirect=True)
def test_a_flipped_bit_in_a_log_is_found_with_its_offset(data_dir: Path) -> None:
    log = next(data_dir.glob("topics/events-0/*.log"))
    data = bytearray(log.read_bytes())
    data[-3] ^= 1
    log.write_bytes(data)
    (found,) = errors(examine(str(data_dir)))
    assert found.where.endswith(f"offset {BATCHES - 1}")
    assert "checksum" in found.what


@pytest.mark.parametrize("data_dir", ["journal only"], indirect=True)
def test_a_flipped_bit_in_a_proven_journal_entry_is_found(data_dir: Path) -> None:
    journal = next(data_dir.glob("journal/*.wal"))
    data = bytearray(journal.read_bytes())
    data[data.index(b"value 3")] ^= 1
    journal.write_bytes(data)
    (found,) = errors(examine(str(data_dir)))
    assert journal.name in found.where
    assert "byte" in found.where


def test_a_missing_directory_and_foreign_files_are_told(tmp_path: Path) -> None:
    assert "no such directory" in examine(str(tmp_path / "none"))[0].what
    assert examine(str(tmp_path))[0].severity == OK
    (tmp_path / "thesis.txt").write_text("mine")
    assert "not empty" in examine(str(tmp_path))[0].what


def test_a_garbled_description_is_named(data_dir: Path) -> None:
    (data_dir / "meta.json").write_text("{")
    (finding,) = examine(str(data_dir))
    assert finding.severity == ERROR
    assert "meta.json" in finding.where


def test_a_newer_format_is_refused_by_name(data_dir: Path) -> None:
    meta = (data_dir / "meta.json").read_text().replace('"format": 1', '"format": 99')
    (data_dir / "meta.json").write_text(meta)
    (finding,) = examine(str(data_dir))
    assert "format 99" in finding.what


def test_a_directory_in_use_is_told_with_the_process(data_dir: Path) -> None:
    lock = OsFilesystem(str(data_dir)).lock("lock")
    try:
        (finding,) = examine(str(data_dir))
    finally:
        lock.close()
    assert "in use" in finding.what
