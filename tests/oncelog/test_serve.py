"""`oncelog serve`: flags, the settings file, the ready line, the end."""

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from oncelog.commands.serve import announcement_as_json
from tests.conftest import StartBroker
from tests.support.broker_process import REPOSITORY, BrokerProcess, BrokerProcessError
from tests.support.command_line import oncelog


def test_the_ready_line_names_address_and_data_directory(broker: BrokerProcess) -> None:
    lines = [line for line in broker.log.splitlines() if line.startswith("oncelog ready")]
    assert len(lines) == 1
    assert f"kafka={broker.bootstrap}" in lines[0]
    assert f"data={broker.data_dir}" in lines[0]


def test_connections_are_accepted_once_the_line_is_there(broker: BrokerProcess) -> None:
    socket.create_connection((broker.host, broker.port), timeout=10).close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_exit_code_0(tmp_path: Path, number: signal.Signals) -> None:
    command = BrokerProcess(tmp_path / "data").command_line()
    process = subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with process:
        if process.stdout is None or not process.stdout.readline().startswith("oncelog ready"):
            process.kill()
            pytest.fail("not ready")
        process.send_signal(number)
        assert process.wait(30) == 0


def test_it_starts_again_on_the_same_directory(broker: BrokerProcess) -> None:
    port = broker.port
    assert broker.restart().port == port
    assert broker.restart(kill=True).port == port


def test_a_second_broker_on_the_same_directory_is_refused_with_one_line(
    broker: BrokerProcess,
) -> None:
    said = oncelog("serve", "--listen", "127.0.0.1:0", "--data-dir", str(broker.data_dir))
    assert said.exit_code == 1
    assert "Traceback" not in said.err
    assert str(broker.data_dir) in said.err


def test_a_port_that_is_taken_is_refused_with_one_line(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    said = oncelog("serve", "--listen", broker.bootstrap, "--data-dir", str(tmp_path / "other"))
    assert said.exit_code == 1
    assert "Traceback" not in said.err
    assert "in use" in said.err


def test_in_memory_leaves_nothing_on_disk(tmp_path: Path, start_broker: StartBroker) -> None:
    data_dir = tmp_path / "data"
    start_broker("--in-memory", data_dir=data_dir).stop()
    assert not data_dir.exists()


def test_a_settings_file_is_read_and_flags_win(tmp_path: Path, start_broker: StartBroker) -> None:
    file = tmp_path / "oncelog.toml"
    file.write_text("durability = 'os'\nlog.level = 'debug'\n")
    assert "durability=os" in start_broker("--config", str(file)).log
    assert "durability=fsync" in start_broker("--config", str(file), "--durability", "fsync").log
    assert (
        "durability=fsync" in start_broker("--config", str(file), "--set", "durability=fsync").log
    )


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"num.partitions = 'many'", "setting num.partitions (from FILE): 'many' is not a whole"),
        (b"nonsense", "FILE is not valid TOML"),
        (b"\xff", "cannot read FILE: it is not UTF-8 text"),
        (None, "cannot read FILE: no such file or directory; name an existing file with --config"),
    ],
)
def test_a_bad_settings_file_is_one_line_and_exit_code_2(
    tmp_path: Path, content: bytes | None, part: str
) -> None:
    file = tmp_path / "oncelog.toml"
    if content is not None:
        file.write_bytes(content)
    said = oncelog("serve", "--config", str(file))
    assert said.exit_code == 2
    assert said.err.count("\n") == 1
    assert part.replace("FILE", str(file)) in said.err


def test_a_bad_environment_variable_is_refused() -> None:
    said = oncelog("serve", environment={"ONCELOG_NODE_ID": "first"})
    assert said.exit_code == 2
    assert "environment ONCELOG_NODE_ID" in said.err


def test_a_broker_that_does_not_start_shows_its_log(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data", "--set", "nonsense=1")
    with pytest.raises(BrokerProcessError, match="unknown setting nonsense"):
        broker.start()


def test_the_announcement_as_json() -> None:
    line = "oncelog ready kafka=127.0.0.1:9092 data=/a b=c d durability=fsync"
    assert announcement_as_json("oncelog ready kafka=[::1]:1 data=/a b durability=os") == {
        "message": "oncelog ready",
        "ready": True,
        "kafka": "[::1]:1",
        "data": "/a b",
        "durability": "os",
    }
    assert announcement_as_json(line)["kafka"] == "127.0.0.1:9092"
    assert announcement_as_json("stopping")["ready"] is False


def test_with_json_the_ready_line_is_json(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "oncelog", "serve", "--json", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        [*command, "--data-dir", str(tmp_path / "data")],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        line = process.stdout.readline() if process.stdout else ""
        process.terminate()
    document = json.loads(line)
    assert document["ready"] is True
    assert re.fullmatch(r"127\.0\.0\.1:\d+", document["kafka"])
