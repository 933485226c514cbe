"""One file per Kafka API. The registry scans this package; there is no list to edit."""
