"""AnswerQueue: one connection's answers in order, and the memory that unread answers hold.

Owns: the order of answers, which of them may leave, how many bytes wait in all.
Never knows: sockets, what an answer says.

Each answer comes with the journal position it may reveal; it leaves when that position is durable
and all answers before it have left. What the peer does not read stays in the socket's buffer:
`UnsentMemory` counts those bytes for the whole process, so that a Fetch can be answered with less
when much is unread already.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from struct import Struct

from broker.limits import UNANSWERED_REQUESTS_MAX, UNSENT_BYTES_HIGH, UNSENT_TOTAL_BYTES_MAX
from broker.registry import Buffer

SIZE = Struct(">i")


class AnswerQueue:
    """Answers that have not been handed to the socket yet."""

    __slots__ = ("_answers", "_size_bytes")

    def __init__(self) -> None:
        self._answers: deque[tuple[int, int, Sequence[Buffer]]] = deque()
        self._size_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._answers)

    @property
    def is_full(self) -> bool:
        """Whether the connection's next request should wait."""
        return (
            self._size_bytes >= UNSENT_BYTES_HIGH or len(self._answers) >= UNANSWERED_REQUESTS_MAX
        )

    @property
    def first_position(self) -> int:
        """The position that must be durable before anything more can leave."""
        return self._answers[0][0]

    def waits_beyond(self, durable_position: int) -> bool:
        """Whether an answer waits for something that is not durable yet."""
        return bool(self._answers) and self._answers[-1][0] > durable_position

    def put(self, position: int, buffers: Sequence[Buffer]) -> None:
        """Append an answer, without its size prefix."""
        size = sum(map(len, buffers))
        self._answers.append((position, size, buffers))
        self._size_bytes += size

    def take_ready(self, durable_position: int) -> list[Buffer]:
        """The frames of all answers that may leave now, in order."""
        answers = self._answers
        pieces: list[Buffer] = []
        while answers and answers[0][0] <= durable_position:
            _, size, buffers = answers.popleft()
            self._size_bytes -= size
            pieces.append(SIZE.pack(size))
            pieces.extend(buffers)
        return pieces

    def clear(self) -> None:
        """The connection is gone."""
        self._answers.clear()
        self._size_bytes = 0


class UnsentMemory:
    """Bytes handed to sockets whose peers are slow to read, over all connections."""

    def __init__(self) -> None:
        self.total_bytes = 0

    @property
    def left_bytes(self) -> int:
        """How much more a large answer may add; small ones are never refused."""
        return max(UNSENT_TOTAL_BYTES_MAX - self.total_bytes, 0)
