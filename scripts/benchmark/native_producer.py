"""librdkafka's own batch interface, reached with ctypes inside confluent-kafka's library.

confluent-kafka's produce() costs the client about 1 µs a record; on a small machine the client is
then what is measured. The same librdkafka, handed prepared arrays, needs about half the CPU, and
nothing has to be compiled.

Must never know: what is measured, or which broker answers.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import cimpl

PRODUCER = 0
UNASSIGNED_PARTITION = -1
FLAG_BLOCK = 0x4
FLAG_PARTITION = 0x8
CHUNK_RECORDS = 1000
ERROR_BYTES = 512
FLUSH_TIMEOUT_MS = 60_000
CLIENT_BUFFER_KB = 131_072


class NativeError(Exception):
    """librdkafka refused something, or could not deliver everything."""


class _Message(ctypes.Structure):
    """rd_kafka_message_t, part of librdkafka's stable interface."""

    _fields_ = [
        ("err", ctypes.c_int),
        ("rkt", ctypes.c_void_p),
        ("partition", ctypes.c_int32),
        ("payload", ctypes.c_void_p),
        ("len", ctypes.c_size_t),
        ("key", ctypes.c_void_p),
        ("key_len", ctypes.c_size_t),
        ("offset", ctypes.c_int64),
        ("_private", ctypes.c_void_p),
    ]


_POINTER, _INT, _TEXT, _SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "rd_kafka_conf_new": (_POINTER, []),
    "rd_kafka_conf_set": (_INT, [_POINTER, _TEXT, _TEXT, _TEXT, _SIZE]),
    "rd_kafka_new": (_POINTER, [_INT, _POINTER, _TEXT, _SIZE]),
    "rd_kafka_topic_new": (_POINTER, [_POINTER, _TEXT, _POINTER]),
    "rd_kafka_produce_batch": (_INT, [_POINTER, ctypes.c_int32, _INT, _POINTER, _INT]),
    "rd_kafka_flush": (_INT, [_POINTER, _INT]),
    "rd_kafka_topic_destroy": (None, [_POINTER]),
    "rd_kafka_destroy": (None, [_POINTER]),
}


def _load() -> ctypes.CDLL:
    """The extension module's handle also finds the symbols of the librdkafka it is linked with."""
    library = ctypes.CDLL(cimpl.__file__)
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class NativeProducer:
    """An idempotent acks=all producer of one topic, with librdkafka's default batching."""

    def __init__(self, bootstrap: str, topic: str, codec: str = "none") -> None:
        self._library = _load()
        self._error = ctypes.create_string_buffer(ERROR_BYTES)
        self._buffers: list[Any] = []
        self._chunks: list[bytes] = []
        configuration = self._library.rd_kafka_conf_new()
        settings = {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": "true",
            "acks": "all",
            "compression.type": codec,
            "queue.buffering.max.kbytes": str(CLIENT_BUFFER_KB),
            "log_level": "2",
        }
        for key, value in settings.items():
            self._set(configuration, key, value)
        self._client = self._library.rd_kafka_new(PRODUCER, configuration, self._error, ERROR_BYTES)
        if not self._client:
            raise NativeError(self._error.value.decode())
        self._topic = self._library.rd_kafka_topic_new(self._client, topic.encode(), None)

    def load(self, pool: Sequence[bytes], partitions: int) -> None:
        """Prepare message arrays that walk through the whole pool, partitions in turn."""
        # librdkafka is told not to copy: the buffers must live as long as the client.
        self._buffers = [ctypes.create_string_buffer(value, len(value)) for value in pool]
        self._chunks = []
        for begin in range(0, len(pool), CHUNK_RECORDS):
            array = (_Message * CHUNK_RECORDS)()
            for index in range(CHUNK_RECORDS):
                value = self._buffers[(begin + index) % len(pool)]
                array[index].payload = ctypes.addressof(value)
                array[index].len = len(value)
                array[index].partition = index % partitions
            self._chunks.append(bytes(array))

    def send(self, records: int, time_limit_s: float) -> int:
        """Queue and deliver up to `records` values; fewer when the time runs out."""
        work = (_Message * CHUNK_RECORDS)()
        deadline = time.monotonic() + time_limit_s
        sent = turn = 0
        while sent < records and time.monotonic() < deadline:
            # librdkafka writes into the array: every call needs a fresh copy of the template.
            count = min(CHUNK_RECORDS, records - sent)
            chunk = self._chunks[turn % len(self._chunks)]
            ctypes.memmove(work, chunk, len(chunk))
            sent += self._produce(work, count)
            turn += 1
        self.flush()
        return sent

    def flush(self) -> None:
        """Wait until everything queued is acknowledged."""
        if self._library.rd_kafka_flush(self._client, FLUSH_TIMEOUT_MS) != 0:
            raise NativeError("not everything was delivered in time")

    def close(self) -> None:
        """Free the client; it must be flushed."""
        self._library.rd_kafka_topic_destroy(self._topic)
        self._library.rd_kafka_destroy(self._client)

    def _set(self, configuration: int, key: str, value: str) -> None:
        arguments = (configuration, key.encode(), value.encode(), self._error, ERROR_BYTES)
        if self._library.rd_kafka_conf_set(*arguments) != 0:
            raise NativeError(self._error.value.decode())

    def _produce(self, work: ctypes.Array[_Message], count: int) -> int:
        queued = int(
            self._library.rd_kafka_produce_batch(
                self._topic, UNASSIGNED_PARTITION, FLAG_PARTITION | FLAG_BLOCK, work, count
            )
        )
        if queued < count:
            codes = {work[index].err for index in range(count) if work[index].err}
            raise NativeError(f"librdkafka refused records: error codes {sorted(codes)}")
        return queued
