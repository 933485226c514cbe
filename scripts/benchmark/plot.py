"""The SVG: how many times better oncelog is than Kafka, one bar per work, measure and Kafka.

Must never know: how a figure was obtained.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scripts.benchmark.measure import MEASURES
from scripts.benchmark.summary import Row
from scripts.benchmark.targets import KAFKA, KAFKA_FSYNC, ONCELOG

BAR_HEIGHT = 0.38
ROW_INCHES = 0.32
WIDTH_INCHES = 10.0
MARGIN_INCHES = 1.4
COLOURS = {KAFKA: "#4c72b0", KAFKA_FSYNC: "#dd8452"}
LABELS = {KAFKA: "against Kafka as it comes (no fsync)", KAFKA_FSYNC: "against Kafka with fsync"}


def comparable(rows: Sequence[Row]) -> list[Row]:
    """The rows that have a ratio to at least one Kafka."""
    keys = (KAFKA, KAFKA_FSYNC)
    return [row for row in rows if any(row.times_better(ONCELOG, key) for key in keys)]


def write_svg(rows: Sequence[Row], path: Path) -> bool:
    """Write the plot; False when there is nothing to compare."""
    shown = comparable(rows)
    if not shown:
        return False
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot
    from matplotlib.ticker import LogLocator, NullLocator

    height = MARGIN_INCHES + ROW_INCHES * len(shown)
    figure, axes = pyplot.subplots(figsize=(WIDTH_INCHES, height), layout="constrained")
    places = range(len(shown))
    for shift, key in ((-BAR_HEIGHT / 2, KAFKA), (BAR_HEIGHT / 2, KAFKA_FSYNC)):
        values = [row.times_better(ONCELOG, key) or 1.0 for row in shown]
        at = [place + shift for place in places]
        # On a logarithmic axis bars begin at 1, equal, and grow to either side.
        widths = [value - 1.0 for value in values]
        axes.barh(at, widths, BAR_HEIGHT, left=1.0, color=COLOURS[key], label=LABELS[key])
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter("{x:g}x")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_yticks(list(places), [f"{row.work}: {MEASURES[row.measure].title}" for row in shown])
    axes.invert_yaxis()
    axes.set_xlabel("times better than Kafka (right of 1: oncelog is better)")
    axes.legend(loc="lower right", fontsize="small")
    axes.grid(axis="x", alpha=0.3, which="both")
    figure.savefig(path, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    return True
