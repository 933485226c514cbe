"""The command line as a whole: help, exit codes, one-line errors, quick start."""

import errno
import json
import subprocess
import sys

import pytest

from oncelog import __version__
from oncelog.cli import COMMANDS, root
from oncelog.errors import CommandError
from oncelog.start_point import FORMS
from tests.support.broker_process import REPOSITORY
from tests.support.command_line import oncelog, succeed

SUBCOMMANDS = [[name] for name in COMMANDS] + [
    ["topics", name] for name in ("list", "create", "describe", "delete")
]
NOBODY = "127.0.0.1:1"


def test_the_version_is_said() -> None:
    assert succeed("--version").out == f"oncelog {__version__}\n"


def test_help_lists_every_command_and_the_exit_codes() -> None:
    text = succeed("--help").out
    for name, summary in COMMANDS.items():
        assert name in text
        assert summary in text
    assert "Exit codes:" in text
    assert "\n    70 " in text


@pytest.mark.parametrize("path", SUBCOMMANDS, ids=" ".join)
def test_every_command_teaches_with_examples(path: list[str]) -> None:
    text = succeed(*path, "--help").out
    assert "Examples:" in text
    assert f"oncelog {' '.join(path)}" in text.split("Examples:")[1]


@pytest.mark.parametrize("path", [path for path in SUBCOMMANDS if path != ["topics"]], ids=" ".join)
def test_every_command_speaks_json(path: list[str]) -> None:
    assert "--json" in succeed(*path, "--help").out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["sevre"], "oncelog: No such command 'sevre'; perhaps serve, see: oncelog --help\n"),
        (["zzz"], "oncelog: No such command 'zzz'; see: oncelog --help\n"),
        (
            ["topics", "crate"],
            "oncelog: No such command 'crate'; perhaps create, see: oncelog topics --help\n",
        ),
        (["serve", "--what"], "oncelog: No such option '--what'; see: oncelog serve --help\n"),
        (["produce"], "oncelog: Missing argument 'TOPIC'; see: oncelog produce --help\n"),
        (
            ["topics", "list", "-b", "localhost:port"],
            "oncelog: --bootstrap localhost:port is not understood; give HOST:PORT\n",
        ),
        (
            ["consume", "t", "--from", "soon"],
            f"oncelog: --from is not understood: 'soon' is none of: {FORMS}\n",
        ),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments: list[str], line: str) -> None:
    said = oncelog(*arguments)
    assert (said.exit_code, said.out) == (2, "")
    assert said.err.replace("No such option: --what", "No such option '--what'") == line


@pytest.mark.parametrize(
    "arguments",
    [["topics", "list"], ["topics", "create", "t"], ["produce", "t"], ["consume", "t"]],
    ids=" ".join,
)
def test_a_broker_that_is_not_there_is_one_line_and_exit_code_1(arguments: list[str]) -> None:
    said = oncelog(*arguments, "--bootstrap", NOBODY)
    assert (said.exit_code, said.out) == (1, "")
    assert said.err == (
        f"oncelog: cannot reach a broker at {NOBODY}: connection refused; "
        "start one with `oncelog serve`, or name another with --bootstrap HOST:PORT\n"
    )


def test_the_bootstrap_address_may_come_from_the_environment() -> None:
    said = oncelog("topics", "list", environment={"ONCELOG_BOOTSTRAP": NOBODY})
    assert f"at {NOBODY}:" in said.err


def test_with_json_an_error_is_json_too() -> None:
    said = oncelog("topics", "list", "--bootstrap", NOBODY, "--json")
    assert said.err.count("\n") == 1
    error = json.loads(said.err)
    assert error["error"] == f"cannot reach a broker at {NOBODY}"
    assert error["why"] == "connection refused"
    assert "oncelog serve" in error["fix"]


def test_an_error_of_the_system_that_nobody_foresaw_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_context: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "/somewhere")

    monkeypatch.setattr(root, "invoke", refuse)
    said = oncelog("topics", "list")
    assert (said.exit_code, said.out) == (1, "")
    assert said.err == "oncelog: cannot use /somewhere: permission denied\n"


def test_no_command_at_all_shows_the_help_and_exit_code_2() -> None:
    said = oncelog()
    assert said.exit_code == 2
    assert "A first minute" in said.err


def test_an_error_never_spans_lines() -> None:
    assert str(CommandError("a\nb", "c\n\nd", "e")) == "a b: c d; e"
    assert str(CommandError("a")) == "a"


def test_serve_loads_neither_the_client_library_nor_rich() -> None:
    code = (
        "import sys, oncelog.__main__, oncelog.commands.serve;"
        "print(sorted({'confluent_kafka', 'rich'} & set(sys.modules)))"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert said.stdout == "[]\n"
