"""An agent that costs nothing."""

from __future__ import annotations


def reply(prompt: str) -> str:
    return f"You said: {prompt}"
