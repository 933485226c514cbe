"""`oncelog serve`: starts a broker in this process.

Owns the flags and reads the settings file. The broker itself is reached through the launcher only.
"""

import os
import re
from pathlib import Path

import click

from oncelog import launcher
from oncelog.client import reason_of
from oncelog.errors import EXIT_USAGE, CommandError
from oncelog.options import json_option
from oncelog.output import Output


@click.command()
@click.option(
    "--listen", metavar="HOST:PORT", help="Address to listen on; port 0 picks a free one."
)
@click.option("--data-dir", metavar="DIR", help="Directory for everything the broker keeps.")
@click.option("--in-memory", is_flag=True, help="Keep nothing on disk; all is gone at the end.")
@click.option(
    "--durability",
    type=click.Choice(["fsync", "os"]),
    help="fsync (the default): acknowledged records survive power loss. os: they survive a crash "
    "of the broker, not of the machine.",
)
@click.option("--config", "config_file", metavar="FILE", help="TOML file with settings.")
@click.option(
    "--set", "assignments", multiple=True, metavar="NAME=VALUE", help="Any other setting."
)
@json_option
def command(
    output: Output,
    listen: str | None,
    data_dir: str | None,
    in_memory: bool,
    durability: str | None,
    config_file: str | None,
    assignments: tuple[str, ...],
) -> int:
    """Start a broker and run it until Ctrl-C or SIGTERM.

    When it accepts connections it prints one line that begins with "oncelog ready" and names the
    address and the data directory. With --json that line is a JSON object; what the broker says
    on stderr, a refusal to start for example, stays text.

    A setting is looked for in the flags, then in the environment (ONCELOG_NUM_PARTITIONS for
    num.partitions), then in the file given by --config. docs/SETTINGS.md lists all settings.

    The exit code is 70 when a write or sync of the data directory failed: the broker stops at once
    rather than acknowledge what may be lost.

    \b
    Examples:
      oncelog serve                                      on 127.0.0.1:9092, data in ./oncelog-data
      oncelog serve --listen 127.0.0.1:0 --in-memory     for a test
      oncelog serve --data-dir /var/lib/oncelog --set num.partitions=8
      ONCELOG_LOG_RETENTION_MS=3600000 oncelog serve --config oncelog.toml
    """
    flags = {
        "listen": listen,
        "data.dir": data_dir,
        "in.memory": "true" if in_memory else None,
        "durability": durability,
    }
    settings = launcher.load_settings(
        {name: value for name, value in flags.items() if value is not None},
        assignments,
        os.environ,
        _read_settings_file(config_file),
        config_file or "",
    )

    def announce(line: str) -> None:
        if output.as_json:
            output.json_line(announcement_as_json(line))
        else:
            output.text(line)

    return launcher.serve(settings, announce)


def announcement_as_json(line: str) -> dict[str, object]:
    """`oncelog ready kafka=A data=B` as {"ready": true, "kafka": "A", "data": "B"}."""
    words, *pairs = re.split(r" (?=[\w.]+=)", line)
    result: dict[str, object] = {"message": words, "ready": words.startswith("oncelog ready")}
    for pair in pairs:
        name, _, value = pair.partition("=")
        result[name] = value
    return result


def _read_settings_file(name: str | None) -> str | None:
    if name is None:
        return None
    try:
        return Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(
            f"cannot read {name}",
            reason_of(error),
            "name an existing file with --config",
            exit_code=EXIT_USAGE,
        ) from None
    except UnicodeDecodeError:
        raise CommandError(
            f"cannot read {name}", "it is not UTF-8 text", exit_code=EXIT_USAGE
        ) from None
