"""The running broker: server, connections, one file per Kafka API, settings."""
