"""Options that several commands share: which broker, how long to wait, JSON or text.

Owns the names, defaults and help of these options. Never opens a connection.
"""

import functools
from collections.abc import Callable
from typing import Any

import click

from oncelog.client import DEFAULT_BOOTSTRAP, Target
from oncelog.errors import EXIT_USAGE, CommandError
from oncelog.output import Output


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --json; the command gets an `output`."""

    @click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
    @functools.wraps(function)
    def with_output(*arguments: Any, as_json: bool, **options: Any) -> Any:
        return function(*arguments, output=Output(as_json), **options)

    return with_output


def target_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --bootstrap, --timeout and --property; the command gets a `target`."""

    @click.option(
        "-b",
        "--bootstrap",
        envvar="ONCELOG_BOOTSTRAP",
        default=DEFAULT_BOOTSTRAP,
        show_default=True,
        metavar="HOST:PORT",
        help="Broker to talk to (environment: ONCELOG_BOOTSTRAP).",
    )
    @click.option(
        "--timeout",
        "timeout_s",
        type=click.FloatRange(min=0.1),
        default=10.0,
        show_default=True,
        metavar="SECONDS",
        help="How long to wait for an answer.",
    )
    @click.option(
        "-X",
        "--property",
        "properties",
        multiple=True,
        metavar="NAME=VALUE",
        help="A librdkafka property for the connection, for example security.protocol=ssl.",
    )
    @functools.wraps(function)
    def with_target(
        *arguments: Any, bootstrap: str, timeout_s: float, properties: tuple[str, ...], **rest: Any
    ) -> Any:
        target = Target(bootstrap, timeout_s, parse_pairs(properties, "--property"))
        return function(*arguments, target=target, **rest)

    return with_target


def parse_pairs(texts: tuple[str, ...], option: str) -> dict[str, str]:
    """NAME=VALUE texts as a dictionary."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise CommandError(
                f"{option} {text} is not understood", fix="give NAME=VALUE", exit_code=EXIT_USAGE
            )
        pairs[name] = value
    return pairs
