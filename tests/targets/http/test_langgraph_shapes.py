"""`langgraph-server:` against what LangGraph's server said of graphs of many shapes: `make counterparts` records it."""

from __future__ import annotations

import json

import pytest

from karat.checks.effects.outcome import Outcome
from karat.model.verdict import Status

from .desk import RECORDINGS, replaying
from .langgraph_shapes import EDIT, SHAPES, Shape, expect_seen, seen


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
async def test_shape_is_seen_as_it_is(shape: Shape) -> None:
    kept = json.loads((RECORDINGS / "langgraph-shapes.json").read_text())
    async with replaying(kept) as address:
        trace = await seen(shape, address)
    expect_seen(shape, trace)
    asks = Outcome("needs_input").judge(trace).status
    assert (asks is Status.PASSED) == shape.waits


APPROVALS = {
    "pay Blue": ("asks_approval", {"room": "Blue"}),
    "yes": ("approved", {"room": "Blue"}),
    "no": ("denied", {"room": "Blue"}),
    json.dumps({"decisions": [EDIT]}): ("approved", {"room": "Green"}),
    json.dumps({"decisions": [{"type": "respond", "message": "later"}]}): ("denied", {"room": "Blue"}),
}
"""What is asked or decided in the last turn, by its prompt."""


@pytest.mark.parametrize(
    "shape", [shape for shape in SHAPES if shape.assistant == "approved"], ids=lambda shape: shape.name
)
async def test_the_server_says_what_is_asked_and_decided(shape: Shape) -> None:
    kept = json.loads((RECORDINGS / "langgraph-shapes.json").read_text())
    async with replaying(kept) as address:
        trace = await seen(shape, address)
    kind, arguments = APPROVALS[shape.prompts[-1]]
    assert trace.metadata["approvals"] == [{"kind": kind, "tool": "pay", "arguments": arguments}]


async def test_a_graph_that_asks_nothing_has_no_approvals() -> None:
    kept = json.loads((RECORDINGS / "langgraph-shapes.json").read_text())
    async with replaying(kept) as address:
        trace = await seen(next(shape for shape in SHAPES if shape.assistant == "plain"), address)
    assert trace.metadata["approvals"] == []
