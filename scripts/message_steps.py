"""Lines of code that depend on the version.

Owns steps: for each interval of versions, the lines that a field needs there. Neighbouring steps
that split the versions at the same places share their `if`, and runs of fixed-size fields inside
one branch share one struct format. It must never know what the lines say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scripts.message_schema import Versions

INDENT = "    "


@dataclass(frozen=True, slots=True)
class Fixed:
    """A line yet to be: one fixed-size attribute, read or written along with its neighbours."""

    format: str
    attribute: str


@dataclass(frozen=True, slots=True)
class Default:
    """A line that gives an absent attribute its default; it may move ahead of its neighbours."""

    text: str


Line = str | Fixed | Default
Branch = tuple[Versions, tuple[Line, ...]]
Step = list[Branch]
Join = Callable[[list[Fixed]], str]
"""Makes one line of a run of fixed-size fields."""


def intervals(branches: dict[int, list[Line]]) -> Step:
    """Join neighbouring versions with equal lines."""
    step: Step = []
    for version, lines in branches.items():
        if step and step[-1][1] == tuple(lines):
            step[-1] = ((step[-1][0][0], version), tuple(lines))
        else:
            step.append(((version, version), tuple(lines)))
    return step


def common_tail(bodies: list[list[Line]]) -> list[Line]:
    """The last lines that all bodies share, if they make sense outside the branches."""
    size = 0
    while all(len(body) > size and body[~size] == bodies[0][~size] for body in bodies):
        size += 1
    tail = bodies[0][len(bodies[0]) - size :]
    while tail and isinstance(tail[0], str) and tail[0].startswith((INDENT, "else")):
        tail = tail[1:]
    return tail


def merged(steps: list[Step]) -> list[Step]:
    """Join neighbours that split the versions alike, or that hold fixed-size fields only."""
    result: list[Step] = []
    for step in steps:
        if result and (splits(result[-1]) == splits(step) or is_fixed(result[-1] + step)):
            result[-1] = overlaid(result[-1], step)
        else:
            result.append(step)
    return result


def splits(step: Step) -> list[int]:
    return [first for (first, _), _ in step]


def is_fixed(step: Step) -> bool:
    return all(not isinstance(line, str) for _, lines in step for line in lines)


def overlaid(one: Step, two: Step) -> Step:
    """One step with the lines of both, split wherever either is."""
    joined: Step = []
    for (first, last), lines in one:
        for (other_first, other_last), other_lines in two:
            low, high = max(first, other_first), min(last, other_last)
            if low <= high:
                joined.append(((low, high), lines + other_lines))
    return joined


def condition(versions: Versions, possible: Versions) -> str:
    """A test for `versions`, given that the version is among the `possible` ones."""
    (first, last), (lowest, highest) = versions, possible
    if first <= lowest and last >= highest:
        return ""
    if last >= highest:
        return f"version >= {first}"
    if first <= lowest:
        return f"version <= {last}"
    return f"version == {first}" if first == last else f"{first} <= version <= {last}"


def indented(lines: list[str], depth: int) -> list[str]:
    return [INDENT * depth + line if line else line for line in lines]


def chain(step: Step, versions: Versions, join: Join) -> list[str]:
    """An if-elif-else over the versions, newest first."""
    if len(step) == 1:
        return flat(list(step[0][1]), join)
    lines: list[str] = []
    upper = versions[1]
    for (first, last), body in reversed(step):
        if not body:
            continue
        test = condition((first, last), (versions[0], upper))
        opening = f"{'elif' if lines else 'if'} {test}:" if test else "else:"
        lines += [opening, *indented(flat(list(body), join), 1)]
        # Only where branches touch does a failed test above also say "older than that".
        upper = first - 1 if last == upper else upper
    return lines


def flat(body: list[Line], join: Join) -> list[str]:
    lines: list[str] = []
    run: list[Fixed] = []
    for line in body:
        if isinstance(line, Fixed):
            run.append(line)
            continue
        if isinstance(line, Default):
            lines.append(line.text)
            continue
        if run:
            lines.append(join(run))
            run = []
        lines.append(line)
    return [*lines, join(run)] if run else lines
