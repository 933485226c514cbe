"""Tests of broker/: settings, topics, and each API page in a broker within this process."""
