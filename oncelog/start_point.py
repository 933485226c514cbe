"""Where `consume` starts to read: what --from means, and the offset it comes to in a partition.

Owns the notation. Pure; the client library looks offsets up by time.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Final

FORMS: Final = "beginning, end, an offset, -N for the last N, @MILLISECONDS or a time"


class StartKind(Enum):
    """The ways to name a place in a partition."""

    BEGINNING = "beginning"
    END = "end"
    OFFSET = "offset"
    LAST = "last"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class StartPoint:
    """A kind with its number: an offset, a count of records, or milliseconds since 1970."""

    kind: StartKind
    number: int = 0

    def offset_between(self, low: int, high: int) -> int:
        """The offset for a partition that holds [low, high); a time must be looked up instead."""
        if self.kind is StartKind.BEGINNING:
            return low
        if self.kind is StartKind.LAST:
            return max(low, high - self.number)
        if self.kind is StartKind.OFFSET:
            return min(max(low, self.number), high)
        return high


def parse_start_point(text: str) -> StartPoint:
    """Reads one of the forms above; raises ValueError for anything else."""
    if text in (StartKind.BEGINNING.value, StartKind.END.value):
        return StartPoint(StartKind(text))
    if re.fullmatch(r"\d{1,18}", text, re.ASCII):
        return StartPoint(StartKind.OFFSET, int(text))
    if re.fullmatch(r"-\d{1,18}", text, re.ASCII):
        return StartPoint(StartKind.LAST, -int(text))
    if re.fullmatch(r"@\d{1,18}", text, re.ASCII):
        return StartPoint(StartKind.TIME, int(text[1:]))
    return StartPoint(StartKind.TIME, _milliseconds(text))


def _milliseconds(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is none of: {FORMS}") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since_1970 = moment - datetime(1970, 1, 1, tzinfo=UTC)
    milliseconds = since_1970.days * 86_400_000 + since_1970.seconds * 1000
    return max(0, milliseconds + since_1970.microseconds // 1000)
