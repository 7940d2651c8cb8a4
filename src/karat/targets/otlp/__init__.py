"""Agents that send spans: how they are configured, received beside a run, and read from a recording."""
