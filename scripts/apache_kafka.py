#!/usr/bin/env python3
"""One Apache Kafka node (KRaft, broker and controller in one JVM) for comparison and wire checks.

Owns: the jars (fetched once by `mvn` into a cache outside the tree), the node's settings, its
process. Must never know: oncelog, what is measured or checked against the node.

    python scripts/apache_kafka.py start --port 0 --data DIR [--fsync] [--set key=value]...
    python scripts/apache_kafka.py classpath
    python scripts/apache_kafka.py tool org.apache.kafka.tools.ProducerPerformance -- --topic ...
"""

from __future__ import annotations

import argparse
import base64
import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType, TracebackType

KAFKA_VERSION = "4.3.1"
LOG4J_VERSION = "2.25.4"
READY_TIMEOUT_S = 120.0
READY_POLL_S = 0.02
STOP_TIMEOUT_S = 30.0
ANSWER_TIMEOUT_S = 5.0
LOG_TAIL_LINES = 30

# The flags of Kafka's own kafka-server-start.sh and kafka-run-class.sh, so that the node runs "as
# it comes".
SERVER_FLAGS = (
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)
TOOL_FLAGS = ("-Xmx512M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")

FSYNC_SETTINGS = {"log.flush.interval.messages": "1"}

POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId>
  <artifactId>apache-kafka-node</artifactId>
  <version>1</version>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""

DEPENDENCY = """\
    <dependency>
      <groupId>{group}</groupId>
      <artifactId>{artifact}</artifactId>
      <version>{version}</version>
    </dependency>"""

LOG4J_PROPERTIES = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c: %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


class ApacheKafkaError(Exception):
    """The jars could not be fetched, or the node did not start."""


def cache_directory(version: str = KAFKA_VERSION) -> Path:
    """Where the jars of this version live: outside the tree, shared by all checkouts."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "oncelog" / f"apache-kafka-{version}"


def _pom(version: str) -> str:
    artifacts = [
        ("org.apache.kafka", "kafka_2.13", version),
        ("org.apache.kafka", "kafka-tools", version),
        ("org.apache.logging.log4j", "log4j-slf4j-impl", LOG4J_VERSION),
    ]
    rows = [DEPENDENCY.format(group=g, artifact=a, version=v) for g, a, v in artifacts]
    return POM.format(dependencies="\n".join(rows))


def _fetch_jars(version: str, libraries: Path) -> None:
    """Let Maven copy all jars beside their final place, then rename: a cut leaves no half cache."""
    maven = shutil.which("mvn")
    if maven is None:
        raise ApacheKafkaError("`mvn` is missing: install Maven (Debian: apt install maven)")
    with tempfile.TemporaryDirectory(dir=libraries.parent) as work:
        (Path(work) / "pom.xml").write_text(_pom(version))
        command = [maven, "-q", "-B", "-f", f"{work}/pom.xml", "dependency:copy-dependencies"]
        command.append(f"-DoutputDirectory={work}/libs")
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise ApacheKafkaError(f"mvn failed:\n{result.stdout}{result.stderr}")
        os.rename(f"{work}/libs", libraries)


def ensure_jars(version: str = KAFKA_VERSION) -> Path:
    """The folder of jars; fetched on first use, under a lock as several may ask at once."""
    directory = cache_directory(version)
    directory.mkdir(parents=True, exist_ok=True)
    libraries = directory / "libs"
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not libraries.is_dir():
            _fetch_jars(version, libraries)
        (directory / "log4j2.properties").write_text(LOG4J_PROPERTIES)
    return libraries


def java_path() -> str:
    """The `java` program: JAVA_HOME's if set, else the one on PATH."""
    home = os.environ.get("JAVA_HOME")
    candidate = f"{home}/bin/java" if home else shutil.which("java")
    if not candidate or not os.access(candidate, os.X_OK):
        raise ApacheKafkaError("`java` is missing: install a JRE (Debian: openjdk-17-jre-headless)")
    return candidate


def tools_classpath(version: str = KAFKA_VERSION) -> str:
    """A class path for `java -cp`: the broker and all of Kafka's command line tools."""
    return f"{ensure_jars(version)}/*"


def java_command(
    main_class: str, flags: Sequence[str] = TOOL_FLAGS, version: str = KAFKA_VERSION
) -> list[str]:
    """The start of a command that runs one of Kafka's classes, quiet; append its arguments."""
    classpath = tools_classpath(version)
    logging = f"-Dlog4j2.configurationFile={cache_directory(version)}/log4j2.properties"
    return [java_path(), *flags, logging, "-cp", classpath, main_class]


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def answers_api_versions(host: str, port: int) -> bool:
    """Whether a Kafka-protocol node answers an ApiVersions v0 request there now."""
    # length, api key 18, version 0, correlation id 1, null client id
    request = struct.pack(">ihhih", 10, 18, 0, 1, -1)
    try:
        with socket.create_connection((host, port), timeout=ANSWER_TIMEOUT_S) as connection:
            connection.sendall(request)
            return len(connection.recv(8)) > 0
    except OSError:
        return False


