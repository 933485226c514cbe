"""Error numbers: Kafka's numbers under Kafka's names."""

from kio.schema.errors import ErrorCode as Theirs

from protocol.errors import ErrorCode, KafkaError


def test_numbers_and_names_are_those_of_kafka() -> None:
    ours = {code.name: int(code) for code in ErrorCode}
    assert ours == {code.name.upper(): int(code) for code in Theirs}


def test_numbers_are_contiguous() -> None:
    assert [int(code) for code in ErrorCode] == list(range(-1, max(ErrorCode) + 1))


def test_an_error_keeps_its_code_and_message() -> None:
    error = KafkaError(ErrorCode.INVALID_TXN_STATE, "no transaction")
    assert (error.code, error.message) == (ErrorCode.INVALID_TXN_STATE, "no transaction")
    assert str(error) == "INVALID_TXN_STATE: no transaction"
    assert str(KafkaError(ErrorCode.NONE)) == "NONE"
