"""Agents that send spans: how they are configured, received during a run, and read from a recording."""
