"""Beside the graph, and found by a relative import."""

GREETING = "Hello from the package."
