"""The journal: what goes in comes out, over files, restarts, damage and full disks."""

from __future__ import annotations

import errno
import random
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.errors import BrokenInvariant, CorruptJournal, StorageFull
from storage.filesystem import Filesystem, OsFilesystem
from storage.journal import ENTRY_BYTES_MAX, Journal, JournalOptions
from storage.journal_format import ENTRY_HEADER_BYTES, FILE_HEADER_BYTES
from storage.memory_filesystem import MemoryFilesystem
from tests.storage.support.failing_filesystem import FailingFilesystem, fail_from

ROOM_BYTES = 400
_salts = random.Random(1)


def open_journal(
    filesystem: Filesystem, room: int = ROOM_BYTES, spare_files_max: int = 2
) -> Journal:
    return Journal(
        filesystem,
        JournalOptions(FILE_HEADER_BYTES + room, spare_files_max, _salts.randbytes),
    )


def bodies(journal: Journal, start: int = 0, first_number: int = 1) -> list[bytes]:
    return [bytes(body) for _, body in journal.replay(start, first_number)]


def write(journal: Journal, entries: Sequence[bytes], *, sync: bool = True) -> list[int]:
    ends = [journal.append((entry,)) for entry in entries]
    journal.flush()
    if sync:
        journal.mark_durable(journal.sync())
    return ends


def new_journal(filesystem: Filesystem, room: int = ROOM_BYTES) -> Journal:
    journal = open_journal(filesystem, room)
    assert bodies(journal) == []
    return journal


def wal_files(filesystem: Filesystem) -> list[str]:
    return [name for name in filesystem.listdir("journal") if name.endswith(".wal")]


@given(
    st.lists(st.lists(st.binary(max_size=150), max_size=6), max_size=6),
    st.integers(min_value=60, max_value=300),
)
@settings(max_examples=60, deadline=None)
def test_entries_come_back_in_order_over_restarts(runs: list[list[bytes]], room: int) -> None:
    filesystem = MemoryFilesystem()
    written: list[bytes] = []
    for entries in runs:
        journal = open_journal(filesystem, room)
        assert bodies(journal) == written
        assert journal.end == sum(len(entry) + ENTRY_HEADER_BYTES for entry in written)
        write(journal, entries)
        written += entries
        journal.close()
    assert bodies(open_journal(filesystem, room)) == written


def test_parts_are_one_entry_and_positions_count_all_bytes() -> None:
    filesystem = MemoryFilesystem()
    journal = new_journal(filesystem)
    end = journal.append((b"ab", bytearray(b"cd"), memoryview(b"ef")))
    assert end == journal.end == ENTRY_HEADER_BYTES + 6
    journal.flush()
    assert journal.durable == 0
    assert journal.sync() == end
    assert journal.durable == 0
    journal.mark_durable(end)
    assert journal.durable == end
    assert bodies(open_journal(filesystem)) == [b"abcdef"]


def test_what_is_not_flushed_is_not_durable() -> None:
    journal = new_journal(MemoryFilesystem())
    write(journal, [b"first"])
    journal.append((b"second",))
    assert journal.sync() < journal.end


def test_replay_can_start_at_any_entry() -> None:
    filesystem = MemoryFilesystem()
    journal = new_journal(filesystem)
    entries = [bytes([65 + number]) * 90 for number in range(12)]
    ends = write(journal, entries)
    numbers = [journal.number_of(end) for end in [0, *ends]]
    journal.close()
    for count, start in enumerate([0, *ends]):
        again = open_journal(filesystem)
        assert bodies(again, start, numbers[count]) == entries[count:]
        assert again.end == ends[-1]
        again.close()


def test_an_entry_larger_than_a_file_gets_its_own() -> None:
    filesystem = MemoryFilesystem()
    journal = new_journal(filesystem)
    journal.prepare_next()
    entries = [b"small", b"x" * (ROOM_BYTES * 5), b"small again", b"y" * (ROOM_BYTES * 2)]
    write(journal, entries)
    journal.close()
    assert bodies(open_journal(filesystem)) == entries


def test_a_file_that_an_oversized_entry_passed_over_is_released_too() -> None:
    filesystem = MemoryFilesystem()
    journal = new_journal(filesystem)
    for _ in range(5):
        journal.prepare_next()
        ends = write(journal, [b"x" * (ROOM_BYTES * 3), b"small"])
        journal.release(journal.number_of(ends[-1]))
    assert len(filesystem.listdir("journal")) <= 3


