"""`langgraph-server:` against what LangGraph's server said of graphs of many shapes: `make counterparts` records it."""

from __future__ import annotations

import json

import pytest

from karat.checks.effects.outcome import Outcome
from karat.model.verdict import Status

from .desk import RECORDINGS, replaying
from .langgraph_shapes import SHAPES, Shape, expect_seen, seen


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
async def test_shape_is_seen_as_it_is(shape: Shape) -> None:
    kept = json.loads((RECORDINGS / "langgraph-shapes.json").read_text())
    async with replaying(kept) as address:
        trace = await seen(shape, address)
    expect_seen(shape, trace)
    asks = Outcome("needs_input").judge(trace).status
    assert (asks is Status.PASSED) == shape.waits
