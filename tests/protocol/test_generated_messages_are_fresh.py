"""The committed messages are exactly what the generator writes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.message_modules import generate

ROOT = Path(__file__).resolve().parents[2]
MESSAGES = ROOT / "protocol" / "messages"


def test_committed_files_equal_generated_ones() -> None:
    committed = {path.name: path.read_text("utf-8") for path in MESSAGES.glob("*.py")}
    generated = generate()
    assert committed.keys() == generated.keys()
    stale = [name for name in generated if generated[name] != committed[name]]
    assert stale == [], "run scripts/generate_messages"


@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_check_agrees_whatever_the_order_of_sets(seed: str) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "generate_messages"), "--check"]
    environment = os.environ | {"PYTHONHASHSEED": seed}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_script_refuses_arguments_it_does_not_know() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "generate_messages"), "--chekc"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage" in done.stderr