def test_an_entry_beyond_the_limit_is_refused() -> None:
    journal = new_journal(MemoryFilesystem())
    with pytest.raises(BrokenInvariant):
        journal.append((bytes(ENTRY_BYTES_MAX),))
    assert journal.end == 0


def test_appending_before_replay_is_refused() -> None:
    with pytest.raises(BrokenInvariant):
        open_journal(MemoryFilesystem()).append((b"x",))


def test_a_large_queue_goes_out_in_bounded_writes() -> None:
    filesystem = FailingFilesystem()
    journal = new_journal(filesystem, room=8 << 20)
    filesystem.asked.clear()
    entries = [b"a" * (3 << 20), *[b"b"] * 1500]
    write(journal, entries)
    writes = [path for kind, path in filesystem.asked if kind == "write"]
    assert len(writes) >= 5
    journal.close()
    assert bodies(open_journal(filesystem, room=8 << 20)) == entries


def test_released_files_become_spares_and_are_used_again() -> None:
    filesystem = MemoryFilesystem()
    journal = new_journal(filesystem)
    entry = b"x" * 300
    end, number = 0, 1
    for _ in range(20):
        (end,) = write(journal, [entry])
        number = journal.number_of(end)
        journal.release(number)
    names = filesystem.listdir("journal")
    assert len(names) <= 3, names
    journal.close()
    again = open_journal(filesystem)
    assert bodies(again, end, number) == []
    assert again.end == end


def test_a_file_that_is_left_while_a_checkpoint_asks_is_not_given_away() -> None:
    journal = new_journal(MemoryFilesystem())
    position = write(journal, [b"x" * 100])[0]
    write(journal, [b"needed"])

    class LeftMeanwhile(deque[object]):
        def __iter__(self) -> Iterator[object]:
            seen = list(super().__iter__())
            if not seen:
                journal.append((b"y" * 300,))
            return iter(seen)

    journal._old = LeftMeanwhile(journal._old)  # type: ignore[assignment]
    assert journal.number_of(position) == 1
    assert journal.number_of(position) == 1


def test_leftovers_of_an_earlier_life_are_never_read() -> None:
    """Same lengths, same places: only the salt tells the new entries from the old."""
    filesystem = MemoryFilesystem()
    journal = new_journal(filesystem)
    for _ in range(3):
        ends = write(journal, [b"old" * 30] * 3)
        journal.release(journal.number_of(ends[-1]))
    ends = write(journal, [b"new" * 30])
    start, number = ends[-1], journal.number_of(ends[-1])
    journal.close()
    again = open_journal(filesystem)
    assert bodies(again, start, number) == []


def test_a_torn_tail_ends_the_replay_and_stays_dead() -> None:
    """The entry behind the torn one is valid, and the new one is as long as the torn one."""
    filesystem = MemoryFilesystem()
    journal = new_journal(filesystem)
    write(journal, [b"kept"])
    write(journal, [b"torn", b"dead"], sync=False)
    journal.close()
    path = "journal/0000000001.wal"
    torn_at = FILE_HEADER_BYTES + ENTRY_HEADER_BYTES + 4
    filesystem.files[path].pwritev((bytes(10),), torn_at)
    second = open_journal(filesystem)
    assert bodies(second) == [b"kept"]
    write(second, [b"next"])
    second.close()
    assert bodies(open_journal(filesystem)) == [b"kept", b"next"]


def test_damage_before_a_later_durable_entry_is_refused_with_its_place() -> None:
    filesystem = MemoryFilesystem()
    journal = new_journal(filesystem)
    for entry in (b"first", b"second", b"third"):
        write(journal, [entry])
    journal.close()
    place = FILE_HEADER_BYTES + ENTRY_HEADER_BYTES + 5
    before = bytes(filesystem.files["journal/0000000001.wal"].content)
    damaged = bytearray(before)
    damaged[place + 30] ^= 1
    filesystem.files["journal/0000000001.wal"].content = damaged
    names = filesystem.listdir("journal")
    with pytest.raises(CorruptJournal, match=rf"0000000001\.wal at byte {place}"):
        bodies(open_journal(filesystem))
    assert filesystem.listdir("journal") == names
    assert filesystem.files["journal/0000000001.wal"].content == damaged


