"""The text of the generated pages of docs/: settings, and the Kafka APIs with their notes.

Owns how these pages read. API files are read, not imported: a page must not depend on whether the
whole broker can be loaded. Never writes a file.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from broker.settings import INT32_MAX, INT64_MAX, describe, environment_name

GENERATED = "<!-- Written by scripts/generate_docs. Change the code, then run it. -->\n"

SETTINGS_INTRODUCTION = """\
# Settings

Each setting is looked for in four places; the first that has it counts:

1. flags: `--set NAME=VALUE`, and the flags that `oncelog serve --help` names, which count most
2. the environment: `ONCELOG_` and the name in capitals with underscores
3. the TOML file given with `--config FILE`
4. the default

These four mean the same:

```sh
oncelog serve --set num.partitions=8
ONCELOG_NUM_PARTITIONS=8 oncelog serve
echo 'num.partitions = 8' > oncelog.toml && oncelog serve --config oncelog.toml
printf '[num]\\npartitions = 8\\n' > oncelog.toml && oncelog serve --config oncelog.toml
```

A name that is not in this table, or a value out of range, is refused at start with one line that
says which and where it came from. Names are Kafka's own wherever Kafka has the setting.

"""

APIS_INTRODUCTION = """\
# Kafka APIs

What the broker understands. Each API is one file in `broker/apis/`, and the notes below are the
head of that file.

"""


@dataclass(frozen=True, slots=True)
class ApiFile:
    """What an API file says of itself."""

    name: str
    key: int
    versions: str
    notes: str


def pages(root: Path) -> dict[str, str]:
    """Every generated page by its path."""
    return {
        "docs/SETTINGS.md": settings_page(),
        "docs/APIS.md": apis_page(read_api_files(root / "broker" / "apis")),
    }


def settings_page() -> str:
    rows = ["| setting | default | allowed | meaning |", "|---|---|---|---|"]
    for name, _, default, description in describe():
        meaning = f"{description.doc}<br>`{environment_name(name)}`"
        cells = (f"`{name}`", _default(default), _allowed(description.allowed), meaning)
        rows.append(f"| {' | '.join(cells)} |")
    return GENERATED + SETTINGS_INTRODUCTION + "\n".join(rows) + "\n"


def _default(value: object) -> str:
    if value == "":
        return "(empty)"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`"


def _allowed(text: str) -> str:
    text = text.replace(str(INT64_MAX), "2^63-1").replace(str(INT32_MAX), "2^31-1")
    choices = text.split(" | ")
    return ", ".join(f"`{choice}`" for choice in choices) if len(choices) > 1 else text


def read_api_files(directory: Path) -> list[ApiFile]:
    """All API files, by key."""
    found = [read_api_file(path) for path in directory.glob("[!_]*.py")]
    return sorted(found, key=lambda item: item.key)


def read_api_file(path: Path) -> ApiFile:
    tree = ast.parse(path.read_text("utf-8"))
    title, _, notes = (ast.get_docstring(tree) or "").partition("\n")
    call = next(
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.targets[0]) == "API"
    )
    key, low, high = (ast.literal_eval(argument) for argument in call.args[:3])
    versions = str(low) if low == high else f"{low}-{high}"
    return ApiFile(title.partition(" (")[0], key, versions, notes.strip())


def apis_page(files: list[ApiFile]) -> str:
    rows = ["| key | API | versions |", "|---|---|---|"]
    rows += [f"| {api.key} | [{api.name}](#{api.name.lower()}) | {api.versions} |" for api in files]
    sections = [
        f"## {api.name}\n\nKey {api.key}, versions {api.versions}.\n\n{api.notes}" for api in files
    ]
    return GENERATED + APIS_INTRODUCTION + "\n".join(rows) + "\n\n" + "\n\n".join(sections) + "\n"
