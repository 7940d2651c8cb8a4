"""Checks of what became of a turn: what was done, and what the answer says of it."""
