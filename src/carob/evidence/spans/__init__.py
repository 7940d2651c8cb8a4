"""Spans of OpenTelemetry: how they arrive, whose they are, and what they tell of a turn."""
