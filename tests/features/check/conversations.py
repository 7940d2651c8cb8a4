"""Recorded conversations for checks: files of messages in which one agent asks before it cancels, or does not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

POLICY = """\
carob: 1
tools: { writes: ["cancel_*"] }
rules:
  - id: explicit-yes
    why: Ask before you cancel.
    each: { call: "@writes" }
    needs: { last_user: ["@yes"] }
  - id: cancelled-once
    each: { call: cancel_order, success: true, arguments: { order: { $as: order } } }
    at_most: 1
  - id: vip-only
    each: { call: cancel_order }
    when: { tags: [vip], metadata: { plan: pro } }
    forbids: { before: { user: [angry] } }
  - id: nothing-after-a-handover
    each: { call: call_a_person }
    forbids: { after: { call: "*" } }
"""


def conversation(name: str, *, agreed: bool = True, ended: bool = True, calls: int = 1, **about: Any) -> dict[str, Any]:
    """One conversation: the user asks, agrees or does not, and the order is cancelled so many times."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Cancel my order."},
        {"role": "assistant", "content": "Shall I?"},
        {"role": "user", "content": "Yes, please." if agreed else "Why do you ask?"},
    ]
    for number in range(calls):
        function = {"name": "cancel_order", "arguments": '{"order": "A-17"}'}
        messages.append({"role": "assistant", "tool_calls": [{"id": str(number), "function": function}]})
        if ended:
            messages.append({"role": "tool", "tool_call_id": str(number), "content": '{"ok": true}'})
    return {"id": name, "messages": [*messages, {"role": "assistant", "content": "Done."}], **about}


def write_lines(path: Path, conversations: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(each)}\n" for each in conversations))
    return path


def write_policy(folder: Path, text: str = POLICY) -> Path:
    path = folder / "policy.carob.yaml"
    path.write_text(text)
    return path


def day(number: int, hour: int = 12) -> str:
    return f"2026-11-{number:02d}T{hour:02d}:00:00Z"
