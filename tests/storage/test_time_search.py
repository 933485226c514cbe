"""Finding records by time, against a look at every record."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.compression import GZIP, NONE
from protocol.control_records import build_end_marker
from protocol.record_batch import read_header, set_base_offset_and_epoch, set_log_append_time
from protocol.records import Record, build_batch
from storage.log_environment import LogEnvironment
from storage.memory_filesystem import MemoryFilesystem
from storage.partition_log import PartitionLog, TimestampedOffset

FAR = 1 << 40

BATCHES = st.lists(
    st.tuples(
        st.lists(st.integers(0, 60), min_size=1, max_size=5),
        st.sampled_from([NONE, NONE, GZIP]),
        st.sampled_from([0, 0, 3000, 12000]),
        st.sampled_from([False, False, False, True]),
    ),
    min_size=1,
    max_size=15,
)


def new_log() -> PartitionLog:
    return PartitionLog(LogEnvironment(MemoryFilesystem()), "topics/t-0")


def append(log: PartitionLog, batch: bytearray, *, roll: bool = False) -> None:
    set_base_offset_and_epoch(batch, 0, log.log_end_offset, 0)
    header = read_header(batch)
    log.append(
        bytes(batch), header.base_offset, header.last_offset, header.max_timestamp, roll=roll
    )
    log.flush()


def batch_of(timestamps: list[int], codec: int = NONE, size: int = 0) -> bytearray:
    records = [
        Record(delta, timestamp - timestamps[0], None, bytes(size))
        for delta, timestamp in enumerate(timestamps)
    ]
    return build_batch(records, base_timestamp=timestamps[0], codec=codec)


@given(BATCHES, st.data())
@settings(max_examples=200, deadline=None)
def test_the_first_record_not_older_is_found(
    batches: list[tuple[list[int], int, int, bool]], data: st.DataObject
) -> None:
    log = new_log()
    records: list[TimestampedOffset] = []
    for timestamps, codec, size, roll in batches:
        first = log.log_end_offset
        append(log, batch_of(timestamps, codec, size), roll=roll)
        records += [TimestampedOffset(first + n, time) for n, time in enumerate(timestamps)]
    log.set_log_start(data.draw(st.integers(0, log.log_end_offset)))
    upper = data.draw(st.one_of(st.just(FAR), st.integers(0, log.log_end_offset)))
    left = [record for record in records if record.offset >= log.log_start_offset]
    for timestamp in range(0, 64, 3):
        found = next((record for record in left if record.timestamp >= timestamp), None)
        wanted = found if found is not None and found.offset < upper else None
        assert log.offset_for_timestamp(timestamp, upper) == wanted
    visible = [record for record in left if record.offset < upper]
    newest = max(visible, key=lambda record: (record.timestamp, -record.offset), default=None)
    assert log.offset_of_max_timestamp(upper) == newest


def test_with_log_append_time_the_batch_has_one_time() -> None:
    log = new_log()
    batch = batch_of([5, 6, 7])
    set_log_append_time(batch, 0, 100)
    append(log, batch)
    assert log.offset_for_timestamp(50, FAR) == (0, 100)
    assert log.offset_for_timestamp(101, FAR) is None
    assert log.offset_of_max_timestamp(FAR) == (0, 100)


def test_a_marker_has_a_time_too() -> None:
    log = new_log()
    append(log, batch_of([5]))
    append(log, build_end_marker(True, 1, 0, 0, 9))
    assert log.offset_for_timestamp(6, FAR) == (1, 9)


def test_an_empty_log_has_nothing() -> None:
    assert new_log().offset_for_timestamp(0, FAR) is None
    assert new_log().offset_of_max_timestamp(FAR) is None


def test_records_without_time_are_never_found() -> None:
    log = new_log()
    append(log, batch_of([-1, -1]))
    assert log.offset_for_timestamp(0, FAR) is None
    assert log.offset_of_max_timestamp(FAR) is None


def test_batches_that_are_queued_or_not_visible_are_not_found() -> None:
    log = new_log()
    for timestamp in (10, 20):
        append(log, build_batch([Record(0, 0, None, bytes(5_000), ())], base_timestamp=timestamp))
    for timestamp in (30, 40):
        batch = build_batch([Record(0, 0, None, bytes(5_000), ())], base_timestamp=timestamp)
        set_base_offset_and_epoch(batch, 0, log.log_end_offset, 0)
        end = log.log_end_offset
        log.append(bytes(batch), end, end, timestamp, roll=False)
    assert log.offset_of_max_timestamp(2) == TimestampedOffset(1, 20)
    assert log.offset_of_max_timestamp(1) == TimestampedOffset(0, 10)
    assert log.offset_for_timestamp(15, 2) == TimestampedOffset(1, 20)
    assert log.offset_for_timestamp(35, 2) is None
