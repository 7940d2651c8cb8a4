"""Smells of a suite that no run shows."""
