"""Recovery: from a data directory to the state that was acknowledged, and no less.

Owns: the order: checkpoint, journal, publish.
Never knows: how any change is applied; it calls `state.apply` like everybody else.
"""

from __future__ import annotations

import logging

from broker import checkpoint_tables
from broker.changes import decode_entry
from broker.limits import IN_MEMORY_JOURNAL_FILE_BYTES
from broker.settings import Settings
from broker.state import State
from storage.filesystem import Filesystem
from storage.journal import JournalOptions
from storage.store import Store, StoreOptions

logger = logging.getLogger("oncelog.recovery")


def recover(settings: Settings, filesystem: Filesystem) -> State:
    """Open the directory and bring back everything durable."""
    options = StoreOptions(
        node_id=settings.node_id,
        journal=JournalOptions(file_bytes=_journal_file_bytes(settings)),
    )
    store = Store.open(filesystem, options, checkpoint_tables.TABLES)
    try:
        return _replay(settings, store)
    except BaseException:
        store.close()
        raise


def _journal_file_bytes(settings: Settings) -> int:
    """A journal in memory is there in full from its first byte, so it is kept small."""
    if settings.in_memory:
        return min(settings.journal_file_bytes, IN_MEMORY_JOURNAL_FILE_BYTES)
    return settings.journal_file_bytes


def _replay(settings: Settings, store: Store) -> State:
    state = State(settings, store)
    checkpoint_tables.restore(state)
    entries = 0
    for _, body in store.replay():
        for change in decode_entry(body):
            state.apply(change)
        entries += 1
    state.publish_all()
    logger.info("topics: %d, journal entries replayed: %d", len(state.topics), entries)
    return state
