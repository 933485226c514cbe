"""Finds the broker's code and hands out the few functions of it that commands may call.

The folders protocol, storage, txn and broker import each other by these plain names. In a wheel
they lie in `oncelog/_app`, so that site-packages gains one name only; in a checkout they lie beside
`oncelog`. `prepare` puts the right place first on `sys.path`. PyPI has packages of the same names:
one that merely is installed loses against the first place on the path, one that is loaded already
cannot be replaced safely and is refused.

Owns the way in. This is the only module of `oncelog` that may import the four folders.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Final, Protocol

from oncelog.errors import EXIT_USAGE, CommandError

if TYPE_CHECKING:
    from broker.settings import Settings

FOLDERS: Final = ("protocol", "storage", "txn", "broker")


class Finding(Protocol):
    """What an examination of a data directory reports, one thing each."""

    @property
    def severity(self) -> str:
        """One of `ok`, `warning` and `error`."""
        ...

    @property
    def where(self) -> str:
        """The file, with a position where there is one."""
        ...

    @property
    def what(self) -> str:
        """What was found."""
        ...

    @property
    def fix(self) -> str:
        """What to do about it; may be empty."""
        ...


def load_settings(
    flags: Mapping[str, str],
    assignments: tuple[str, ...],
    environment: Mapping[str, str],
    toml_text: str | None,
    toml_name: str,
) -> Settings:
    """The broker's settings; dedicated flags count more than the NAME=VALUE assignments."""
    prepare()
    from broker.settings import SettingsError, load_settings, parse_assignments

    try:
        return load_settings(
            {**parse_assignments(assignments), **flags}, environment, toml_text, toml_name
        )
    except SettingsError as error:
        raise CommandError("cannot start", str(error), exit_code=EXIT_USAGE) from None


def serve(settings: Settings, announce: Callable[[str], None]) -> int:
    """Runs the broker until it is told to stop; the exit code."""
    prepare()
    from broker.main import serve

    return serve(settings, announce)


def examine(data_dir: str) -> list[Finding]:
    """What is wrong with the files of a data directory."""
    prepare()
    try:
        findings: list[Finding] = list(importlib.import_module("broker.doctor").examine(data_dir))
    except ModuleNotFoundError as error:
        if error.name != "broker.doctor":
            raise
        raise CommandError(
            f"cannot examine {data_dir}", "this version does not check data directories yet"
        ) from None
    return findings


def prepare() -> None:
    """Makes the four folders importable, or says why they are not."""
    root = application_root()
    for name in FOLDERS:
        loaded = sys.modules.get(name)
        if loaded is not None and not _is_ours(loaded, os.path.join(root, name)):
            raise CommandError(
                f"cannot load oncelog's module {name}",
                f"another module of that name is loaded already, from {_origin(loaded)}",
                "run oncelog in a Python process of its own",
            )
    if sys.path[:1] != [root]:
        sys.path.insert(0, root)


def application_root() -> str:
    """The directory that holds the four folders."""
    package = os.path.dirname(os.path.abspath(__file__))
    for root in (os.path.join(package, "_app"), os.path.dirname(package)):
        if all(os.path.isfile(os.path.join(root, name, "__init__.py")) for name in FOLDERS):
            return root
    raise CommandError(
        "oncelog is not completely installed",
        f"{', '.join(FOLDERS)} are neither in {os.path.join(package, '_app')} nor beside {package}",
        "install it again",
    )


def _is_ours(module: ModuleType, directory: str) -> bool:
    paths = [os.path.realpath(path) for path in getattr(module, "__path__", [])]
    return paths == [os.path.realpath(directory)]


def _origin(module: ModuleType) -> str:
    return str(getattr(module, "__file__", None) or list(getattr(module, "__path__", ["nowhere"])))