def test_a_damaged_end_of_one_file_is_noticed_by_the_next() -> None:
    filesystem = MemoryFilesystem()
    journal = new_journal(filesystem)
    for _ in range(4):
        write(journal, [b"x" * 150])
    journal.close()
    assert len(wal_files(filesystem)) == 2
    filesystem.files["journal/0000000001.wal"].content[FILE_HEADER_BYTES + 178 + 40] ^= 4
    with pytest.raises(CorruptJournal, match=r"0000000002\.wal builds upon it"):
        bodies(open_journal(filesystem))


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_a_missing_file_is_refused(missing: int) -> None:
    filesystem = MemoryFilesystem()
    journal = new_journal(filesystem)
    write(journal, [b"x" * 300] * 4)
    journal.close()
    filesystem.unlink(f"journal/{missing:010d}.wal")
    with pytest.raises(CorruptJournal, match=rf"{missing:010d}\.wal: the file is missing"):
        bodies(open_journal(filesystem))


def test_a_journal_without_files_but_with_a_checkpoint_is_refused() -> None:
    with pytest.raises(CorruptJournal, match="missing"):
        bodies(open_journal(MemoryFilesystem()), 100, 2)


def test_a_foreign_file_is_refused() -> None:
    filesystem = MemoryFilesystem()
    new_journal(filesystem).close()
    filesystem.open("journal/notes.txt", create=True)
    with pytest.raises(CorruptJournal, match=r"notes\.txt"):
        bodies(open_journal(filesystem))


def small_journal() -> tuple[MemoryFilesystem, list[bytes], list[int], list[int]]:
    """Entries, where each ends, and what each says is durable."""
    filesystem = MemoryFilesystem()
    journal = new_journal(filesystem)
    entries, ends, durable = [], [], []
    synced = 0
    for number in range(9):
        entry = bytes([97 + number]) * (20 + 13 * number)
        entries.append(entry)
        durable.append(synced)
        ends += write(journal, [entry], sync=number % 3 == 2)
        synced = ends[-1] if number % 3 == 2 else synced
    journal.close()
    return filesystem, entries, ends, durable


def test_every_flipped_byte_gives_a_right_prefix_or_a_refusal() -> None:
    filesystem, entries, ends, durable = small_journal()
    refused = accepted = 0
    for path, file in filesystem.files.items():
        original = bytes(file.content)
        for at in [*range(64), *range(FILE_HEADER_BYTES, len(original))]:
            damaged = bytearray(original)
            damaged[at] ^= 1 << (at % 8)
            file.content = damaged
            disk = FailingFilesystem.crashed(_as_failing(filesystem))
            found = bodies_or_refusal(disk)
            if isinstance(found, CorruptJournal):
                refused += 1
                assert found.path == path
                assert found.position is not None
            else:
                accepted += 1
                assert found == entries[: len(found)]
                # No entry that is intact says that a lost one was durable.
                lost, witnesses = ends[len(found) :], durable[len(found) + 1 :]
                assert not any(end <= mark for end in lost for mark in witnesses)
        file.content = bytearray(original)
    assert refused > 100
    assert accepted > 100


def bodies_or_refusal(filesystem: Filesystem) -> list[bytes] | CorruptJournal:
    try:
        return bodies(open_journal(filesystem))
    except CorruptJournal as error:
        return error


def _as_failing(filesystem: MemoryFilesystem) -> FailingFilesystem:
    copy = FailingFilesystem()
    copy.files = filesystem.files
    copy.directories = filesystem.directories
    return copy


def test_every_truncation_is_refused() -> None:
    filesystem, _, _, _ = small_journal()
    for path, file in filesystem.files.items():
        original = bytes(file.content)
        for size in [*range(0, 64, 7), *range(FILE_HEADER_BYTES, len(original), 37)]:
            file.content = bytearray(original[:size])
            with pytest.raises(CorruptJournal) as caught:
                bodies(open_journal(FailingFilesystem.crashed(_as_failing(filesystem))))
            assert caught.value.path == path
        file.content = bytearray(original)


# ---- a full disk and a broken one ---------------------------------------------------------------


