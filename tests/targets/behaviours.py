"""Agents that behave and misbehave, for every kind of target: the prompt says how. Also run as a program."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HUGE = 50_000_000


class Opaque:
    def __repr__(self) -> str:
        return "<opaque " + "x" * 10_000 + ">"


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def model_dump(self) -> dict[str, Any]:
        raise RuntimeError("no dump")


def looped() -> list[Any]:
    endless: list[Any] = []
    endless += [endless, endless]
    return endless


UNJSONABLE = {
    "opaque": Opaque(),
    "hostile": Hostile(),
    "nan": float("nan"),
    "infinite": float("-inf"),
    "set": {1},
    "bytes": b"\xff",
    "when": datetime(2026, 1, 1, tzinfo=UTC),
    "loop": looped(),
    "big": 1 << 70,
    "huge": 10**5000,
    (1, 2): "key",
    3: "number key",
    "surrogate \ud800": "\udfff",
}


def behave(prompt: str, conversation: Any) -> Any:
    """What a Python agent returns for a prompt, except for those that hang."""
    if prompt.startswith("say "):
        return prompt.removeprefix("say ")
    if prompt == "crash":
        raise ValueError("the agent\nbroke \ud800")
    if prompt == "exit":
        sys.exit(3)
    if prompt == "tell":
        tell(conversation)
        return "told"
    if prompt == "remember":
        conversation.state["seen"] = [message.content for message in conversation.messages]
        return "remembered"
    if prompt == "recall":
        return json.dumps([conversation.state.get("seen"), [message.role for message in conversation.messages]])
    return {
        "none": None,
        "garbage": 42,
        "huge": "x" * HUGE,
        "surrogates": "a\ud83d b\udfff",
        "nul": "a\x00\x1b[31mb",
        "typo": {"finalmessage": "hi"},
        "wrong type": {"final_message": "hi", "tool_calls": "lookup"},
        "unjsonable": {"final_message": "hi", "tool_calls": [{"name": "lookup", "result": UNJSONABLE}]},
        "tools": {"final_message": "hi", "tool_calls": [{"name": "lookup", "result": {"success": True}}]},
    }[prompt]


def tell(conversation: Any) -> None:
    conversation.tool_call("lookup", arguments={"q": 1}, result={"success": True})
    conversation.event({"source": "tool.search", "event": "start"})


def sync_agent(prompt: str, conversation: Any) -> Any:
    if prompt == "hang":
        tell(conversation)
        time.sleep(3600)
    return behave(prompt, conversation)


async def async_agent(prompt: str, conversation: Any) -> Any:
    if prompt == "hang":
        tell(conversation)
        await asyncio.sleep(3600)
    return behave(prompt, conversation)


def write(value: object) -> None:
    print(json.dumps(value), flush=True)


class Printed:
    """The conversation of a program: what a Python agent tells, it prints."""

    messages: tuple[Any, ...] = ()

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}

    def tool_call(self, name: str, **rest: Any) -> None:
        write({"type": "tool_call", "name": name, **rest})

    def event(self, event: dict[str, Any]) -> None:
        write({"type": "telemetry", "event": event})


def program(request: dict[str, Any]) -> None:
    prompt, conversation = request["prompt"], Printed()
    if prompt == "hang":
        Path(os.environ["PID_FILE"]).write_text(str(os.getpid())) if "PID_FILE" in os.environ else None
        tell(conversation)
        time.sleep(3600)
    if prompt == "none":
        return
    if prompt == "garbage":
        print("\x00 no JSON\n[1, 2]\n" + "{" * 200_000)
        return
    answer = behave(prompt, conversation)
    write({"final_message": answer} if isinstance(answer, str) else answer)


if __name__ == "__main__":
    program(json.load(sys.stdin))
