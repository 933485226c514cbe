"""The broker's rows in the checkpoint: topics, producers, counters.

Owns: which tables there are, turning state into rows and rows into state.
Never knows: when a
checkpoint is made or how it becomes durable.

Only what changed since the last checkpoint is written; deleted topics take their producers with
them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from broker.partition import Partition
from broker.state import State
from storage.checkpoint import Table, TableChange, Value
from txn.eos_manager import ProducerState, RememberedBatch

TOPICS_TABLE = Table(
    "topics",
    {"topic_id": str, "name": str, "created_ms": int, "configs": str, "directories": str},
    ("topic_id",),
)
PRODUCERS_TABLE = Table(
    "producers",
    {
        "topic_id": str,
        "partition": int,
        "producer_id": int,
        "producer_epoch": int,
        "last_append_ms": int,
        "batches": str,
    },
    ("topic_id", "partition", "producer_id"),
)
COUNTERS_TABLE = Table("counters", {"name": str, "value": int}, ("name",))

TABLES = (TOPICS_TABLE, PRODUCERS_TABLE, COUNTERS_TABLE)

NEXT_PRODUCER_ID = "next_producer_id"


def collect(state: State) -> list[TableChange]:
    """The rows that changed since the last time; must be taken at one moment of the loop."""
    changes = [
        _topic_changes(state),
        _producer_changes(state),
        TableChange(COUNTERS_TABLE.name, (), [(NEXT_PRODUCER_ID, state.producer_ids.next_id)]),
    ]
    state.changed_topics.clear()
    state.changed_producers.clear()
    return changes


def give_back(state: State, changes: Sequence[TableChange]) -> None:
    """The checkpoint was abandoned: everything in it must be in the next one."""
    for change in changes:
        if change.table == TOPICS_TABLE.name:
            rows = (*change.deletes, *change.upserts)
            state.changed_topics.update(bytes.fromhex(str(row[0])) for row in rows)
        elif change.table == PRODUCERS_TABLE.name:
            for row in (*change.deletes, *change.upserts):
                _mark_producer(state, row)


def _mark_producer(state: State, row: Sequence[Value]) -> None:
    topic = state.topics.get_by_id(bytes.fromhex(str(row[0])))
    if topic is not None and len(row) > 1:
        partition = topic.partitions[int(str(row[1]))]
        partition.eos.mark_changed(int(str(row[2])))
        state.changed_producers[partition] = None


def _topic_changes(state: State) -> TableChange:
    deletes: list[tuple[str]] = []
    upserts: list[tuple[Value, ...]] = []
    for topic_id in state.changed_topics:
        topic = state.topics.get_by_id(topic_id)
        if topic is None:
            deletes.append((topic_id.hex(),))
            continue
        directories = [partition.directory for partition in topic.partitions]
        upserts.append(
            (
                topic_id.hex(),
                topic.name,
                topic.created_ms,
                json.dumps(topic.configs, sort_keys=True),
                json.dumps(directories),
            )
        )
    return TableChange(TOPICS_TABLE.name, deletes, upserts)


def _producer_changes(state: State) -> TableChange:
    deletes: list[tuple[Value, ...]] = [
        (topic_id.hex(),)
        for topic_id in state.changed_topics
        if state.topics.get_by_id(topic_id) is None
    ]
    upserts: list[tuple[Value, ...]] = []
    for partition in state.changed_producers:
        key = (partition.topic.topic_id.hex(), partition.index)
        for producer_id, producer in partition.eos.take_changed():
            if producer is None:
                deletes.append((*key, producer_id))
            else:
                upserts.append(_producer_row(key, producer_id, producer))
    return TableChange(PRODUCERS_TABLE.name, deletes, upserts)


def _producer_row(
    key: tuple[str, int], producer_id: int, producer: ProducerState
) -> tuple[Value, ...]:
    batches = json.dumps([list(known) for known in producer.batches])
    return (*key, producer_id, producer.producer_epoch, producer.last_append_ms, batches)


def restore(state: State) -> None:
    """Bring back what the last checkpoint knew."""
    rows = state.store.rows
    for topic_id, name, created_ms, configs, directories in rows(TOPICS_TABLE.name):
        state.restore_topic(
            bytes.fromhex(str(topic_id)),
            str(name),
            json.loads(str(configs)),
            int(str(created_ms)),
            json.loads(str(directories)),
        )
    for row in rows(PRODUCERS_TABLE.name):
        _restore_producer(state, row)
    for name, value in rows(COUNTERS_TABLE.name):
        if name == NEXT_PRODUCER_ID:
            state.producer_ids.next_id = int(str(value))


def _restore_producer(state: State, row: Sequence[Value]) -> None:
    topic_id, index, producer_id, producer_epoch, last_append_ms, batches = row
    partition: Partition = state.topics.partition(bytes.fromhex(str(topic_id)), int(str(index)))
    remembered = [RememberedBatch(*known) for known in json.loads(str(batches))]
    partition.eos.restore(
        int(str(producer_id)),
        ProducerState(int(str(producer_epoch)), int(str(last_append_ms)), remembered),
    )
