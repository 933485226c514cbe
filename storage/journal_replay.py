"""Reading a journal back after a stop of any kind: which entries count, where it ends, what is
damage.

Owns the rules below. Must never write. See storage/journal.py for how the files come to be.

Every position p belongs to exactly one file: the one with the highest number whose first position
is not above p. (A file's first position follows from any valid entry in it, since entries are
contiguous; a file without one holds nothing.) What an older file holds at or above that is dead: a
torn tail, left behind by a crash, whose place in the count was given to somebody else by the
recovery after it.

Replay follows the chain of positions. It ends at the first place that holds no valid entry, unless
something proves that this place was once durable: then it is damage, and refusing beats forgetting.
Proof is a valid entry, later in this file or in a file with a higher number, whose `durable` is
above the place. (A valid later entry alone proves nothing: pages that were never synced land in any
order.) The caller's start is the checkpoint's position; what is below it does not matter. All files
from the checkpoint's on must be there, in one unbroken row.
"""

from __future__ import annotations

from collections.abc import Iterator

from storage.errors import CorruptJournal
from storage.filesystem import Filesystem
from storage.journal_format import (
    ENTRY_HEAD,
    ENTRY_HEADER_BYTES,
    FILE_HEADER_BYTES,
    find_entries,
    read_entry,
    read_file_header,
)

ADVICE = (
    "Nothing was changed. Restore this file from a copy, or restore the whole data directory from a"
    " backup; deleting the file would lose acknowledged data."
)


class OldFile:
    """A .wal file found at the start."""

    def __init__(self, number: int, path: str) -> None:
        self.number = number
        self.path = path
        self.size = 0
        self.salt = b""
        self.first: int | None = None

    def probe(self, filesystem: Filesystem) -> None:
        """Checks the header and finds the first position, mostly without reading the whole file."""
        file = filesystem.open(self.path, create=False)
        try:
            self.size = file.size()
            self.salt = read_file_header(
                file.pread(FILE_HEADER_BYTES, 0), self.number, self.size, self.path
            )
            data = file.pread(ENTRY_HEADER_BYTES, FILE_HEADER_BYTES)
            if len(data) == ENTRY_HEADER_BYTES:
                length = ENTRY_HEAD.unpack_from(data)[1]
                if length <= self.size:
                    data += file.pread(length, FILE_HEADER_BYTES + ENTRY_HEADER_BYTES)
        finally:
            file.close()
        entry = read_entry(data, 0, self.salt, None)
        if entry is None:
            entry = next(find_entries(self.load(filesystem), 0, self.salt), None)
        if entry is not None:
            self.first = entry.position - entry.at

    def load(self, filesystem: Filesystem, start: int = 0) -> bytes:
        """The file's entries, without the first `start` bytes of them."""
        file = filesystem.open(self.path, create=False)
        try:
            return file.pread(self.size - FILE_HEADER_BYTES - start, FILE_HEADER_BYTES + start)
        finally:
            file.close()


class JournalReplay:
    """One pass over the files that a stopped journal left."""

    def __init__(
        self, filesystem: Filesystem, files: list[OldFile], start: int, first_number: int
    ) -> None:
        self._filesystem = filesystem
        self._first_number = first_number
        self.files = sorted(files, key=lambda file: file.number)
        self.end = start

    @property
    def needed(self) -> list[OldFile]:
        """The files from the checkpoint's on."""
        return [file for file in self.files if file.number >= self._first_number]

    def limit_of(self, file: OldFile) -> int | None:
        """The position from which on later files count instead of this one."""
        firsts = [
            other.first
            for other in self.files
            if other.number > file.number and other.first is not None
        ]
        return min(firsts, default=None)

    def entries(self) -> Iterator[tuple[int, memoryview]]:
        """(position after the entry, its body), in order; CorruptJournal on proven damage."""
        self._require_unbroken_row()
        for file in self.needed:
            file.probe(self._filesystem)
        last = self._file_for(self.end)
        data, at = b"", 0
        while last is not None and last.first is not None:
            base = self.end
            data = last.load(self._filesystem, base - last.first)
            yield from self._entries_of(last, data, base)
            at = self.end - base
            following = self._file_for(self.end)
            if following is last or following is None:
                break
            last = following
        self._refuse_if_durable(last, data, at)

    def _require_unbroken_row(self) -> None:
        numbers = [file.number for file in self.needed]
        expected = list(range(self._first_number, self._first_number + len(numbers)))
        if not numbers or numbers != expected:
            missing = next((want for want in expected if want not in numbers), self._first_number)
            raise CorruptJournal(journal_path(missing), None, f"the file is missing. {ADVICE}")

    def _file_for(self, position: int) -> OldFile | None:
        for file in reversed(self.needed):
            if file.first is not None and file.first <= position:
                return file
        return None

    def _entries_of(
        self, file: OldFile, data: bytes, base: int
    ) -> Iterator[tuple[int, memoryview]]:
        """The entries in `data`, which begins at position `base`, as far as they belong here."""
        limit = self.limit_of(file)
        view = memoryview(data)
        while limit is None or self.end < limit:
            at = self.end - base
            entry = read_entry(data, at, file.salt, self.end)
            if entry is None:
                return
            self.end = entry.end
            body_at = at + ENTRY_HEADER_BYTES
            yield entry.end, view[body_at : body_at + entry.length]

    def _refuse_if_durable(self, last: OldFile | None, data: bytes, at: int) -> None:
        """Looks for proof behind the end: in the rest of file `last`, and in all files after."""
        if last is not None and self._proves(data, at, last.salt):
            raise self._damage(last, last)
        later = [file for file in self.needed if last is None or file.number > last.number]
        for file in later:
            if self._proves(file.load(self._filesystem), 0, file.salt):
                raise self._damage(file, last or self.needed[0])

    def _proves(self, data: bytes, at: int, salt: bytes) -> bool:
        return any(entry.durable > self.end for entry in find_entries(data, at, salt))

    def _damage(self, witness: OldFile, broken: OldFile) -> CorruptJournal:
        at = FILE_HEADER_BYTES + (self.end - broken.first if broken.first is not None else 0)
        problem = "an entry that was durable is damaged or missing"
        if witness is not broken:
            problem += f" ({witness.path} builds upon it)"
        return CorruptJournal(broken.path, at, f"{problem}. {ADVICE}")


def journal_path(number: int, kind: str = "wal") -> str:
    return f"journal/{number:010d}.{kind}"
