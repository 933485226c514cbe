"""Doctor: says what is wrong with the files of a stopped broker, and what to do.

Owns: the examination of a data directory. Recovery is run for real on an overlay that keeps all
changes to itself; then every batch of every log is read and its checksum compared.
Never knows: a running broker (that is examined over the wire, by the command line).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import NamedTuple

from broker.changes import UnknownChange
from broker.partition import Partition
from broker.recovery import recover
from broker.settings import Settings
from broker.state import State
from protocol.errors import ProtocolError
from protocol.record_batch import crc_is_valid, walk_batches
from storage.checkpoint import PATH as CHECKPOINT_PATH
from storage.errors import AlreadyLocked, CorruptData, StorageError, UnsupportedFormat
from storage.filesystem import OsFilesystem
from storage.overlay_filesystem import OverlayFilesystem

READ_BYTES = 4 * 1024 * 1024

OK, WARNING, ERROR = "ok", "warning", "error"


class Finding(NamedTuple):
    """One thing that was found; `fix` may be empty."""

    severity: str
    where: str
    what: str
    fix: str = ""


def examine(data_dir: str) -> list[Finding]:
    """Everything there is to say about a data directory; nothing in it is changed."""
    if not os.path.isdir(data_dir):
        return [Finding(ERROR, data_dir, "there is no such directory", "check the path")]
    if not os.path.exists(os.path.join(data_dir, "meta.json")):
        return [_without_meta(data_dir)]
    overlay = OverlayFilesystem(OsFilesystem(data_dir))
    try:
        state = recover(Settings(data_dir=data_dir, node_id=_node_id(overlay)), overlay)
    except StorageError as error:
        return [_refusal(data_dir, error)]
    except UnknownChange as error:
        return [Finding(ERROR, data_dir, str(error), "use the version that wrote it, or newer")]
    try:
        return [_summary(data_dir, state), _checkpoint(overlay), *_damaged_logs(state)]
    finally:
        state.store.close()


def _without_meta(data_dir: str) -> Finding:
    if os.listdir(data_dir):
        return Finding(
            ERROR,
            data_dir,
            "meta.json is missing, but the directory is not empty",
            "if this is a data directory, restore meta.json from a backup; else choose another",
        )
    return Finding(OK, data_dir, "empty: a broker started here begins anew")


def _node_id(overlay: OverlayFilesystem) -> int:
    """The node this directory belongs to; recovery itself complains about a garbled file."""
    try:
        node_id = json.loads(overlay.read_bytes("meta.json"))["node_id"]
    except (ValueError, KeyError, TypeError):
        return 1
    return node_id if isinstance(node_id, int) else 1


def _refusal(data_dir: str, error: StorageError) -> Finding:
    if isinstance(error, AlreadyLocked):
        fix = "stop that broker first, or check it over the wire: oncelog doctor"
        return Finding(ERROR, data_dir, str(error), fix)
    if isinstance(error, CorruptData):
        place = error.path if error.position is None else f"{error.path}, byte {error.position}"
        return Finding(
            ERROR,
            os.path.join(data_dir, place),
            error.problem,
            "a broker refuses to start here; restore the file or the directory from a backup",
        )
    fix = "use a newer version of oncelog" if isinstance(error, UnsupportedFormat) else ""
    return Finding(ERROR, data_dir, str(error), fix)


def _summary(data_dir: str, state: State) -> Finding:
    partitions = [partition for topic in state.topics for partition in topic.partitions]
    size_bytes = sum(partition.log.size_bytes for partition in partitions)
    return Finding(
        OK,
        data_dir,
        f"a broker can start here; topics: {len(state.topics)}, partitions: {len(partitions)}, "
        f"bytes of records: {size_bytes}",
    )


def _checkpoint(overlay: OverlayFilesystem) -> Finding:
    """What the checkpoint holds, table by table, as `sqlite-utils tables --counts` shows it."""
    import sqlite_utils

    connection = overlay.open_database(CHECKPOINT_PATH)
    try:
        database = sqlite_utils.Database(connection)
        counts = [f"{table.name} {table.count}" for table in database.tables]
    finally:
        connection.close()
    return Finding(OK, CHECKPOINT_PATH, f"rows at the last checkpoint: {', '.join(counts)}")


def _damaged_logs(state: State) -> Iterator[Finding]:
    for topic in state.topics:
        for partition in topic.partitions:
            try:
                yield from _damaged_batches(partition)
            except CorruptData as error:
                fix = "restore this file from a backup; other partitions are not affected"
                yield Finding(ERROR, f"{error.path}, byte {error.position}", error.problem, fix)


def _damaged_batches(partition: Partition) -> Iterator[Finding]:
    log = partition.log
    offset, end = log.log_start_offset, log.log_end_offset
    while offset < end:
        found = log.read(offset, READ_BYTES, end, at_least_one=True, may_block=True)
        if found is None or found.next_offset <= offset:
            return
        try:
            for at, header in walk_batches(found.data):
                if not crc_is_valid(found.data, at, header):
                    yield Finding(
                        ERROR,
                        f"{log.directory}, offset {header.base_offset}",
                        f"the batch of {header.record_count} records does not match its checksum",
                        "restore these files from a backup; clients that check CRCs refuse it",
                    )
        except ProtocolError as error:
            yield Finding(ERROR, f"{log.directory}, offset {offset}", str(error))
        offset = found.next_offset
