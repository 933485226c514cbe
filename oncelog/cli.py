"""The root of the command line: which commands there are, and where their code lies.

Owns the list of commands. A command's module is imported when that command is called and not
before, so that `oncelog serve` does not pay for the client library that the other commands need.
"""

import importlib
from typing import Final

import click

from oncelog import __version__

COMMANDS: Final = {
    "serve": "Start a broker.",
    "topics": "List, create, describe and delete topics.",
    "produce": "Write records from lines of text.",
    "consume": "Read records.",
    "doctor": "Check a running broker or a data directory.",
}

CONTEXT_SETTINGS: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class LazyGroup(click.Group):
    """Commands by name; `oncelog/commands/<name>.py` holds `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"oncelog.commands.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings=CONTEXT_SETTINGS)
@click.version_option(__version__, message="oncelog %(version)s")
def root() -> None:
    """A Kafka-protocol broker in one process and one directory, and the tools to use it.

    \b
    A first minute, in two terminals:
      oncelog serve                                  start a broker on 127.0.0.1:9092
      echo hello | oncelog produce greetings         write one record
      oncelog consume greetings --exit-at-end        read it back

    Every command but serve talks to the broker named by --bootstrap or the environment variable
    ONCELOG_BOOTSTRAP (127.0.0.1:9092 if neither is given), and prints JSON with --json.

    \b
    Exit codes:
      0    it worked, nothing is wrong
      1    it failed, or a check found a problem
      2    the command line or a setting is wrong
      70   serve: a write or sync of the data directory failed
      130  interrupted with Ctrl-C
    """
