"""Checks of the answer: its words, its JSON, what it must not give away."""
