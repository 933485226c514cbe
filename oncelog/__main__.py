"""Runs one command and turns whatever ends it into one line and an exit code.

Owns the outermost error handling. Never knows a single command; `cli` finds them.
"""

import os
import sys
from collections.abc import Sequence

import click

from oncelog.cli import root
from oncelog.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, CommandError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        # Not root.main(): it prints a line on Ctrl-C and makes a closed pipe a failure.
        with root.make_context("oncelog", list(given)) as context:
            return int(root.invoke(context) or EXIT_OK)
    except click.exceptions.Exit as end:
        return end.exit_code
    except CommandError as error:
        return _report(error, given)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return EXIT_USAGE
    except click.ClickException as error:
        return _report(_as_usage_error(error), given)
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone, as in `oncelog consume t | head`; nothing is wrong.
        # Python flushes stdout once more at its end and must not fail there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK


def _as_usage_error(error: click.ClickException) -> CommandError:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "oncelog"
    what = error.format_message().strip().rstrip(".")
    return CommandError(what, fix=f"see: {command} --help", exit_code=EXIT_USAGE)


def _report(error: CommandError, arguments: Sequence[str]) -> int:
    if "--json" in arguments:
        import json

        click.echo(json.dumps(error.as_json()), err=True)
    else:
        click.echo(f"oncelog: {error}", err=True)
    return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
