"""Small traces for the examples of checks."""

from __future__ import annotations

import json
from typing import Any

from carob.model.trace import ToolCall, Trace

NO_TOOLS_SEEN = "the target returned text alone"


def says(text: str, **more: Any) -> Trace:
    """An agent that answered with this text and whose tool calls were not seen."""
    return Trace(
        case_id="example", final_message=text, unobserved={"tools": NO_TOOLS_SEEN, **more.pop("unobserved", {})}, **more
    )


def calls(spelled: str, text: str = "Done.", **more: Any) -> Trace:
    """An agent that made these calls.

    `lookup:ok refund:failed delete:crashed search:pending book:waiting fly:refused ask:missing=id`: a pending one shows
    no result, a refused one never ran.
    """
    return performs(*map(_call, spelled.split()), text=text, **more)


def performs(*tool_calls: ToolCall, text: str = "Done.", **more: Any) -> Trace:
    """An agent that made exactly these calls."""
    return Trace(case_id="example", final_message=text, tool_calls=tool_calls, **more)


def _call(word: str) -> ToolCall:
    name, _, how = word.partition(":")
    if how == "crashed":
        return ToolCall(name, error="it broke")
    if how == "refused":
        return ToolCall(name, started=False, unfinished=True)
    if how in ("pending", "waiting"):
        return ToolCall(name, unfinished=how == "waiting")
    if how.startswith("missing="):
        return ToolCall(name, success=False, missing_fields=(how.removeprefix("missing="),))
    return ToolCall(name, success=how != "failed")


def logs(*events: dict[str, Any] | str) -> Trace:
    """An agent whose telemetry holds these events (or raw lines)."""
    lines = tuple(e if isinstance(e, str) else json.dumps(e) for e in events)
    return Trace(case_id="example", final_message="Done.", telemetry=lines, unobserved={"tools": NO_TOOLS_SEEN})


def shows(page: str, before: str | None = None, text: str = "Done.") -> Trace:
    """An agent with a page: the accessibility snapshot after the turn, and before it where known."""
    return performs(text=text, page=page, page_before=before)


UNSEEN_TOOLS = says("Done.")
UNSEEN_TELEMETRY = Trace(case_id="example", final_message="Done.", unobserved={"telemetry": "no log was configured"})
