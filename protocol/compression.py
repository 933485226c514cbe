"""Compression of record batches: the four codecs of Kafka behind `compress` and `decompress`.

Owns the framing Kafka's clients use for each codec and the promise that decompression never makes
more than `limit_bytes`, whatever the data claims. Must never know what the bytes mean.

Accepted is what Java's reader accepts, since whatever comes in goes out to such readers: gzip
streams or zstd frames, mostly one, maybe several in a row; one lz4 frame; snappy as xerial chunks
(which Java writes) or as one bare block (librdkafka). Cut-off data and bytes behind the end are
refused.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from struct import Struct
from struct import error as struct_error
from typing import Final, Protocol

import cramjam
import lz4.frame
import zstandard

from protocol.errors import ProtocolError
from protocol.primitives import Buffer

NONE: Final = 0
GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4

# Output grows in steps that double, so that a claimed size never costs memory.
FIRST_STEP_BYTES: Final = 1 << 16
# Each further stream costs a new decompressor and a copy of the rest of the input: a megabyte of
# empty ones would take minutes.
MAX_GZIP_STREAMS: Final = 16
MAX_LZ4_FRAMES: Final = 1
MAX_ZSTD_FRAMES: Final = 16

GZIP_WINDOW_BITS: Final = 16 + zlib.MAX_WBITS
XERIAL_MAGIC: Final = b"\x82SNAPPY\0"
XERIAL_HEADER: Final = XERIAL_MAGIC + b"\0\0\0\1\0\0\0\1"
XERIAL_CHUNK_BYTES: Final = 1 << 15
# A copy element of three bytes makes at most 64.
SNAPPY_MAX_RATIO: Final = 22
SNAPPY_LENGTH_MAX_BYTES: Final = 5
# What Java's highest levels declare, however short their data; only what is used costs memory.
ZSTD_MAX_WINDOW_BYTES: Final = 1 << 27
ZSTD_MAX_BLOCK_BYTES: Final = 1 << 17
ZSTD_MAGIC: Final = 0xFD2FB528
ZSTD_SKIPPABLE_MAGIC: Final = 0x184D2A50
ZSTD_SKIPPABLE_MASK: Final = 0xFFFFFFF0
ZSTD_CHECKSUM_BYTES: Final = 4
_RAW_BLOCK, _RLE_BLOCK, _COMPRESSED_BLOCK = 0, 1, 2

_INT32: Final = Struct(">i")
_LITTLE_UINT32: Final = Struct("<I")


def compress(codec: int, data: Buffer) -> Buffer:
    """Compresses as the Java client would, so that every reader of Kafka's understands it."""
    if codec == NONE:
        return data
    if codec == GZIP:
        return zlib.compress(data, wbits=GZIP_WINDOW_BITS)
    if codec == SNAPPY:
        return _compress_xerial(memoryview(data))
    if codec == LZ4:
        # Java reads independent blocks only.
        framed: bytes = lz4.frame.compress(data, block_linked=False, store_size=False)
        return framed
    if codec == ZSTD:
        return zstandard.ZstdCompressor().compress(data)
    raise ValueError(f"no codec has number {codec}")


def decompress(codec: int, data: Buffer, limit_bytes: int) -> Buffer:
    """The data, at most `limit_bytes` of it; more, or anything malformed, is a ProtocolError."""
    try:
        if codec == NONE:
            return _within(data, limit_bytes)
        if codec == GZIP:
            return _decompress_streams(_GzipStream, MAX_GZIP_STREAMS, data, limit_bytes)
        if codec == SNAPPY:
            return _decompress_snappy(memoryview(data), limit_bytes)
        if codec == LZ4:
            return _decompress_streams(_Lz4Stream, MAX_LZ4_FRAMES, data, limit_bytes)
        if codec == ZSTD:
            return _decompress_zstd(memoryview(data), limit_bytes)
    except (zlib.error, cramjam.DecompressionError, zstandard.ZstdError, RuntimeError) as error:
        raise ProtocolError(f"data of codec {codec} cannot be decompressed: {error}") from None
    raise ProtocolError(f"unknown codec {codec}")


def _within(data: Buffer, limit_bytes: int) -> Buffer:
    if len(data) > limit_bytes:
        raise ProtocolError(f"data of more than {limit_bytes} bytes")
    return data


class _Stream(Protocol):
    """One stream or frame that is decompressed step by step."""

    @property
    def is_ended(self) -> bool: ...
    @property
    def rest(self) -> Buffer: ...
    def step(self, data: Buffer, size: int) -> bytes: ...


class _GzipStream:
    __slots__ = ("_stream",)

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(GZIP_WINDOW_BITS)

    @property
    def is_ended(self) -> bool:
        return self._stream.eof

    @property
    def rest(self) -> Buffer:
        return self._stream.unused_data

    def step(self, data: Buffer, size: int) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail or data, size)


class _Lz4Stream:
    __slots__ = ("_stream",)

    def __init__(self) -> None:
        self._stream = lz4.frame.LZ4FrameDecompressor()

    @property
    def is_ended(self) -> bool:
        return bool(self._stream.eof)

    @property
    def rest(self) -> Buffer:
        return self._stream.unused_data or b""

    def step(self, data: Buffer, size: int) -> bytes:
        # It keeps what it has not consumed, and wants to be given no more until it has.
        output: bytes = self._stream.decompress(data, size)
        return output


def _decompress_streams(
    stream_type: Callable[[], _Stream], max_streams: int, data: Buffer, limit_bytes: int
) -> bytes:
    output: list[bytes] = []
    left = limit_bytes
    for _ in range(max_streams):
        stream = stream_type()
        left = _drain(stream, data, output, left)
        data = stream.rest
        if not data:
            return output[0] if len(output) == 1 else b"".join(output)
    raise ProtocolError(f"{len(data)} bytes behind the end of the compressed data")


