"""The run as JSON: context, samples, medians, ratios, targets.

Must never know: how a figure was obtained.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scripts.benchmark.measure import MEASURES
from scripts.benchmark.summary import Row, Sample
from scripts.benchmark.targets import KAFKA, KAFKA_FSYNC, ONCELOG, Verdict


def row_document(row: Row) -> dict[str, Any]:
    """One measure of one work."""
    return {
        "work": row.work,
        "measure": row.measure,
        "is_higher_better": MEASURES[row.measure].is_higher_better,
        "medians": row.medians,
        "spreads": row.spreads,
        "ratio_to_kafka": row.ratio(ONCELOG, KAFKA),
        "ratio_to_kafka_fsync": row.ratio(ONCELOG, KAFKA_FSYNC),
    }


def document(
    context: dict[str, object],
    samples: Sequence[Sample],
    rows: Sequence[Row],
    verdicts: Sequence[Verdict],
) -> dict[str, Any]:
    """Everything that json can write."""
    return {
        "context": context,
        "results": [row_document(row) for row in rows],
        "targets": [
            {**verdict.target._asdict(), "reached": verdict.value, "is_met": verdict.is_met}
            for verdict in verdicts
        ],
        "samples": [sample._asdict() for sample in samples],
    }


def write(path: Path, content: dict[str, Any]) -> None:
    """Write the document, readable."""
    path.write_text(json.dumps(content, indent=1) + "\n")
