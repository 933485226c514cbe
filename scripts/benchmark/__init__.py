"""The rooms of scripts/bench: the same works against Apache Kafka and oncelog, side by side."""
