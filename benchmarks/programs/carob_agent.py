"""The canned agent as Carob's `python:` target takes one, and one that burns CPU."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.programs.canned import TOOL_CALLS, text_for

BURN = 0.005


async def ask(prompt: str) -> dict[str, Any]:
    return {"final_message": text_for(prompt), "tool_calls": TOOL_CALLS}


def ask_blocking(prompt: str) -> dict[str, Any]:
    return {"final_message": text_for(prompt), "tool_calls": TOOL_CALLS}


def ask_burning(prompt: str) -> dict[str, Any]:
    end = time.thread_time() + BURN
    while time.thread_time() < end:
        pass
    return {"final_message": text_for(prompt), "tool_calls": TOOL_CALLS}
