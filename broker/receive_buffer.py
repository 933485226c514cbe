"""ReceiveBuffer: one connection's incoming bytes, without a buffer of its own while it is idle.

Owns: the buffer all connections share, the memory of unfinished frames, its reuse and its bound.
Never knows: sockets, what a frame means (only its size prefix).

Theory of operation. asyncio asks for a buffer and fills it in one step, so one large buffer can
serve every connection: whole frames are handled right there and only what is left over is copied
into memory that belongs to the connection. A frame's claimed size buys nothing by itself: large
memory is handed out only while there is plenty of it, else it grows with the bytes that really
came. When all unfinished frames together pass the limit, the one that has waited longest without
progress is given up.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

from broker.limits import (
    BUFFER_POOL_BYTES_MAX,
    EAGER_FRAME_BYTES_MAX,
    EAGER_TOTAL_BYTES_MAX,
    OWN_BUFFER_BYTES_MIN,
    SHARED_RECEIVE_BUFFER_BYTES,
    SMALL_FRAME_BYTES_MAX,
)

SIZE = Struct(">i")


class ReceiveMemory:
    """The receive memory of the whole process."""

    def __init__(self, total_bytes_max: int) -> None:
        self.shared = bytearray(SHARED_RECEIVE_BUFFER_BYTES)
        self.shared_view = memoryview(self.shared)
        self.total_bytes_max = total_bytes_max
        self.total_bytes = 0
        self._pool: dict[int, list[bytearray]] = {}
        self._pool_bytes = 0
        # Least recently fed first: a dict keeps the order, and feeding moves a buffer to its end.
        self._large: dict[ReceiveBuffer, None] = {}

    def allocate(self, capacity: int) -> bytearray:
        """Memory of at least this capacity; contents are arbitrary."""
        size = max(OWN_BUFFER_BYTES_MIN, 1 << (capacity - 1).bit_length())
        if capacity > EAGER_FRAME_BYTES_MAX:
            size = capacity
        self.total_bytes += size
        pooled = self._pool.get(size)
        if pooled:
            self._pool_bytes -= size
            return pooled.pop()
        return bytearray(size)

    def release(self, buffer: bytearray) -> None:
        """Give memory back; some of it is kept for the next frame of that size."""
        size = len(buffer)
        self.total_bytes -= size
        if size <= EAGER_FRAME_BYTES_MAX and self._pool_bytes + size <= BUFFER_POOL_BYTES_MAX:
            self._pool_bytes += size
            self._pool.setdefault(size, []).append(buffer)

    def progressed(self, buffer: ReceiveBuffer) -> None:
        """Bytes of a large unfinished frame came; give up the stalest if memory is short."""
        large = self._large
        large.pop(buffer, None)
        large[buffer] = None
        while self.total_bytes > self.total_bytes_max and len(large) > 1:
            stalest = next(iter(large))
            del large[stalest]
            stalest.give_up()

    def finished(self, buffer: ReceiveBuffer) -> None:
        """The large frame is complete or gone."""
        self._large.pop(buffer, None)


class ReceiveBuffer:
    """The incoming bytes of one connection."""

    __slots__ = ("_memory", "_own", "filled", "give_up")

    def __init__(self, memory: ReceiveMemory, give_up: Callable[[], None]) -> None:
        self._memory = memory
        self._own: bytearray | None = None
        self.filled = 0
        self.give_up = give_up

    def writable(self) -> memoryview:
        """Where the next bytes from the socket go."""
        own = self._own
        if own is None:
            return self._memory.shared_view
        if self.filled == len(own):
            own = self._grow(own)
        return memoryview(own)[self.filled :]

    def received(self, count: int) -> tuple[bytearray, int]:
        """`count` bytes came: the buffer that holds all unhandled bytes from 0, and their end."""
        if self._own is None:
            return self._memory.shared, count
        self.filled += count
        if len(self._own) > SMALL_FRAME_BYTES_MAX:
            self._memory.progressed(self)
        return self._own, self.filled

    def unhandled(self) -> tuple[bytearray, int] | None:
        """Bytes kept earlier, if there are any."""
        return None if self._own is None else (self._own, self.filled)

    def keep(self, buffer: bytearray, start: int, end: int) -> None:
        """The bytes from start to end were not handled; they stay for later."""
        own = self._own
        left = end - start
        if left == 0:
            if own is not None:
                self.clear()
            return
        if own is not None and start == 0:
            return
        needed = left
        if left >= SIZE.size:
            needed = max(left, SIZE.size + SIZE.unpack_from(buffer, start)[0])
        capacity = self._affordable(needed, left)
        fresh = self._memory.allocate(capacity)
        with memoryview(buffer) as view:
            fresh[:left] = view[start:end]
        if own is not None:
            self.clear()
        self._own = fresh
        self.filled = left

    def clear(self) -> None:
        """Nothing is left: the memory goes back."""
        if self._own is not None:
            self._memory.finished(self)
            self._memory.release(self._own)
            self._own = None
            self.filled = 0

    def _affordable(self, needed: int, have: int) -> int:
        """How much to take for a frame that claims `needed` bytes and has `have`."""
        if needed <= OWN_BUFFER_BYTES_MIN:
            return OWN_BUFFER_BYTES_MIN
        memory = self._memory
        if needed <= EAGER_FRAME_BYTES_MAX and memory.total_bytes < EAGER_TOTAL_BYTES_MAX:
            return needed
        return min(needed, max(OWN_BUFFER_BYTES_MIN, 2 * have))

    def _grow(self, own: bytearray) -> bytearray:
        """The frame claims more than this buffer holds, and all of it has been filled."""
        needed = max(SIZE.size + SIZE.unpack_from(own, 0)[0], len(own) + 1)
        fresh = self._memory.allocate(self._affordable(needed, len(own)))
        fresh[: len(own)] = own
        self._memory.release(own)
        self._own = fresh
        return fresh
