"""`oncelog topics`: lists, creates, describes and deletes topics.

Owns the four subcommands and their output. Speaks to the broker through the admin client only.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import click

from oncelog.client import Target, explain, kafka_errors
from oncelog.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE, CommandError
from oncelog.options import json_option, parse_pairs, target_options
from oncelog.output import Output
from oncelog.wording import counted

if TYPE_CHECKING:
    from confluent_kafka import Node
    from confluent_kafka.admin import AdminClient, TopicDescription

# librdkafka asks for no more at once, and refuses in words of its own.
PARTITIONS_MAX: Final = 100_000
LIST_COLUMNS = {"name": "topic", "partitions": "partitions", "replication_factor": "replicas"}
PARTITION_COLUMNS = {
    "partition": "partition",
    "leader": "leader",
    "replicas": "replicas",
    "in_sync_replicas": "in sync",
    "earliest_offset": "earliest",
    "latest_offset": "latest",
    "offsets": "offsets",
}


@click.group()
def command() -> None:
    """List, create, describe and delete topics.

    \b
    Examples:
      oncelog topics create orders --partitions 8 --config retention.ms=3600000
      oncelog topics list
      oncelog topics describe orders --json
      oncelog topics delete orders
    """


@command.command("list")
@target_options
@json_option
def list_topics(target: Target, output: Output) -> int:
    """List all topics.

    \b
    Examples:
      oncelog topics list
      oncelog topics list --json | jq -r '.[].name'
    """
    with kafka_errors("cannot list topics"):
        metadata = target.admin().list_topics(timeout=target.timeout_s)
    rows = [
        {
            "name": topic.topic,
            "partitions": len(topic.partitions),
            "replication_factor": max(
                (len(p.replicas) for p in topic.partitions.values()), default=0
            ),
        }
        for _, topic in sorted(metadata.topics.items())
    ]
    if output.as_json:
        output.document(rows)
    elif rows:
        output.table(LIST_COLUMNS, rows)
    else:
        output.text("no topics yet; create one with: oncelog topics create NAME")
    return EXIT_OK


@command.command("create")
@click.argument("name")
@click.option("-p", "--partitions", type=click.IntRange(min=1), help="Default: the broker's.")
@click.option("--replication-factor", type=click.IntRange(min=1), help="Default: the broker's.")
@click.option(
    "-c", "--config", "configs", multiple=True, metavar="NAME=VALUE", help="Topic setting."
)
@click.option("--if-not-exists", is_flag=True, help="Succeed when the topic is there already.")
@target_options
@json_option
def create_topic(
    name: str,
    partitions: int | None,
    replication_factor: int | None,
    configs: tuple[str, ...],
    if_not_exists: bool,
    target: Target,
    output: Output,
) -> int:
    """Create the topic NAME.

    \b
    Examples:
      oncelog topics create orders
      oncelog topics create orders --partitions 8 --config retention.ms=3600000
    """
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import NewTopic

    if partitions is not None and partitions > PARTITIONS_MAX:
        why = f"a topic is created with at most {PARTITIONS_MAX:,} partitions"
        raise CommandError(f"cannot create topic {name}", why, exit_code=EXIT_USAGE)
    topic = NewTopic(
        name,
        num_partitions=partitions or -1,
        replication_factor=replication_factor or -1,
        config=parse_pairs(configs, "--config"),
    )
    admin = target.admin()
    created = True
    with kafka_errors(f"cannot create topic {name}"):
        future = admin.create_topics([topic], request_timeout=target.timeout_s)[name]
        try:
            future.result()
        except KafkaException as error:
            exists = error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
            if not (exists and if_not_exists):
                raise
            created = False
        if created and replication_factor is not None:
            _note_replicas(admin, name, replication_factor, target.timeout_s)
    if output.as_json:
        output.document({"name": name, "created": created})
    else:
        output.text(f"created {name}" if created else f"{name} is there already")
    return EXIT_OK


def _note_replicas(admin: AdminClient, name: str, wanted: int, timeout_s: float) -> None:
    partitions = admin.list_topics(name, timeout=timeout_s).topics[name].partitions.values()
    found = min((len(partition.replicas) for partition in partitions), default=wanted)
    if found < wanted:
        note = f"each partition has {counted(found, 'replica')}, not {wanted}"
        click.echo(f"oncelog: note: {note}", err=True)


@command.command("describe")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@target_options
@json_option
def describe_topics(names: tuple[str, ...], target: Target, output: Output) -> int:
    """Show partitions, offsets and changed settings of the topics NAME...

    \b
    Examples:
      oncelog topics describe orders
      oncelog topics describe orders payments --json
    """
    admin = target.admin()
    documents = [_describe(admin, name, target.timeout_s) for name in names]
    if output.as_json:
        output.document(documents)
        return EXIT_OK
    for document in documents:
        settings = ", ".join(f"{key}={value}" for key, value in document["configs"].items())
        output.text(f"topic {document['name']}  id {document['id']}")
        output.text(f"changed settings: {settings or 'none'}")
        output.table(PARTITION_COLUMNS, document["partitions"])
    return EXIT_OK


@command.command("delete")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Do not ask (never asked without a terminal).")
@target_options
@json_option
def delete_topics(names: tuple[str, ...], yes: bool, target: Target, output: Output) -> int:
    """Delete the topics NAME... and all their records.

    \b
    Examples:
      oncelog topics delete orders
      oncelog topics delete orders payments --yes --json
    """
    if not yes and not output.as_json and sys.stdin.isatty():
        those = "it" if len(names) == 1 else "them"
        question = f"Delete {', '.join(names)} and all records in {those}?"
        if not click.confirm(question, err=True):
            output.text("nothing was deleted")
            return EXIT_FAILED
    admin = target.admin()
    with kafka_errors("cannot delete topics"):
        futures = admin.delete_topics(list(names), request_timeout=target.timeout_s)
    results = [_outcome(name, futures[name]) for name in futures]
    if output.as_json:
        output.document(results)
    for result in results:
        if result["deleted"] and not output.as_json:
            output.text(f"deleted {result['name']}")
    failed = [result for result in results if not result["deleted"]]
    if failed and not output.as_json:
        whys = ", ".join(f"{result['name']} ({result['why']})" for result in failed)
        raise CommandError("cannot delete", whys, "see: oncelog topics list")
    return EXIT_FAILED if failed else EXIT_OK


def _outcome(name: str, future: Any) -> dict[str, Any]:
    from confluent_kafka import KafkaException

    try:
        future.result()
    except KafkaException as error:
        return {"name": name, "deleted": False, "why": explain(error.args[0])}
    return {"name": name, "deleted": True}


def _describe(admin: AdminClient, name: str, timeout_s: float) -> dict[str, Any]:
    from confluent_kafka import TopicCollection

    with kafka_errors(f"cannot describe topic {name}", "see: oncelog topics list"):
        futures = admin.describe_topics(TopicCollection([name]), request_timeout=timeout_s)
        description: TopicDescription = futures[name].result()
        earliest = _offsets(admin, description, timeout_s, latest=False)
        latest = _offsets(admin, description, timeout_s, latest=True)
        configs = _changed_configs(admin, name, timeout_s)
    partitions = [
        {
            "partition": partition.id,
            "leader": _node_id(partition.leader),
            "replicas": [node.id for node in partition.replicas],
            "in_sync_replicas": [node.id for node in partition.isr],
            "earliest_offset": earliest[partition.id],
            "latest_offset": latest[partition.id],
            "offsets": latest[partition.id] - earliest[partition.id],
        }
        for partition in description.partitions
    ]
    # Kafka's own tools write ids in the alphabet that is safe in addresses and file names.
    topic_id = str(description.topic_id).replace("+", "-").replace("/", "_")
    return {"name": name, "id": topic_id, "partitions": partitions, "configs": configs}


def _node_id(node: Node | None) -> int | None:
    return None if node is None else node.id


def _offsets(
    admin: AdminClient, description: TopicDescription, timeout_s: float, *, latest: bool
) -> dict[int, int]:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import OffsetSpec

    spec: Any = OffsetSpec.latest() if latest else OffsetSpec.earliest()
    asked = {TopicPartition(description.name, p.id): spec for p in description.partitions}
    futures = admin.list_offsets(asked, request_timeout=timeout_s)
    return {where.partition: future.result().offset for where, future in futures.items()}


def _changed_configs(admin: AdminClient, name: str, timeout_s: float) -> dict[str, str]:
    """The settings that were given to this topic itself, not those that it inherits."""
    from confluent_kafka.admin import ConfigResource, ConfigSource

    resource = ConfigResource(ConfigResource.Type.TOPIC, name)
    (future,) = admin.describe_configs([resource], request_timeout=timeout_s).values()
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return {
        entry.name: entry.value
        for entry in future.result().values()
        if entry.source in (own, ConfigSource.DYNAMIC_TOPIC_CONFIG)
    }
