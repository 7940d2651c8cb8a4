"""Conversations as recordings for `replay:`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.published.conversations import Call, Conversation, Turn

Success = Callable[[Call], bool | None]
"""Whether a call succeeded; None leaves it to Carob, which has the result."""


def left_to_carob(call: Call) -> bool | None:
    return None


def by_hand(call: Call) -> bool | None:
    return call.succeeded


def write_recordings(path: Path, conversations: Iterable[Conversation], success: Success) -> None:
    with path.open("w", encoding="utf-8") as file:
        for one in conversations:
            turns = [_turn(turn, success) for turn in one.turns]
            file.write(json.dumps({"case_id": one.id, "turns": turns}) + "\n")


def _turn(turn: Turn, success: Success) -> dict[str, Any]:
    said = [{"role": "assistant", "content": words} for words in (*turn.asides, turn.answer) if words]
    return {
        "input": turn.prompt,
        "messages": [{"role": "user", "content": turn.prompt}, *said],
        "tool_calls": [_call(call, success(call)) for call in turn.calls],
        "final_message": turn.answer,
        "page": None,
    }


def _call(call: Call, success: bool | None) -> dict[str, Any]:
    held: dict[str, Any] = {"name": call.name, "arguments": call.arguments}
    if call.result is None:
        held["unfinished"] = True
    else:
        held["result"] = call.result
        if success is not None:
            held["success"] = success
    return held
