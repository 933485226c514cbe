"""Housekeeping: what the broker does by the clock.

Owns: when a checkpoint is made, when the next journal file is prepared, when old segments and
silent producers go, whether the disk still has room.
Never knows: requests; how any of these
things is done (storage and txn decide, `commit` does).
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

from broker import checkpoint_tables
from broker.broker import Broker
from broker.changes import Change, LogStartMoved, ProducersForgotten
from broker.limits import (
    CHECKPOINT_RETRY_SECONDS,
    HOUSEKEEPING_SECONDS,
    IN_MEMORY_CHECKPOINT_BYTES,
)
from broker.partition import Partition
from storage.errors import StorageBusy, StorageFull
from storage.retention import new_log_start

logger = logging.getLogger("oncelog.housekeeping")


class Housekeeping:
    """One timer that looks at everything and starts what is due."""

    def __init__(self, broker: Broker, loop: asyncio.AbstractEventLoop) -> None:
        self._broker = broker
        self._loop = loop
        self._store = broker.store
        self._journal = broker.store.journal
        self._threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="oncelog-files")
        self._timer: asyncio.TimerHandle | None = None
        self._checkpoint: asyncio.Task[None] | None = None
        self._preparing: asyncio.Task[None] | None = None
        self._stopping = False
        self._interval_bytes = broker.settings.checkpoint_interval_bytes
        if broker.settings.in_memory:
            self._interval_bytes = min(self._interval_bytes, IN_MEMORY_CHECKPOINT_BYTES)
        now = loop.time()
        self._checkpoint_position: int | None = None
        """Where the journal stood at the last checkpoint of this run."""
        self._checkpoint_at = now
        self._retry_at = now
        self._retention_at = now
        self._expiry_at = now

    def start(self) -> None:
        """Begin to look, at once and then every few moments."""
        self._tick()

    async def stop(self) -> None:
        """Finish what runs, then make a last checkpoint so that the next start replays nothing."""
        self._stopping = True
        if self._timer is not None:
            self._timer.cancel()
        for task in (self._checkpoint, self._preparing):
            if task is not None:
                await task
        durability = self._broker.durability
        await durability.wait(durability.position)
        await self._make_checkpoint()
        self._threads.shutdown()

    def _tick(self) -> None:
        if self._stopping:
            return
        self._timer = self._loop.call_later(HOUSEKEEPING_SECONDS, self._tick)
        settings = self._broker.settings
        now = self._loop.time()
        if self._journal.wants_next and self._preparing is None:
            self._preparing = self._loop.create_task(self._prepare_next())
        if self._checkpoint is None and self._checkpoint_is_due(now):
            self._checkpoint = self._loop.create_task(self._checkpoint_now())
        if now - self._retention_at >= settings.log_retention_check_interval_ms / 1000:
            self._retention_at = now
            self._drop_old_records()
        if now - self._expiry_at >= settings.producer_id_expiration_check_interval_ms / 1000:
            self._expiry_at = now
            self._forget_silent_producers()
        self._look_at_disk()

    # Journal and checkpoint.

    async def _prepare_next(self) -> None:
        try:
            await self._in_thread(self._journal.prepare_next)
        except StorageFull:
            # The journal remembers that it is full; writes are refused until this works.
            await asyncio.sleep(HOUSEKEEPING_SECONDS)
        except Exception as error:  # noqa: BLE001 - a failed sync must end the process
            self._broker.durability.fail(error)
        finally:
            self._preparing = None

    def _checkpoint_is_due(self, now: float) -> bool:
        if now < self._retry_at:
            return False
        if self._checkpoint_position is None:
            # Every start begins a new journal file; only a checkpoint lets go of the old ones.
            return True
        settings = self._broker.settings
        written = self._journal.end - self._checkpoint_position
        if written >= self._interval_bytes:
            return True
        return written > 0 and now - self._checkpoint_at >= settings.checkpoint_interval_ms / 1000

    async def _checkpoint_now(self) -> None:
        try:
            await self._make_checkpoint()
        finally:
            self._checkpoint = None

    async def _make_checkpoint(self) -> None:
        self._checkpoint_at = self._loop.time()
        state = self._broker.state
        changes = checkpoint_tables.collect(state)
        try:
            plan = self._store.collect_checkpoint(changes)
        except StorageFull as error:
            checkpoint_tables.give_back(state, changes)
            self._put_off_checkpoint(error)
            return
        except Exception as error:  # noqa: BLE001 - what was being written is in doubt now
            self._broker.durability.fail(error)
            return
        try:
            await self._in_thread(self._store.write_checkpoint, plan)
        except (StorageFull, StorageBusy) as error:
            self._store.abandon_checkpoint(plan)
            checkpoint_tables.give_back(state, changes)
            self._put_off_checkpoint(error)
            return
        except Exception as error:  # noqa: BLE001 - a failed sync must end the process
            self._broker.durability.fail(error)
            return
        self._store.finish_checkpoint(plan)
        self._checkpoint_position = plan.position

    def _put_off_checkpoint(self, reason: Exception) -> None:
        logger.warning("no checkpoint now: %s", reason)
        self._retry_at = self._loop.time() + CHECKPOINT_RETRY_SECONDS

    async def _in_thread(self, function: object, *arguments: object) -> None:
        await self._loop.run_in_executor(self._threads, function, *arguments)  # type: ignore[arg-type]

    # Old records and silent producers.

    def _drop_old_records(self) -> None:
        now_ms = self._broker.now_ms()
        for topic in self._broker.topics:
            for partition in topic.partitions:
                self._drop_old_segments(partition, now_ms)

    def _drop_old_segments(self, partition: Partition, now_ms: int) -> None:
        config = partition.topic.config
        if not config.is_deleted:
            return
        start = new_log_start(
            partition.log.segments,
            partition.high_watermark,
            now_ms,
            config.retention_ms,
            config.retention_bytes,
        )
        if start is not None and start > partition.log.log_start_offset:
            logger.info(
                "%s-%d: records below offset %d are past retention",
                partition.topic.name,
                partition.index,
                start,
            )
            self._commit(LogStartMoved(partition.topic.topic_id, partition.index, start))

    def _forget_silent_producers(self) -> None:
        now_ms = self._broker.now_ms()
        expiration_ms = self._broker.settings.producer_id_expiration_ms
        for topic in self._broker.topics:
            for partition in topic.partitions:
                silent = partition.eos.expired(now_ms, expiration_ms)
                if silent:
                    self._commit(ProducersForgotten(topic.topic_id, partition.index, silent))

    def _commit(self, change: Change) -> None:
        try:
            self._broker.durability.commit((change,))
        except StorageFull as error:
            logger.warning("put off: %s", error)

    # Disk.

    def _look_at_disk(self) -> None:
        if self._store.is_full:
            self._broker.durability.flush()
        free_bytes = self._store.filesystem.free_bytes()
        full = free_bytes < self._broker.settings.disk_reserve_bytes or self._store.is_full
        if full != self._broker.disk_is_full:
            self._broker.disk_is_full = full
            if full:
                logger.error(
                    "the disk is nearly full (%d bytes free): writes are refused, reads go on",
                    free_bytes,
                )
            else:
                logger.info("the disk has room again: writes are taken")
