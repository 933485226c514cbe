"""Tests of storage/: one file per room, and crash images over all of them."""
