"""Conversations judged by rules as their spans arrive."""
