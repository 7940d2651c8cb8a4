"""Conversations that people already have: exports of observability platforms, files of spans and of messages."""
