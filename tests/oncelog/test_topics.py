"""`oncelog topics` against a broker."""

import io
import re

import pytest

from tests.support.command_line import oncelog, succeed


def test_a_created_topic_is_listed_described_and_deleted(bootstrap: str, topic: str) -> None:
    where = ("--bootstrap", bootstrap)
    settings = ("--partitions", "3", "--config", "retention.ms=3600000")
    assert succeed("topics", "create", topic, *settings, *where).out == f"created {topic}\n"
    rows = {row["name"]: row for row in succeed("topics", "list", "--json", *where).document}
    assert rows[topic] == {"name": topic, "partitions": 3, "replication_factor": 1}
    (found,) = succeed("topics", "describe", topic, "--json", *where).document
    assert found["configs"] == {"retention.ms": "3600000"}
    assert [partition["partition"] for partition in found["partitions"]] == [0, 1, 2]
    assert {partition["latest_offset"] for partition in found["partitions"]} == {0}
    assert succeed("topics", "delete", topic, *where).out == f"deleted {topic}\n"
    names = {row["name"] for row in succeed("topics", "list", "--json", *where).document}
    assert topic not in names


def test_a_topic_that_is_there_already_is_an_error_unless_allowed(
    bootstrap: str, topic: str
) -> None:
    succeed("topics", "create", topic, "--bootstrap", bootstrap)
    said = oncelog("topics", "create", topic, "--bootstrap", bootstrap)
    assert said.exit_code == 1
    assert said.err.startswith(f"oncelog: cannot create topic {topic}: ")
    assert said.err.count("\n") == 1
    flags = ("--if-not-exists", "--json", "--bootstrap", bootstrap)
    assert succeed("topics", "create", topic, *flags).document == {"name": topic, "created": False}


def test_a_topic_that_is_not_there_cannot_be_described_or_deleted(
    bootstrap: str, topic: str
) -> None:
    described = oncelog("topics", "describe", topic, "--bootstrap", bootstrap)
    assert (described.exit_code, described.out) == (1, "")
    assert described.err.startswith(f"oncelog: cannot describe topic {topic}: ")
    deleted = oncelog("topics", "delete", topic, "--bootstrap", bootstrap, "--json")
    assert deleted.exit_code == 1
    assert deleted.document[0]["deleted"] is False
    # Asking must not have created it.
    listed = succeed("topics", "list", "--json", "--bootstrap", bootstrap).document
    assert topic not in {row["name"] for row in listed}


def test_a_bad_name_or_setting_is_refused_by_the_broker(bootstrap: str, topic: str) -> None:
    for arguments in (["bad name"], [topic, "--config", "no.such.setting=1"]):
        said = oncelog("topics", "create", *arguments, "--bootstrap", bootstrap)
        assert said.exit_code == 1
        assert said.err.count("\n") == 1


def test_tables_for_people_hold_every_name_in_full(bootstrap: str, topic: str) -> None:
    succeed("topics", "create", topic, "--bootstrap", bootstrap)
    assert topic in succeed("topics", "list", "--bootstrap", bootstrap).out
    described = succeed("topics", "describe", topic, "--bootstrap", bootstrap).out
    assert re.search(r"  id [A-Za-z0-9_-]{22}\n", described)
    assert f"topic {topic} " in described
    assert "changed settings: none" in described


def test_more_partitions_than_can_be_asked_for_are_refused_in_plain_words(
    bootstrap: str, topic: str
) -> None:
    said = oncelog("topics", "create", topic, "-p", "1000000", "--bootstrap", bootstrap)
    assert said.exit_code == 2
    why = "a topic is created with at most 100,000 partitions"
    assert said.err == f"oncelog: cannot create topic {topic}: {why}\n"


def test_fewer_replicas_than_asked_for_are_noted(bootstrap: str, topic: str) -> None:
    flags = ("--replication-factor", "3", "--bootstrap", bootstrap)
    said = oncelog("topics", "create", topic, *flags)
    assert (said.exit_code, said.out) == (0, f"created {topic}\n")
    assert said.err == "oncelog: note: each partition has 1 replica, not 3\n"


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("names", "those"), [(["a"], "it"), (["a", "b"], "them")])
def test_nothing_is_deleted_when_the_question_is_answered_with_no(
    monkeypatch: pytest.MonkeyPatch, names: list[str], those: str
) -> None:
    monkeypatch.setattr(io, "TextIOWrapper", Terminal)
    said = oncelog("topics", "delete", *names, "--bootstrap", "127.0.0.1:1", stdin=b"n\n")
    assert (said.exit_code, said.out) == (1, "nothing was deleted\n")
    assert f"all records in {those}?" in said.err
