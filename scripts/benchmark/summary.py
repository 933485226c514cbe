"""Samples become medians and ratios: pure arithmetic.

Must never know: processes, clocks, or how anything is printed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from scripts.benchmark.measure import MEASURES, Measures


class Sample(NamedTuple):
    """What one run of one work against one system gave; measures are empty when it failed."""

    work: str
    system: str
    round: int
    measures: Measures
    error: str | None = None


class Row(NamedTuple):
    """One measure of one work: the median for each system that has one."""

    work: str
    measure: str
    medians: dict[str, float]
    spreads: dict[str, tuple[float, float]]

    def ratio(self, numerator: str, denominator: str) -> float | None:
        """Median over median; None when either is missing or the divisor is not above zero."""
        above, below = self.medians.get(numerator), self.medians.get(denominator)
        if above is None or below is None or below <= 0:
            return None
        return above / below

    def times_better(self, system: str, other: str) -> float | None:
        """How many times better `system` is: above 1 is better whichever way the measure goes."""
        ratio = self.ratio(system, other)
        if ratio is None or ratio <= 0:
            return None
        return ratio if MEASURES[self.measure].is_higher_better else 1.0 / ratio


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile: a value that really occurred."""
    if not values:
        raise ValueError("no values")
    rank = math.ceil(percent / 100.0 * len(values))
    return sorted(values)[max(rank, 1) - 1]


def summarise(samples: Iterable[Sample]) -> list[Row]:
    """One row per (work, measure), in the order in which they first occur."""
    groups: dict[tuple[str, str], dict[str, list[float]]] = {}
    for sample in samples:
        for measure, value in sample.measures.items():
            systems = groups.setdefault((sample.work, measure), {})
            systems.setdefault(sample.system, []).append(value)
    return [
        Row(
            work,
            measure,
            {system: median(values) for system, values in systems.items()},
            {system: (min(values), max(values)) for system, values in systems.items()},
        )
        for (work, measure), systems in groups.items()
    ]


def failures(samples: Iterable[Sample]) -> list[Sample]:
    """The runs that gave no figure."""
    return [sample for sample in samples if sample.error is not None]
