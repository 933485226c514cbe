"""The data directory itself: who works in it, which format it has, which cluster it belongs to.

Owns the lock and meta.json. Must never know what else is in the directory, except that nothing may
be there without a meta.json: it is written first, so its absence beside data is damage, and a new
identity must never be put over old data.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable
from datetime import UTC, datetime

from storage.errors import CorruptDirectory, StorageError, UnsupportedFormat
from storage.filesystem import Filesystem, Lock

LOCK = "lock"
META = "meta.json"
FORMAT = 1
UUID_BYTES = 16
CLUSTER_ID_CHARACTERS = 22
TOPIC_CHARACTERS_KEPT = 200
"""File systems take names of 255 bytes; partition and attempt need some of them."""
DATA_NAMES = ("journal", "topics", "state.sqlite")
HARMLESS_NAMES = (LOCK, f"{META}.new", "lost+found")


class DataDirectory:
    """A directory this process has locked."""

    def __init__(self, lock: Lock, cluster_id: str, node_id: int, created: str) -> None:
        self._lock = lock
        self.cluster_id = cluster_id
        self.node_id = node_id
        self.created = created

    @classmethod
    def open(
        cls,
        filesystem: Filesystem,
        node_id: int,
        now_ms: int,
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
    ) -> DataDirectory:
        """Locks the directory and reads who it is; a new one gets an identity."""
        lock = filesystem.lock(LOCK)
        try:
            if not filesystem.exists(META):
                _create(filesystem, node_id, now_ms, random_bytes)
            meta = _read(filesystem)
            if meta["node_id"] != node_id:
                raise StorageError(
                    f"{META}: this directory belongs to node {meta['node_id']}, not to {node_id}"
                )
        except BaseException:
            lock.close()
            raise
        return cls(lock, str(meta["cluster_id"]), node_id, str(meta["created"]))

    def close(self) -> None:
        """Lets another process in."""
        self._lock.close()


def _create(
    filesystem: Filesystem, node_id: int, now_ms: int, random_bytes: Callable[[int], bytes]
) -> None:
    for name in filesystem.listdir("."):
        if name in DATA_NAMES:
            raise CorruptDirectory(META, None, f"the file is missing, though there is {name}")
        if name not in HARMLESS_NAMES:
            raise StorageError(
                f"the directory is no data directory of oncelog and not empty (there is {name});"
                " choose an empty one"
            )
    meta = {
        "format": FORMAT,
        "cluster_id": new_cluster_id(random_bytes),
        "node_id": node_id,
        "created": datetime.fromtimestamp(now_ms / 1000, UTC).isoformat(timespec="seconds"),
    }
    filesystem.write_atomic(META, (json.dumps(meta, indent=2) + "\n").encode())


def _read(filesystem: Filesystem) -> dict[str, object]:
    try:
        meta = json.loads(filesystem.read_bytes(META))
    except ValueError as error:
        raise CorruptDirectory(META, None, f"the file is not JSON ({error})") from None
    if not isinstance(meta, dict) or not isinstance(meta.get("format"), int):
        raise CorruptDirectory(META, None, "the file does not say which format this directory has")
    if meta["format"] > FORMAT:
        raise UnsupportedFormat(
            f"{META}: this directory has format {meta['format']}, written by a newer version of"
            f" oncelog; this version knows formats up to {FORMAT}"
        )
    cluster_id = meta.get("cluster_id")
    if (
        meta["format"] < 1
        or not isinstance(cluster_id, str)
        or len(cluster_id) != CLUSTER_ID_CHARACTERS
        or not isinstance(meta.get("node_id"), int)
        or not isinstance(meta.get("created"), str)
    ):
        raise CorruptDirectory(META, None, "the file lacks fields or holds impossible values")
    return meta


def new_cluster_id(random_bytes: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """22 characters, a UUID in base64url without padding, as Kafka's; never one like an option."""
    while True:
        text = base64.urlsafe_b64encode(random_bytes(UUID_BYTES)).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def partition_directory(topic: str, partition: int, attempt: int = 0) -> str:
    """Kafka's name for a partition's folder; attempts after the first, for when it is taken, end
    in a number no topic's own folder can end in, and are cut to what a file system takes."""
    if attempt == 0:
        return f"{topic}-{partition}"
    return f"{topic[:TOPIC_CHARACTERS_KEPT]}-{partition}.{attempt}"
