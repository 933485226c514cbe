"""Broker: the running whole: settings, state, durability, and the few questions every handler
asks.

Owns: putting the parts together; clock and random ids, so that everything else takes them as
values.
Never knows: sockets, the wire.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

from broker.durability import Durability
from broker.registry import Api
from broker.settings import Settings
from broker.state import State


def wall_clock_ms() -> int:
    """Milliseconds since 1970 by the machine's clock."""
    return time.time_ns() // 1_000_000


def random_id() -> bytes:
    """A fresh topic id. Ids whose text would begin with a dash are avoided, as in Kafka: tools
    choke.
    """
    while True:
        fresh = uuid.uuid4().bytes
        if fresh[0] >> 2 != 0x3E:
            return fresh


class Broker:
    """What a handler can reach."""

    def __init__(
        self,
        settings: Settings,
        state: State,
        durability: Durability,
        *,
        now_ms: Callable[[], int] = wall_clock_ms,
        new_id: Callable[[], bytes] = random_id,
    ) -> None:
        self.settings = settings
        self.state = state
        self.topics = state.topics
        self.store = state.store
        self.durability = durability
        self.now_ms = now_ms
        self.new_id = new_id
        self.node_id = settings.node_id
        self.cluster_id = state.store.directory.cluster_id
        self.disk_is_full = False
        """Set by housekeeping: new records and topics are refused with a retriable error."""
        self.apis: list[Api] = []
        """What ApiVersions lists; set when the API modules are loaded."""
        self.host = ""
        self.port = 0
        """The address clients are told; set once the socket is bound."""
