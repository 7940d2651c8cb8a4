"""Targets around another target: hooks, rules for success, the proxy, and the evidence that joins a trace."""
