"""The client process: runs one work against one broker and prints its measures as JSON.

A process of its own, so that the client's state and CPU are never the broker's. Must never know:
rounds, tables.

    python -m scripts.benchmark.client WORK BOOTSTRAP BROKER_PID [--quick]
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

from confluent_kafka import KafkaException

from scripts.apache_kafka import ApacheKafkaError
from scripts.benchmark.catalogue import client_works, scale_of
from scripts.benchmark.native_producer import NativeError
from scripts.benchmark.work import Endpoint, WorkError

FAILURES = (
    WorkError,
    NativeError,
    KafkaException,
    ApacheKafkaError,
    OSError,
    ValueError,
    subprocess.SubprocessError,
)


def main(argv: Sequence[str]) -> int:
    """Print {"measures": ...} or {"error": ...}."""
    name, bootstrap, pid = argv[:3]
    works = {work.name: work for work in client_works(scale_of("--quick" in argv[3:]))}
    try:
        measures = works[name].run(Endpoint(bootstrap, int(pid)))
    except FAILURES as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
        return 1
    print(json.dumps({"measures": measures}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
