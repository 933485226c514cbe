"""Every fixed bound of the running broker, with its reason. Settings that users may change live in
`settings.py`; what stands here protects the process and is not meant to be tuned."""

from __future__ import annotations

SHARED_RECEIVE_BUFFER_BYTES = 1024 * 1024
"""One buffer serves all connections' reads: an idle connection costs none."""

OWN_BUFFER_BYTES_MIN = 4 * 1024
"""Smallest memory of its own that a connection with an unfinished frame gets."""

EAGER_FRAME_BYTES_MAX = 4 * 1024 * 1024
"""Frames up to this size get all their memory at once while memory is plentiful."""

EAGER_TOTAL_BYTES_MAX = 64 * 1024 * 1024
"""...plentiful meaning: all unfinished frames together hold less than this."""

SMALL_FRAME_BYTES_MAX = 64 * 1024
"""Unfinished frames below this are never closed for lack of memory."""

BUFFER_POOL_BYTES_MAX = 16 * 1024 * 1024
"""Receive buffers kept for reuse; the first touch of fresh memory costs more than the copy."""

DECODED_SLACK_BYTES = 16 * 1024 * 1024
"""What a decoded request may cost beyond ten times its size: room for honest requests that name
ten thousand topics. Requests are decoded one at a time."""

UNANSWERED_REQUESTS_MAX = 1_000
"""Requests of one connection that were taken and not answered yet; then reading pauses."""

UNSENT_BYTES_HIGH = 1024 * 1024
"""Answers a peer has not read yet; above this the connection's next requests wait."""

UNSENT_TOTAL_BYTES_MAX = 64 * 1024 * 1024
"""Unread answers of all connections; above this a Fetch returns one batch and not more."""

STALLED_PEER_SECONDS = 60.0
"""A peer that has read nothing of its answers for so long is cut off when memory is short."""

REQUESTS_PER_TURN_MAX = 512
"""Requests of one connection handled before other connections get a turn."""

UNKNOWN_PARTITIONS_PARKED_MAX = 100
"""A Fetch that names more partitions that do not exist is not parked: each look costs as much."""

PARKED_FETCH_MS_MAX = 300_000
"""A Fetch never waits longer, whatever its max_wait says."""

CLOSE_LINGER_SECONDS = 10.0
"""How long a connection we hang up on may take to read its last answers."""

CLIENT_IDS_REMEMBERED_MAX = 1_000
"""Decoded client ids kept, so that each request need not decode its own."""

DESCRIPTORS_RESERVED = 100
"""File descriptors for the journal, the checkpoint and the process itself."""

IDLE_SWEEP_SECONDS_MAX = 10.0
"""Longest time between two looks for idle connections."""

IN_MEMORY_JOURNAL_FILE_BYTES = 1024 * 1024
IN_MEMORY_CHECKPOINT_BYTES = 4 * 1024 * 1024
"""With --in-memory the journal is memory that only waits to be given back by a checkpoint."""

HOUSEKEEPING_SECONDS = 0.1
"""Time between two looks at what is due by the clock."""

CHECKPOINT_RETRY_SECONDS = 5.0
"""How long to wait after a checkpoint that a full disk or a busy database has prevented."""

STOP_GRACE_SECONDS = 5.0
"""How long a graceful stop waits for answers on their way."""

TOPICS_PER_REQUEST_MAX = 50_000
PARTITIONS_MAX = 100_000
"""Partitions of the whole broker; each costs memory and, when written, a file descriptor."""

PARTITIONS_PER_TOPIC_MAX = 10_000
NEW_PARTITIONS_PER_REQUEST_MAX = 10_000
"""As in Kafka. They are made in one go, about 10 microseconds each, while all others wait."""

TOPIC_NAME_LENGTH_MAX = 249
DESCRIBED_PARTITIONS_MAX = 2_000
"""Partitions in one DescribeTopicPartitions answer, as in Kafka."""

RECORD_ERRORS_MAX = 1_000
"""Faulty records of one batch that the answer names; the batch is refused whole in any case."""

WALKED_RECORDS_MAX = 250_000
"""Records of one batch where each must be looked at; more would stop everybody else for too long.
"""

DECOMPRESSED_BATCH_BYTES_MAX = 64 * 1024 * 1024
"""A batch that unpacks to more than this is refused where its records must be looked at."""
