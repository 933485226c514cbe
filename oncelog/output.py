"""How commands print: JSON for programs, tables and lines for people.

Owns stdout. Never knows what the values mean.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Output:
    """Where results go; progress and errors go to stderr instead."""

    as_json: bool

    def document(self, value: object) -> None:
        """One JSON document, indented."""
        _write(json.dumps(value, indent=2, ensure_ascii=False))

    def json_line(self, value: object) -> None:
        """One of many JSON documents, each on its own line, for a reader that follows along."""
        _write(json.dumps(value, ensure_ascii=False))

    def text(self, line: str) -> None:
        _write(line)

    def table(self, columns: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> None:
        """Rows for people: `columns` maps the key in a row to its heading."""
        # Imported here: rich takes longer to load than most commands take to run.
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table

        table = Table(box=SIMPLE_HEAD, show_edge=False, header_style="bold")
        for key, heading in columns.items():
            numeric = bool(rows) and all(_is_number(row[key]) for row in rows)
            # Without a terminal nothing is cut off or folded: a script may read the lines.
            table.add_column(heading, justify="right" if numeric else "left", overflow="fold")
        for row in rows:
            table.add_row(*(_cell(row[key]) for key in columns))
        console = Console(markup=False, highlight=False)
        if not console.is_terminal:
            console.width = max(console.width, 400)
        console.print(table)
        sys.stdout.flush()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(str(item) for item in value)
    return "" if value is None else str(value)


def _write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
