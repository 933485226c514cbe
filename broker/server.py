"""Server: the listening socket and the set of open connections.

Owns: accepting, the limit on connections, closing idle ones, the graceful end.
Never knows: what is said on a connection.
"""

from __future__ import annotations

import asyncio
import resource
import socket
from typing import TYPE_CHECKING

from broker.answer_queue import UnsentMemory
from broker.connection import Connection
from broker.limits import (
    CLIENT_IDS_REMEMBERED_MAX,
    DESCRIPTORS_RESERVED,
    IDLE_SWEEP_SECONDS_MAX,
    STALLED_PEER_SECONDS,
)
from broker.receive_buffer import ReceiveMemory
from broker.registry import Handler
from protocol.errors import ProtocolError
from storage.log_environment import OPEN_FILES_MAX

if TYPE_CHECKING:
    from broker.broker import Broker

BACKLOG = 1024


def _descriptors_for_peers() -> int:
    """Descriptors that connections may use up; the files must always get theirs."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return 1 << 30
    return max(soft - OPEN_FILES_MAX - DESCRIPTORS_RESERVED, DESCRIPTORS_RESERVED)


class Server:
    """Everything between the listening socket and the connections."""

    def __init__(
        self, broker: Broker, handlers: dict[int, Handler], loop: asyncio.AbstractEventLoop
    ) -> None:
        self.broker = broker
        self.handlers = handlers
        self.loop = loop
        self.memory = ReceiveMemory(broker.settings.queued_max_request_bytes)
        self.unsent = UnsentMemory()
        self.connections: set[Connection] = set()
        self._client_ids: dict[bytes, str] = {}
        self._connections_max = min(broker.settings.max_connections, _descriptors_for_peers())
        self._listener: asyncio.Server | None = None
        self._sweeper: asyncio.TimerHandle | None = None

    async def listen(self, host: str, port: int) -> tuple[str, int]:
        """Start to accept connections; returns the address really bound."""
        self._listener = await self.loop.create_server(
            lambda: Connection(self), host, port, backlog=BACKLOG, reuse_address=True
        )
        bound: socket.socket = self._listener.sockets[0]
        self._sweep()
        address = bound.getsockname()
        return address[0], address[1]

    def admit(self, connection: Connection) -> bool:
        """Whether one more connection fits; it counts either way until it is forgotten."""
        self.connections.add(connection)
        return len(self.connections) <= self._connections_max

    def forget(self, connection: Connection) -> None:
        self.connections.discard(connection)

    def client_id(self, raw: bytes) -> str:
        """The client id as text; decoded once per distinct id."""
        known = self._client_ids.get(raw)
        if known is not None:
            return known
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            raise ProtocolError("client id is not UTF-8") from None
        if len(self._client_ids) >= CLIENT_IDS_REMEMBERED_MAX:
            self._client_ids.clear()
        self._client_ids[raw] = text
        return text

    def _sweep(self) -> None:
        """Close what has been idle for too long, then look again later."""
        idle_seconds = self.broker.settings.connections_max_idle_ms / 1000
        horizon = self.loop.time() - idle_seconds
        stalled = self.loop.time() - STALLED_PEER_SECONDS
        for connection in list(self.connections):
            if connection.last_active < horizon and connection.is_quiet:
                connection.close("idle")
            elif self.unsent.left_bytes == 0 and connection.is_stalled_since(stalled):
                connection.abort("it does not read its answers, and memory is short")
        self._sweeper = self.loop.call_later(
            min(IDLE_SWEEP_SECONDS_MAX, idle_seconds / 2 + 0.01), self._sweep
        )

    async def stop(self, grace_seconds: float) -> None:
        """Accept nothing more, let answers on their way leave, then close every connection."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        if self._listener is not None:
            self._listener.close()
        deadline = self.loop.time() + grace_seconds
        while self.loop.time() < deadline:
            busy = [item for item in self.connections if not item.is_quiet]
            if not busy:
                break
            for connection in busy:
                if connection.on_interrupt is not None:
                    connection.on_interrupt()
            await asyncio.sleep(0.005)
        for connection in list(self.connections):
            connection.close("the broker stops")
        await asyncio.sleep(0)
