"""Style as a test: what a reviewer would say every time, said by a machine.

The rules and their reasons are in CONTRIBUTING.md. Each rule is a function from a file's text to
complaints, and each has a test that it can complain.
"""

import ast
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

REPOSITORY: Final = Path(__file__).resolve().parents[1]
PRODUCT: Final = ("protocol", "storage", "txn", "broker", "oncelog")
GENERATED: Final = "protocol/messages/"
FILE_LINES_MAX: Final = 500
FUNCTION_LINES_MAX: Final = 70
BLOB_BYTES_MAX: Final = 500_000
# Written in two parts so that this file does not contain what it looks for.
LEFTOVERS: Final = re.compile("FIX" + "ME|TO" + "DO|XX" + "X")
MACHINE_PATHS: Final = re.compile("/" + r"(?:root|home/\w+|Users/\w+|work/\w+)/")
TEXT_SUFFIXES: Final = {".py", ".md", ".toml", ".sh", ".json", ".txt", ""}

Rule = Callable[[str, str], Iterator[str]]


def tracked_files() -> list[str]:
    """What git has or would take; a file that is deleted but not yet committed is passed over."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    names = sorted(set(listed.stdout.splitlines()))
    return [name for name in names if (REPOSITORY / name).is_file()]


def is_python(name: str) -> bool:
    return name.endswith(".py")


def is_product(name: str) -> bool:
    return is_python(name) and name.split("/", maxsplit=1)[0] in PRODUCT


def is_handwritten(name: str) -> bool:
    return is_python(name) and not name.startswith(GENERATED)


def is_text(name: str) -> bool:
    return Path(name).suffix in TEXT_SUFFIXES and name != "LICENSE"


def complain_about_length(name: str, text: str) -> Iterator[str]:
    lines = text.count("\n")
    if lines > FILE_LINES_MAX:
        yield f"{name}: {lines} lines, at most {FILE_LINES_MAX}; split it by nouns"


def complain_about_functions(name: str, text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = _body_lines(node)
            if lines > FUNCTION_LINES_MAX:
                too_long = f"has {lines} lines, at most {FUNCTION_LINES_MAX}"
                yield f"{name}:{node.lineno}: {node.name} {too_long}"


def _body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines from `def` to the end, without the docstring; decorators do not count."""
    total = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        total -= (first.end_lineno or first.lineno) - first.lineno + 1
    return total


def complain_about_docstring(name: str, text: str) -> Iterator[str]:
    """An empty file, as an `__init__.py` may be, needs none."""
    if text and not ast.get_docstring(ast.parse(text)):
        yield f"{name}: no module docstring; say what it owns and what it must never know"


def complain_about_asserts(name: str, text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assert):
            yield f"{name}:{node.lineno}: assert is dropped by python -O; use check()"


def complain_about_leftovers(name: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), start=1):
        if LEFTOVERS.search(line):
            yield f"{name}:{number}: unfinished business: {line.strip()}"


def complain_about_machine_paths(name: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), start=1):
        if MACHINE_PATHS.search(line):
            yield f"{name}:{number}: a path of somebody's machine: {line.strip()}"


def complain_about_open(name: str, text: str) -> Iterator[str]:
    """import-linter sees `import os`, but `open` needs no import."""
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "open"
        ):
            yield f"{name}:{node.lineno}: only storage/filesystem.py touches files"


def may_not_open(name: str) -> bool:
    return is_product(name) and not name.startswith(("oncelog/", "storage/filesystem.py"))


RULES: Final[dict[str, tuple[Callable[[str], bool], Rule]]] = {
    "files are short": (is_handwritten, complain_about_length),
    "functions are short": (is_handwritten, complain_about_functions),
    "modules have docstrings": (is_handwritten, complain_about_docstring),
    "product code has no assert": (is_product, complain_about_asserts),
    "nothing is left unfinished": (is_text, complain_about_leftovers),
    "no path of a machine": (is_text, complain_about_machine_paths),
    "only one module touches files": (may_not_open, complain_about_open),
}


@pytest.mark.parametrize("title", RULES)
def test_rule(title: str) -> None:
    applies, rule = RULES[title]
    complaints = [
        complaint
        for name in tracked_files()
        if applies(name)
        for complaint in rule(name, (REPOSITORY / name).read_text("utf-8"))
    ]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("files are short", "x = 1\n" * (FILE_LINES_MAX + 1)),
        ("functions are short", "def f():\n" + "    x = 1\n" * FUNCTION_LINES_MAX),
        ("modules have docstrings", "x = 1\n"),
        ("product code has no assert", "def f():\n    assert True\n"),
        ("nothing is left unfinished", "# TO" + "DO later\n"),
        ("no path of a machine", "x = '/ho" + "me/someone/x'\n"),
        ("only one module touches files", "open('x')\n"),
    ],
)
def test_each_rule_can_complain(title: str, text: str) -> None:
    _, rule = RULES[title]
    assert len(list(rule("broker/x.py", text))) == 1
    assert list(rule("broker/x.py", '"""Fine."""\n\nx = 1\n')) == []


def test_a_docstring_does_not_count_as_function_length() -> None:
    text = 'def f():\n    """' + "word\n" * 100 + '    """\n' + "    x = 1\n" * 60
    assert list(complain_about_functions("x.py", text)) == []


def test_every_api_has_a_test_file_of_its_name() -> None:
    apis = {path.stem for path in (REPOSITORY / "broker" / "apis").glob("[!_]*.py")}
    tested = {
        path.stem.removeprefix("test_")
        for path in (REPOSITORY / "tests" / "broker" / "apis").glob("test_*.py")
    }
    assert sorted(apis - tested) == []


def test_no_large_file_is_committed() -> None:
    large = [
        name for name in tracked_files() if (REPOSITORY / name).stat().st_size > BLOB_BYTES_MAX
    ]
    assert large == []


def test_scripts_can_be_run_and_speak_up_on_errors() -> None:
    for path in (REPOSITORY / "scripts").iterdir():
        if path.is_dir() or path.suffix == ".py" or path.name.startswith("_"):
            continue
        text = path.read_text("utf-8")
        assert text.startswith("#!/usr/bin/env "), path.name
        assert path.stat().st_mode & 0o111, f"{path.name} is not executable"
        if "bash" in text.splitlines()[0]:
            strict = "set -euo pipefail" in text or "_environment.sh" in text
            assert strict, f"{path.name} is not in strict mode"
