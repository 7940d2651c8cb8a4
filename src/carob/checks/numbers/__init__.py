"""Checks of the numbers that an answer states."""
