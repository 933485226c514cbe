"""The data directory: one process, one identity, no guessing."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from storage.directory import META, DataDirectory, new_cluster_id, partition_directory
from storage.errors import AlreadyLocked, CorruptDirectory, StorageError, UnsupportedFormat
from storage.filesystem import OsFilesystem
from storage.memory_filesystem import MemoryFilesystem


def open_directory(filesystem: MemoryFilesystem | OsFilesystem, node_id: int = 1) -> DataDirectory:
    return DataDirectory.open(filesystem, node_id, 1_700_000_000_000)


def test_a_new_directory_gets_an_identity_and_keeps_it(tmp_path: Path) -> None:
    filesystem = OsFilesystem(str(tmp_path / "new" / "deeper"))
    first = open_directory(filesystem)
    first.close()
    second = open_directory(filesystem)
    assert second.cluster_id == first.cluster_id
    assert len(first.cluster_id) == 22
    assert first.created == "2023-11-14T22:13:20+00:00"
    second.close()


def test_two_in_one_process_are_refused_by_pid(tmp_path: Path) -> None:
    filesystem = OsFilesystem(str(tmp_path))
    first = open_directory(filesystem)
    with pytest.raises(AlreadyLocked, match=f"process {os.getpid()}"):
        open_directory(OsFilesystem(str(tmp_path)))
    first.close()
    open_directory(filesystem).close()


def test_another_process_is_refused_until_this_one_is_gone(tmp_path: Path) -> None:
    code = (
        "import sys; from storage.filesystem import OsFilesystem;"
        "lock = OsFilesystem(sys.argv[1]).lock('lock'); print('locked', flush=True);"
        "sys.stdin.read()"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(AlreadyLocked) as caught:
            open_directory(OsFilesystem(str(tmp_path)))
        assert caught.value.pid == other.pid
        other.kill()
    open_directory(OsFilesystem(str(tmp_path))).close()


def with_meta(content: bytes) -> MemoryFilesystem:
    filesystem = MemoryFilesystem()
    filesystem.write_atomic(META, content)
    return filesystem


def test_a_newer_format_is_refused() -> None:
    with pytest.raises(UnsupportedFormat, match="newer version"):
        open_directory(with_meta(json.dumps({"format": 2}).encode()))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"format": "1"}',
        b'{"format": 0}',
        b'{"format": 1}',
        b'{"format": 1, "cluster_id": "short", "node_id": 1, "created": "x"}',
        b'{"format": 1, "cluster_id": "AAAAAAAAAAAAAAAAAAAAAA", "node_id": "1", "created": "x"}',
    ],
)
def test_a_garbled_file_is_named_and_left_alone(content: bytes) -> None:
    filesystem = with_meta(content)
    with pytest.raises(CorruptDirectory, match=r"meta\.json"):
        open_directory(filesystem)
    assert filesystem.read_bytes(META) == content


def test_a_refusal_gives_the_lock_back() -> None:
    filesystem = with_meta(b"{")
    for _ in range(2):
        with pytest.raises(CorruptDirectory):
            open_directory(filesystem)


@pytest.mark.parametrize("name", ["journal", "topics"])
def test_data_without_identity_gets_no_new_one(name: str) -> None:
    filesystem = MemoryFilesystem()
    filesystem.makedirs(name)
    with pytest.raises(CorruptDirectory, match=name):
        open_directory(filesystem)
    assert not filesystem.exists(META)


def test_another_node_is_refused() -> None:
    filesystem = MemoryFilesystem()
    open_directory(filesystem, node_id=1).close()
    with pytest.raises(StorageError, match="belongs to node 1"):
        open_directory(filesystem, node_id=2)


def test_a_cluster_id_is_a_uuid_in_base64url_and_never_looks_like_an_option() -> None:
    draws = iter([b"\xfb" + bytes(15), b"\x01" * 16])
    cluster_id = new_cluster_id(lambda _: next(draws))
    assert base64.urlsafe_b64decode(cluster_id + "==") == b"\x01" * 16
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", cluster_id)


def test_partition_directories_are_kafkas_and_never_meet() -> None:
    assert partition_directory("a.b", 3) == "a.b-3"
    assert partition_directory("a.b", 3, 1) == "a.b-3.1"
    names = [
        partition_directory(topic, partition, attempt)
        for topic in ("a", "a-1", "a-1.1", "a.1")
        for partition in (0, 1, 11)
        for attempt in (0, 1, 2)
    ]
    assert len(set(names)) == len(names)
