"""The pure parts of scripts/bench: statistics, ratios, targets, tables, frames. No timing."""

from __future__ import annotations

import json
import struct
import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from scripts.benchmark import frames, plot, report, table
from scripts.benchmark.catalogue import client_works, is_chosen, node_works, scale_of
from scripts.benchmark.java_work import parse_consumer, parse_producer
from scripts.benchmark.latency_work import check_ack
from scripts.benchmark.measure import MEASURES
from scripts.benchmark.payload import value_pool
from scripts.benchmark.runner import in_turn
from scripts.benchmark.summary import Row, Sample, failures, percentile, summarise
from scripts.benchmark.system import SYSTEMS
from scripts.benchmark.targets import (
    KAFKA,
    KAFKA_FSYNC,
    ONCELOG,
    TARGETS,
    Target,
    Verdict,
    judge,
)
from scripts.benchmark.work import WorkError

RATE, CPU = "records_per_s", "cpu_s_per_million"
WORK = "produce-1KB-1p-none"


def row(measure: str = RATE, work: str = WORK, **medians: float) -> Row:
    return Row(work, measure, medians, {key: (value, value) for key, value in medians.items()})


def rendered(shown: object) -> str:
    console = Console(width=200, force_terminal=False, record=True, quiet=False)
    with console.capture() as capture:
        console.print(shown)
    return capture.get()


# --- statistics


def test_the_median_over_rounds_is_kept_for_each_system_and_measure() -> None:
    samples = [Sample(WORK, KAFKA, turn, {RATE: value}) for turn, value in enumerate((1, 9, 2))]
    samples += [Sample(WORK, ONCELOG, turn, {RATE: value}) for turn, value in enumerate((4, 6))]
    (found,) = summarise(samples)
    assert found.medians == {KAFKA: 2, ONCELOG: 5}
    assert found.spreads == {KAFKA: (1, 9), ONCELOG: (4, 6)}


def test_rows_keep_the_order_in_which_works_ran() -> None:
    samples = [Sample(name, KAFKA, 0, {RATE: 1, CPU: 1}) for name in ("z", "a", "m")]
    order = [(found.work, found.measure) for found in summarise(samples)]
    assert order == [(name, measure) for name in ("z", "a", "m") for measure in (RATE, CPU)]


def test_a_failed_run_gives_no_figure_and_is_listed() -> None:
    good = Sample(WORK, ONCELOG, 0, {RATE: 10.0})
    bad = Sample(WORK, ONCELOG, 1, {}, "refused")
    (found,) = summarise([good, bad])
    assert found.medians == {ONCELOG: 10.0}
    assert failures([good, bad]) == [bad]


@pytest.mark.parametrize(("percent", "value"), [(0, 1), (50, 50), (99, 99), (100, 100)])
def test_percentiles_are_nearest_rank(percent: float, value: float) -> None:
    assert percentile([float(number) for number in range(100, 0, -1)], percent) == value


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 100), st.floats(0, 100))
def test_percentiles_are_values_that_occurred_and_never_fall(
    values: list[float], one: float, other: float
) -> None:
    low, high = sorted((one, other))
    assert percentile(values, low) in values
    assert percentile(values, low) <= percentile(values, high)


def test_no_values_have_no_percentile() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


# --- ratios


def test_a_ratio_is_oncelog_over_kafka() -> None:
    assert row(oncelog=130.0, kafka=100.0).ratio(ONCELOG, KAFKA) == pytest.approx(1.3)


def test_a_ratio_needs_both_systems_and_a_divisor() -> None:
    assert row(oncelog=1.0).ratio(ONCELOG, KAFKA) is None
    assert row(kafka=1.0).ratio(ONCELOG, KAFKA) is None
    assert row(oncelog=1.0, kafka=0.0).ratio(ONCELOG, KAFKA) is None


def test_better_is_above_one_for_rates_and_for_costs() -> None:
    assert row(RATE, oncelog=200.0, kafka=100.0).times_better(ONCELOG, KAFKA) == 2.0
    assert row(CPU, oncelog=50.0, kafka=100.0).times_better(ONCELOG, KAFKA) == 2.0
    assert row(CPU, oncelog=200.0, kafka=100.0).times_better(ONCELOG, KAFKA) == 0.5
    assert row(CPU, oncelog=0.0, kafka=100.0).times_better(ONCELOG, KAFKA) is None


# --- targets


@pytest.mark.parametrize(
    ("measure", "value", "is_met"),
    [(RATE, 1.1, True), (RATE, 1.09, False), (CPU, 1.1, True), (CPU, 1.11, False)],
)
def test_rates_are_bounded_below_and_costs_above(measure: str, value: float, is_met: bool) -> None:
    assert Verdict(Target(WORK, measure, KAFKA, 1.1), value).is_met is is_met


