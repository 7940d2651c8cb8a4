"""Eval sets and results of Google's ADK."""
