"""What several tests need: processes, clients, waiting."""
