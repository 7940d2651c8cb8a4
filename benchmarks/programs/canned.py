"""The canned agent and the plainest way to check its answers, for programs that have nothing but the standard library.

No two cases get the same answer, so that no program gains by remembering the last one.
"""

from __future__ import annotations

import re
from typing import Any

TEMPLATE = (
    "Depot report for request {number}, written before the first van leaves.\n"
    "Inbound: 48 pallets were unloaded overnight and 5 of them differ from their delivery notes.\n"
    "Cold room: the door alarm rang 3 times, the longest opening lasted 11 minutes and the mean "
    "stayed at 4.2 degrees.\n"
    "Routes: 17 planned, 2 merged, saving 36.5 kilometres against last week's plan.\n"
    "Suggestion: recount bay D-07 first, since all five differences came through it, and call the shift lead "
    "(contact: k.moreau@depot.example) before noon.\n"
    "Caveat: the scanner of bay C was offline for a while, so its figures are estimates. Certainty: moderate."
)
TOOL_CALLS = [
    {"name": "read_inventory", "arguments": {"depot": "north", "since": "yesterday"}},
    {"name": "read_sensors", "arguments": {"room": "cold", "fields": ["door", "temperature"]}},
]


def number_of(prompt: str) -> str:
    """The number that a prompt carries: `Request 12: ...`."""
    return prompt[8 : prompt.index(":")]


def text_for(prompt: str) -> str:
    return TEMPLATE.replace("{number}", number_of(prompt), 1)


async def ask(prompt: str) -> dict[str, Any]:
    """The agent: it answers at once."""
    return {"text": text_for(prompt), "tool_calls": TOOL_CALLS}


def holds(kind: str, value: str, text: str, tools: list[str]) -> bool:
    """One check, as directly as Python can say it."""
    if kind == "contains":
        return value.lower() in text.lower()
    if kind == "not_contains":
        return value.lower() not in text.lower()
    if kind == "regex":
        return re.search(value, text) is not None
    return value in tools


def judged(case: dict[str, Any], text: str, tools: list[str]) -> list[dict[str, Any]]:
    """Every check of a case with its outcome."""
    return [{"kind": kind, "value": value, "passed": holds(kind, value, text, tools)} for kind, value in case["checks"]]
