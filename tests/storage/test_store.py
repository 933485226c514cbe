"""The store: checkpoints, restarts, removed logs, full disks; and every call failing in turn."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from protocol.record_batch import set_base_offset_and_epoch
from protocol.records import Record, build_batch
from storage.checkpoint import TableChange
from storage.directory import partition_directory
from storage.errors import (
    BrokenInvariant,
    CorruptDirectory,
    CorruptSegment,
    StorageError,
    StorageFull,
)
from storage.filesystem import Filesystem, OsFilesystem
from storage.memory_filesystem import MemoryFilesystem
from storage.store import Store
from tests.storage.support.batches import opaque_batch
from tests.storage.support.failing_filesystem import FailingFilesystem, Fault, fail_from
from tests.storage.support.toy_broker import Model, ToyBroker, Workload, options

CHANGES = ["create", "write", "truncate", "allocate", "makedirs", "rename"]
SYNCS = ["fdatasync", "sync_directory"]


def opened(filesystem: Filesystem) -> Store:
    store = Store.open(filesystem, options())
    list(store.replay())
    return store


def append(store: Store, name: str, payload: bytes = b"", *, roll: bool = False) -> bytes:
    log = store.logs[name]
    base = log.log_end_offset
    batch = opaque_batch(base, 1, payload)
    log.append(batch, base, base, 1000, roll=roll)
    return batch


def content(store: Store, name: str) -> bytes:
    log = store.logs[name]
    data, offset = b"", log.log_start_offset
    while True:
        found = log.read(offset, 1000, 1 << 40, at_least_one=True, may_block=True)
        assert found is not None
        if not found.data:
            return data
        data, offset = data + bytes(found.data), found.next_offset


def test_a_checkpoint_replaces_the_journal(tmp_path: Path) -> None:
    for filesystem in (MemoryFilesystem(), OsFilesystem(str(tmp_path))):
        store = opened(filesystem)
        store.open_log("t-0")
        written = b"".join(append(store, "t-0", bytes(number)) for number in range(30))
        position = store.journal.append((b"entry",))
        store.checkpoint()
        store.close()
        again = Store.open(filesystem, options())
        again.open_log("t-0")
        assert list(again.replay()) == []
        assert again.journal.end == position
        assert content(again, "t-0") == written
        again.close()


def test_what_came_after_the_checkpoint_is_cut_and_replayed() -> None:
    filesystem = MemoryFilesystem()
    store = opened(filesystem)
    store.open_log("t-0")
    first = append(store, "t-0", b"first")
    store.checkpoint()
    append(store, "t-0", b"second")
    append(store, "t-0", b"third", roll=True)
    store.flush()
    store.close()
    again = Store.open(filesystem, options())
    again.open_log("t-0")
    assert content(again, "t-0") == first
    assert [name for name in filesystem.listdir("topics/t-0") if name.endswith(".log")] == [
        f"{0:020d}.log"
    ]


def test_rows_of_others_are_in_the_same_transaction() -> None:
    filesystem = MemoryFilesystem()
    broker = ToyBroker(filesystem)
    broker.store.checkpoint([TableChange("toy", (), [("entries", "5")])])
    broker.store.close()
    assert ToyBroker(filesystem).count == 5


def test_a_removed_log_is_unlinked_after_the_checkpoint_only() -> None:
    filesystem = MemoryFilesystem()
    store = opened(filesystem)
    log = store.open_log("t-0")
    append(store, "t-0")
    store.checkpoint()
    store.remove_log(log)
    assert filesystem.exists("topics/t-0")
    assert store.free_directory("t", 0) == "t-0.1"
    with pytest.raises(BrokenInvariant):
        store.open_log("t-0")
    store.checkpoint()
    assert not filesystem.exists("topics/t-0")
    assert store.free_directory("t", 0) == "t-0"


def test_a_directory_somebody_else_made_is_not_used() -> None:
    filesystem = MemoryFilesystem()
    store = opened(filesystem)
    filesystem.makedirs("topics/t-0")
    assert store.free_directory("t", 0) == "t-0.1"


def test_files_below_the_log_start_go_with_the_checkpoint() -> None:
    filesystem = MemoryFilesystem()
    store = opened(filesystem)
    log = store.open_log("t-0")
    for _ in range(3):
        append(store, "t-0", roll=True)
    store.checkpoint()
    log.set_log_start(2)
    assert len(filesystem.listdir("topics/t-0")) == 9
    store.checkpoint()
    assert len(filesystem.listdir("topics/t-0")) == 3
    store.close()
    again = Store.open(filesystem, options())
    assert again.open_log("t-0").log_start_offset == 2


def test_one_checkpoint_at_a_time() -> None:
    store = opened(MemoryFilesystem())
    plan = store.collect_checkpoint()
    with pytest.raises(BrokenInvariant):
        store.collect_checkpoint()
    store.write_checkpoint(plan)
    store.finish_checkpoint(plan)
    store.finish_checkpoint(store.collect_checkpoint())


def test_no_checkpoint_before_replay() -> None:
    store = Store.open(MemoryFilesystem(), options())
    with pytest.raises(BrokenInvariant):
        store.collect_checkpoint()


def test_work_goes_on_between_the_steps_of_a_checkpoint() -> None:
    filesystem = MemoryFilesystem()
    store = opened(filesystem)
    one, two = store.open_log("one-0"), store.open_log("two-0")
    for name in ("one-0", "two-0"):
        append(store, name, b"before")
    plan = store.collect_checkpoint()
    append(store, "one-0", b"between")
    append(store, "one-0", b"roll", roll=True)
    one.set_log_start(2)
    store.remove_log(two)
    store.flush()
    store.write_checkpoint(plan)
    append(store, "one-0", b"after")
    store.finish_checkpoint(plan)
    store.flush()
    kept = content(store, "one-0")
    store.checkpoint()
    store.close()
    again = Store.open(filesystem, options())
    log = again.open_log("one-0")
    assert (log.log_start_offset, log.log_end_offset) == (2, 4)
    assert content(again, "one-0") == kept
    assert filesystem.listdir("topics") == ["one-0"]


def test_the_journal_is_released_by_checkpoints() -> None:
    filesystem = MemoryFilesystem()
    store = opened(filesystem)
    for _ in range(10):
        for _ in range(10):
            store.journal.append((bytes(200),))
        store.checkpoint()
        assert len(filesystem.listdir("journal")) <= 3


def test_a_lost_checkpoint_is_noticed() -> None:
    filesystem = MemoryFilesystem()
    store = opened(filesystem)
    for _ in range(10):
        store.journal.append((bytes(200),))
    store.checkpoint()
    store.close()
    del filesystem.databases["state.sqlite"]
    before = {path: bytes(file.content) for path, file in filesystem.files.items()}
    with pytest.raises(CorruptDirectory, match=r"state\.sqlite: the file is missing"):
        opened(filesystem)
    assert filesystem.databases == {}
    assert {path: bytes(file.content) for path, file in filesystem.files.items()} == before


def test_a_directory_of_somebody_else_is_left_alone() -> None:
    filesystem = MemoryFilesystem()
    filesystem.open("thesis.txt", create=True).pwritev((b"mine",), 0)
    with pytest.raises(StorageError, match=r"not empty \(there is thesis\.txt\)"):
        opened(filesystem)
    assert set(filesystem.listdir(".")) <= {"thesis.txt", "lock"}


@pytest.mark.parametrize("damage", ["missing", "short", "no directory"])
def test_a_damaged_segment_is_named(damage: str) -> None:
    filesystem = MemoryFilesystem()
    store = opened(filesystem)
    store.open_log("t-0")
    append(store, "t-0")
    store.checkpoint()
    store.close()
    path = f"topics/t-0/{0:020d}.log"
    match damage:
        case "missing":
            filesystem.unlink(path)
        case "short":
            filesystem.files[path].truncate(60)
        case "no directory":
            filesystem.rmtree("topics/t-0")
    with pytest.raises(CorruptSegment, match="topics/t-0"):
        Store.open(filesystem, options()).open_log("t-0")


def test_a_bad_index_is_rebuilt_and_saved_by_the_next_checkpoint() -> None:
    filesystem = MemoryFilesystem()
    store = opened(filesystem)
    store.open_log("t-0")
    for number in range(20):
        append(store, "t-0", bytes(900), roll=number == 10)
    store.checkpoint()
    store.close()
    path = f"topics/t-0/{0:020d}.index"
    good = filesystem.read_bytes(path)
    assert good
    filesystem.files[path].content[:] = bytes(len(good))
    again = opened_with_log(filesystem)
    content(again, "t-0")
    again.checkpoint()
    assert filesystem.read_bytes(path) == good


@pytest.mark.parametrize("upper", [40, 25, 13])
def test_no_flipped_bit_of_an_index_changes_what_is_read(upper: int) -> None:
    """Reads are right or, at worst, rebuild the index first."""
    filesystem = MemoryFilesystem()
    store = opened(filesystem)
    store.open_log("t-0")
    batches = [append(store, "t-0", bytes([number]) * 900) for number in range(40)]
    store.checkpoint()
    store.close()
    path = f"topics/t-0/{0:020d}.index"
    good = filesystem.read_bytes(path)
    for bit in range(len(good) * 8):
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << (bit % 8)
        filesystem.files[path].content = damaged
        log = opened_with_log(filesystem).logs["t-0"]
        for offset in range(0, upper, 7):
            found = log.read(offset, 9000, upper, at_least_one=True, may_block=True)
            assert found is not None
            count = found.next_offset - offset
            assert bytes(found.data) == b"".join(batches[offset : offset + count])
            assert 0 < count <= upper - offset
        filesystem._locked.clear()


def test_no_flipped_bit_of_a_time_index_changes_what_is_found() -> None:
    filesystem = MemoryFilesystem()
    store = opened(filesystem)
    log = store.open_log("t-0")
    for number in range(40):
        batch = build_batch([Record(0, 0, None, bytes(900))], base_timestamp=1000 + 10 * number)
        set_base_offset_and_epoch(batch, 0, number, 0)
        log.append(bytes(batch), number, number, 1000 + 10 * number, roll=False)
    store.checkpoint()
    store.close()
    path = f"topics/t-0/{0:020d}.timeindex"
    good = filesystem.read_bytes(path)
    for bit in range(0, len(good) * 8, 5):
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << (bit % 8)
        filesystem.files[path].content = damaged
        log = opened_with_log(filesystem).logs["t-0"]
        for number in range(0, 40, 3):
            assert log.offset_for_timestamp(995 + 10 * number, 99) == (number, 1000 + 10 * number)
        filesystem._locked.clear()


def opened_with_log(filesystem: Filesystem) -> Store:
    store = Store.open(filesystem, options())
    store.open_log("t-0")
    list(store.replay())
    return store


def test_opening_fails_without_leaving_the_lock() -> None:
    filesystem = MemoryFilesystem()
    filesystem.databases["state.sqlite"] = b"garbage" * 1000
    filesystem.write_atomic(
        "meta.json",
        b'{"format": 1, "cluster_id": "AAAAAAAAAAAAAAAAAAAAAA", "node_id": 1, "created": ""}',
    )
    for _ in range(2):
        with pytest.raises(StorageError, match=r"state\.sqlite"):
            Store.open(filesystem, options())


# ---- disks that fill up or fail -----------------------------------------------------------------


def test_logs_that_cannot_be_written_hold_the_checkpoint_back() -> None:
    filesystem = FailingFilesystem()
    store = opened(filesystem)
    store.open_log("t-0")
    filesystem.fault = fail_from(1, errno.ENOSPC, ["write", "create"], once=False)
    batch = append(store, "t-0")
    store.flush()
    assert store.is_full
    with pytest.raises(StorageFull):
        store.checkpoint()
    filesystem.fault = None
    store.checkpoint()
    assert not store.is_full
    assert content(store, "t-0") == batch


def test_an_abandoned_checkpoint_is_made_up_for() -> None:
    filesystem = FailingFilesystem()
    store = opened(filesystem)
    kept, gone = store.open_log("kept-0"), store.open_log("gone-0")
    for number in range(12):
        append(store, "kept-0", bytes(1000), roll=number == 6)
        append(store, "gone-0")
    store.checkpoint()
    kept.set_log_start(8)
    store.remove_log(gone)
    append(store, "kept-0", bytes(1000))
    append(store, "kept-0", bytes(1000), roll=True)
    store.flush()
    filesystem.fault = lambda kind, path: (
        errno.ENOSPC if kind in ("create", "write") and "index" in path else None
    )
    with pytest.raises(StorageFull):
        store.checkpoint()
    filesystem.fault = None
    wanted = content(store, "kept-0")
    store.checkpoint()
    store.close()
    again = Store.open(filesystem, options())
    assert again.open_log("kept-0").log_start_offset == 8
    assert content(again, "kept-0") == wanted
    assert filesystem.listdir("topics") == ["kept-0"]


def run(broker: ToyBroker, model: Model, steps: int) -> int:
    """Entries that a full disk refuses are left out; returns how many were."""
    workload = Workload(7)
    refused = 0
    for step in range(steps):
        entry = workload.entry(broker)
        if not entry:
            continue
        try:
            broker.take(entry)
        except StorageFull:
            refused += 1
            continue
        model.apply(entry)
        broker.sync()
        if step % 7 == 6:
            try:
                broker.checkpoint()
            except StorageFull:
                refused += 1
    return refused


def recovered_matches(filesystem: FailingFilesystem, model: Model, acknowledged: int) -> None:
    again = ToyBroker(filesystem.crashed())
    assert again.count >= acknowledged
    assert again.view() == model.view(again.count)
    again.check_indexes()


def no_space_from(number: int) -> Fault:
    """The journal's own files are allocated in full, so writes to them find their space."""
    full = fail_from(number, errno.ENOSPC, CHANGES, once=False)
    return lambda kind, path: (
        None if kind == "write" and path.startswith("journal/") else full(kind, path)
    )


