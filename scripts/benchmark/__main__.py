"""scripts/bench: reads the options, runs the plan, shows the results.

Must never know: how a work does its work.
"""

from __future__ import annotations

import resource
import signal
import tempfile
import time
from pathlib import Path
from types import FrameType

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from scripts.apache_kafka import KAFKA_VERSION, ApacheKafkaError
from scripts.benchmark import machine, plot, report, table
from scripts.benchmark.catalogue import client_works, is_chosen, node_works, scale_of
from scripts.benchmark.runner import Plan, Runner
from scripts.benchmark.summary import Row, Sample, failures, summarise
from scripts.benchmark.system import SYSTEMS, System
from scripts.benchmark.targets import ONCELOG, Verdict, judge

ROUNDS = 3
WARM_SECONDS = 60.0
QUICK_WARM_SECONDS = 3.0
OPEN_FILES_WANTED = 8192
FILE_COLUMNS = 150


def _end_on_signal(number: int, _frame: FrameType | None) -> None:
    """Leave through the `finally`s, so that every broker is stopped."""
    raise SystemExit(128 + number)


def make_console() -> Console:
    """A terminal's own width; wide enough for the table when the output goes to a file."""
    console = Console()
    return console if console.is_terminal else Console(width=FILE_COLUMNS)


def _raise_open_files() -> None:
    """A thousand connections need more than the usual soft limit, here and in the brokers."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES_WANTED if hard == resource.RLIM_INFINITY else min(OPEN_FILES_WANTED, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def _systems(no_kafka: bool, kafka_only: bool) -> list[System]:
    if no_kafka and kafka_only:
        raise click.UsageError("--no-kafka and --kafka-only leave nothing to measure")
    if no_kafka:
        return [system for system in SYSTEMS if system.key == ONCELOG]
    return [system for system in SYSTEMS if not kafka_only or system.key != ONCELOG]


def _run(plan: Plan, console: Console) -> list[Sample]:
    """Run with a progress bar; Ctrl-C ends the run but keeps what was measured."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.description}"), console=console) as progress:
        task = progress.add_task("starting", total=plan.steps)
        done = -1

        def on_step(text: str) -> None:
            nonlocal done
            done += 1
            progress.update(task, completed=done, description=text)

        runner = Runner(plan, on_step)
        try:
            runner.run()
            progress.update(task, completed=plan.steps, description="done")
        except KeyboardInterrupt:
            console.print("[yellow]interrupted: showing what was measured[/]")
    return runner.samples


def _show(
    console: Console, plan: Plan, context: dict[str, object], samples: list[Sample]
) -> tuple[list[Row], list[Verdict]]:
    rows = summarise(samples)
    # A tenth of the work on cold brokers is no ground for a verdict.
    verdicts = [] if plan.is_quick else judge(rows)
    console.print(table.result_table(rows, plan.systems))
    judged = [verdict for verdict in verdicts if verdict.value is not None]
    if judged:
        console.print(table.target_table(judged))
    if failed := failures(samples):
        console.print(table.failure_table(failed))
    facts = ", ".join(f"{key} {value}" for key, value in context.items())
    console.print(f"context: {facts}", highlight=False)
    return rows, verdicts


def _plan(
    directory: Path, systems: list[System], only: str | None, rounds: int, warm: float, quick: bool
) -> Plan:
    scale = scale_of(quick)
    plan = Plan(
        systems=systems,
        client_works=[work for work in client_works(scale) if is_chosen(work.name, only)],
        node_works=[work for work in node_works(scale) if is_chosen(work.name, only)],
        rounds=rounds,
        warm_seconds=warm,
        is_quick=quick,
        directory=directory,
    )
    if not plan.client_works and not plan.node_works:
        raise click.UsageError(f"no work matches {only!r}; see --list")
    return plan


def _list_works(context: click.Context, _option: click.Parameter, value: bool) -> None:
    if not value:
        return
    scale = scale_of(False)
    names = [work.name for work in client_works(scale)]
    names += [work.name for work in node_works(scale)]
    click.echo("\n".join(names))
    context.exit()


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--rounds", type=click.IntRange(1), help=f"Rounds ({ROUNDS}; with --quick 1).")
@click.option("--only", metavar="PATTERN", help="Only works whose name holds or globs this.")
@click.option("--list", is_flag=True, is_eager=True, expose_value=False, callback=_list_works)
@click.option("--quick", is_flag=True, help="Small sizes: shows that it works, not how fast.")
@click.option("--no-kafka", is_flag=True, help="Only oncelog.")
@click.option("--kafka-only", is_flag=True, help="Only Apache Kafka.")
@click.option("--warm-seconds", type=click.FloatRange(0), help="Warm each broker so long (60).")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write all figures.")
@click.option("--svg", "svg_path", type=click.Path(path_type=Path), help="Write the plot.")
@click.option("--dir", "parent", type=click.Path(path_type=Path), help="Where data directories go.")
def main(
    rounds: int | None,
    only: str | None,
    quick: bool,
    no_kafka: bool,
    kafka_only: bool,
    warm_seconds: float | None,
    json_path: Path | None,
    svg_path: Path | None,
    parent: Path | None,
) -> None:
    """Compare oncelog (durable) with Apache Kafka (as it comes, and with fsync)."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end_on_signal)
    _raise_open_files()
    console = make_console()
    if warm_seconds is None:
        warm_seconds = QUICK_WARM_SECONDS if quick else WARM_SECONDS
    rounds = rounds or (1 if quick else ROUNDS)
    systems = _systems(no_kafka, kafka_only)
    with tempfile.TemporaryDirectory(prefix="oncelog-bench-", dir=parent) as directory:
        plan = _plan(Path(directory), systems, only, rounds, warm_seconds, quick)
        context = machine.describe(Path(directory))
        for line in machine.warnings(context):
            console.print(f"[yellow]{line}[/]")
        context |= {"kafka": KAFKA_VERSION, "rounds": rounds, "quick": quick}
        begin = time.monotonic()
        try:
            samples = _run(plan, console)
        except (ApacheKafkaError, RuntimeError, TimeoutError) as error:
            raise click.ClickException(str(error)) from error
        context["run_minutes"] = round((time.monotonic() - begin) / 60, 1)
    rows, verdicts = _show(console, plan, context, samples)
    if json_path:
        report.write(json_path, report.document(context, samples, rows, verdicts))
    if svg_path and not plot.write_svg(rows, svg_path):
        console.print("nothing to compare: no plot written")
    if not rows:
        raise SystemExit(1)


if __name__ == "__main__":
    main(prog_name="scripts/bench")
