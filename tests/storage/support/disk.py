"""What a disk may look like after a crash, computed from the operations that went before.

Owns the operations, the rule which of them are certain to have reached the disk, and the building
of images. Knows nothing of journals or logs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from storage.filesystem import parent_of
from storage.memory_filesystem import MemoryFile, MemoryFilesystem


@dataclass(frozen=True, slots=True)
class Create:
    path: str
    inode: int


@dataclass(frozen=True, slots=True)
class MakeDirectory:
    path: str


@dataclass(frozen=True, slots=True)
class Write:
    inode: int
    at: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Resize:
    inode: int
    size: int


@dataclass(frozen=True, slots=True)
class Rename:
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Unlink:
    path: str


@dataclass(frozen=True, slots=True)
class RemoveDirectory:
    path: str


@dataclass(frozen=True, slots=True)
class Sync:
    inode: int


@dataclass(frozen=True, slots=True)
class SyncDirectory:
    path: str


@dataclass(frozen=True, slots=True)
class Commit:
    """A database transaction, atomic and durable: SQLite's own crash tests stand for that."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Note:
    """Nothing happened to the disk, but somebody was told something."""

    value: int


Operation = (
    Create
    | MakeDirectory
    | Write
    | Resize
    | Rename
    | Unlink
    | RemoveDirectory
    | Sync
    | SyncDirectory
    | Commit
    | Note
)

DATA = (Write, Resize)
NAMES = (Create, MakeDirectory, Rename, Unlink, RemoveDirectory)


class Disk:
    """Files by inode, names, directories and databases."""

    def __init__(self) -> None:
        self.contents: dict[int, bytearray] = {}
        self.names: dict[str, int] = {}
        self.directories: set[str] = {"."}
        self.databases: dict[str, bytes] = {}

    def copy(self) -> Disk:
        other = Disk()
        other.contents = {inode: bytearray(data) for inode, data in self.contents.items()}
        other.names = dict(self.names)
        other.directories = set(self.directories)
        other.databases = dict(self.databases)
        return other

    def apply(self, operation: Operation) -> None:
        match operation:
            case Write(inode, at, data):
                content = self.contents.setdefault(inode, bytearray())
                if at > len(content):
                    content.extend(bytes(at - len(content)))
                content[at : at + len(data)] = data
            case Resize(inode, size):
                content = self.contents.setdefault(inode, bytearray())
                content.extend(bytes(max(size - len(content), 0)))
                del content[size:]
            case Create(path, inode):
                self.contents.setdefault(inode, bytearray())
                if parent_of(path) in self.directories:
                    self.names[path] = inode
            case Commit(path, content_of_database):
                self.databases[path] = content_of_database
            case _:
                self._apply_name(operation)

    def _apply_name(self, operation: Operation) -> None:
        match operation:
            case MakeDirectory(path):
                if parent_of(path) in self.directories:
                    self.directories.add(path)
            case Rename(old, new):
                if old in self.names:
                    self.names[new] = self.names.pop(old)
            case Unlink(path):
                self.names.pop(path, None)
            case RemoveDirectory(path):
                # A directory that is gone was empty before.
                self.directories.discard(path)
                for name in [name for name in self.names if name.startswith(f"{path}/")]:
                    del self.names[name]
            case _:
                pass

    def mount(self, filesystem: MemoryFilesystem) -> None:
        """Puts this disk's content into an empty file system."""
        for path, inode in self.names.items():
            file = filesystem.open(path, create=True)
            file.content = bytearray(self.contents.get(inode, b""))
        filesystem.directories = set(self.directories)
        filesystem.databases = dict(self.databases)


def build(
    operations: Sequence[Operation],
    dropped: Collection[int] = (),
    replaced: Mapping[int, Operation] | None = None,
    start: Disk | None = None,
) -> Disk:
    """The disk after the operations, some of which did not happen or happened otherwise."""
    disk = start.copy() if start is not None else Disk()
    for index, operation in enumerate(operations):
        if index not in dropped:
            disk.apply(replaced.get(index, operation) if replaced else operation)
    return disk


def certain_from(operations: Sequence[Operation]) -> list[int]:
    """For each operation, the index from which on it is sure to be on the disk."""
    never = len(operations) + 1
    inode_syncs: dict[int, int] = {}
    directory_syncs: dict[str, int] = {}
    result = [0] * len(operations)
    for index in range(len(operations) - 1, -1, -1):
        operation = operations[index]
        match operation:
            case Sync(inode):
                inode_syncs[inode] = index + 1
            case SyncDirectory(path):
                directory_syncs[path] = index + 1
            case Write(inode) | Resize(inode):
                result[index] = inode_syncs.get(inode, never)
            case Create(path) | MakeDirectory(path) | Unlink(path) | RemoveDirectory(path):
                result[index] = directory_syncs.get(parent_of(path), never)
            case Rename(_, new):
                result[index] = directory_syncs.get(parent_of(new), never)
            case _:
                pass
    return result


def mounted(disk: Disk) -> MemoryFilesystem:
    filesystem = MemoryFilesystem()
    disk.mount(filesystem)
    return filesystem


def disk_of(filesystem: MemoryFilesystem) -> Disk:
    """What a file system holds now, as if all of it were durable."""
    disk = Disk()
    for inode, (path, file) in enumerate(filesystem.files.items()):
        disk.names[path] = inode
        disk.contents[inode] = bytearray(_content_of(file))
    disk.directories = set(filesystem.directories)
    disk.databases = dict(filesystem.databases)
    return disk


def _content_of(file: MemoryFile) -> bytes:
    return bytes(file.content)
