"""Connection: one client's TCP connection: frames in, answers out, in order.

Owns: framing, dispatch to the API modules, the order of answers, back-pressure of one connection.
Never knows: what any request means, files, the journal's inside.

Theory of operation. Bytes arrive in `buffer_updated`; every whole frame is decoded, decided,
journaled and applied right there; a flush at the end of the turn, or of the loop's round, writes it
all. An answer is
queued together with the journal position it may reveal and leaves when that position is durable;
answers never overtake each other. A handler that has to wait (a parked Fetch, a JoinGroup) runs as
a task; until it is done the next requests of this connection stay in the buffer. Reading pauses
while answers are not read by the peer, while too many are unanswered, or while requests wait
behind a task.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from struct import Struct
from struct import error as struct_error
from types import CoroutineType
from typing import TYPE_CHECKING, Any, cast

from broker.answer_queue import AnswerQueue
from broker.context import Context
from broker.limits import (
    CLOSE_LINGER_SECONDS,
    REQUESTS_PER_TURN_MAX,
    UNSENT_BYTES_HIGH,
)
from broker.receive_buffer import ReceiveBuffer
from broker.registry import Buffer, Handler
from protocol.errors import ProtocolError
from protocol.headers import API_VERSIONS_KEY
from protocol.primitives import Reader

if TYPE_CHECKING:
    from broker.server import Server

logger = logging.getLogger("oncelog.connection")

SIZE = Struct(">i")
API_KEY = Struct(">h")
REQUEST_HEAD = Struct(">hhih")
JOIN_BELOW_BYTES = 64 * 1024
COPY_BELOW_BYTES = 8 * 1024


class CloseConnection(Exception):
    """Raised by a handler that can only answer by hanging up (Produce with acks=0 that failed)."""


class Connection(asyncio.BufferedProtocol):
    """One client connection."""

    __slots__ = (
        "_broker",
        "_closing",
        "_durability",
        "_handlers",
        "_linger",
        "_out",
        "_paused_reading",
        "_paused_writing",
        "_receive",
        "_request_bytes_max",
        "_resume_scheduled",
        "_server",
        "_stalled_since",
        "_task",
        "_transport",
        "_unsent_bytes",
        "_waits_durable",
        "has_more",
        "last_active",
        "on_interrupt",
        "peer",
    )

    def __init__(self, server: Server) -> None:
        self._server = server
        self._broker = server.broker
        self._durability = server.broker.durability
        self._handlers = server.handlers
        self._request_bytes_max = server.broker.settings.socket_request_max_bytes
        self._receive = ReceiveBuffer(server.memory, self._out_of_memory)
        self._out = AnswerQueue()
        self._unsent_bytes = 0
        self._stalled_since = 0.0
        self._task: asyncio.Task[Any] | None = None
        self._transport: asyncio.Transport | None = None
        self._paused_reading = False
        self._paused_writing = False
        self._waits_durable = False
        self._resume_scheduled = False
        self._closing = False
        self._linger: asyncio.TimerHandle | None = None
        self.peer = ""
        self.last_active = 0.0
        self.has_more = False
        """Whether more bytes stand behind the request that is being handled."""
        self.on_interrupt: Callable[[], None] | None = None
        """Set by a parked handler that wants to end early when the next request arrives."""

    # Life of the connection.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=UNSENT_BYTES_HIGH)
        peer = transport.get_extra_info("peername")
        self.peer = f"{peer[0]}:{peer[1]}" if peer else "?"
        self.last_active = self._server.loop.time()
        if not self._server.admit(self):
            self.close("too many connections")

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's name
        self._closing = True
        if self._linger is not None:
            self._linger.cancel()
        self._server.forget(self)
        self._receive.clear()
        self._out.clear()
        self._account_unsent(0)
        if self._task is not None:
            self._task.cancel()

    def close(self, reason: str) -> None:
        """Hang up: nothing more is read, the answers before this moment still leave."""
        if self._closing or self._transport is None:
            return
        self._closing = True
        # A hostile peer can cause as many of these lines as it likes.
        logger.debug("closing %s: %s", self.peer, reason)
        self._pause_reading()
        if not self._out:
            self._transport.close()
        # A peer that does not read its last answers must not keep them in our memory for ever.
        self._linger = self._server.loop.call_later(CLOSE_LINGER_SECONDS, self._transport.abort)

    def _out_of_memory(self) -> None:
        self.close("unfinished requests of all connections need too much memory")
        self._receive.clear()

    @property
    def unsent_bytes_left(self) -> int:
        """How large an answer may be, in view of what all peers have left unread."""
        return self._server.unsent.left_bytes

    @property
    def is_quiet(self) -> bool:
        """Nothing is being handled and every answer has been handed to the socket."""
        return self._task is None and not self._out

    # Bytes in.

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's name
        return self._receive.writable()

    def buffer_updated(self, nbytes: int) -> None:
        buffer, end = self._receive.received(nbytes)
        self.last_active = self._server.loop.time()
        if self._task is None:
            self._handle(buffer, end)
            return
        self._receive.keep(buffer, 0, end)
        self._pause_reading()
        if self.on_interrupt is not None:
            self.on_interrupt()

    def _handle(self, buffer: bytearray, end: int) -> None:
        """Handle the whole frames in buffer[:end] as far as this turn may go; keep the rest."""
        # Few bytes are copied so that they outlive this turn: then one write at the end of the
        # loop's round serves all connections. Many bytes are written at once, from where they lie.
        at_once = end > COPY_BELOW_BYTES or buffer is not self._server.memory.shared
        if not at_once:
            buffer = buffer[:end]
        try:
            at, waits_for_sync = self._handle_frames(buffer, end)
        finally:
            # Whatever happens: the journal's queue points into a buffer others will write to.
            if at_once:
                self._durability.flush()
        if self._closing:
            self._receive.clear()
        else:
            self._receive.keep(buffer, at, end)
        self._drain()
        if self._paused_reading and not waits_for_sync and not self._is_blocked():
            self._schedule_resume()

    def _handle_frames(self, buffer: bytearray, end: int) -> tuple[int, bool]:
        """Where the first unhandled byte is, and whether the frame there waits for a sync."""
        at = 0
        handled = 0
        waits_for_sync = False
        while end - at >= SIZE.size and not self._closing:
            (size,) = SIZE.unpack_from(buffer, at)
            if size < REQUEST_HEAD.size or size > self._request_bytes_max:
                self.close(f"request of {size} bytes")
                break
            frame_end = at + SIZE.size + size
            if frame_end > end:
                break
            waits_for_sync = self._must_see_earlier(buffer, at)
            if waits_for_sync or self._is_blocked() or handled == REQUESTS_PER_TURN_MAX:
                self._pause_reading()
                break
            self.has_more = frame_end < end
            self._request(buffer, at + SIZE.size, frame_end)
            at = frame_end
            handled += 1
        return at, waits_for_sync

    def _is_blocked(self) -> bool:
        return self._task is not None or self._paused_writing or self._out.is_full

    def _must_see_earlier(self, buffer: bytearray, at: int) -> bool:
        """Whether the frame only reads, and writes of this connection are not visible yet.

        A client that sends a write and a read in one go expects the read to see the write.
        """
        if not self._out.waits_beyond(self._durability.durable_position):
            return False
        (api_key,) = API_KEY.unpack_from(buffer, at + SIZE.size)
        handler = self._handlers.get(api_key)
        return handler is not None and handler.api.answers_from_durable

    def _request(self, buffer: bytearray, at: int, end: int) -> None:
        try:
            handler, context, request = self._decode(buffer, at, end)
            response = handler.handle(context, request)
            if type(response) is CoroutineType:
                task = self._server.loop.create_task(response)
                self._task = task
                task.add_done_callback(lambda done: self._task_done(handler, context, done))
            elif response is not None:
                self._answer(handler, context, response)
        except ProtocolError as error:
            self.close(f"malformed request: {error}")
        except CloseConnection as error:
            self.close(str(error))
        except Exception:
            logger.exception("request from %s failed", self.peer)
            self.close("internal error")

    def _decode(self, buffer: bytearray, at: int, end: int) -> tuple[Handler, Context, Any]:
        """The request's handler, context and body; ProtocolError for whatever Kafka hangs up on."""
        api_key, version, correlation_id, client_id_bytes = REQUEST_HEAD.unpack_from(buffer, at)
        handler = self._handlers.get(api_key)
        if handler is None:
            raise ProtocolError(f"unknown API key {api_key}")
        api = handler.api
        supported = api.min_version <= version <= api.max_version
        if not supported and api_key != API_VERSIONS_KEY:
            raise ProtocolError(f"{handler.name} version {version} is not supported")
        at += REQUEST_HEAD.size
        client_id = ""
        if client_id_bytes > 0:
            client_id = self._server.client_id(bytes(buffer[at : at + client_id_bytes]))
            at += client_id_bytes
        elif client_id_bytes < -1:
            raise ProtocolError("negative client id length")
        if at > end:
            raise ProtocolError("client id runs past the request")
        flexible = version >= handler.flexible_from
        if flexible and supported:
            if at < end and buffer[at] == 0:
                at += 1
            else:
                reader = Reader(buffer, at, end)
                reader.skip_tagged_fields()
                at = reader.position
        context = Context(
            self._broker,
            self,
            api_key,
            version,
            correlation_id,
            client_id,
            flexible and api_key != API_VERSIONS_KEY,
        )
        try:
            request = handler.decode(buffer, at, end, version) if supported else None
        except struct_error:
            raise ProtocolError(f"{handler.name} is cut short") from None
        return handler, context, request

    def _task_done(self, handler: Handler, context: Context, task: asyncio.Task[Any]) -> None:
        self._task = None
        self.on_interrupt = None
        if task.cancelled():
            return
        try:
            response = task.result()
            if not self._closing:
                self._answer(handler, context, response)
        except Exception:
            logger.exception("request from %s failed", self.peer)
            self.close("internal error")
        self._resume()

    # Answers out.

    def _answer(self, handler: Handler, context: Context, response: Any) -> None:
        position = 0 if handler.api.answers_from_durable else self._durability.position
        self._out.put(position, handler.encode(context, response))

    def _drain(self) -> None:
        """Send every answer whose position is durable, in order, in one write."""
        out = self._out
        if not out:
            return
        pieces = out.take_ready(self._durability.durable_position)
        if out and not self._waits_durable:
            self._waits_durable = True
            self._durability.when_durable(out.first_position, self._became_durable)
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if pieces:
            self._write(pieces)
        if self._closing and not out:
            transport.close()

    def _write(self, pieces: list[Buffer]) -> None:
        """Small pieces are joined; large ones go as they are, a copy would cost more."""
        transport = cast(asyncio.Transport, self._transport)
        small: list[Buffer] = []
        for piece in pieces:
            if len(piece) < JOIN_BELOW_BYTES:
                small.append(piece)
                continue
            if small:
                transport.write(b"".join(small))
                small.clear()
            transport.write(piece)
        if small:
            transport.write(b"".join(small) if len(small) > 1 else small[0])

    def _became_durable(self) -> None:
        self._waits_durable = False
        self._drain()
        if self._paused_reading and not self._closing:
            self._schedule_resume()

    # Back-pressure.

    def pause_writing(self) -> None:
        self._paused_writing = True
        self._stalled_since = self._server.loop.time()
        if self._transport is not None:
            self._account_unsent(self._transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self._paused_writing = False
        self._account_unsent(0)
        self._schedule_resume()

    def _account_unsent(self, size_bytes: int) -> None:
        self._server.unsent.total_bytes += size_bytes - self._unsent_bytes
        self._unsent_bytes = size_bytes

    def is_stalled_since(self, horizon: float) -> bool:
        """Whether the peer has left large answers unread since then."""
        return self._paused_writing and self._stalled_since < horizon

    def abort(self, reason: str) -> None:
        """Cut off a peer without waiting for it to read anything."""
        logger.info("cutting off %s: %s", self.peer, reason)
        self._closing = True
        if self._transport is not None:
            self._transport.abort()

    def _pause_reading(self) -> None:
        if not self._paused_reading and self._transport is not None:
            self._paused_reading = True
            self._transport.pause_reading()

    def _schedule_resume(self) -> None:
        if not self._resume_scheduled:
            self._resume_scheduled = True
            self._server.loop.call_soon(self._resume)

    def _resume(self) -> None:
        """Go on with what was kept, then read again."""
        self._resume_scheduled = False
        if self._closing or self._transport is None:
            return
        unhandled = self._receive.unhandled()
        was_paused = self._paused_reading
        self._paused_reading = False
        if unhandled is not None:
            self._handle(*unhandled)
        else:
            self._durability.flush()
            self._drain()
        if was_paused and not self._paused_reading and not self._closing:
            self._transport.resume_reading()
