"""Authorized operations: the numbers that Apache Kafka 4.3 answers without access control."""

from broker.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS


def test_the_fields_are_those_of_kafka() -> None:
    assert (TOPIC_OPERATIONS, CLUSTER_OPERATIONS, NOT_ASKED) == (3576, 8096, -2147483648)
