"""The wheel: holds exactly the tree's modules, adds one name to site-packages, and runs.

It is built from a copy, because a build leaves files behind, and unpacked into a directory that
comes first on the path of a Python process; the libraries are those of the test environment.
"""

import os
import shutil
import socket
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest

from tests.support.broker_process import REPOSITORY, BrokerProcess

NESTED: Final = ("protocol", "storage", "txn", "broker")
BUILD_FILES: Final = ("pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("source")
    for name in BUILD_FILES:
        shutil.copy(REPOSITORY / name, source / name)
    for name in (*NESTED, "oncelog"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / name, source / name, ignore=ignore)
    target = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target)]
    built = subprocess.run([*build, str(source)], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = target.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def environment(*places: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ONCELOG_")}
    return {**kept, "PYTHONPATH": os.pathsep.join(str(place) for place in places)}


def run(code: str, *places: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment(*places),
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_wheel_holds_exactly_the_modules_of_the_tree(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    modules = {name for name in names if not name.split("/")[0].endswith(".dist-info")}
    wanted = {f"oncelog/{path}" for path in tree("oncelog")}
    for folder in NESTED:
        wanted |= {f"oncelog/_app/{folder}/{path}" for path in tree(folder)}
    assert modules == wanted | {"oncelog/py.typed"}


def tree(folder: str) -> set[str]:
    root = REPOSITORY / folder
    return {path.relative_to(root).as_posix() for path in root.rglob("*.py")}


def test_the_wheel_adds_one_name_to_site_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"oncelog"}


def test_the_version_of_the_wheel_is_the_one_the_command_says(
    wheel: Path, installed: Path, tmp_path: Path
) -> None:
    code = "import sys; from oncelog.__main__ import main; sys.exit(main(['--version']))"
    said = run(code, installed, cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert said.stdout.split() == ["oncelog", wheel.name.split("-")[1]]


def test_the_broker_is_loaded_from_the_wheel_and_not_from_the_tree(
    installed: Path, tmp_path: Path
) -> None:
    code = (
        "from oncelog import launcher; launcher.prepare(); import broker, protocol, storage, txn;"
        "print(broker.__file__, protocol.__file__, storage.__file__, txn.__file__)"
    )
    said = run(code, installed, cwd=tmp_path)
    assert said.stdout.split() == [
        str(installed / "oncelog" / "_app" / folder / "__init__.py")
        for folder in ("broker", "protocol", "storage", "txn")
    ], said.stderr


def test_foreign_packages_of_the_same_names_that_are_only_installed_do_no_harm(
    installed: Path, tmp_path: Path
) -> None:
    foreign = tmp_path / "foreign"
    for folder in NESTED:
        (foreign / folder).mkdir(parents=True)
        (foreign / folder / "__init__.py").write_text("raise RuntimeError('foreign')")
    code = "from oncelog import launcher; launcher.prepare(); import broker.settings; print('ours')"
    said = run(code, foreign, installed, cwd=tmp_path)
    assert said.stdout == "ours\n", said.stderr


@pytest.mark.parametrize("name", NESTED)
def test_a_foreign_module_that_is_loaded_already_is_refused_with_one_line(
    name: str, installed: Path, tmp_path: Path
) -> None:
    (tmp_path / f"{name}.py").write_text("")
    code = f"import sys, {name}; from oncelog.__main__ import main; sys.exit(main(['serve']))"
    said = run(code, tmp_path, installed, cwd=tmp_path)
    assert said.returncode == 1
    assert said.stderr.count("\n") == 1
    assert f"cannot load oncelog's module {name}: another module of that name" in said.stderr


def test_the_installed_broker_serves(installed: Path, tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data", environment=environment(installed), cwd=tmp_path)
    with broker:
        socket.create_connection((broker.host, broker.port), timeout=10).close()
        assert broker.stop() == 0
