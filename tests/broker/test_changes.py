"""Changes: what a journal entry says is what was meant, and a newer version's entry is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.changes import (
    CHANGE_HEAD,
    BatchAppended,
    Change,
    LogStartMoved,
    PartitionsAdded,
    ProducerIdAllocated,
    ProducersForgotten,
    TopicConfigured,
    TopicCreated,
    TopicDeleted,
    UnknownChange,
    decode_entry,
    encode_entry,
)
from protocol.record_batch import read_header
from protocol.records import Record, build_batch

topic_ids = st.binary(min_size=16, max_size=16)
numbers = st.integers(0, 2**62)
names = st.lists(st.text(max_size=10), max_size=4)
configs = st.dictionaries(st.text(max_size=10), st.text(max_size=10), max_size=3)

changes = st.one_of(
    st.builds(
        TopicCreated,
        topic_id=topic_ids,
        name=st.text(max_size=20),
        directories=names,
        configs=configs,
        created_ms=numbers,
    ),
    st.builds(PartitionsAdded, topic_id=topic_ids, directories=names),
    st.builds(TopicDeleted, topic_id=topic_ids),
    st.builds(TopicConfigured, topic_id=topic_ids, configs=configs),
    st.builds(
        LogStartMoved, topic_id=topic_ids, partition=st.integers(0, 999), log_start_offset=numbers
    ),
    st.builds(ProducerIdAllocated, producer_id=numbers),
    st.builds(
        ProducersForgotten,
        topic_id=topic_ids,
        partition=st.integers(0, 999),
        producer_ids=st.lists(numbers, max_size=5),
    ),
)


def joined(entry: list[Change]) -> memoryview:
    return memoryview(b"".join(encode_entry(entry)))


@given(st.lists(changes, max_size=5))
def test_an_entry_reads_back_as_written(entry: list[Change]) -> None:
    assert list(decode_entry(joined(entry))) == entry


@given(topic_ids, st.integers(0, 999), numbers, st.integers(0, 2**32 - 1), st.booleans())
def test_a_batch_reads_back_as_written(
    topic_id: bytes, partition: int, append_ms: int, crc: int, roll: bool
) -> None:
    batch = build_batch([Record(0, 0, b"key", b"value", ())], base_offset=77)
    change = BatchAppended(topic_id, partition, read_header(batch), batch, crc, append_ms, roll)
    (back,) = decode_entry(joined([change]))
    assert isinstance(back, BatchAppended)
    assert (back.topic_id, back.partition, back.append_ms, back.crc, back.roll) == (
        topic_id,
        partition,
        append_ms,
        crc,
        roll,
    )
    assert bytes(back.batch) == bytes(batch)
    assert back.header.base_offset == 77


def test_a_kind_from_the_future_is_refused_by_name() -> None:
    with pytest.raises(UnknownChange, match="kind 250"):
        list(decode_entry(memoryview(CHANGE_HEAD.pack(250, 2) + b"{}")))


def test_an_entry_that_ends_inside_a_change_is_refused() -> None:
    with pytest.raises(UnknownChange, match="ends inside"):
        list(decode_entry(memoryview(b"\x02\x00")))
