"""What a producer was told and what the log holds, compared.

Owns the rules: acknowledged is there, once, where it was said to be; nothing is there twice; order
and offsets are whole. Pure: must never know a client, a socket or a broker.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

COMPLAINTS_MAX = 20


class Place(NamedTuple):
    """Where a record is."""

    partition: int
    offset: int


@dataclass
class History:
    """One producer's view. Values are numbers, unique, and sent in rising order."""

    sent: dict[int, int] = field(default_factory=dict)
    """Value to the partition it was sent to."""

    acknowledged: dict[int, Place] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    """Values the client gave up on: they may be in the log or not."""


Logs = Mapping[int, Sequence[tuple[int, int]]]
"""Partition to its (offset, value) pairs in the order they were read."""


def complaints(history: History, logs: Logs) -> list[str]:
    """Everything that breaks a promise; the first few say enough."""
    found = [
        *_duplicates(logs),
        *_gaps(logs),
        *_disorder(logs),
        *_strangers(history, logs),
        *_lost(history, logs),
    ]
    return found[:COMPLAINTS_MAX]


def _places(logs: Logs) -> dict[int, list[Place]]:
    places: dict[int, list[Place]] = {}
    for partition, records in logs.items():
        for offset, value in records:
            places.setdefault(value, []).append(Place(partition, offset))
    return places


def _duplicates(logs: Logs) -> list[str]:
    return [
        f"duplicate: {value} is at {places}"
        for value, places in _places(logs).items()
        if len(places) > 1
    ]


def _gaps(logs: Logs) -> list[str]:
    """Nothing is deleted here and nothing is transactional: offsets count without a gap."""
    found = []
    for partition, records in logs.items():
        for wanted, (offset, _) in enumerate(records):
            if offset != wanted:
                found.append(f"gap: partition {partition} has {offset} where {wanted} belongs")
                break
    return found


def _disorder(logs: Logs) -> list[str]:
    return [
        f"disorder: partition {partition} has {after} after {before}"
        for partition, records in logs.items()
        for (_, before), (_, after) in itertools.pairwise(records)
        if after <= before
    ]


def _strangers(history: History, logs: Logs) -> list[str]:
    return [
        f"stranger: {value} at {place} was sent to {history.sent.get(value)}"
        for value, places in _places(logs).items()
        for place in places
        if history.sent.get(value) != place.partition
    ]


def _lost(history: History, logs: Logs) -> list[str]:
    places = _places(logs)
    return [
        f"lost: {value} was acknowledged at {place}, found at {places.get(value, [])}"
        for value, place in history.acknowledged.items()
        if places.get(value) != [place]
    ]
