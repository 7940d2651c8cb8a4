"""Checks of the page that a user sees after a turn."""
