"""The Kafka wire, without input or output: bytes to values and values to bytes.

Owns framing, primitives, generated messages, record batches and error numbers. It must
never know sockets, files, clocks or anything else of ours.
"""