def test_a_target_is_judged_against_the_kafka_it_names() -> None:
    rows = [row(RATE, oncelog=30.0, kafka=20.0, kafka_fsync=10.0)]
    wanted = [Target(WORK, RATE, KAFKA, 2.0), Target(WORK, RATE, KAFKA_FSYNC, 2.0)]
    assert [verdict.is_met for verdict in judge(rows, wanted)] == [False, True]


def test_a_target_on_the_figure_itself_needs_no_kafka() -> None:
    target = Target("idle-node", "idle_mb", None, 80.0)
    (verdict,) = judge([row("idle_mb", "idle-node", oncelog=60.0)], [target])
    assert (verdict.value, verdict.is_met) == (60.0, True)


def test_a_target_without_figures_is_neither_met_nor_missed() -> None:
    assert all(verdict.is_met is None for verdict in judge([]))


def test_every_target_names_a_work_and_a_measure_that_exist() -> None:
    scale = scale_of(False)
    names = {work.name for work in client_works(scale)}
    names |= {work.name for work in node_works(scale)}
    assert {target.work for target in TARGETS} <= names
    assert {target.measure for target in TARGETS} <= set(MEASURES)


# --- choice and order


def test_names_of_works_are_unique() -> None:
    names = [work.name for work in client_works(scale_of(True))]
    names += [work.name for work in node_works(scale_of(True))]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("pattern", "is_taken"),
    [(None, True), ("1KB", True), ("produce-*-none", True), ("10KB", False), ("x*", False)],
)
def test_only_takes_globs_and_parts_of_names(pattern: str | None, is_taken: bool) -> None:
    assert is_chosen(WORK, pattern) is is_taken


def test_each_system_goes_first_once_in_three_rounds() -> None:
    orders = [in_turn(SYSTEMS, turn) for turn in range(3)]
    assert {order[0].key for order in orders} == {system.key for system in SYSTEMS}
    assert all(len(order) == len(SYSTEMS) for order in orders)


# --- what is shown


@pytest.mark.parametrize(
    ("value", "text"), [(1_234_567.0, "1,235"), (45_600.0, "45.6"), (1_230.0, "1.23")]
)
def test_figures_are_printed_in_their_unit_with_three_digits(value: float, text: str) -> None:
    assert MEASURES[RATE].format(value) == text


def test_the_table_shows_medians_and_both_ratios() -> None:
    rows = [row(RATE, oncelog=368_000.0, kafka=325_000.0, kafka_fsync=66_000.0)]
    text = rendered(table.result_table(rows, SYSTEMS))
    for part in (WORK, "368", "325", "66.0", "1.13x", "5.58x"):
        assert part in text


def test_the_table_marks_what_was_not_measured() -> None:
    cells = rendered(table.result_table([row(RATE, oncelog=1000.0)], SYSTEMS)).splitlines()[-2]
    assert cells.count(" - ") == 4


def test_the_ratio_is_green_only_when_oncelog_is_better() -> None:
    assert "green" in table.ratio_text(row(CPU, oncelog=1.0, kafka=2.0), KAFKA)
    assert "red" in table.ratio_text(row(RATE, oncelog=1.0, kafka=2.0), KAFKA)


def test_the_target_table_says_met_and_missed() -> None:
    target = Target(WORK, RATE, KAFKA, 1.1)
    text = rendered(table.target_table([Verdict(target, 1.3), Verdict(target, 0.9)]))
    assert "at least 1.1x" in text
    assert "1.30x" in text
    assert text.count(" met ") == 1
    assert text.count(" missed ") == 1


def test_the_failure_table_says_why() -> None:
    text = rendered(table.failure_table([Sample(WORK, ONCELOG, 2, {}, "no result")]))
    assert "no result" in text
    assert " 3 " in text


def test_only_rows_with_a_ratio_are_plotted() -> None:
    both, alone = row(RATE, oncelog=2.0, kafka=1.0), row(CPU, oncelog=2.0)
    assert plot.comparable([both, alone]) == [both]


def test_the_json_document_holds_ratios_targets_and_samples() -> None:
    samples = [Sample(WORK, ONCELOG, 0, {RATE: 3.0}), Sample(WORK, KAFKA, 0, {RATE: 2.0})]
    rows = summarise(samples)
    verdicts = judge(rows, [Target(WORK, RATE, KAFKA, 1.1)])
    found = json.loads(json.dumps(report.document({"cores": 2}, samples, rows, verdicts)))
    assert found["results"][0]["ratio_to_kafka"] == 1.5
    assert found["results"][0]["ratio_to_kafka_fsync"] is None
    assert found["targets"][0]["is_met"] is True
    assert found["samples"][0]["measures"] == {RATE: 3.0}


