"""The measures a work can give: key, unit, which way is better, how to print one.

Must never know: how a figure was obtained, or from which system.
"""

from __future__ import annotations

from typing import NamedTuple

Measures = dict[str, float]


class Measure(NamedTuple):
    """One kind of figure."""

    title: str
    unit: str
    is_higher_better: bool
    divisor: float = 1.0

    def format(self, value: float) -> str:
        """The value in the measure's unit, with about three significant digits."""
        scaled = value / self.divisor
        if abs(scaled) >= 100:
            return f"{scaled:,.0f}"
        return f"{scaled:.1f}" if abs(scaled) >= 10 else f"{scaled:.2f}"


MEASURES: dict[str, Measure] = {
    "records_per_s": Measure("rate", "k records/s", True, 1000.0),
    "cpu_s_per_million": Measure("broker CPU", "s per M records", False),
    "requests_per_s": Measure("rate", "k requests/s", True, 1000.0),
    "cpu_us_per_request": Measure("broker CPU", "µs per request", False),
    "p50_ms": Measure("latency p50", "ms", False),
    "p99_ms": Measure("latency p99", "ms", False),
    "start_s": Measure("start to first answer", "s", False),
    "idle_mb": Measure("idle memory", "MB", False),
    "connection_kb": Measure("memory per idle connection", "KB", False),
    "restart_s": Measure("restart to last record", "s", False),
}
