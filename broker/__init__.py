"""The running broker: connections, one file per Kafka API, partitions, topics, durability.

Data walks one way: decode, decide, journal, apply, durable, encode. `state.apply` is the only code
that changes what the broker knows; recovery runs the very same code.
"""
