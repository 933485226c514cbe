"""main: one broker process from start to end.

Owns: process-wide set-up (allocator, descriptors, signals), the order of start and stop, the ready
line.
Never knows: what the parts do inside.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import gc
import logging
import os
import resource
import signal
import sys
from collections.abc import Callable

from broker.broker import Broker
from broker.changes import UnknownChange
from broker.durability import Durability
from broker.housekeeping import Housekeeping
from broker.limits import STOP_GRACE_SECONDS
from broker.recovery import recover
from broker.registry import load_handlers
from broker.server import Server
from broker.settings import Settings, split_address
from broker.syncer import ThreadSyncer
from storage.errors import StorageError
from storage.filesystem import Filesystem, OsFilesystem
from storage.memory_filesystem import MemoryFilesystem

logger = logging.getLogger("oncelog")

EXIT_OK = 0
EXIT_REFUSED = 1
EXIT_FATAL = 70
"""A write or sync failed: nothing more may be acknowledged."""

SWITCH_INTERVAL_SECONDS = 0.0005
"""The sync thread must get the interpreter back soon after fdatasync returns; the default is 5 ms.
"""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGE_BLOCK_BYTES = 32 * 1024 * 1024
"""Blocks up to this size are kept by the allocator: fresh pages cost more than the copies into
them.
"""


def serve(settings: Settings, announce: Callable[[str], None]) -> int:
    """Run a broker until it is told to stop; the process's exit code."""
    logging.basicConfig(
        level=settings.log_level.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    _tune_process()
    try:
        with asyncio.Runner(loop_factory=_new_loop) as runner:
            return runner.run(_run(settings, announce))
    except (StorageError, UnknownChange) as error:
        return _refuse(f"cannot use {settings.data_dir}: {error}")
    except CannotListenError as error:
        return _refuse(str(error))
    except FileExistsError:
        return _refuse(f"cannot use {settings.data_dir}: it is not a directory")
    except OSError as error:
        return _refuse(f"cannot use {settings.data_dir}: {error.strerror or error}")


class CannotListenError(Exception):
    """The address cannot be bound; one line for the user."""


def _refuse(reason: str) -> int:
    sys.stderr.write(f"oncelog: {reason}\n")
    return EXIT_REFUSED


def _new_loop() -> asyncio.AbstractEventLoop:
    """uvloop when it is installed, else asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def _tune_process() -> None:
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES)
        mallopt(M_TRIM_THRESHOLD, LARGE_BLOCK_BYTES)


def _filesystem(settings: Settings) -> Filesystem:
    return MemoryFilesystem() if settings.in_memory else OsFilesystem(settings.data_dir)


async def _run(settings: Settings, announce: Callable[[str], None]) -> int:
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[int] = loop.create_future()

    def stop(exit_code: int) -> None:
        if not stopped.done():
            stopped.set_result(exit_code)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop, EXIT_OK)
    state = recover(settings, _filesystem(settings))
    fsync = settings.durability == "fsync" and not settings.in_memory
    syncer = ThreadSyncer(state.store.journal, loop, _end_process) if fsync else None
    durability = Durability(state, loop, syncer, _end_process)
    broker = Broker(settings, state, durability)
    handlers = load_handlers()
    broker.apis = [handlers[key].api for key in sorted(handlers)]
    server = Server(broker, handlers, loop)
    host, port = await _listen(server, settings.listen)
    _advertise(broker, settings, host, port)
    housekeeping = Housekeeping(broker, loop)
    housekeeping.start()
    gc.collect()
    gc.freeze()
    announce(_ready_line(settings, host, port))
    exit_code = await stopped
    logger.info("stopping")
    await server.stop(STOP_GRACE_SECONDS)
    await housekeeping.stop()
    durability.close()
    state.store.close()
    return exit_code


async def _listen(server: Server, address: str) -> tuple[str, int]:
    try:
        return await server.listen(*split_address(address))
    except OSError as error:
        hint = "choose another address with --listen HOST:PORT"
        if error.errno == errno.EADDRINUSE:
            hint = "another broker may be running there; stop it or choose another --listen"
        # A name that cannot be resolved has a negative number and a text of its own.
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else error.strerror
        raise CannotListenError(f"cannot listen on {address}: {reason}; {hint}") from None


def _advertise(broker: Broker, settings: Settings, host: str, port: int) -> None:
    broker.host, broker.port = host, port
    if settings.advertised:
        broker.host, broker.port = split_address(settings.advertised)
    elif host in ("0.0.0.0", "::"):
        logger.warning(
            "listening on all addresses; clients are told to connect to localhost. "
            "Set `advertised` to the address they can reach."
        )
        broker.host = "localhost"


def _ready_line(settings: Settings, host: str, port: int) -> str:
    """Other tools read this line: only ever add to it."""
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    place = "memory" if settings.in_memory else os.path.abspath(settings.data_dir)
    durability = "memory" if settings.in_memory else settings.durability
    return f"oncelog ready kafka={address} data={place} durability={durability}"


def _end_process(error: BaseException) -> None:
    """A failed write or sync: stop this instant. Recovery finds out what is really on the disk."""
    logger.critical("cannot write or sync the data directory, ending the process: %s", error)
    logging.shutdown()
    os._exit(EXIT_FATAL)
