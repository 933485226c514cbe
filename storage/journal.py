"""The journal: one sequence of atomic entries, shared by everything that changes.

Owns the files under journal/, their turn-over, and the position count. Must never know what an
entry's body means, nor who waits for it to be durable.

A position is the number of bytes of all entries ever appended (entry headers included, file headers
not); it never falls and never skips. Layout: storage/journal_format.py. Reading back, and what
counts as damage: storage/journal_replay.py.

Life of a file. `<n>.spare` is allocated in full, so that a full disk strikes there and never in the
middle of an entry. To activate it: header written, fdatasync, renamed to `<n>.wal`, directory
synced; only then are entries written. So any .wal has a whole header and its full size at any
moment. When a checkpoint has passed a file, it becomes a spare again; written blocks make fdatasync
1.5-2x faster.

Why the sharp corners hold:
- Crash while activating: the file is a .spare with any content, or an empty .wal. Both hold
  nothing.
- Torn tail: entries of the last moments may be missing, cut, or present behind a missing one. The
  chain ends at the first gap; nothing at or behind the gap was durable, so nothing was
  acknowledged.
- After a restart the writer never touches the torn file. It goes on in a new file, whose first
  entry has the position where replay ended. Thereby what lies behind the gap is dead for good, even
  if it is valid and even if later entries happen to have the same length: positions belong to the
  highest file that reaches down to them.
- Torn twice: the second run's file may be torn before its first entry. Then it holds nothing, the
  chain ends at the same place as before, and the third run takes yet another number. If it is torn
  behind its first entry, that entry decides. An entry of a dead tail can never prove damage
  falsely: its `durable` was not above the end that the recovery of its day found.
- Crash inside recovery: it writes nothing but a header into a new file, after having synced what it
  replayed (which might have been in the page cache only, while readers are about to see it).
- Recycled leftovers: another salt. A crash may show a recycled file under its old name with its new
  header; but then the checkpoint needs only files with higher numbers, and nobody looks at it.
- `durable` in an entry is what `sync` has really made stable, not what `mark_durable` says: with
  durability=os the latter runs ahead, and would turn an ordinary power loss into "proven damage".
- The last durable entries have no witness until something is appended behind them: if they rot on
  an idle disk, that looks like a torn tail. Nothing short of a second copy would show the
  difference.

Threads: append, flush and mark_durable belong to one thread (the loop). sync, prepare_next and
release may each be called in others meanwhile.
"""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from crc32c import crc32c

from storage.errors import CorruptJournal, StorageFull, check
from storage.filesystem import NO_SPACE_ERRNOS, Buffer, File, Filesystem
from storage.journal_format import (
    CRC,
    ENTRY_HEAD,
    ENTRY_HEADER_BYTES,
    FILE_HEADER_BYTES,
    new_salt,
    pack_file_header,
)
from storage.journal_replay import JournalReplay, OldFile, journal_path
from storage.vectors import write_all

DIRECTORY = "journal"
FILE_BYTES = 64 << 20
ENTRY_BYTES_MAX = 110 << 20
"""More than the largest request; such an entry gets a file of its own size."""
SPARE_FILES_MAX = 3

_pack_head = ENTRY_HEAD.pack
_pack_crc = CRC.pack


@dataclass(frozen=True)
class JournalOptions:
    """What tests make small."""

    file_bytes: int = FILE_BYTES
    spare_files_max: int = SPARE_FILES_MAX
    random_bytes: Callable[[int], bytes] = secrets.token_bytes


class _ActiveFile:
    """A .wal file that takes entries, or is about to."""

    __slots__ = ("file", "number", "salt", "size")

    def __init__(self, number: int, size: int, salt: bytes, file: File) -> None:
        self.number = number
        self.size = size
        self.salt = salt
        self.file = file


class _FullFile:
    """A .wal file that is needed until a checkpoint reaches its end."""

    __slots__ = ("end", "number", "size")

    def __init__(self, number: int, size: int, end: int) -> None:
        self.number = number
        self.size = size
        self.end = end


