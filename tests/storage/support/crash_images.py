"""Crash images: a workload is recorded, and the disks a crash may leave are made from the record.

What may be on a disk: everything that was synced, and any part of what was not. Owns the recording
of a workload, the choice of images, and the check that one recovers to what it must.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from storage.memory_filesystem import MemoryFilesystem
from tests.storage.support.disk import (
    DATA,
    NAMES,
    Commit,
    Disk,
    Note,
    Operation,
    Resize,
    Write,
    build,
    certain_from,
    mounted,
)
from tests.storage.support.recording_filesystem import RecordingFilesystem
from tests.storage.support.toy_broker import Model, ToyBroker, Workload

SECTOR_BYTES = 512
PAGE_BYTES = 4096
ENTRY_HEADER_BYTES = 28
SAMPLE_KINDS = ("one missing", "one name missing", "zeros", "any subset", "torn subset")


@dataclass
class Recording:
    """What a run did, what it knew, and what it told."""

    start: Disk
    operations: list[Operation]
    model: Model
    issued: list[int]
    """How many entries had been appended when each operation was done."""

    def acknowledged(self, point: int) -> int:
        notes = [op.value for op in self.operations[:point] if isinstance(op, Note)]
        return max(notes, default=0)


class Image(NamedTuple):
    kind: str
    point: int
    disk: Disk


def record(
    seed: int, steps: int, disk: Disk | None = None, model: Model | None = None
) -> Recording:
    """Recovers from a disk, if there is one, and goes on with a random workload."""
    filesystem = RecordingFilesystem(disk)
    broker = ToyBroker(filesystem)
    filesystem.note(broker.count)
    model = model.at(broker.count) if model is not None else Model()
    workload = Workload(seed)
    chance = random.Random(seed)
    issued = [broker.count] * len(filesystem.operations)
    for _ in range(steps):
        for _ in range(chance.randint(1, 3)):
            if entry := workload.entry(broker):
                broker.take(entry)
                model.apply(entry)
        broker.store.flush()
        if chance.random() < 0.5:
            broker.sync()
            filesystem.note(broker.count)
        if chance.random() < 0.2 and broker.store.journal.wants_next:
            broker.store.journal.prepare_next()
        if chance.random() < 0.12:
            broker.checkpoint()
        if chance.random() < 0.1:
            broker = _restarted(filesystem)
            model = model.at(broker.count)
        issued += [broker.count] * (len(filesystem.operations) - len(issued))
    broker.store.close()
    return Recording(filesystem.start, filesystem.operations, model, issued)


def _restarted(filesystem: RecordingFilesystem) -> ToyBroker:
    """The process is killed and comes back; the page cache is still there, and readers see it."""
    filesystem.unlock()
    broker = ToyBroker(filesystem)
    filesystem.note(broker.count)
    return broker


def images(recording: Recording, seed: int, samples: int) -> Iterator[Image]:
    """All prefixes, all torn writes, the bare minimum at each point, and samples of the rest."""
    chance = random.Random(seed)
    operations = recording.operations
    certain = certain_from(operations)
    prefix = recording.start.copy()
    changed = True
    for point in range(len(operations) + 1):
        unsure = [index for index in range(point) if certain[index] > point]
        if changed:
            yield Image("prefix", point, prefix.copy())
        if unsure:
            done = operations[:point]
            yield Image("synced only", point, build(done, unsure, start=recording.start))
            for _ in range(samples):
                yield _sample(recording, point, unsure, chance)
        if point == len(operations):
            return
        operation = operations[point]
        if isinstance(operation, Write) and operation.data:
            yield from _torn(prefix, operation, point, chance)
        prefix.apply(operation)
        changed = isinstance(operation, (*DATA, *NAMES, Commit))


def _cuts(size: int, at: int) -> list[int]:
    """Where a write may be torn; at 0 it would be the prefix."""
    edges = {1, 4, ENTRY_HEADER_BYTES, size // 2, size - 1}
    for unit in (SECTOR_BYTES, PAGE_BYTES):
        edges |= set(range(unit - at % unit, size, unit))
    return sorted(edge for edge in edges if 0 < edge < size)


def _torn(prefix: Disk, write: Write, point: int, chance: random.Random) -> Iterator[Image]:
    for cut in _cuts(len(write.data), write.at):
        disk = prefix.copy()
        disk.apply(Write(write.inode, write.at, write.data[:cut]))
        yield Image(f"torn at {cut}", point, disk)
    cut = chance.randrange(len(write.data))
    rest = min(len(write.data) - cut, SECTOR_BYTES)
    disk = prefix.copy()
    disk.apply(Write(write.inode, write.at, write.data[:cut] + chance.randbytes(rest)))
    yield Image(f"garbage at {cut}", point, disk)


def _sample(recording: Recording, point: int, unsure: list[int], chance: random.Random) -> Image:
    """One of the ways in which what was not synced may have gone to the disk."""
    operations = recording.operations
    kind = chance.choice(SAMPLE_KINDS)
    dropped: set[int] = set()
    replaced: dict[int, Operation] = {}
    if kind == "one missing":
        dropped = {chance.choice(unsure)}
    elif kind == "one name missing":
        names = [index for index in unsure if isinstance(operations[index], NAMES)]
        dropped = {chance.choice(names)} if names else set()
    elif kind == "zeros":
        index = chance.choice(unsure)
        replaced = _grown(recording, index)
    else:
        dropped = {index for index in unsure if chance.random() < 0.5}
        for index in unsure:
            operation = operations[index]
            if kind == "torn subset" and isinstance(operation, Write):
                cut = chance.randrange(len(operation.data) + 1)
                replaced[index] = Write(operation.inode, operation.at, operation.data[:cut])
    disk = build(operations[:point], dropped, replaced, recording.start)
    return Image(f"{kind} {sorted(dropped)}", point, disk)


def _grown(recording: Recording, index: int) -> dict[int, Operation]:
    """The write at `index` made the file larger, but its bytes did not arrive."""
    operation = recording.operations[index]
    if not isinstance(operation, Write):
        return {}
    before = build(recording.operations[:index], start=recording.start)
    size = len(before.contents.get(operation.inode, b""))
    return {index: Resize(operation.inode, max(size, operation.at + len(operation.data)))}


def check_image(recording: Recording, image: Image, number: int) -> None:
    """Recovers, and looks whether all is there that must be and nothing that must not.

    What costs more is done in turns: a second recovery, and a checkpoint with a look for orphans.
    """
    filesystem = mounted(image.disk)
    broker = recover(filesystem)
    issued = recording.issued[min(image.point, len(recording.issued) - 1)]
    assert broker.count >= recording.acknowledged(image.point), "an acknowledged entry is lost"
    assert broker.count <= issued, "an entry was invented"
    view = broker.view()
    assert view == recording.model.view(broker.count)
    if number % 4 == 0:
        broker.check_no_orphans(recording.model)
    broker.store.close()
    if number % 4 <= 1:
        again = recover(filesystem)
        assert (again.count, again.view()) == (broker.count, view), "recovery changed something"
        again.store.close()


def recover(filesystem: MemoryFilesystem) -> ToyBroker:
    broker = ToyBroker(filesystem)
    broker.check_indexes()
    return broker