def _drain(stream: _Stream, data: Buffer, output: list[bytes], left: int) -> int:
    """Decompresses one stream to its end; returns how many bytes of the limit are left."""
    step_bytes = FIRST_STEP_BYTES
    while True:
        # One byte past the limit tells "full" from "too much".
        piece = stream.step(data, min(step_bytes, left + 1))
        left -= len(piece)
        if left < 0:
            raise ProtocolError("compressed data is larger than allowed")
        if piece:
            output.append(piece)
        if stream.is_ended:
            return left
        if not piece:
            raise ProtocolError("compressed data is cut off")
        data = b""
        step_bytes *= 2


def _compress_xerial(data: memoryview) -> bytes:
    parts = [XERIAL_HEADER]
    for at in range(0, len(data), XERIAL_CHUNK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[at : at + XERIAL_CHUNK_BYTES]))
        parts.append(_INT32.pack(len(block)))
        parts.append(block)
    return b"".join(parts)


def _decompress_snappy(data: memoryview, limit_bytes: int) -> bytearray:
    output = bytearray()
    if not _has_xerial_header(data, 0):
        _append_snappy_block(output, data, limit_bytes)
        return output
    at = 0
    while at < len(data):
        # Java's reader allows streams in a row, so a header may come again between chunks.
        if _has_xerial_header(data, at):
            at += len(XERIAL_HEADER)
            if at > len(data):
                raise ProtocolError("xerial header is cut off")
            continue
        try:
            (size,) = _INT32.unpack_from(data, at)
        except struct_error:
            raise ProtocolError("xerial chunk is cut off") from None
        at += _INT32.size
        if not 0 < size <= len(data) - at:
            raise ProtocolError(f"xerial chunk of {size} bytes")
        _append_snappy_block(output, data[at : at + size], limit_bytes)
        at += size
    return output


def _has_xerial_header(data: memoryview, at: int) -> bool:
    return bytes(data[at : at + len(XERIAL_MAGIC)]) == XERIAL_MAGIC


def _append_snappy_block(output: bytearray, block: memoryview, limit_bytes: int) -> None:
    """Decompresses straight into `output`, grown by what the block claims once that is credible."""
    size = _snappy_size(block)
    start = len(output)
    if start + size > limit_bytes:
        raise ProtocolError("compressed data is larger than allowed")
    if size > len(block) * SNAPPY_MAX_RATIO:
        raise ProtocolError(f"snappy block of {len(block)} bytes claims to hold {size}")
    output += bytes(size)
    with memoryview(output) as view, view[start:] as target:
        written = cramjam.snappy.decompress_raw_into(block, target)
    if written != size:
        raise ProtocolError(f"snappy block holds {written} bytes and claims {size}")


def _snappy_size(block: memoryview) -> int:
    size = 0
    for index, byte in enumerate(block[:SNAPPY_LENGTH_MAX_BYTES]):
        size |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return size
    raise ProtocolError("snappy block without a length")


def _decompress_zstd(data: memoryview, limit_bytes: int) -> bytes:
    """Frame by frame, each cut out exactly: the library overlooks cut-off frames and what follows.

    Walking over the blocks also tells how much a frame can hold at most. So what is really there
    decides how much memory is asked for, and not a claimed content size.
    """
    output: list[bytes] = []
    left = limit_bytes
    at = 0
    for _ in range(MAX_ZSTD_FRAMES):
        after, most = _walk_zstd_frame(data, at, left)
        if most:
            decompressor = zstandard.ZstdDecompressor(max_window_size=ZSTD_MAX_WINDOW_BYTES)
            piece = decompressor.decompress(data[at:after], max_output_size=min(most, left))
            left -= len(piece)
            output.append(piece)
        if after == len(data):
            return output[0] if len(output) == 1 else b"".join(output)
        at = after
    raise ProtocolError(f"more than {MAX_ZSTD_FRAMES} zstd frames in a row")


def _walk_zstd_frame(data: memoryview, at: int, left: int) -> tuple[int, int]:
    """Where the frame at `at` ends and the most bytes it may hold, without decompressing it."""
    try:
        (magic,) = _LITTLE_UINT32.unpack_from(data, at)
        if magic & ZSTD_SKIPPABLE_MASK == ZSTD_SKIPPABLE_MAGIC:
            (size,) = _LITTLE_UINT32.unpack_from(data, at + 4)
            after, most = at + 8 + size, 0
        else:
            after, most = _walk_zstd_blocks(data, at, left)
    except (struct_error, IndexError):
        raise ProtocolError("zstd frame is cut off") from None
    if after > len(data):
        raise ProtocolError("zstd frame is cut off")
    return after, most


def _walk_zstd_blocks(data: memoryview, at: int, left: int) -> tuple[int, int]:
    frame = zstandard.get_frame_parameters(data[at:])
    at += zstandard.frame_header_size(data[at:])
    most = sure = 0
    is_last = 0
    while not is_last:
        header = data[at] | data[at + 1] << 8 | data[at + 2] << 16
        is_last, kind, size = header & 1, header >> 1 & 3, header >> 3
        at += 3 + (1 if kind == _RLE_BLOCK else size)
        if kind == _COMPRESSED_BLOCK:
            most += ZSTD_MAX_BLOCK_BYTES
        else:
            most += size
            sure += size
        if sure > left:
            raise ProtocolError("compressed data is larger than allowed")
    if frame.content_size != zstandard.CONTENTSIZE_UNKNOWN and frame.content_size > min(most, left):
        raise ProtocolError(f"zstd frame claims {frame.content_size} bytes, too many")
    return at + (ZSTD_CHECKSUM_BYTES if frame.has_checksum else 0), most
