"""Changes: everything a journal entry can say, one class each, with its bytes.

Owns: the kinds, their fields and their encoding on disk.
Never knows: how a change is decided (the
APIs) or what it does (`state.py`).

A change is a fact in the past tense. It carries every value that deciding it needed and that
replay could not find again: offsets, wall-clock time, random ids, the decision to roll a segment.
So replay decides nothing. On disk a change is `kind u8, length u32, body`; an entry is a run of
them. Rare kinds are JSON, so that a human with a hex dump can read them; batches are packed by
hand because everything goes through them. Kinds are never renumbered; a field added later must
have a default.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from struct import Struct
from struct import error as struct_error
from typing import Any, ClassVar

from protocol.record_batch import BatchHeader, read_header

Buffer = bytes | bytearray | memoryview

CHANGE_HEAD = Struct(">BI")
BATCH_HEAD = Struct(">BI16siqIB")
BATCH_FIXED_BYTES = BATCH_HEAD.size - CHANGE_HEAD.size
BATCH_KIND = 1
ROLL_FLAG = 1


class UnknownChange(Exception):
    """The journal holds a change this version does not know: it was written by a newer one."""


class BatchAppended:
    """A batch went to the end of a partition. `crc` is the client's, from before any patch."""

    __slots__ = ("append_ms", "batch", "crc", "header", "partition", "roll", "topic_id")

    kind: ClassVar[int] = BATCH_KIND

    def __init__(
        self,
        topic_id: bytes,
        partition: int,
        header: BatchHeader,
        batch: Buffer,
        crc: int,
        append_ms: int,
        roll: bool,
    ) -> None:
        self.topic_id = topic_id
        self.partition = partition
        self.header = header
        self.batch = batch
        self.crc = crc
        self.append_ms = append_ms
        self.roll = roll

    def parts(self) -> Sequence[Buffer]:
        """The change's bytes; the batch is not copied."""
        head = BATCH_HEAD.pack(
            BATCH_KIND,
            BATCH_FIXED_BYTES + len(self.batch),
            self.topic_id,
            self.partition,
            self.append_ms,
            self.crc,
            ROLL_FLAG if self.roll else 0,
        )
        return (head, self.batch)

    @classmethod
    def decode(cls, body: memoryview, at: int, length: int) -> BatchAppended:
        """Read one back; `at` is where the change (not its body) starts."""
        _, _, topic_id, partition, append_ms, crc, flags = BATCH_HEAD.unpack_from(body, at)
        batch = body[at + BATCH_HEAD.size : at + CHANGE_HEAD.size + length]
        header = read_header(batch)
        return cls(topic_id, partition, header, batch, crc, append_ms, bool(flags & ROLL_FLAG))


class _JsonChange:
    """Base of the rare kinds: the dataclass's fields as JSON, bytes as hex."""

    __slots__ = ()
    kind: ClassVar[int]

    def parts(self) -> Sequence[Buffer]:
        body = json.dumps(
            asdict(self),  # type: ignore[call-overload]
            default=bytes.hex,
            separators=(",", ":"),
        ).encode()
        return (CHANGE_HEAD.pack(self.kind, len(body)) + body,)


@dataclass(frozen=True, slots=True)
class TopicCreated(_JsonChange):
    """A topic exists from now on. `directories[i]` is the folder of partition i."""

    kind: ClassVar[int] = 2
    topic_id: bytes
    name: str
    directories: list[str]
    configs: dict[str, str] = field(default_factory=dict)
    created_ms: int = 0


@dataclass(frozen=True, slots=True)
class PartitionsAdded(_JsonChange):
    """A topic grew by these partitions."""

    kind: ClassVar[int] = 3
    topic_id: bytes
    directories: list[str]


@dataclass(frozen=True, slots=True)
class TopicDeleted(_JsonChange):
    """A topic and all its records are gone."""

    kind: ClassVar[int] = 4
    topic_id: bytes


@dataclass(frozen=True, slots=True)
class TopicConfigured(_JsonChange):
    """The topic's own settings, the whole set."""

    kind: ClassVar[int] = 5
    topic_id: bytes
    configs: dict[str, str]


@dataclass(frozen=True, slots=True)
class LogStartMoved(_JsonChange):
    """Records below this offset are gone (DeleteRecords, retention)."""

    kind: ClassVar[int] = 6
    topic_id: bytes
    partition: int
    log_start_offset: int


@dataclass(frozen=True, slots=True)
class ProducerIdAllocated(_JsonChange):
    """This producer id was given away and never will be again."""

    kind: ClassVar[int] = 7
    producer_id: int


@dataclass(frozen=True, slots=True)
class ProducersForgotten(_JsonChange):
    """A partition forgot producers that were silent for too long."""

    kind: ClassVar[int] = 8
    topic_id: bytes
    partition: int
    producer_ids: list[int]


Change = (
    BatchAppended
    | TopicCreated
    | PartitionsAdded
    | TopicDeleted
    | TopicConfigured
    | LogStartMoved
    | ProducerIdAllocated
    | ProducersForgotten
)

_JSON_KINDS: dict[int, Any] = {
    change.kind: change
    for change in (
        TopicCreated,
        PartitionsAdded,
        TopicDeleted,
        TopicConfigured,
        LogStartMoved,
        ProducerIdAllocated,
        ProducersForgotten,
    )
}


def encode_entry(changes: Sequence[Change]) -> list[Buffer]:
    """The body of a journal entry, as parts to be written one after the other."""
    parts: list[Buffer] = []
    for change in changes:
        parts.extend(change.parts())
    return parts


def decode_entry(body: memoryview) -> Iterator[Change]:
    """The changes of an entry. The journal has checked its CRC: what fails here was written by
    others.
    """
    at = 0
    while at < len(body):
        try:
            kind, length = CHANGE_HEAD.unpack_from(body, at)
        except struct_error:
            raise UnknownChange(f"journal entry ends inside a change at byte {at}") from None
        if kind == BATCH_KIND:
            yield BatchAppended.decode(body, at, length)
        else:
            start = at + CHANGE_HEAD.size
            yield _decode_json(kind, bytes(body[start : start + length]))
        at += CHANGE_HEAD.size + length


def _decode_json(kind: int, body: bytes) -> Change:
    change_type = _JSON_KINDS.get(kind)
    if change_type is None:
        raise UnknownChange(
            f"journal holds a change of kind {kind}, which this version does not know; "
            "start the version of oncelog that wrote this data directory, or a newer one"
        )
    fields = json.loads(body)
    if "topic_id" in fields:
        fields["topic_id"] = bytes.fromhex(fields["topic_id"])
    change: Change = change_type(**fields)
    return change
