"""The scripts around the command line: how they make .venv, and what they say when they cannot."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.broker_process import REPOSITORY

SCRIPTS = REPOSITORY / "scripts"


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The scripts alone, with no .venv beside them."""
    shutil.copytree(SCRIPTS, tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    return tmp_path


def is_whole(checkout: Path) -> bool:
    line = f"source {checkout}/scripts/_environment.sh; is_whole_venv"
    return run("bash", "-c", line).returncode == 0


def test_an_environment_whose_making_was_interrupted_is_not_taken_for_a_whole_one(
    checkout: Path,
) -> None:
    assert not is_whole(checkout)
    making = [sys.executable, "-m", "venv", "--without-pip", str(checkout / ".venv")]
    subprocess.run(making, check=True)
    assert not is_whole(checkout)
    (checkout / ".venv" / ".made").touch()
    assert is_whole(checkout)


def test_a_python_that_is_not_there_is_one_line(checkout: Path) -> None:
    said = run(str(checkout / "scripts" / "oncelog"), "--version", PYTHON="/nonexist")
    assert said.returncode == 1
    assert said.stderr == "oncelog: PYTHON=/nonexist is no Python 3.11 or newer\n"
    assert not (checkout / ".venv").exists()


def test_a_link_to_a_script_finds_the_checkout(checkout: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(checkout / "scripts" / "oncelog")
    said = run(str(link), "--version", PYTHON="/nonexist")
    assert said.stderr == "link: PYTHON=/nonexist is no Python 3.11 or newer\n"


def test_the_help_of_bench_installs_nothing(checkout: Path) -> None:
    said = run(str(checkout / "scripts" / "bench"), "--help")
    assert said.returncode == 0
    assert said.stdout.startswith("Usage: scripts/bench")
    assert not (checkout / ".venv").exists()
