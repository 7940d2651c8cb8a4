"""Targets: the agent under test, reached through one small protocol. One adapter per file."""
