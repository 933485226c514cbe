"""The door to kafka-python: imports its modules as Any.

Owns the one workaround it needs: on Python 3.11 it reads its schemas through a deprecated call,
which would be an error here, as all warnings are.
"""

import warnings
from importlib import import_module
from typing import Any


def load(name: str) -> Any:
    """A module of kafka-python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return import_module(name)
