"""State: everything the broker knows, and `apply`, the only code that changes it.

Owns: topics with their partitions, producer ids; the table change -> what it does.
Never knows:
requests, clocks, durability. It must give the same result for the same changes, live and during
recovery, so nothing here may look at the time, at random numbers or at settings that could differ
at the next start in a way that matters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker.changes import (
    BatchAppended,
    Change,
    LogStartMoved,
    PartitionsAdded,
    ProducerIdAllocated,
    ProducersForgotten,
    TopicConfigured,
    TopicCreated,
    TopicDeleted,
)
from broker.partition import Partition
from broker.settings import Settings
from broker.topic_configs import TopicConfig
from broker.topics import Topic, Topics
from storage.store import Store
from txn.producer_ids import ProducerIds


class State:
    """All that the journal and the checkpoint add up to."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings = settings
        self.store = store
        self.topics = Topics()
        self.producer_ids = ProducerIds()
        self.touched: dict[Partition, None] = {}
        """Partitions whose end moved since the last sync began."""
        self.changed_topics: set[bytes] = set()
        """Topics whose checkpoint row is out of date."""
        self.changed_producers: dict[Partition, None] = {}
        """Partitions whose producers' checkpoint rows are out of date."""
        self._appliers: dict[int, Callable[[Any], None]] = {
            BatchAppended.kind: self._batch_appended,
            TopicCreated.kind: self._topic_created,
            PartitionsAdded.kind: self._partitions_added,
            TopicDeleted.kind: self._topic_deleted,
            TopicConfigured.kind: self._topic_configured,
            LogStartMoved.kind: self._log_start_moved,
            ProducerIdAllocated.kind: self._producer_id_allocated,
            ProducersForgotten.kind: self._producers_forgotten,
        }

    def apply(self, change: Change) -> None:
        """Do what the change says. The journal holds it already."""
        self._appliers[change.kind](change)

    def publish_all(self) -> None:
        """After recovery: all that was replayed is durable, so readers may see all of it."""
        self.touched.clear()
        for topic in self.topics:
            for partition in topic.partitions:
                partition.publish(partition.ends())

    def _batch_appended(self, change: BatchAppended) -> None:
        partition = self.topics.partition(change.topic_id, change.partition)
        partition.apply_batch(change)
        self.touched[partition] = None
        if change.header.producer_id >= 0:
            self.changed_producers[partition] = None

    def _topic_created(self, change: TopicCreated) -> None:
        self.restore_topic(
            change.topic_id,
            change.name,
            dict(change.configs),
            change.created_ms,
            change.directories,
        )
        self.changed_topics.add(change.topic_id)

    def restore_topic(
        self,
        topic_id: bytes,
        name: str,
        configs: dict[str, str],
        created_ms: int,
        directories: list[str],
    ) -> None:
        """A topic with its partitions, from a journal entry or from the checkpoint."""
        config = TopicConfig.build(configs, self.settings)
        topic = Topic(topic_id, name, configs, config, created_ms)
        self.topics.add(topic)
        self._add_partitions(topic, directories)

    def _partitions_added(self, change: PartitionsAdded) -> None:
        topic = self.topics.get_by_id(change.topic_id)
        if topic is not None:
            self._add_partitions(topic, change.directories)
            self.changed_topics.add(topic.topic_id)

    def _add_partitions(self, topic: Topic, directories: list[str]) -> None:
        for directory in directories:
            log = self.store.open_log(directory)
            topic.partitions.append(Partition(topic, len(topic.partitions), directory, log))
        self.topics.partition_count += len(directories)

    def _topic_deleted(self, change: TopicDeleted) -> None:
        topic = self.topics.get_by_id(change.topic_id)
        if topic is None:
            return
        self.topics.remove(topic)
        self.topics.partition_count -= len(topic.partitions)
        for partition in topic.partitions:
            self.touched.pop(partition, None)
            self.changed_producers.pop(partition, None)
            self.store.remove_log(partition.log)
            partition.wake()
        self.changed_topics.add(topic.topic_id)

    def _topic_configured(self, change: TopicConfigured) -> None:
        topic = self.topics.get_by_id(change.topic_id)
        if topic is not None:
            topic.configs = dict(change.configs)
            topic.config = TopicConfig.build(topic.configs, self.settings)
            self.changed_topics.add(topic.topic_id)

    def _log_start_moved(self, change: LogStartMoved) -> None:
        partition = self.topics.partition(change.topic_id, change.partition)
        partition.log.set_log_start(change.log_start_offset)
        self.touched[partition] = None

    def _producer_id_allocated(self, change: ProducerIdAllocated) -> None:
        self.producer_ids.apply(change.producer_id)

    def _producers_forgotten(self, change: ProducersForgotten) -> None:
        partition = self.topics.partition(change.topic_id, change.partition)
        partition.eos.forget(change.producer_ids)
        self.changed_producers[partition] = None
