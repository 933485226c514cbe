"""The tally of produced records."""

from oncelog.delivery import Delivery


def test_acknowledgements_are_counted_by_partition_with_their_offsets() -> None:
    delivery = Delivery("t")
    for partition, offset in [(0, 5), (1, 9), (0, 3), (0, 4)]:
        delivery.send(10)
        delivery.acknowledge(partition, offset)
    document = delivery.as_json(2.0)
    assert document["sent"] == document["acknowledged"] == 4
    assert document["bytes"] == 40
    assert document["partitions"] == [
        {"partition": 0, "records": 3, "first_offset": 3, "last_offset": 5},
        {"partition": 1, "records": 1, "first_offset": 9, "last_offset": 9},
    ]


def test_the_first_failure_is_kept() -> None:
    delivery = Delivery("t")
    delivery.refuse("too large")
    delivery.refuse("timed out")
    assert (delivery.failed, delivery.first_failure) == (2, "too large")


def test_the_text_says_how_many_where_and_how_fast() -> None:
    delivery = Delivery("t")
    delivery.acknowledge(0, 0)
    assert delivery.as_text(0.5) == "1 record acknowledged in 1 partition of t, 0.50 s"
    delivery.acknowledge(1, 0)
    text = "2 records acknowledged in 2 partitions of t, 2.00 s, 1 records/s"
    assert delivery.as_text(2.0) == text


def test_a_run_without_acknowledgements_names_no_partitions() -> None:
    assert Delivery("t").as_text(0.0) == "0 records acknowledged, 0.00 s"


def test_records_without_an_answer_are_not_said_to_be_unwritten() -> None:
    delivery = Delivery("t")
    for _ in range(3):
        delivery.send(1)
    delivery.refuse("too large")
    assert delivery.failure_as_text() == "1 of 3 records was not written"
    delivery.refuse("timed out", doubtful=True)
    text = "2 of 3 records were not acknowledged, some may be stored"
    assert delivery.failure_as_text() == text
