"""Durability: from a decided change to "it is on stable storage", and who waits for that.

Owns: commit (journal, then apply), the flush at the end of a loop turn, the queue of those who
wait, publishing of watermarks.
Never knows: requests, what a change means, how a sync is done (`syncer.py`).

Theory of operation. `commit` queues an entry and applies it at once; so the next decision sees it.
`flush` writes everything queued. One sync at a time is under way; whatever is flushed meanwhile
waits for the next one. When a sync is done, all entries below its position are durable: the
watermarks that were true when it began are published to readers, and the answers that waited go
out. A failed write or sync ends the process: after a failed fsync the kernel may have dropped the
pages, and trying again would lie.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from broker.changes import Change, encode_entry
from broker.partition import Ends, Partition
from broker.state import State
from broker.syncer import Syncer

Fatal = Callable[[BaseException], None]


class Durability:
    """The one way by which anything changes."""

    def __init__(
        self,
        state: State,
        loop: asyncio.AbstractEventLoop,
        syncer: Syncer | None,
        on_fatal: Fatal,
    ) -> None:
        """Without a syncer what is written counts as durable (durability=os, --in-memory)."""
        self._state = state
        self._store = state.store
        self._journal = state.store.journal
        self._loop = loop
        self._syncer = syncer
        self._on_fatal = on_fatal
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()
        self._publishing: list[tuple[Partition, Ends]] = []
        self._syncing = False
        self._target = 0
        self._flush_scheduled = False

    @property
    def position(self) -> int:
        """End of the journal: an answer computed now may reveal everything below."""
        return self._journal.end

    @property
    def durable_position(self) -> int:
        """Everything below this is on stable storage."""
        return self._journal.durable

    def commit(self, changes: Sequence[Change]) -> int:
        """Journal the changes as one entry and apply them; StorageFull comes before either."""
        entry = encode_entry(changes)
        try:
            position = self._journal.append(entry)
        except OSError as error:
            self._on_fatal(error)
            raise
        try:
            for change in changes:
                self._state.apply(change)
        except BaseException as error:
            # The journal says it happened and memory says it did not: only a restart can tell.
            self._on_fatal(error)
            raise
        if not self._flush_scheduled:
            # Connections flush at the end of their turn; this one is for everybody else.
            self._flush_scheduled = True
            self._loop.call_soon(self.flush)
        return position

    def flush(self) -> None:
        """Write what is queued and see that a sync is on its way. Cheap when there is nothing."""
        self._flush_scheduled = False
        try:
            self._store.flush()
        except Exception as error:  # noqa: BLE001 - whatever was not written is in doubt now
            self._on_fatal(error)
            return
        if self._journal.end > self._journal.durable:
            self._start_sync()
        elif self._state.touched and not self._syncing:
            # Left over from when the disk was full and a log could not be written.
            self._publishing = self._take_touched()
            self._publish()

    def when_durable(self, position: int, callback: Callable[[], None]) -> None:
        """Call once everything below `position` is durable. Positions must come in rising order."""
        self._waiting.append((position, callback))

    async def wait(self, position: int) -> None:
        """Wait until everything below `position` is durable."""
        if self._journal.durable >= position:
            return
        self.flush()
        if self._journal.durable >= position:
            return
        done = self._loop.create_future()

        def finish() -> None:
            if not done.done():
                done.set_result(None)

        self.when_durable(self._journal.end, finish)
        await done

    def _start_sync(self) -> None:
        if self._syncing:
            return
        self._syncing = True
        # What the thread makes durable may be more by the time it runs, but the watermarks taken
        # here belong to this position, and an answer must not overtake them.
        self._target = self._journal.end
        self._publishing = self._take_touched()
        if self._syncer is None:
            self._journal.skip_sync()
            self._synced()
        else:
            self._syncer.start(self._synced)

    def _take_touched(self) -> list[tuple[Partition, Ends]]:
        """The ends readers may see once this is durable. What a full disk keeps out of a log stays
        touched: it is safe in the journal, but nobody could read it yet."""
        touched, self._state.touched = self._state.touched, {}
        publishing: list[tuple[Partition, Ends]] = []
        for partition in touched:
            if partition.log.unwritten:
                self._state.touched[partition] = None
            else:
                publishing.append((partition, partition.ends()))
        return publishing

    def _publish(self) -> None:
        publishing, self._publishing = self._publishing, []
        for partition, ends in publishing:
            partition.publish(ends)

    def _synced(self) -> None:
        position = self._target
        self._journal.mark_durable(position)
        self._syncing = False
        self._publish()
        if self._journal.end > position:
            self.flush()
        waiting = self._waiting
        while waiting and waiting[0][0] <= position:
            waiting.popleft()[1]()

    def fail(self, error: BaseException) -> None:
        """Somebody else's write or sync failed: as fatal as our own."""
        self._on_fatal(error)

    def close(self) -> None:
        """End; the caller has waited for what it wants durable."""
        if self._syncer is not None:
            self._syncer.close()
