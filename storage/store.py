"""The store: one data directory with its journal, its logs and its checkpoint.

Owns which logs there are, and the order of writes between journal, logs and checkpoint. Must never
know topics, producers or what an entry means.

The order of a checkpoint, and why a crash between any two steps loses nothing:
 1. `collect_checkpoint`, in the loop: everything queued is written; the rows are taken at one
    position P of the journal.
 2. `write_checkpoint`, in a thread: index bytes are written; changed files and the directories of
    new names are synced; rows, P and the list of doomed files are committed in one transaction.
    Before the commit a crash leaves the old checkpoint, which the longer journal fits as well.
    After it the journal below P is not needed, so it does not matter whether it was synced.
 3. Still there: the journal lets go of files before P, doomed files are unlinked. A crash leaves
    some of them; the list is in the checkpoint, and the next start finishes the work.
 4. `finish_checkpoint`, in the loop. Or `abandon_checkpoint`, when the disk was full: what was
    collected will be collected again.

Recovery: the logs are cut to what the checkpoint knew, then the caller replays the journal through
the same code that runs live. Files of logs that came into being after the checkpoint are removed,
since replay writes them again. Directories nobody knows are left alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from storage.checkpoint import PATH as CHECKPOINT_PATH
from storage.checkpoint import Checkpoint, CheckpointData, Table, TableChange, Value
from storage.directory import DataDirectory, partition_directory
from storage.errors import CorruptDirectory, StorageBusy, StorageFull, check
from storage.filesystem import NO_SPACE_ERRNOS, Filesystem, parent_of
from storage.journal import DIRECTORY as JOURNAL_DIRECTORY
from storage.journal import Journal, JournalOptions
from storage.log_environment import (
    LOADED_INDEX_BYTES_MAX,
    OPEN_FILES_MAX,
    LogEnvironment,
)
from storage.partition_log import LogRow, PartitionLog, SavedLog
from storage.segment import IndexWrite, SegmentRow

TOPICS = "topics"
REPLAY_FLUSH_BYTES = 1 << 20

LOGS_TABLE = Table(
    "logs", {"directory": str, "log_start_offset": int, "log_end_offset": int}, ("directory",)
)
SEGMENTS_TABLE = Table(
    "segments",
    {name: str if name == "directory" else int for name in SegmentRow._fields},
    ("directory", "base_offset"),
)
DOOMED_TABLE = Table("doomed_files", {"path": str}, ("path",))


def _wall_clock_ms() -> int:
    return int(time.time() * 1000)


@dataclass(frozen=True)
class StoreOptions:
    """What the caller may choose."""

    node_id: int = 1
    journal: JournalOptions = field(default_factory=JournalOptions)
    open_files_max: int = OPEN_FILES_MAX
    loaded_index_bytes_max: int = LOADED_INDEX_BYTES_MAX
    clock_ms: Callable[[], int] = _wall_clock_ms


@dataclass
class CheckpointPlan:
    """Everything a checkpoint has to do, taken at one position."""

    position: int
    changes: list[TableChange]
    saved: list[tuple[PartitionLog, SavedLog]] = field(default_factory=list)
    index_writes: list[IndexWrite] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)
    doomed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unlinked: list[str] = field(default_factory=list)


class Store:
    """See the top of this file."""

    def __init__(
        self,
        filesystem: Filesystem,
        options: StoreOptions,
        directory: DataDirectory,
        checkpoint: Checkpoint,
    ) -> None:
        self.filesystem = filesystem
        self.directory = directory
        self.journal = Journal(filesystem, options.journal)
        self.logs: dict[str, PartitionLog] = {}
        """By the name of their directory."""
        self._checkpoint = checkpoint
        self._environment = LogEnvironment(
            filesystem, options.open_files_max, options.loaded_index_bytes_max
        )
        self._data = checkpoint.load() or CheckpointData(0, 1, {})
        self._log_rows: dict[str, LogRow] = {}
        self._segment_rows: dict[str, list[SegmentRow]] = {}
        self._removed: dict[str, None] = {}
        self._unlinked: list[str] = []
        self._plan: CheckpointPlan | None = None
        self._recovering = True
        if not filesystem.exists(TOPICS):
            filesystem.makedirs(TOPICS)
            filesystem.sync_directory(".")
        # A killed process may have left directories that are there, but not yet for good.
        self._environment.new_names[TOPICS] = None

    @classmethod
    def open(
        cls,
        filesystem: Filesystem,
        options: StoreOptions | None = None,
        tables: Iterable[Table] = (),
    ) -> Store:
        """Locks and opens a data directory, new or old. Then: `rows`, `open_log`, `replay`."""
        options = options or StoreOptions()
        directory = DataDirectory.open(filesystem, options.node_id, options.clock_ms())
        with ExitStack() as undo:
            undo.callback(directory.close)
            own = (LOGS_TABLE, SEGMENTS_TABLE, DOOMED_TABLE)
            _require_checkpoint(filesystem)
            checkpoint = Checkpoint(filesystem, (*tables, *own))
            undo.callback(checkpoint.close)
            store = cls(filesystem, options, directory, checkpoint)
            store._load()
            undo.pop_all()
        return store

    # ---- recovery -----------------------------------------------------------------------------

    def _load(self) -> None:
        tables = self._data.tables
        for row in tables.get(LOGS_TABLE.name, ()):
            log_row = LogRow(*row)  # type: ignore[arg-type]
            self._log_rows[log_row.directory] = log_row
        for row in tables.get(SEGMENTS_TABLE.name, ()):
            segment_row = SegmentRow(*row)  # type: ignore[arg-type]
            self._segment_rows.setdefault(segment_row.directory, []).append(segment_row)
        doomed = [str(row[0]) for row in tables.get(DOOMED_TABLE.name, ())]
        self._unlink(doomed)
        self._unlinked = doomed

    def rows(self, table: str) -> list[tuple[Value, ...]]:
        """The rows of a table as they were at the last checkpoint."""
        return self._data.tables.get(table, [])

    def replay(self) -> Iterator[tuple[int, memoryview]]:
        """(position after the entry, body) of all that happened since the checkpoint.

        The caller does what each says, before it takes the next. To be exhausted before anything
        else is appended.
        """
        unflushed = 0
        for end, body in self.journal.replay(self._data.position, self._data.journal_number):
            yield end, body
            unflushed += len(body)
            if unflushed >= REPLAY_FLUSH_BYTES:
                unflushed = 0
                self._flush_logs()
        self._flush_logs()
        self._recovering = False
        self._data = CheckpointData(self._data.position, self._data.journal_number, {})

    # ---- logs ---------------------------------------------------------------------------------

    def free_directory(self, topic: str, partition: int) -> str:
        """A name for the directory of a new log that nothing uses or has yet to be rid of."""
        attempt = 0
        while True:
            name = partition_directory(topic, partition, attempt)
            path = f"{TOPICS}/{name}"
            if (
                name not in self.logs
                and f"{path}/" not in self._environment.doomed
                and not self.filesystem.exists(path)
            ):
                return name
            attempt += 1

    def open_log(self, directory: str) -> PartitionLog:
        """The log in that directory, as the checkpoint knows it, or a new one."""
        check(directory not in self.logs, f"the log {directory} is open")
        path = f"{TOPICS}/{directory}"
        check(f"{path}/" not in self._environment.doomed, f"{path} waits for its removal")
        log = PartitionLog(self._environment, path)
        row = self._log_rows.pop(path, None)
        if row is not None:
            log.restore(row, self._segment_rows.pop(path, []))
        else:
            if self._recovering:
                log.cut_files()
            self._environment.dirty[log] = None
        self.logs[directory] = log
        return log

    def remove_log(self, log: PartitionLog) -> None:
        """Forgets a log; its files go with the next checkpoint."""
        name = log.directory.removeprefix(f"{TOPICS}/")
        check(self.logs.pop(name, None) is log, f"the log {name} is open")
        log.close()
        self._environment.doomed[f"{log.directory}/"] = None
        self._removed[log.directory] = None

    # ---- writing ------------------------------------------------------------------------------

    @property
    def is_full(self) -> bool:
        """Whether new data should be refused: the disk has no room for it."""
        return self.journal.full or bool(self._environment.unwritten)

    def flush(self) -> None:
        """Writes what was appended: the journal first, then the logs that were touched."""
        self.journal.flush()
        self._flush_logs()

    def _flush_logs(self) -> None:
        environment = self._environment
        if environment.unwritten:
            for log in list(environment.unwritten):
                log.flush()
        touched = environment.touched
        if touched:
            environment.touched = []
            for log in touched:
                log.flush()

    # ---- checkpoint ---------------------------------------------------------------------------

    def collect_checkpoint(self, changes: Iterable[TableChange] = ()) -> CheckpointPlan:
        """Takes everything at the journal's end; `changes` are the caller's rows at this moment.

        Raises StorageFull while a log has bytes it could not write.
        """
        check(self._plan is None, "one checkpoint at a time")
        check(not self._recovering, "the journal is replayed before a checkpoint is made")
        self.flush()
        environment = self._environment
        if environment.unwritten:
            raise StorageFull("the logs have no space for what the journal holds")
        for segment in list(environment.rebuilt):
            environment.rebuilt.pop(segment, None)
            log = self.logs.get(parent_of(segment.path).removeprefix(f"{TOPICS}/"))
            if log is not None:
                log.save_again(segment)
        plan = CheckpointPlan(self.journal.end, list(changes))
        plan.saved = [(log, log.save()) for log in environment.dirty]
        environment.dirty.clear()
        plan.doomed, plan.removed = list(environment.doomed), list(self._removed)
        plan.unlinked, plan.directories = self._unlinked, list(environment.new_names)
        environment.new_names.clear()
        self._removed, self._unlinked = {}, []
        self._plan = plan
        _add_own_changes(plan)
        return plan

    def write_checkpoint(self, plan: CheckpointPlan) -> None:
        """Makes the plan durable. Blocks, so call it in a thread.

        After StorageFull or StorageBusy abandon the plan; anything else must end the process.
        """
        filesystem = self.filesystem
        try:
            for write in plan.index_writes:
                file = filesystem.open(write.path, create=True)
                file.pwritev((write.data,), write.at)
                file.close()
        except OSError as error:
            if error.errno not in NO_SPACE_ERRNOS:
                raise
            raise StorageFull("no space left for the indexes") from error
        for path in plan.files:
            file = filesystem.open(path, create=False)
            file.fdatasync()
            file.close()
        for path in plan.directories:
            filesystem.sync_directory(path)
        number = self.journal.number_of(plan.position)
        self._checkpoint.commit(plan.position, number, plan.changes)
        self.journal.release(number)
        self._unlink(plan.doomed)

    def finish_checkpoint(self, plan: CheckpointPlan) -> None:
        """The plan is durable."""
        check(self._plan is plan, "only the plan that was collected can be finished")
        self._plan = None
        for path in plan.doomed:
            del self._environment.doomed[path]
        self._unlinked = plan.doomed

    def abandon_checkpoint(self, plan: CheckpointPlan) -> None:
        """The disk was full: all that the plan holds will be in the next one."""
        check(self._plan is plan, "only the plan that was collected can be abandoned")
        self._plan = None
        for log, saved in plan.saved:
            if self.logs.get(log.directory.removeprefix(f"{TOPICS}/")) is log:
                log.take_back(saved)
        self._environment.new_names.update(dict.fromkeys(plan.directories))
        self._removed = {**dict.fromkeys(plan.removed), **self._removed}
        self._unlinked = plan.unlinked

    def checkpoint(self, changes: Iterable[TableChange] = ()) -> None:
        """All steps at once, for start, stop and tests. Blocks."""
        plan = self.collect_checkpoint(changes)
        try:
            self.write_checkpoint(plan)
        except (StorageFull, StorageBusy):
            self.abandon_checkpoint(plan)
            raise
        self.finish_checkpoint(plan)

    def _unlink(self, doomed: Iterable[str]) -> None:
        directories = False
        for path in doomed:
            with suppress(FileNotFoundError):
                if path.endswith("/"):
                    directories = True
                    self.filesystem.rmtree(path.rstrip("/"))
                else:
                    self.filesystem.unlink(path)
        if directories and self.filesystem.exists(TOPICS):
            self.filesystem.sync_directory(TOPICS)

    def close(self) -> None:
        """Closes everything. What should survive has been flushed and synced before."""
        for log in self.logs.values():
            log.close()
        self.journal.close()
        self._checkpoint.close()
        self.directory.close()


def _require_checkpoint(filesystem: Filesystem) -> None:
    """The database is made before the first journal file, so it cannot be missing beside one."""
    if filesystem.exists(CHECKPOINT_PATH) or not filesystem.exists(JOURNAL_DIRECTORY):
        return
    files = [name for name in filesystem.listdir(JOURNAL_DIRECTORY) if name.endswith(".wal")]
    if files:
        raise CorruptDirectory(
            CHECKPOINT_PATH,
            None,
            f"the file is missing, though there is {JOURNAL_DIRECTORY}/{files[0]}. Nothing was"
            " changed. Restore it from a copy, or the whole data directory from a backup",
        )


def _add_own_changes(plan: CheckpointPlan) -> None:
    """The rows about logs, segments and doomed files."""
    rows: list[LogRow] = []
    segments: list[SegmentRow] = []
    dropped: list[tuple[str, int]] = []
    for log, saved in plan.saved:
        rows.append(saved.row)
        segments.extend(saved.segments)
        dropped.extend(saved.dropped)
        plan.index_writes.extend(saved.index_writes)
        if saved.index_writes:
            plan.directories.append(log.directory)
    plan.files.extend(f"{row.directory}/{row.base_offset:020d}.log" for row in segments)
    plan.files.extend(write.path for write in plan.index_writes if write.data)
    plan.directories = list(dict.fromkeys(plan.directories))
    gone = [(path,) for path in plan.removed]
    plan.changes += [
        TableChange(LOGS_TABLE.name, gone, rows),
        TableChange(SEGMENTS_TABLE.name, [*gone, *dropped], segments),
        TableChange(
            DOOMED_TABLE.name,
            [(path,) for path in plan.unlinked],
            [(path,) for path in plan.doomed],
        ),
    ]
