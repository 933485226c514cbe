"""A progress bar on stderr while records are produced; nothing at all without a terminal.

Owns the bar. Never knows where the records come from.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from oncelog.delivery import Delivery

RECORDS_BETWEEN_UPDATES: Final = 1000

Update = Callable[[int], None]


@contextmanager
def progress_bar(delivery: Delivery, total_bytes: int | None, *, wanted: bool) -> Iterator[Update]:
    """Gives a function to call with the bytes read so far."""
    if not wanted or not sys.stderr.isatty():
        yield _ignore
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        BarColumn(),
        TextColumn("{task.fields[sent]:,} sent, {task.fields[acknowledged]:,} acknowledged"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=total_bytes, sent=0, acknowledged=0)

        def update(bytes_read: int) -> None:
            bar.update(
                task,
                completed=bytes_read,
                sent=delivery.sent,
                acknowledged=delivery.acknowledged,
            )

        yield update


def _ignore(_bytes_read: int) -> None:
    """The update of a bar that is not there."""
