"""A broker of few words over a real store: enough state to see whether recovery is right.

Owns an `apply` over entries of changes (create, append, move the start, remove) and a model of what
the logs must hold after each entry, which shares no code with storage.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

from storage.checkpoint import Table, TableChange
from storage.filesystem import Filesystem
from storage.journal import JournalOptions
from storage.journal_format import FILE_HEADER_BYTES
from storage.partition_log import PartitionLog
from storage.segment_reader import rebuild_indexes
from storage.store import Store, StoreOptions
from tests.storage.support.batches import opaque_batch

Change = dict[str, Any]
View = dict[str, tuple[int, int, bytes]]

TOY_TABLE = Table("toy", {"name": str, "value": str}, ("name",))
JOURNAL_ROOM_BYTES = 900
_salts = random.Random(0)


def options() -> StoreOptions:
    """Tiny journal files; salts that never repeat, whoever opens the store."""
    return StoreOptions(
        journal=JournalOptions(
            file_bytes=FILE_HEADER_BYTES + JOURNAL_ROOM_BYTES,
            spare_files_max=1,
            random_bytes=_salts.randbytes,
        ),
        open_files_max=2,
        loaded_index_bytes_max=64,
        clock_ms=lambda: 0,
    )


@dataclass(frozen=True)
class ModelLog:
    start: int = 0
    end: int = 0
    batches: tuple[tuple[int, bytes], ...] = ()

    def appended(self, count: int, batch: bytes) -> ModelLog:
        end = self.end + count
        return ModelLog(self.start, end, (*self.batches, (end - 1, batch)))

    def started_at(self, offset: int) -> ModelLog:
        return ModelLog(offset, self.end, self.batches)

    def view(self) -> tuple[int, int, bytes]:
        visible = [batch for last_offset, batch in self.batches if last_offset >= self.start]
        return self.start, self.end, b"".join(visible)


class Model:
    """What must be there after each entry; may go on from any of its moments."""

    def __init__(self) -> None:
        self._history: list[dict[str, ModelLog]] = [{}]
        self._created: list[tuple[int, str]] = []

    def at(self, count: int) -> Model:
        """Goes on from an earlier moment; directories made since then may be there for ever."""
        model = Model()
        model._history = self._history[: count + 1]
        model._created = [(max(at, count + 1), name) for at, name in self._created if at > count]
        model._created += [(at, name) for at, name in self._created if at <= count]
        return model

    def directories_created_after(self, count: int) -> set[str]:
        return {name for at, name in self._created if at > count}

    def view(self, count: int) -> View:
        return {name: log.view() for name, log in self._history[count].items()}

    def apply(self, entry: list[Change]) -> None:
        logs = dict(self._history[-1])
        for change in entry:
            name = change["name"]
            match change["do"]:
                case "create":
                    logs[name] = ModelLog()
                    self._created.append((len(self._history), change["directory"]))
                case "append":
                    logs[name] = logs[name].appended(
                        change["count"], bytes.fromhex(change["batch"])
                    )
                case "start":
                    logs[name] = logs[name].started_at(change["offset"])
                case "remove":
                    del logs[name]
        self._history.append(logs)


class ToyBroker:
    """Opens a store, recovers, and takes entries."""

    def __init__(self, filesystem: Filesystem) -> None:
        self.count = 0
        self.logs: dict[str, PartitionLog] = {}
        self.store = Store.open(filesystem, options(), [TOY_TABLE])
        rows = {str(name): str(value) for name, value in self.store.rows("toy")}
        self.count = int(rows.pop("entries", "0"))
        for name, directory in rows.items():
            self.logs[name] = self.store.open_log(directory)
        self._saved = set(rows)
        for _, body in self.store.replay():
            self._apply(json.loads(bytes(body)))

    def take(self, entry: list[Change]) -> None:
        self.store.journal.append((json.dumps(entry).encode(),))
        self._apply(entry)

    def _apply(self, entry: list[Change]) -> None:
        self.count += 1
        for change in entry:
            name = change["name"]
            match change["do"]:
                case "create":
                    self.logs[name] = self.store.open_log(change["directory"])
                case "append":
                    log, end = self.logs[name], self.logs[name].log_end_offset
                    batch = bytes.fromhex(change["batch"])
                    last = end + change["count"] - 1
                    log.append(batch, end, last, change["time"], roll=change["roll"])
                case "start":
                    self.logs[name].set_log_start(change["offset"])
                case "remove":
                    self.store.remove_log(self.logs.pop(name))

    def sync(self) -> None:
        self.store.flush()
        self.store.journal.mark_durable(self.store.journal.sync())

    def checkpoint(self) -> None:
        rows = [("entries", str(self.count))]
        for name, log in self.logs.items():
            rows.append((name, log.directory.removeprefix("topics/")))
        gone = [(name,) for name in self._saved - self.logs.keys()]
        self.store.checkpoint([TableChange("toy", gone, rows)])
        self._saved = set(self.logs)

    def view(self) -> View:
        return {name: self._view_of(log) for name, log in self.logs.items()}

    def _view_of(self, log: PartitionLog) -> tuple[int, int, bytes]:
        data = bytearray()
        offset = log.log_start_offset
        while True:
            piece = log.read(
                offset, 400, log.log_end_offset, at_least_one=True, may_block=len(data) % 2 == 0
            )
            assert piece is not None
            if not piece.data:
                return log.log_start_offset, log.log_end_offset, bytes(data)
            data += piece.data
            offset = piece.next_offset

    def _check_files(self) -> None:
        """The directories of known logs hold their segments and nothing else."""
        filesystem = self.store.filesystem
        for log in self.logs.values():
            found = filesystem.listdir(log.directory) if filesystem.exists(log.directory) else []
            sizes = {
                name: filesystem.size(f"{log.directory}/{name}")
                for name in found
                if name.endswith(".log")
            }
            assert sizes == {
                segment.log_path.rpartition("/")[2]: segment.size_bytes for segment in log.segments
            }

    def check_no_orphans(self, model: Model) -> None:
        """After a checkpoint nothing is left of logs that were removed."""
        self.checkpoint()
        self._check_files()
        known = {log.directory.removeprefix("topics/") for log in self.logs.values()}
        found = set(self.store.filesystem.listdir("topics"))
        lost = model.directories_created_after(self.count)
        assert found - known <= lost

    def check_indexes(self) -> None:
        """The indexes are those that a rebuild would make."""
        environment = self.store._environment
        for log in self.logs.values():
            for segment in log.segments:
                index, time_index = rebuild_indexes(segment, environment.file_of(segment))
                kept = environment.index_of(segment, may_block=True)
                assert kept is not None
                assert kept.to_bytes() == index.to_bytes()
                assert environment.time_index_of(segment).to_bytes() == time_index.to_bytes()


class Workload:
    """A stream of random but legal steps, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._time = 1000

    def entry(self, broker: ToyBroker) -> list[Change]:
        chance = self._random
        changes: list[Change] = []
        for _ in range(chance.choice((1, 1, 1, 2))):
            names = [name for name in broker.logs if name not in {c["name"] for c in changes}]
            roll = chance.random()
            if len(broker.logs) < 2 or roll < 0.06:
                changes.append(self._create(broker, {c["name"] for c in changes}))
            elif not names:
                continue
            elif roll < 0.12 and len(broker.logs) > 2:
                changes.append({"do": "remove", "name": chance.choice(names)})
            elif roll < 0.22:
                changes.append(self._start(broker, chance.choice(names)))
            else:
                changes.append(self._append(broker, chance.choice(names)))
        return changes

    def _create(self, broker: ToyBroker, taken: set[str]) -> Change:
        free = [name for name in "abcde" if name not in broker.logs and name not in taken]
        name = free[0] if free else f"x{broker.count}"
        return {"do": "create", "name": name, "directory": broker.store.free_directory(name, 0)}

    def _start(self, broker: ToyBroker, name: str) -> Change:
        log = broker.logs[name]
        offset = self._random.randint(log.log_start_offset, log.log_end_offset)
        return {"do": "start", "name": name, "offset": offset}

    def _append(self, broker: ToyBroker, name: str) -> Change:
        chance = self._random
        count = chance.randint(1, 3)
        size = chance.choice((0, 10, 60, 60, 100, 150)) if chance.random() > 0.04 else 2500
        self._time += chance.randint(-2, 5)
        batch = opaque_batch(
            broker.logs[name].log_end_offset, count, chance.randbytes(size), self._time
        )
        return {
            "do": "append",
            "name": name,
            "count": count,
            "time": self._time,
            "roll": chance.random() < 0.15,
            "batch": batch.hex(),
        }
