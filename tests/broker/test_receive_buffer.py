"""ReceiveBuffer: bytes come out as they went in; memory follows what came, not what was claimed."""

from __future__ import annotations

from struct import pack

from hypothesis import given
from hypothesis import strategies as st

from broker.limits import EAGER_FRAME_BYTES_MAX, OWN_BUFFER_BYTES_MIN, SMALL_FRAME_BYTES_MAX
from broker.receive_buffer import SIZE, ReceiveBuffer, ReceiveMemory

MEBIBYTE = 1024 * 1024


class Peer:
    """A connection's receiving side: feeds bytes and takes whole frames out."""

    def __init__(self, memory: ReceiveMemory) -> None:
        self.frames: list[bytes] = []
        self.given_up = False
        self.buffer = ReceiveBuffer(memory, self.give_up)

    def give_up(self) -> None:
        self.given_up = True
        self.buffer.clear()

    def feed(self, data: bytes) -> None:
        while data and not self.given_up:
            target = self.buffer.writable()
            count = min(len(target), len(data))
            target[:count] = data[:count]
            data = data[count:]
            self._take(*self.buffer.received(count))

    def _take(self, buffer: bytearray, end: int) -> None:
        at = 0
        while end - at >= SIZE.size:
            (size,) = SIZE.unpack_from(buffer, at)
            if at + SIZE.size + size > end:
                break
            self.frames.append(bytes(buffer[at + SIZE.size : at + SIZE.size + size]))
            at += SIZE.size + size
        if not self.given_up:
            self.buffer.keep(buffer, at, end)


@given(
    st.lists(st.binary(max_size=9_000), max_size=8),
    st.lists(st.integers(1, 12_000), min_size=1, max_size=20),
)
def test_frames_come_out_whole_however_they_are_cut(frames: list[bytes], cuts: list[int]) -> None:
    memory = ReceiveMemory(64 * MEBIBYTE)
    peer = Peer(memory)
    stream = b"".join(pack(">i", len(frame)) + frame for frame in frames)
    at = 0
    turn = 0
    while at < len(stream):
        size = cuts[turn % len(cuts)]
        peer.feed(stream[at : at + size])
        at += size
        turn += 1
    assert peer.frames == frames
    assert memory.total_bytes == 0


def test_an_idle_connection_has_no_memory_of_its_own() -> None:
    memory = ReceiveMemory(MEBIBYTE)
    peers = [Peer(memory) for _ in range(100)]
    for peer in peers:
        peer.feed(pack(">i", 3) + b"abc")
    assert memory.total_bytes == 0
    assert all(peer.buffer.unhandled() is None for peer in peers)


def test_a_claimed_size_buys_little_memory() -> None:
    memory = ReceiveMemory(1024 * MEBIBYTE)
    peer = Peer(memory)
    peer.feed(pack(">i", 50 * MEBIBYTE) + b"x")
    assert memory.total_bytes <= OWN_BUFFER_BYTES_MIN


def test_memory_grows_with_the_bytes_of_a_huge_frame() -> None:
    memory = ReceiveMemory(1024 * MEBIBYTE)
    peer = Peer(memory)
    peer.feed(pack(">i", 2 * EAGER_FRAME_BYTES_MAX))
    sent = 0
    while sent < 2 * EAGER_FRAME_BYTES_MAX:
        step = min(100_000, 2 * EAGER_FRAME_BYTES_MAX - sent)
        peer.feed(bytes(step))
        sent += step
        assert memory.total_bytes <= max(OWN_BUFFER_BYTES_MIN, 2 * sent + 100_000)
    assert [len(frame) for frame in peer.frames] == [2 * EAGER_FRAME_BYTES_MAX]


def test_the_stalest_large_frame_is_given_up_when_memory_is_short() -> None:
    memory = ReceiveMemory(8 * MEBIBYTE)
    peers = [Peer(memory) for _ in range(20)]
    for peer in peers:
        peer.feed(pack(">i", 3 * MEBIBYTE) + bytes(MEBIBYTE))
    assert memory.total_bytes <= 8 * MEBIBYTE + 4 * MEBIBYTE
    assert not peers[-1].given_up
    assert peers[0].given_up
    peers[-1].feed(bytes(2 * MEBIBYTE))
    assert [len(frame) for frame in peers[-1].frames] == [3 * MEBIBYTE]


def test_small_frames_are_never_given_up() -> None:
    memory = ReceiveMemory(MEBIBYTE)
    small = [Peer(memory) for _ in range(400)]
    for peer in small:
        peer.feed(pack(">i", SMALL_FRAME_BYTES_MAX // 8) + b"begin")
    large = Peer(memory)
    large.feed(pack(">i", 3 * MEBIBYTE) + bytes(MEBIBYTE))
    assert not any(peer.given_up for peer in small)
