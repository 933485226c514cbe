"""Commands at the end and the beginning of pipes, in processes of their own."""

import signal
import subprocess
import sys

from tests.support.broker_process import REPOSITORY
from tests.support.command_line import succeed

COMMAND = [sys.executable, "-m", "oncelog"]


def start(*arguments: str, stdin: int | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=REPOSITORY,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_reader_that_goes_away_ends_consume_without_a_word(bootstrap: str, topic: str) -> None:
    lines = b"some line of text\n" * 20_000
    succeed("produce", topic, "--partition", "0", "--bootstrap", bootstrap, stdin=lines)
    with start("consume", topic, "--exit-at-end", "--bootstrap", bootstrap) as process:
        if process.stdout is None or process.stderr is None:
            raise AssertionError
        assert process.stdout.readline() == b"some line of text\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_consume_follows_until_it_is_interrupted(bootstrap: str, topic: str) -> None:
    succeed("produce", topic, "--bootstrap", bootstrap, stdin=b"first\n")
    with start("consume", topic, "--bootstrap", bootstrap) as process:
        if process.stdout is None or process.stderr is None:
            raise AssertionError
        assert process.stdout.readline() == b"first\n"
        succeed("produce", topic, "--bootstrap", bootstrap, stdin=b"second\n")
        assert process.stdout.readline() == b"second\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b""
        assert process.wait() == 130


def test_produce_says_how_much_was_acknowledged_before_it_was_interrupted(
    bootstrap: str, topic: str
) -> None:
    where = ("--bootstrap", bootstrap)
    succeed("topics", "create", topic, *where)
    with start("produce", topic, *where, stdin=subprocess.PIPE) as process:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise AssertionError
        process.stdin.write(b"first\n")
        process.stdin.flush()
        assert succeed("consume", topic, "--count", "1", *where).stdout == b"first\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b"oncelog: interrupted; 1 record acknowledged\n"
        assert process.wait() == 130
