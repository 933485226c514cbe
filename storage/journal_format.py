"""The bytes of a journal file: its header, its entries, and how to find entries after damage.

Owns the layout. Must never know which files exist, what is durable or what a body means.

    file header, alone in the first 4096 bytes so that no entry ever shares a sector with it: magic
    8 bytes | format u32 | file number u64 | file size u64 | salt 4 bytes | crc u32 of all before
    entry, one after the other from byte 4096 on, all numbers big-endian: salt 4 bytes | length u32
    | position u64 | durable u64 | crc u32 | body crc is CRC-32C over the first 24 bytes and the
    body.

The salt is chosen anew whenever a file is (re)used and stands in front of every entry: what is left
of an earlier life of the file never looks valid, and entries behind a damaged place can be found by
searching for four bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from storage.errors import CorruptJournal

MAGIC = b"oncelog\x01"
FORMAT = 1
FILE_HEADER_BYTES = 4096
ENTRY_HEADER_BYTES = 28
SALT_BYTES = 4

FILE_HEAD = Struct(">8sIQQ4s")
ENTRY_HEAD = Struct(">4sIQQ")
CRC = Struct(">I")

_FILE_HEAD_BYTES = FILE_HEAD.size + CRC.size


class Entry(NamedTuple):
    """Where a valid entry lies in its file and what its header says."""

    at: int
    length: int
    position: int
    durable: int

    @property
    def end(self) -> int:
        """The position after this entry."""
        return self.position + ENTRY_HEADER_BYTES + self.length


def new_salt(random_bytes: Callable[[int], bytes]) -> bytes:
    """Four bytes that do not occur by themselves: zeros are what unused files are made of."""
    while True:
        salt = random_bytes(SALT_BYTES)
        if 0 not in salt:
            return salt


def pack_file_header(number: int, size: int, salt: bytes) -> bytes:
    head = FILE_HEAD.pack(MAGIC, FORMAT, number, size, salt)
    return (head + CRC.pack(crc32c(head))).ljust(FILE_HEADER_BYTES, b"\0")


def read_file_header(data: bytes, number: int, size: int, path: str) -> bytes:
    """The salt. A file named .wal had its header and its full size before it got that name."""
    if len(data) < _FILE_HEAD_BYTES:
        raise CorruptJournal(path, 0, "the file is shorter than a journal file's header")
    magic, version, own_number, own_size, salt = FILE_HEAD.unpack_from(data)
    (crc,) = CRC.unpack_from(data, FILE_HEAD.size)
    if crc != crc32c(data[: FILE_HEAD.size]) or magic != MAGIC:
        raise CorruptJournal(path, 0, "the header of the journal file is damaged")
    if version != FORMAT:
        raise CorruptJournal(path, 0, f"journal format {version} is not known, {FORMAT} is")
    if own_number != number:
        raise CorruptJournal(path, 0, f"the file calls itself number {own_number}")
    if own_size != size:
        raise CorruptJournal(path, size, f"the file is {size} bytes long instead of {own_size}")
    return bytes(salt)


def read_entry(data: bytes, at: int, salt: bytes, position: int | None) -> Entry | None:
    """The entry at `at`, if there is a whole and valid one (with that position)."""
    if at + ENTRY_HEADER_BYTES > len(data):
        return None
    own_salt, length, own_position, durable = ENTRY_HEAD.unpack_from(data, at)
    if own_salt != salt or (position is not None and own_position != position):
        return None
    body_at = at + ENTRY_HEADER_BYTES
    if body_at + length > len(data):
        return None
    (crc,) = CRC.unpack_from(data, at + ENTRY_HEAD.size)
    view = memoryview(data)
    seen = crc32c(view[body_at : body_at + length], crc32c(view[at : at + ENTRY_HEAD.size]))
    return Entry(at, length, own_position, durable) if seen == crc else None


def find_entries(data: bytes, at: int, salt: bytes) -> Iterator[Entry]:
    """All valid entries at or after `at`, wherever they begin."""
    while (at := data.find(salt, at)) >= 0:
        entry = read_entry(data, at, salt, None)
        if entry is None:
            at += 1
        else:
            yield entry
            at += ENTRY_HEADER_BYTES + entry.length