def test_a_full_disk_refuses_before_queueing_and_recovers_by_itself() -> None:
    filesystem = FailingFilesystem()
    journal = new_journal(filesystem)
    write(journal, [b"x" * 300])
    filesystem.fault = fail_from(1, errno.ENOSPC, ["allocate", "create"], once=False)
    before = journal.end
    for _ in range(3):
        with pytest.raises(StorageFull):
            journal.append((b"y" * 300,))
        assert journal.end == before
        assert journal.full
    write(journal, [b"still fits"])
    filesystem.fault = None
    assert journal.wants_next
    write(journal, [b"z" * 300])
    assert not journal.full
    journal.close()
    assert bodies(open_journal(filesystem)) == [b"x" * 300, b"still fits", b"z" * 300]


def test_a_full_disk_at_the_start_leaves_the_old_entries_readable() -> None:
    filesystem = FailingFilesystem()
    journal = new_journal(filesystem)
    write(journal, [b"old"])
    journal.close()
    filesystem.fault = fail_from(1, errno.ENOSPC, ["allocate"], once=False)
    again = open_journal(filesystem)
    assert bodies(again) == [b"old"]
    assert again.full
    assert again.wants_next
    with pytest.raises(StorageFull):
        again.append((b"new",))
    filesystem.fault = None
    write(again, [b"new"])
    again.close()
    assert bodies(open_journal(filesystem)) == [b"old", b"new"]


@pytest.mark.parametrize("kind", ["allocate", "write", "rename"])
def test_no_space_while_preparing_leaves_no_trace(kind: str) -> None:
    filesystem = FailingFilesystem()
    journal = new_journal(filesystem)
    names = filesystem.listdir("journal")
    filesystem.fault = fail_from(1, errno.ENOSPC, [kind], once=True)
    with pytest.raises(StorageFull):
        journal.prepare_next()
    assert journal.full
    assert filesystem.listdir("journal") == names
    journal.prepare_next()
    assert not journal.full


def test_a_failed_fdatasync_comes_through() -> None:
    filesystem = FailingFilesystem()
    journal = new_journal(filesystem)
    journal.append((b"x",))
    journal.flush()
    filesystem.fault = fail_from(1, errno.EIO, ["fdatasync"], once=True)
    with pytest.raises(OSError, match="Input/output error"):
        journal.sync()
    assert journal.durable == 0


def test_a_failed_write_comes_through() -> None:
    filesystem = FailingFilesystem()
    journal = new_journal(filesystem)
    journal.append((b"x",))
    filesystem.fault = fail_from(1, errno.EIO, ["write"], once=True)
    with pytest.raises(OSError, match="Input/output error"):
        journal.flush()


def test_a_sync_covers_files_that_were_left_since_the_last_one() -> None:
    filesystem = FailingFilesystem()
    journal = new_journal(filesystem)
    for _ in range(4):
        journal.append((b"x" * 300,))
    journal.flush()
    filesystem.asked.clear()
    assert journal.sync() == journal.end
    synced = {path for kind, path in filesystem.asked if kind == "fdatasync"}
    assert len(synced) == 4
    filesystem.asked.clear()
    journal.sync()
    assert len(filesystem.asked) == 1


def test_syncing_and_preparing_in_other_threads_loses_nothing(tmp_path: object) -> None:
    filesystem = OsFilesystem(f"{tmp_path}/data")
    journal = new_journal(filesystem, room=3000)
    entries = [bytes([number % 256]) * (number % 200) for number in range(1500)]
    ended = threading.Event()
    positions: list[int] = []

    def sync_until_the_end() -> None:
        while not ended.is_set():
            positions.append(journal.sync())
        positions.append(journal.sync())

    def prepare_until_the_end() -> None:
        while not ended.is_set():
            if journal.wants_next:
                journal.prepare_next()
            ended.wait(0.0001)

    with ThreadPoolExecutor(2) as pool:
        others = [pool.submit(sync_until_the_end), pool.submit(prepare_until_the_end)]
        for entry in entries:
            journal.append((entry,))
            journal.flush()
        ended.set()
    for other in others:
        other.result()
    assert positions == sorted(positions)
    assert positions[-1] == journal.end
    journal.close()
    assert bodies(open_journal(filesystem, room=3000)) == entries


def test_it_works_on_a_real_directory(tmp_path: object) -> None:
    filesystem = OsFilesystem(f"{tmp_path}/data")
    journal = new_journal(filesystem)
    written = []
    for number in range(12):
        entry = bytes([number]) * 200
        written.append(entry)
        write(journal, [entry])
        if journal.wants_next:
            journal.prepare_next()
    journal.close()
    again = open_journal(filesystem)
    assert bodies(again) == written
    again.close()