class ApacheKafka:
    """A running node; a context manager. The data directory survives stop() and kill()."""

    def __init__(
        self,
        data: Path | str,
        *,
        port: int = 0,
        fsync: bool = False,
        settings: Mapping[str, str] | None = None,
        version: str = KAFKA_VERSION,
    ) -> None:
        self.data = Path(data).absolute()
        self.host = "127.0.0.1"
        self.port = port or free_port(self.host)
        self.version = version
        self.log_path = self.data / "kafka.log"
        self._config_path = self.data / "server.properties"
        self._settings = self._base_settings(free_port(self.host))
        self._settings.update(FSYNC_SETTINGS if fsync else {})
        self._settings.update(settings or {})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """host:port for a client's bootstrap.servers."""
        return f"{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        """The JVM's process id; raises when the node is not running."""
        if self._process is None:
            raise ApacheKafkaError("Apache Kafka is not running")
        return self._process.pid

    def start(self, wait: bool = True) -> ApacheKafka:
        """Format the data directory if it is new, start the JVM, wait until it answers."""
        self.prepare()
        command = java_command("kafka.Kafka", SERVER_FLAGS, self.version)
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, str(self._config_path)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C goes to the terminal's group; the owner decides when the node stops.
                start_new_session=True,
            )
        if wait:
            self.wait_ready()
        return self

    def prepare(self) -> None:
        """Write the settings and format the storage, as `kafka-storage.sh format` does."""
        log_directory = self.data / "log"
        log_directory.mkdir(parents=True, exist_ok=True)
        lines = [f"{key}={value}\n" for key, value in self._settings.items()]
        self._config_path.write_text("".join(lines))
        if (log_directory / "meta.properties").exists():
            return
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # A leading dash would be read as an option by the tool.
        cluster_id = cluster_id.replace("-", "A")
        command = java_command("kafka.tools.StorageTool", version=self.version)
        command += ["format", "--cluster-id", cluster_id, "--config", str(self._config_path)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise ApacheKafkaError(f"formatting failed:\n{result.stdout}{result.stderr}")

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Return once the node answers ApiVersions; raise with the log's tail when it does not."""
        deadline = time.monotonic() + timeout_s
        while not answers_api_versions(self.host, self.port):
            ended = self._process is None or self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                self.kill()
                raise ApacheKafkaError(f"Apache Kafka did not start:\n{self._log_tail()}")
            time.sleep(READY_POLL_S)

    def wait(self) -> int:
        """Wait until the JVM ends by itself."""
        if self._process is None:
            return 0
        return self._process.wait()

    def stop(self) -> None:
        """Ask the node to stop (SIGTERM) and wait; SIGKILL when it takes too long."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def kill(self) -> None:
        """SIGKILL: what a crash leaves behind."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._process = None

    def _base_settings(self, controller_port: int) -> dict[str, str]:
        """Kafka's config/server.properties, with one replica of everything."""
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{self.host}:{controller_port}",
            "listeners": (
                f"PLAINTEXT://{self.host}:{self.port},CONTROLLER://{self.host}:{controller_port}"
            ),
            "advertised.listeners": f"PLAINTEXT://{self.host}:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "num.network.threads": "3",
            "num.io.threads": "8",
            "socket.send.buffer.bytes": "102400",
            "socket.receive.buffer.bytes": "102400",
            "socket.request.max.bytes": "104857600",
            "log.dirs": str(self.data / "log"),
            "num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
        }

    def _log_tail(self) -> str:
        if not self.log_path.exists():
            return "(no log)"
        lines = self.log_path.read_text(errors="replace").splitlines()
        return "\n".join(lines[-LOG_TAIL_LINES:])

    def __enter__(self) -> ApacheKafka:
        if self._process is None:
            self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _setting(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"expected key=value, got {text!r}")
    return key, value


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Apache Kafka, one node, from Maven Central jars.")
    parser.add_argument("--version", default=KAFKA_VERSION, help="Kafka version (%(default)s)")
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", help="run a node until SIGTERM or Ctrl-C")
    start.add_argument("--port", type=int, default=0, help="0 picks a free one")
    start.add_argument("--data", type=Path, help="data directory (default: a temporary one)")
    start.add_argument("--fsync", action="store_true", help="log.flush.interval.messages=1")
    start.add_argument("--set", type=_setting, action="append", default=[], metavar="KEY=VALUE")
    commands.add_parser("classpath", help="print the class path of broker and tools")
    tool = commands.add_parser("tool", help="run one of Kafka's tool classes")
    tool.add_argument("main_class")
    tool.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(argv)


def _end_on_signal(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _start(options: argparse.Namespace) -> int:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _end_on_signal)
    with tempfile.TemporaryDirectory(prefix="apache-kafka-") as temporary:
        node = ApacheKafka(
            options.data or temporary,
            port=options.port,
            fsync=options.fsync,
            settings=dict(options.set),
            version=options.version,
        )
        try:
            node.start()
            print(node.bootstrap, flush=True)
            return node.wait()
        finally:
            node.stop()


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; see the module's head."""
    options = _arguments(argv)
    try:
        if options.command == "classpath":
            print(tools_classpath(options.version))
            return 0
        if options.command == "tool":
            arguments = [item for item in options.arguments if item != "--"]
            command = java_command(options.main_class, version=options.version)
            return subprocess.run([*command, *arguments], check=False).returncode
        return _start(options)
    except ApacheKafkaError as error:
        print(f"apache_kafka: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
