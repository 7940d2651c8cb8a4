"""What is said to graphs of many shapes on LangGraph's server, and what Carob must see of each."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from carob.model.trace import Tokens, Trace
from targets.conftest import ask, opened

SCRIPT: dict[str, Any] = {
    "rules": [
        {
            "when": {"user": r"note (?P<what>\w+)"},
            "call": {"note": {"text": "${what}"}},
            "usage": {"input": 10, "output": 1},
        },
        {
            "when": {"user": "note", "results": {"note": r"kept (?P<what>\w+)"}},
            "say": "I kept ${what}.",
            "usage": {"input": 20, "output": 2},
        },
        {"when": {"user": "judge"}, "say": {"good": True}, "usage": {"input": 30, "output": 3}},
        {"when": {"user": r"pay (?P<room>\w+)"}, "call": {"pay": {"room": "${room}"}}},
        {"when": {"user": "pay", "results": {"pay": ""}}, "say": "Done."},
    ]
}
"""What the scripted model of the graphs answers."""
GREEN = {"room": "Green"}
EDIT = {"type": "edit", "edited_action": {"name": "pay", "args": GREEN}}


class Shape(NamedTuple):
    """A graph of the server, what is said to it, and what is seen of the last turn."""

    assistant: str
    prompts: tuple[str, ...]
    says: str
    calls: tuple[tuple[str, object, bool, bool | None], ...] = ()
    tokens: Tokens | None = None
    waits: bool = False

    @property
    def name(self) -> str:
        return "-".join([self.assistant, *(prompt.translate({34: "q", 32: "_"})[:24] for prompt in self.prompts)])


ROOM = {"room": "Blue"}
SHAPES = (
    Shape("dicts", ("hello",), "You said hello"),
    Shape("dicts", ("hello", "again"), "You said again"),
    Shape("pair", ("hello",), "You said hello"),
    Shape("within", ("hello",), "You said hello"),
    Shape("named", ("hello",), "Found it."),
    Shape("plain", ("note milk",), "I kept milk.", (("note", {"text": "milk"}, True, True),), Tokens(30, 3)),
    Shape("structured", ("judge it",), "good: True", (), Tokens(30, 3)),
    Shape("typed", ("hello",), "How many?", waits=True),
    Shape("typed", ("hello", "3"), "int: 3"),
    Shape("typed", ("hello", "true"), "bool: True"),
    Shape("typed", ("hello", "three"), "str: three"),
    Shape(
        "approved", ("pay Blue",), "Tool execution requires approval", (("pay", ROOM, False, None),), waits=True
    ),
    Shape("approved", ("pay Blue", "yes"), "Done.", (("pay", ROOM, True, True),)),
    Shape("approved", ("pay Blue", "no"), "Done."),
    Shape("approved", ("pay Blue", json.dumps({"decisions": [EDIT]})), "Done.", (("pay", GREEN, True, True),)),
    Shape("approved", ("pay Blue", json.dumps({"decisions": [{"type": "respond", "message": "later"}]})), "Done."),
)  # fmt: skip


async def seen(shape: Shape, address: str) -> Trace:
    """The trace of the last turn; the name of the shape goes with every request, as that of a case does."""
    *setup, prompt = shape.prompts
    async with opened("langgraph-server", address, options={"assistant": shape.assistant}) as target:
        return await ask(target, prompt, case_id=shape.name, setup_prompts=tuple(setup))


def expect_seen(shape: Shape, trace: Trace) -> None:
    """Hold what was seen against what must be."""
    assert trace.final_message.partition("\n")[0] == shape.says
    assert tuple((c.name, c.arguments, c.started, c.success) for c in trace.tool_calls) == shape.calls
    assert bool(trace.metadata.get("interrupts")) == shape.waits
    if shape.tokens is not None:
        assert trace.tokens == shape.tokens
