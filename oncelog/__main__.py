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
    except OSError as error:
        # The last resort: a command that knows more has said it better.
        return _report(_as_command_error(error), given)


def _as_command_error(error: OSError) -> CommandError:
    why = (error.strerror or str(error) or type(error).__name__).lower()
    return CommandError(f"cannot use {error.filename}" if error.filename else "failed", why)


def _as_usage_error(error: click.ClickException) -> CommandError:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "oncelog"
    nearest = _nearest(error)
    # Click's own suggestion ends with a question mark, in the middle of our line.
    what = (error.message if nearest else error.format_message()).strip().rstrip(".")
    help_line = f"see: {command} --help"
    fix = f"perhaps {nearest}, {help_line}" if nearest else help_line
    return CommandError(what, fix=fix, exit_code=EXIT_USAGE)


def _nearest(error: click.ClickException) -> str:
    """The command or option that was probably meant; empty if none is like it."""
    import difflib

    context: click.Context | None = getattr(error, "ctx", None)
    wrong: str | None = getattr(error, "option_name", None)
    names: Sequence[str] = getattr(error, "possibilities", None) or ()
    if context is not None and isinstance(context.command, click.Group) and wrong is None:
        wrong = getattr(error, "command_name", None)
        names = context.command.list_commands(context)
    if not isinstance(error, click.UsageError) or wrong is None:
        return ""
    return next(iter(difflib.get_close_matches(wrong, names, n=1)), "")


def _report(error: CommandError, arguments: Sequence[str]) -> int:
    if "--json" in arguments:
        import json

        click.echo(json.dumps(error.as_json()), err=True)
    else:
        click.echo(f"oncelog: {error}", err=True)
    return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
