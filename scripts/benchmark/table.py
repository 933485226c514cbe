"""The tables on the terminal: medians, ratios, targets.

Must never know: how a figure was obtained.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from scripts.benchmark.measure import MEASURES
from scripts.benchmark.summary import Row, Sample
from scripts.benchmark.system import System
from scripts.benchmark.targets import KAFKA, KAFKA_FSYNC, ONCELOG, Verdict

ABSENT = "-"
AGAINST_TITLES = {KAFKA: "Kafka, as it comes", KAFKA_FSYNC: "Kafka, fsync"}


def ratio_text(row: Row, against: str) -> str:
    """oncelog over Kafka, green when better; for example `1.30x`."""
    ratio = row.ratio(ONCELOG, against)
    better = row.times_better(ONCELOG, against)
    if ratio is None:
        return ABSENT
    colour = "green" if better is not None and better >= 1.0 else "red"
    return f"[{colour}]{ratio:.2f}x[/]"


def median_text(row: Row, system: str) -> str:
    """The median in the measure's unit."""
    value = row.medians.get(system)
    return ABSENT if value is None else MEASURES[row.measure].format(value)


def result_table(rows: Sequence[Row], systems: Sequence[System]) -> Table:
    """One line per work and measure; the ratios are what counts."""
    table = Table(title="medians, and oncelog / Kafka", title_justify="left")
    table.add_column("work", no_wrap=True)
    table.add_column("measure")
    for system in systems:
        table.add_column(system.title, justify="right")
    table.add_column("oncelog / Kafka", justify="right")
    table.add_column("oncelog / Kafka fsync", justify="right")
    previous = None
    for row in rows:
        if previous is not None and row.work != previous:
            table.add_section()
        measure = MEASURES[row.measure]
        name = row.work if row.work != previous else ""
        medians = [median_text(row, system.key) for system in systems]
        ratios = [ratio_text(row, KAFKA), ratio_text(row, KAFKA_FSYNC)]
        table.add_row(name, f"{measure.title}, {measure.unit}", *medians, *ratios)
        previous = row.work
    return table


def verdict_cells(verdict: Verdict) -> tuple[str, str, str]:
    """Wanted, reached, and the word for it."""
    target = verdict.target
    sign = "at least" if target.is_lower_bound else "at most"
    is_ratio = target.against is not None
    unit = "x" if is_ratio else f" {MEASURES[target.measure].unit}"
    reached = ABSENT if verdict.value is None else f"{verdict.value:.2f}{unit}"
    word = {True: "[green]met[/]", False: "[red]missed[/]", None: ABSENT}[verdict.is_met]
    return f"{sign} {target.bound:g}{unit}", reached, word


def target_table(verdicts: Sequence[Verdict]) -> Table:
    """What oncelog must reach, and what it reached in this run."""
    table = Table(title="targets", title_justify="left")
    for column in ("work", "measure", "against", "wanted", "reached", ""):
        table.add_column(column)
    for verdict in verdicts:
        target = verdict.target
        against = AGAINST_TITLES[target.against] if target.against else "itself"
        cells = verdict_cells(verdict)
        table.add_row(target.work, MEASURES[target.measure].title, against, *cells)
    return table


def failure_table(failed: Sequence[Sample]) -> Table:
    """The runs without figures, and why."""
    table = Table(title="runs without figures", title_justify="left")
    for column in ("work", "system", "round", "reason"):
        table.add_column(column)
    for sample in failed:
        table.add_row(sample.work, sample.system, str(sample.round + 1), sample.error or "")
    return table
