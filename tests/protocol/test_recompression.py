"""A recompressed batch holds the same records and keeps what the producer said about itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import ProtocolError
from protocol.recompression import recompress
from protocol.record_batch import crc_is_valid, read_header
from protocol.records import Record, build_batch, read_records

CODECS = range(5)


@given(
    st.lists(st.tuples(st.none() | st.binary(max_size=9), st.binary(max_size=200)), min_size=1),
    st.sampled_from(CODECS),
    st.sampled_from(CODECS),
)
def test_records_and_producer_survive_any_change_of_codec(
    pairs: list[tuple[bytes | None, bytes]], before: int, after: int
) -> None:
    records = [Record(index, index, key, value, ()) for index, (key, value) in enumerate(pairs)]
    batch = build_batch(
        records, codec=before, base_offset=5, producer_id=7, producer_epoch=2, base_sequence=9
    )
    again = recompress(batch, read_header(batch), after, 1 << 20)
    header = read_header(again)
    assert header.codec == after
    assert header.size_bytes == len(again)
    assert crc_is_valid(again, 0, header)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 9)
    assert list(read_records(again, 0, header, 1 << 20)) == records


def test_a_batch_that_unpacks_to_too_much_is_refused() -> None:
    batch = build_batch([Record(0, 0, None, bytes(100_000), ())], codec=4)
    with pytest.raises(ProtocolError):
        recompress(batch, read_header(batch), 1, 50_000)