# --- Kafka's tools


def test_the_last_line_of_the_java_producer_counts() -> None:
    line = "{} records sent, {} records/sec (4.78 MB/sec), 15.6 ms avg latency, 21.0 ms max latency"
    tail = ", 15 ms 50th, 21 ms 95th, 21 ms 99th, 22 ms 99.9th.\n"
    output = line.format(7, "1.5") + ".\n" + line.format(200, "50087.6") + tail
    assert parse_producer(output) == (200, 50087.6)


def test_the_java_consumer_is_read_by_column_name() -> None:
    head = "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, "
    head += "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec\n"
    figures = "2026-01-01 00:00:00:000, 2026-01-01 00:00:01:000, 95.3, 95.3, 100000, 90000.0, "
    assert parse_consumer(head + figures + "300, 700, 136.2, 142857.1\n") == (100000, 142857.1)


def test_a_tool_without_figures_is_a_failure() -> None:
    with pytest.raises(WorkError, match="no figures"):
        parse_producer("Exception in thread main")
    with pytest.raises(WorkError, match="no figures"):
        parse_consumer("Exception in thread main")


# --- raw frames and payloads


def read_by_kafka_python(batches: bytes) -> Any:
    """kafka-python's reader; its import uses a deprecated function of the standard library."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from kafka.record import MemoryRecords
    return MemoryRecords(batches)


# No deadline: the machine may be busy, and the first example imports kafka-python.
@settings(deadline=None)
@given(st.binary(max_size=300))
def test_the_hand_made_batch_is_one_that_kafka_python_reads(value: bytes) -> None:
    batches = read_by_kafka_python(frames.one_record_batch(value, 1_700_000_000_000))
    batch = batches.next_batch()
    assert batch is not None
    assert batch.validate_crc()
    assert [(record.key, record.value) for record in batch] == [(None, value)]
    assert batches.next_batch() is None


def test_frames_say_their_own_length() -> None:
    batch = frames.one_record_batch(b"v", 0)
    made = [frames.api_versions_request(), frames.produce_request("t", 0, batch)]
    made.append(frames.fetch_request("t", 0, 5, 100))
    assert all(struct.unpack_from(">i", frame)[0] == len(frame) - 4 for frame in made)


def produce_answer(topic: str, error_code: int) -> bytes:
    name = bytes([len(topic) + 1]) + topic.encode()
    partition = struct.pack(">ihqqq", 0, error_code, 7, -1, 0) + b"\x01\x00\x00"
    body = struct.pack(">i", 1) + b"\x00\x02" + name + b"\x02" + partition + b"\x00"
    body += struct.pack(">i", 0) + b"\x00"
    return struct.pack(">i", len(body)) + body


@pytest.mark.parametrize("topic", ["t", "a-longer-topic"])
def test_a_refused_record_never_counts_as_an_answer(topic: str) -> None:
    check_ack(produce_answer(topic, 0), frames.produce_error_at(topic))
    with pytest.raises(WorkError, match="error 3"):
        check_ack(produce_answer(topic, 3), frames.produce_error_at(topic))


def fetch_answer(topic: str, error_code: int, records: bytes) -> bytes:
    name = bytes([len(topic) + 1]) + topic.encode()
    size = len(records) + 1
    length = bytes([size]) if size < 0x80 else bytes([size & 0x7F | 0x80, size >> 7])
    partition = struct.pack(">ihqqq", 0, error_code, 42, 42, 0) + b"\x00" + struct.pack(">i", -1)
    body = struct.pack(">i", 1) + b"\x00" + struct.pack(">ihi", 0, 0, 0) + b"\x02" + name + b"\x02"
    body += partition + length + records + b"\x00\x00\x00"
    return struct.pack(">i", len(body)) + body


@pytest.mark.parametrize("size", [0, 1, 126, 127, 300])
def test_a_fetch_answer_tells_how_many_bytes_of_records_it_holds(size: int) -> None:
    answer = frames.read_fetch_answer("topic", fetch_answer("topic", 0, bytes(size)))
    assert answer == frames.FetchAnswer(0, 42, size)


def test_a_fetch_error_is_seen() -> None:
    assert frames.read_fetch_answer("t", fetch_answer("t", 3, b"")).error_code == 3


@pytest.mark.parametrize("size_bytes", [100, 1_000, 10_000])
def test_payloads_have_their_size_and_are_the_same_every_time(size_bytes: int) -> None:
    pool = value_pool(size_bytes)
    assert {len(value) for value in pool} == {size_bytes}
    assert len(set(pool)) == len(pool)
    assert pool == value_pool(size_bytes)
