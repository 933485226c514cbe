"""Syncer: makes the journal durable without stopping the loop.

Owns: the one thread of the broker in which fdatasync waits for the disk.
Never knows: who waits, what was written.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Protocol

from storage.journal import Journal


class Syncer(Protocol):
    """One sync at a time; `done` is called in the loop when it has succeeded."""

    def start(self, done: Callable[[], None]) -> None: ...

    def close(self) -> None: ...


class ThreadSyncer:
    """Syncs in a thread. Failure is reported once and final."""

    def __init__(
        self,
        journal: Journal,
        loop: asyncio.AbstractEventLoop,
        on_fatal: Callable[[BaseException], None],
    ) -> None:
        self._journal = journal
        self._loop = loop
        self._on_fatal = on_fatal
        self._requests: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="oncelog-sync", daemon=True)
        self._thread.start()

    def start(self, done: Callable[[], None]) -> None:
        """Begin a sync of everything flushed until now."""
        self._requests.put(done)

    def close(self) -> None:
        """End the thread after the sync that runs."""
        self._requests.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (done := self._requests.get()) is not None:
            try:
                self._journal.sync()
            except BaseException as error:  # noqa: BLE001 - whatever it is, nothing is durable
                self._loop.call_soon_threadsafe(self._on_fatal, error)
                return
            self._loop.call_soon_threadsafe(done)
