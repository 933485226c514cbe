"""ProducerIds: which producer id comes next. Ids are never handed out twice, not even over a
crash.
"""

from __future__ import annotations

FIRST_PRODUCER_ID = 1000
"""Small numbers are left free so that a hand-made id in a test or a tool never meets a real one."""


class ProducerIds:
    """A counter whose every step is journaled before the id leaves the broker."""

    __slots__ = ("next_id",)

    def __init__(self) -> None:
        self.next_id = FIRST_PRODUCER_ID

    def apply(self, allocated: int) -> None:
        """An id was given away; the next one is larger."""
        self.next_id = max(self.next_id, allocated + 1)