class Journal:
    """See the top of this file."""

    def __init__(self, filesystem: Filesystem, options: JournalOptions | None = None) -> None:
        self._filesystem = filesystem
        self._options = options or JournalOptions()
        check(self._options.file_bytes > FILE_HEADER_BYTES, "a journal file needs room for entries")
        self.end = 0
        self.durable = 0
        self.full = False
        """The next file could not be prepared: refuse what can wait, keep the rest of this file."""
        self._written = 0
        self._synced = 0
        self._queue: list[Buffer] = []
        self._queue_bytes = 0
        self._replayed = False
        self._current: _ActiveFile | None = None
        self._at = 0
        self._next: _ActiveFile | None = None
        self._last_number = 0
        self._old: deque[_FullFile] = deque()
        self._unsynced: deque[_ActiveFile] = deque()
        self._spares: list[tuple[str, int]] = []
        self._sync_lock = threading.Lock()
        self._files_lock = threading.Lock()
        if not filesystem.exists(DIRECTORY):
            filesystem.makedirs(DIRECTORY)
            filesystem.sync_directory(".")

    # ---- reading back -------------------------------------------------------------------------

    def replay(self, start: int, first_number: int = 1) -> Iterator[tuple[int, memoryview]]:
        """(position after the entry, body) of all entries from `start` on; then opens for writing.

        `start` and `first_number` are what the last checkpoint was given as position and
        `number_of(position)`. Must be exhausted before anything is appended.
        """
        check(not self._replayed, "a journal is replayed once")
        files = self._scan()
        if not files and (start > 0 or first_number > 1):
            raise CorruptJournal(DIRECTORY, None, "all journal files are missing")
        self.end = start
        if files:
            replay = JournalReplay(self._filesystem, files, start, first_number)
            for end, body in replay.entries():
                self.end = end
                yield end, body
            self._take_over(replay)
        self._drop_odd_spares()
        self._written = self._synced = self.durable = self.end
        self._at = FILE_HEADER_BYTES
        self._replayed = True
        # With a full disk the old data can still be read; `append` tries again.
        with suppress(StorageFull):
            self._current = self._activate_or_refuse(self._options.file_bytes)
        if self._current is None and not self._old:
            raise StorageFull("no space left for the first journal file")

    def _scan(self) -> list[OldFile]:
        files = []
        for name in self._filesystem.listdir(DIRECTORY):
            stem, _, kind = name.partition(".")
            if not stem.isdigit() or kind not in ("wal", "spare"):
                raise CorruptJournal(f"{DIRECTORY}/{name}", None, "not a journal file's name")
            path = f"{DIRECTORY}/{name}"
            if kind == "wal":
                self._last_number = max(self._last_number, int(stem))
                files.append(OldFile(int(stem), path))
            else:
                self._spares.append((path, self._filesystem.size(path)))
        return files

    def _drop_odd_spares(self) -> None:
        """A crash or another setting may have left spares of another size."""
        kept: list[tuple[str, int]] = []
        for path, size in self._spares:
            if size == self._options.file_bytes and len(kept) < self._options.spare_files_max:
                kept.append((path, size))
            else:
                self._filesystem.unlink(path)
        self._spares = kept

    def _take_over(self, replay: JournalReplay) -> None:
        """Makes the replayed entries durable and remembers until when each file is needed."""
        for old in replay.needed:
            file = self._filesystem.open(old.path, create=False)
            file.fdatasync()
            file.close()
        self._filesystem.sync_directory(DIRECTORY)
        for old in replay.files:
            limit = replay.limit_of(old)
            end = self.end if limit is None else min(limit, self.end)
            self._old.append(_FullFile(old.number, old.size, end))

    # ---- appending ----------------------------------------------------------------------------

    def append(self, parts: Sequence[Buffer]) -> int:
        """Queues one entry and returns the position after it; raises StorageFull before queueing.

        The parts are written by `flush`, by reference: they must not change until then.
        """
        length = 0
        for part in parts:
            length += len(part)
        size = ENTRY_HEADER_BYTES + length
        current = self._current
        if current is None or self._at + self._queue_bytes + size > current.size:
            current = self._switch(size)
        position = self.end
        head = _pack_head(current.salt, length, position, self._synced)
        crc = crc32c(head)
        for part in parts:
            crc = crc32c(part, crc)
        queue = self._queue
        queue.append(head + _pack_crc(crc))
        queue += parts
        self._queue_bytes += size
        self.end = position + size
        return self.end

    def flush(self) -> None:
        """Writes what is queued. What it raises must end the process: the file is in doubt."""
        size = self._queue_bytes
        if size == 0:
            return
        current = self._current
        if current is None:
            return
        write_all(current.file, self._queue, size, self._at)
        self._queue = []
        self._queue_bytes = 0
        self._at += size
        self._written += size

    def _switch(self, size: int) -> _ActiveFile:
        """Goes on in another file, one in which an entry of `size` bytes has room."""
        check(self._replayed, "a journal must be replayed before it is appended to")
        check(size <= ENTRY_BYTES_MAX, f"an entry of {size} bytes is too large for the journal")
        with self._files_lock:
            skipped: _ActiveFile | None = None
            if FILE_HEADER_BYTES + size > self._options.file_bytes:
                # Numbers must rise with positions: a prepared file cannot follow this one.
                following = self._activate_or_refuse(FILE_HEADER_BYTES + size)
                skipped = self._next
            else:
                following = self._next or self._activate_or_refuse(self._options.file_bytes)
            self._next = None
        self.full = False
        self.flush()
        self._retire(self._current)
        self._retire(skipped)
        self._current = following
        self._at = FILE_HEADER_BYTES
        return following

    def _retire(self, active: _ActiveFile | None) -> None:
        # Before the current file is replaced: `sync` looks at the current file first.
        if active is not None:
            self._unsynced.append(active)
            self._old.append(_FullFile(active.number, active.size, self.end))

    # ---- files --------------------------------------------------------------------------------

    @property
    def wants_next(self) -> bool:
        """Whether `prepare_next` should be called, best in another thread."""
        if self._next is not None or not self._replayed:
            return False
        current = self._current
        return self.full or current is None or self._at * 2 > current.size

    def prepare_next(self) -> None:
        """Makes the next file ready, so that `append` need not; raises StorageFull."""
        with self._files_lock:
            if self._next is None:
                self._next = self._activate_or_refuse(self._options.file_bytes)
        self.full = False

    def _activate_or_refuse(self, size: int) -> _ActiveFile:
        try:
            return self._activate(size)
        except OSError as error:
            if error.errno not in NO_SPACE_ERRNOS:
                raise
            self.full = True
            raise StorageFull("no space left for the next journal file") from error

    def _activate(self, size: int) -> _ActiveFile:
        number = self._last_number + 1
        spare = self._take_spare(number, size)
        salt = new_salt(self._options.random_bytes)
        file = self._filesystem.open(spare, create=True)
        try:
            file.allocate(size)
            file.pwritev((pack_file_header(number, size, salt),), 0)
            file.fdatasync()
            self._filesystem.rename(spare, journal_path(number))
            self._filesystem.sync_directory(DIRECTORY)
        except OSError:
            file.close()
            with suppress(OSError):
                self._filesystem.unlink(spare)
            raise
        self._last_number = number
        return _ActiveFile(number, size, salt, file)

    def _take_spare(self, number: int, size: int) -> str:
        """A path for the new file: that of a spare of this very size, or a fresh one."""
        for index, (path, spare_size) in enumerate(self._spares):
            if spare_size == size:
                del self._spares[index]
                return path
        return journal_path(number, "spare")

    def number_of(self, position: int) -> int:
        """The number of the first file needed to replay from `position`, for the checkpoint."""
        # The current file first: one that is left meanwhile is then still found among the old.
        current = self._current
        old_files = list(self._old)
        for old in old_files:
            if old.end > position:
                return old.number
        return old_files[-1].number if current is None else current.number

    def release(self, first_number: int) -> None:
        """A checkpoint needs `first_number` and later: what is before becomes spare or goes."""
        while self._old and self._old[0].number < first_number:
            old = self._old.popleft()
            with self._files_lock:
                self._recycle(old, journal_path(old.number))

    def _recycle(self, old: _FullFile, path: str) -> None:
        spare = journal_path(old.number, "spare")
        # The name may be taken by a spare that a crash kept from getting this number.
        wanted = old.size == self._options.file_bytes and (spare, old.size) not in self._spares
        if wanted and len(self._spares) < self._options.spare_files_max:
            try:
                self._filesystem.rename(path, spare)
            except OSError as error:
                # Even a name may need space; giving the file back makes some.
                if error.errno not in NO_SPACE_ERRNOS:
                    raise
            else:
                self._spares.append((spare, old.size))
                return
        self._filesystem.unlink(path)

    # ---- durability ---------------------------------------------------------------------------

    def sync(self) -> int:
        """Makes everything flushed durable and returns up to where. Blocks: call it in a thread.

        What it raises must end the process: a second fdatasync would report success for lost pages.
        """
        with self._sync_lock:
            # Position before files, current file before the older ones: whatever is below the
            # position is then in one of them, even if `append` switches files meanwhile.
            position = self._written
            current = self._current
            older = list(self._unsynced)
            for file in older:
                file.file.fdatasync()
            if current is not None:
                current.file.fdatasync()
            for _ in older:
                self._unsynced.popleft()
            self._synced = position
            return position

    @property
    def unsynced_files(self) -> int:
        """Full files that a sync has yet to reach."""
        return len(self._unsynced)

    def skip_sync(self) -> None:
        """Instead of `sync`, for who does not want it: full files need not be kept open."""
        with self._sync_lock:
            self._unsynced.clear()

    def mark_durable(self, position: int) -> None:
        """From now on everything below `position` counts as durable."""
        if position > self.durable:
            self.durable = position

    def close(self) -> None:
        """Closes the files; what is queued is dropped, so flush and sync first."""
        for active in (*self._unsynced, self._current, self._next):
            if active is not None:
                active.file.close()
        self._current = self._next = None
        self._unsynced.clear()
