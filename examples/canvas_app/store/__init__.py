"""The workspace's state in SQLite."""
