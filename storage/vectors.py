"""Many buffers, few writes: cuts a list of buffers into calls the kernel takes and the cache likes.

Owns the limits of one vectored write. Must never know what the buffers are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from storage.filesystem import Buffer, File

BUFFERS_PER_WRITE_MAX = 1024
"""IOV_MAX of Linux."""
BYTES_PER_WRITE_MAX = 1 << 20
"""Larger writes hold the page cache longer than they save system calls."""


def write_all(file: File, buffers: Sequence[Buffer], size: int, at: int) -> None:
    """Writes the buffers, `size` bytes together, one after the other from `at` on."""
    if size <= BYTES_PER_WRITE_MAX and len(buffers) <= BUFFERS_PER_WRITE_MAX:
        file.pwritev(buffers, at)
        return
    for count, group in _groups(buffers):
        file.pwritev(group, at)
        at += count


def _groups(buffers: Sequence[Buffer]) -> Iterator[tuple[int, list[Buffer]]]:
    group: list[Buffer] = []
    size = 0
    for buffer in buffers:
        rest = memoryview(buffer)
        while len(rest) > 0:
            part = rest[: BYTES_PER_WRITE_MAX - size]
            group.append(part)
            size += len(part)
            rest = rest[len(part) :]
            if size == BYTES_PER_WRITE_MAX or len(group) == BUFFERS_PER_WRITE_MAX:
                yield size, group
                group, size = [], 0
    if group:
        yield size, group
