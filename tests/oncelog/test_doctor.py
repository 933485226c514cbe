"""`oncelog doctor`: what it says of brokers that are well, gone, or no brokers at all."""

import socket
import threading
from collections.abc import Iterator

import pytest

from oncelog import launcher
from oncelog.checkup import ERROR, OK, WARNING, Check, check_versions
from oncelog.commands import doctor
from tests.support.command_line import oncelog, succeed


@pytest.fixture
def liar() -> Iterator[str]:
    """Something that listens and answers, but not in Kafka's protocol."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join()


def test_a_healthy_broker_is_well(bootstrap: str) -> None:
    said = succeed("doctor", "--json", "--bootstrap", bootstrap).document
    assert said["ok"] is True
    assert [check["status"] for check in said["checks"]] == [OK] * 4
    assert succeed("doctor", "--bootstrap", bootstrap).out.endswith("all is well\n")


def test_a_round_trip_is_made_with_every_codec_and_leaves_nothing(bootstrap: str) -> None:
    said = succeed("doctor", "--write", "--json", "--bootstrap", bootstrap).document
    trips = {check["name"]: check["status"] for check in said["checks"][4:]}
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    assert trips == {f"round trip, {codec}": OK for codec in codecs}
    topics = succeed("topics", "list", "--json", "--bootstrap", bootstrap).document
    assert not [row for row in topics if row["name"].startswith("oncelog-doctor-")]


def test_a_broker_that_is_not_there_is_a_finding_and_exit_code_1() -> None:
    said = oncelog("doctor", "--json", "--bootstrap", "127.0.0.1:1")
    assert said.exit_code == 1
    assert said.document["ok"] is False
    (check,) = said.document["checks"]
    assert check["detail"] == "connection refused"
    assert "oncelog serve" in check["fix"]


def test_something_that_is_no_broker_is_told_apart(liar: str) -> None:
    said = oncelog("doctor", "--json", "--bootstrap", liar)
    assert said.exit_code == 1
    assert "does not speak Kafka's protocol" in said.document["checks"][0]["detail"]


def test_missing_requests_are_a_warning() -> None:
    check = check_versions({0: (3, 13), 1: (4, 18)})
    assert check.status == WARNING
    assert "Metadata" in check.detail
    assert "Fetch" not in check.detail


def test_findings_in_files_become_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Found:
        severity, where, what, fix = ERROR, "journal/3.wal:17", "bad checksum", "restore a copy"

    monkeypatch.setattr(launcher, "examine", lambda _: [Found()])
    assert doctor.examine_files("d") == [
        Check("journal/3.wal:17", ERROR, "bad checksum", "restore a copy")
    ]
    monkeypatch.setattr(launcher, "examine", lambda _: [])
    assert [check.status for check in doctor.examine_files("d")] == [OK]
