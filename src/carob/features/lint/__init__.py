"""Lint: finds expectations that prove less than they seem to."""
