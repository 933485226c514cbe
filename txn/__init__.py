"""Exactly-once decisions, pure: values in, decisions out. No files, no clock, no sockets, no
randomness.
"""
