"""Codecs: all that clients send is read, and nothing makes more memory than it was allowed to."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path
from struct import pack
from typing import Any

import cramjam
import lz4.frame
import pytest
import zstandard
from aiokafka import codec as aiokafka_codec
from hypothesis import given
from hypothesis import strategies as st

from protocol.compression import (
    GZIP,
    LZ4,
    MAX_GZIP_STREAMS,
    MAX_ZSTD_FRAMES,
    NONE,
    SNAPPY,
    XERIAL_HEADER,
    ZSTD,
    compress,
    decompress,
)
from protocol.errors import ProtocolError
from tests.wire.support.kafka_python import load

kafka_python_codec: Any = load("kafka.codec")

CODECS = [GZIP, SNAPPY, LZ4, ZSTD]
LIMIT = 1 << 20
TEXT = bytes(range(256)) * 30 + b"the same again and again " * 400


def snappy_block(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def xerial(*chunks: bytes) -> bytes:
    return XERIAL_HEADER + b"".join(pack(">i", len(chunk)) + chunk for chunk in chunks)


def gzip_with_name(data: bytes) -> bytes:
    output = io.BytesIO()
    with gzip.GzipFile("a-file-name", "wb", 9, output) as file:
        file.write(data)
    return output.getvalue()


def zstd_stream(data: bytes, **options: Any) -> bytes:
    """Without a content size, as a client writes that compresses while it gathers records."""
    stream = zstandard.ZstdCompressor(**options).compressobj()
    half = len(data) // 2
    flushed = stream.compress(data[:half]) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    return flushed + stream.compress(data[half:]) + stream.flush()


def zstd_skippable_frame(content: bytes) -> bytes:
    return pack("<II", 0x184D2A53, len(content)) + content


FRAMINGS = {
    "gzip with a file name": (GZIP, gzip_with_name(TEXT)),
    "gzip, fastest": (GZIP, zlib.compress(TEXT, 1, wbits=31)),
    "gzip, stored": (GZIP, zlib.compress(TEXT, 0, wbits=31)),
    "gzip of kafka-python": (GZIP, kafka_python_codec.gzip_encode(TEXT)),
    "gzip, two streams": (GZIP, gzip.compress(TEXT[:99]) + gzip.compress(TEXT[99:])),
    "snappy block": (SNAPPY, snappy_block(TEXT)),
    "snappy chunk": (SNAPPY, xerial(snappy_block(TEXT))),
    "snappy chunks": (
        SNAPPY,
        xerial(*[snappy_block(TEXT[at : at + 100]) for at in range(0, len(TEXT), 100)]),
    ),
    "snappy streams": (
        SNAPPY,
        xerial(snappy_block(TEXT[:99])) + xerial(snappy_block(TEXT[99:])),
    ),
    "snappy of aiokafka": (SNAPPY, aiokafka_codec.snappy_encode(TEXT)),
    "lz4 of kafka-python": (LZ4, kafka_python_codec.lz4_encode(TEXT)),
    "lz4, linked blocks": (LZ4, lz4.frame.compress(TEXT, block_linked=True)),
    "lz4, without size": (LZ4, lz4.frame.compress(TEXT, store_size=False)),
    "lz4, checksums": (LZ4, lz4.frame.compress(TEXT, content_checksum=True, block_checksum=True)),
    "lz4, large blocks": (LZ4, lz4.frame.compress(TEXT, block_size=lz4.frame.BLOCKSIZE_MAX4MB)),
    "zstd of kafka-python": (ZSTD, kafka_python_codec.zstd_encode(TEXT)),
    "zstd, without size": (ZSTD, zstd_stream(TEXT)),
    "zstd, fastest": (ZSTD, zstd_stream(TEXT, level=-5)),
    "zstd, largest window": (ZSTD, zstd_stream(TEXT, level=22)),
    "zstd, checksum": (ZSTD, zstd_stream(TEXT, write_checksum=True)),
    "zstd, two frames": (ZSTD, zstd_stream(TEXT[:99]) + zstd_stream(TEXT[99:])),
    "zstd, frame to be skipped": (ZSTD, zstd_skippable_frame(b"skip") + zstd_stream(TEXT)),
}


@pytest.mark.parametrize("framing", FRAMINGS)
def test_every_framing_clients_may_use_is_read(framing: str) -> None:
    codec, data = FRAMINGS[framing]
    assert decompress(codec, data, LIMIT) == TEXT
    assert decompress(codec, memoryview(bytearray(data)), len(TEXT)) == TEXT


@pytest.mark.parametrize("framing", FRAMINGS)
def test_one_byte_more_than_allowed_is_refused_in_every_framing(framing: str) -> None:
    codec, data = FRAMINGS[framing]
    for limit in (len(TEXT) - 1, 100, 0):
        with pytest.raises(ProtocolError):
            decompress(codec, data, limit)


@pytest.mark.parametrize("framing", FRAMINGS)
def test_data_cut_off_anywhere_is_refused_or_ends_where_a_part_of_it_ends(framing: str) -> None:
    codec, data = FRAMINGS[framing]
    read = 0
    for size in range(0, len(data), max(1, len(data) // 500)):
        try:
            part = decompress(codec, data[:size], LIMIT)
        except ProtocolError:
            continue
        read += 1
        assert TEXT.startswith(bytes(part))
        assert len(part) < len(TEXT)
    can_end_early = "streams" in framing or "frame" in framing or "chunk" in framing
    assert read == 0 or can_end_early or framing == "snappy of aiokafka"


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("tail", [b"\0", b"\0\0\0\0\0\0\0\0", b"garbage at the end"])
def test_bytes_behind_the_end_are_refused(framing: str, tail: bytes) -> None:
    codec, data = FRAMINGS[framing]
    with pytest.raises(ProtocolError):
        decompress(codec, data + tail, LIMIT)


@given(st.sampled_from([NONE, *CODECS]), st.binary(max_size=300), st.integers(1, 300))
def test_what_is_compressed_comes_back(codec: int, data: bytes, repeat: int) -> None:
    data *= repeat
    assert decompress(codec, compress(codec, data), len(data)) == data


@pytest.mark.parametrize("data", [b"x", TEXT, TEXT * 20])
def test_other_clients_read_what_is_compressed_here(data: bytes) -> None:
    assert kafka_python_codec.gzip_decode(compress(GZIP, data)) == data
    assert kafka_python_codec.lz4_decode(compress(LZ4, data)) == data
    assert kafka_python_codec.zstd_decode(compress(ZSTD, data)) == data
    assert aiokafka_codec.snappy_decode(bytes(compress(SNAPPY, data))) == data


def test_lz4_blocks_are_independent_because_java_reads_no_others() -> None:
    several_blocks = TEXT * 20
    assert lz4.frame.get_frame_info(compress(LZ4, several_blocks))["block_linked"] is False


def test_data_without_compression_is_handed_on_but_not_beyond_the_limit() -> None:
    view = memoryview(b"records")
    assert decompress(NONE, view, 7) is view
    with pytest.raises(ProtocolError):
        decompress(NONE, view, 6)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_codecs_that_do_not_exist_are_refused(codec: int) -> None:
    with pytest.raises(ProtocolError):
        decompress(codec, b"data", LIMIT)
    with pytest.raises(ValueError, match="no codec"):
        compress(codec, b"data")


@pytest.mark.parametrize("codec", CODECS)
def test_no_data_at_all_is_refused(codec: int) -> None:
    with pytest.raises(ProtocolError):
        decompress(codec, b"", LIMIT)


def test_only_so_many_streams_in_a_row_are_read() -> None:
    stream, frame = gzip.compress(b"x"), zstd_stream(b"x")
    assert decompress(GZIP, stream * MAX_GZIP_STREAMS, LIMIT) == b"x" * MAX_GZIP_STREAMS
    assert decompress(ZSTD, frame * MAX_ZSTD_FRAMES, LIMIT) == b"x" * MAX_ZSTD_FRAMES
    with pytest.raises(ProtocolError):
        decompress(GZIP, stream * (MAX_GZIP_STREAMS + 1), LIMIT)
    with pytest.raises(ProtocolError):
        decompress(ZSTD, frame * (MAX_ZSTD_FRAMES + 1), LIMIT)
    with pytest.raises(ProtocolError):
        decompress(LZ4, lz4.frame.compress(b"x") * 2, LIMIT)


ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
LAST_EMPTY_BLOCK = b"\x01\0\0"
LYING_HEADERS = {
    "zstd claims a terabyte": (ZSTD, ZSTD_MAGIC + b"\xe0" + pack("<Q", 2**40) + LAST_EMPTY_BLOCK),
    "zstd claims what the limit allows": (
        ZSTD,
        ZSTD_MAGIC + b"\xe0" + pack("<Q", 2**29) + LAST_EMPTY_BLOCK,
    ),
    "zstd has a window of terabytes": (ZSTD, ZSTD_MAGIC + b"\0\xf8" + b"\x09\0\0x"),
    "zstd has a window of 256 MiB": (ZSTD, ZSTD_MAGIC + b"\0\x90" + b"\x09\0\0x"),
    "zstd needs a dictionary": (ZSTD, ZSTD_MAGIC + b"\1\x48\7" + b"\x09\0\0x"),
    "zstd repeats a byte two million times": (ZSTD, ZSTD_MAGIC + b"\0\x48" + b"\xfb\xff\xffx"),
    "snappy claims 4 GB": (SNAPPY, b"\xff\xff\xff\xff\x0f" + b"\0x"),
    "snappy claims what the limit allows": (SNAPPY, b"\x80\x80\x80\x80\x02" + b"\0x"),
    "snappy length never ends": (SNAPPY, b"\xff" * 20),
    "snappy chunk claims 2 GB": (SNAPPY, XERIAL_HEADER + b"\x7f\xff\xff\xff" + b"\1\0x"),
    "snappy chunk has a negative length": (SNAPPY, XERIAL_HEADER + b"\xff\xff\xff\xff" + b"\1\0x"),
    "snappy chunk is empty": (SNAPPY, XERIAL_HEADER + b"\0\0\0\0"),
    "lz4 block claims 2 GB": (LZ4, b"\x04\x22\x4d\x18\x60\x40\x82" + b"\xff\xff\xff\x7f" + b"x"),
}


@pytest.mark.parametrize("name", LYING_HEADERS)
def test_a_header_that_lies_about_size_is_refused_and_costs_nothing(name: str) -> None:
    codec, data = LYING_HEADERS[name]
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError):
            decompress(codec, data, 1 << 30)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 4 << 20


@given(st.sampled_from([0, *CODECS, 5]), st.binary(max_size=200), st.integers(0, 2000))
def test_noise_is_refused_or_read_within_the_limit(codec: int, data: bytes, limit: int) -> None:
    try:
        assert len(decompress(codec, data, limit)) <= limit
    except ProtocolError:
        pass


@given(st.sampled_from(sorted(FRAMINGS)), st.data())
def test_damaged_data_is_refused_or_read_within_the_limit(name: str, data: st.DataObject) -> None:
    codec, original = FRAMINGS[name]
    damaged = bytearray(original)
    for _ in range(data.draw(st.integers(1, 3))):
        # Headers are where damage does most.
        at = data.draw(st.integers(0, 40) | st.integers(0, len(damaged) - 1))
        damaged[at % len(damaged)] = data.draw(st.integers(0, 255))
    try:
        assert len(decompress(codec, damaged, 50_000)) <= 50_000
    except ProtocolError:
        pass


BOMB_BYTES = 192 << 20
BOMB_LIMIT = 1 << 20
ALLOWED_GROWTH_BYTES = 16 << 20

# In a process of its own: the memory of the codecs' C code is seen by the operating system only.
MEASURE = f"""
import resource, sys
from protocol.compression import compress, decompress
from protocol.errors import ProtocolError
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
codec, data = int(sys.argv[1]), sys.stdin.buffer.read()
decompress(codec, compress(codec, bytes({BOMB_LIMIT})), {BOMB_LIMIT})
before = peak()
for limit in ({BOMB_LIMIT}, {BOMB_LIMIT} // 2):
    try:
        decompress(codec, data, limit)
        sys.exit("not refused")
    except ProtocolError:
        pass
print(peak() - before)
"""


def zeros_compressed_by(compressor: Any) -> bytes:
    step = bytes(1 << 20)
    parts = [compressor.compress(step) for _ in range(BOMB_BYTES >> 20)]
    return b"".join([*parts, compressor.flush()])


def lz4_bomb() -> bytes:
    compressor = lz4.frame.LZ4FrameCompressor()
    return bytes(compressor.begin()) + zeros_compressed_by(compressor)


def bomb(name: str) -> tuple[int, bytes]:
    if name == "gzip":
        return GZIP, zeros_compressed_by(zlib.compressobj(9, wbits=31))
    if name == "zstd":
        return ZSTD, zeros_compressed_by(zstandard.ZstdCompressor().compressobj())
    if name == "zstd with the largest window":
        return ZSTD, zeros_compressed_by(zstandard.ZstdCompressor(level=20).compressobj())
    if name == "zstd with its size":
        stream = zstandard.ZstdCompressor().compressobj(size=BOMB_BYTES)
        return ZSTD, zeros_compressed_by(stream)
    if name == "lz4":
        return LZ4, lz4_bomb()
    chunk = snappy_block(bytes(1 << 20))
    if name == "snappy":
        return SNAPPY, snappy_block(bytes(BOMB_BYTES))
    return SNAPPY, xerial(*[chunk] * (BOMB_BYTES >> 20))


@pytest.mark.parametrize(
    "name",
    [
        "gzip",
        "zstd",
        "zstd with the largest window",
        "zstd with its size",
        "lz4",
        "snappy",
        "snappy chunks",
    ],
)
def test_a_bomb_is_refused_before_it_takes_memory(name: str) -> None:
    codec, data = bomb(name)
    assert len(data) < BOMB_BYTES // 15
    result = subprocess.run(
        [sys.executable, "-c", MEASURE, str(codec)],
        input=data,
        capture_output=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert result.returncode == 0, result.stderr.decode()
    assert int(result.stdout) < ALLOWED_GROWTH_BYTES