def test_a_disk_full_at_any_call_refuses_and_goes_on() -> None:
    number = 0
    refused = 1
    while refused:
        number += 1
        filesystem = FailingFilesystem()
        broker, model = ToyBroker(filesystem), Model()
        filesystem.fault = no_space_from(number)
        refused = run(broker, model, 30)
        assert broker.view() == model.view(broker.count) or broker.store.is_full
        filesystem.fault = None
        broker.store.flush()
        assert broker.view() == model.view(broker.count)
        assert run(broker, model, 10) == 0
        assert not broker.store.is_full
        assert broker.view() == model.view(broker.count)
        recovered_matches(filesystem, model, broker.count)
        if not any(kind in CHANGES for kind, _ in filesystem.asked[number:]):
            break
    assert number > 50


@pytest.mark.parametrize("kinds", [[*CHANGES, "unlink"], SYNCS])
def test_a_disk_that_fails_at_any_call_ends_it_and_nothing_is_lost(kinds: list[str]) -> None:
    number = 0
    while True:
        number += 1
        filesystem = FailingFilesystem()
        broker, model = ToyBroker(filesystem), Model()
        filesystem.fault = fail_from(number, errno.EIO, kinds, once=True)
        acknowledged = 0
        try:
            for _ in range(6):
                run(broker, model, 8)
                acknowledged = broker.count
        except OSError as error:
            assert error.errno == errno.EIO  # noqa: PT017
        else:
            break
        recovered_matches(filesystem, model, acknowledged)
    assert number > 50


def test_directory_names_of_the_longest_topic_fit_a_file_system() -> None:
    for attempt in (0, 1, 99_999):
        assert len(partition_directory("t" * 249, 9_999, attempt)) <= 255
