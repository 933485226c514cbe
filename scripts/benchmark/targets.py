"""What oncelog must reach against Apache Kafka, and whether a set of rows reaches it: pure.

Must never know: how a figure was obtained or is printed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from scripts.benchmark.measure import MEASURES
from scripts.benchmark.summary import Row

ONCELOG = "oncelog"
KAFKA = "kafka"
KAFKA_FSYNC = "kafka_fsync"


class Target(NamedTuple):
    """A bound on the ratio to `against`, or on the figure itself when `against` is None.

    Rates are bounded from below, everything else from above.
    """

    work: str
    measure: str
    against: str | None
    bound: float

    @property
    def is_lower_bound(self) -> bool:
        """Whether the figure must be at least the bound."""
        return MEASURES[self.measure].is_higher_better


class Verdict(NamedTuple):
    """A target with what was reached; `value` is None when nothing was measured."""

    target: Target
    value: float | None

    @property
    def is_met(self) -> bool | None:
        """None when there is nothing to judge."""
        if self.value is None:
            return None
        if self.target.is_lower_bound:
            return self.value >= self.target.bound
        return self.value <= self.target.bound


TARGETS: tuple[Target, ...] = (
    Target("produce-100B-1p-none", "cpu_s_per_million", KAFKA, 0.6),
    Target("produce-1KB-1p-none", "cpu_s_per_million", KAFKA, 0.6),
    Target("produce-10KB-1p-none", "cpu_s_per_million", KAFKA, 0.9),
    Target("produce-100B-1p-none", "records_per_s", KAFKA, 1.1),
    Target("produce-1KB-1p-none", "records_per_s", KAFKA, 1.1),
    Target("produce-1KB-8p-none", "records_per_s", KAFKA, 1.0),
    Target("produce-1KB-8p-none", "records_per_s", KAFKA_FSYNC, 3.0),
    Target("java-produce-100B", "records_per_s", KAFKA, 1.0),
    Target("java-produce-1KB", "records_per_s", KAFKA, 1.0),
    Target("ack-latency", "p50_ms", KAFKA_FSYNC, 0.7),
    Target("end-to-end-latency", "p50_ms", KAFKA_FSYNC, 0.8),
    Target("requests-1x50", "requests_per_s", KAFKA_FSYNC, 10.0),
    Target("requests-1x50", "requests_per_s", KAFKA, 2.0),
    Target("requests-50x5", "requests_per_s", KAFKA_FSYNC, 4.0),
    Target("requests-50x5", "requests_per_s", KAFKA, 1.0),
    Target("consume-1KB", "records_per_s", KAFKA, 1.0),
    Target("consume-1KB", "cpu_s_per_million", KAFKA, 0.5),
    Target("idle-node", "start_s", None, 0.5),
    Target("idle-node", "idle_mb", None, 80.0),
    Target("idle-node", "connection_kb", None, 16.0),
    Target("restart-after-kill", "restart_s", None, 1.2),
)


def judge(rows: Iterable[Row], targets: Iterable[Target] = TARGETS) -> list[Verdict]:
    """Every target with the figure reached, in the targets' order."""
    by_key = {(row.work, row.measure): row for row in rows}
    verdicts = []
    for target in targets:
        row = by_key.get((target.work, target.measure))
        value = None
        if row is not None and target.against is not None:
            value = row.ratio(ONCELOG, target.against)
        elif row is not None:
            value = row.medians.get(ONCELOG)
        verdicts.append(Verdict(target, value))
    return verdicts
