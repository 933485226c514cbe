"""Bytes and files: the journal, partition logs, the checkpoint, recovery and retention.

Must never know what a topic, a producer or a transaction means: buffers come in, files come out.
"""
