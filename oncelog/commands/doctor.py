"""`oncelog doctor`: says what is wrong with a running broker or a data directory.

Owns the choice of what is examined and the report. The checks of a broker are in `checkup`; files
are examined by the broker's own code, through the launcher.
"""

import click
from click.core import ParameterSource

from oncelog import launcher
from oncelog.checkup import ERROR, OK, WARNING, Check, check_broker
from oncelog.client import Target
from oncelog.errors import EXIT_FAILED, EXIT_OK
from oncelog.options import json_option, target_options
from oncelog.output import Output

COLUMNS = {"status": "", "name": "check", "detail": "found", "fix": "what to do"}


@click.command()
@click.option("--write", is_flag=True, help="Also write and read records, in a temporary topic.")
@click.option("--data-dir", metavar="DIR", help="Examine the files of a broker that is stopped.")
@target_options
@json_option
@click.pass_context
def command(
    context: click.Context, write: bool, data_dir: str | None, target: Target, output: Output
) -> int:
    """Check a running broker, or the files of a stopped one.

    Without --data-dir it checks the broker: can it be reached, which requests does it understand,
    is the advertised address right, do all partitions have a leader. Nothing is changed unless
    --write is given. With --data-dir it examines the files, and the broker only if --bootstrap is
    given too.

    The exit code is 1 if anything is wrong.

    \b
    Examples:
      oncelog doctor
      oncelog doctor --write --json
      oncelog doctor --data-dir ./oncelog-data
    """
    checks: list[Check] = []
    if data_dir is not None:
        checks += examine_files(data_dir)
    if data_dir is None or context.get_parameter_source("bootstrap") is ParameterSource.COMMANDLINE:
        checks += check_broker(target, write=write)
    wrong = [check for check in checks if check.status == ERROR]
    if output.as_json:
        output.document({"ok": not wrong, "checks": [check.as_json() for check in checks]})
        return EXIT_FAILED if wrong else EXIT_OK
    columns = dict(COLUMNS)
    if not any(check.fix for check in checks):
        del columns["fix"]
    output.table(columns, [check.as_json() for check in checks])
    output.text(_conclusion(checks))
    return EXIT_FAILED if wrong else EXIT_OK


def examine_files(data_dir: str) -> list[Check]:
    findings = launcher.examine(data_dir)
    if not findings:
        return [Check(data_dir, OK, "nothing wrong found")]
    return [Check(item.where, item.severity, item.what, item.fix) for item in findings]


def _conclusion(checks: list[Check]) -> str:
    wrong = sum(check.status == ERROR for check in checks)
    doubtful = sum(check.status == WARNING for check in checks)
    if wrong:
        return f"{wrong} of {len(checks)} checks found something wrong"
    if doubtful:
        return f"nothing is wrong; {doubtful} of {len(checks)} checks warn"
    return "all is well"
