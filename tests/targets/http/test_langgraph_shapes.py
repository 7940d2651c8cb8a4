"""`langgraph-server:` against what LangGraph's server said of graphs of many shapes: `make counterparts` records it."""

from __future__ import annotations

import json

import pytest

from carob.checks.effects.outcome import Outcome
from carob.model.suite import Turn, TurnDecision
from carob.model.verdict import Status
from carob.targets.interrupts import Interrupt, resume, resume_decided
from targets.conftest import ask, opened

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


@pytest.mark.parametrize(
    ("prompt", "decision"),
    [
        ("yes", TurnDecision(approve=("pay",))),
        ("no", TurnDecision(deny={"*": "no"})),
        (json.dumps({"decisions": [EDIT]}), TurnDecision(edit={"pay": {"room": "Green"}})),
    ],
)
async def test_a_turn_that_decides_is_sent_as_the_words_for_it_are(prompt: str, decision: TurnDecision) -> None:
    """The server was recorded as it was answered in words."""
    kept = json.loads((RECORDINGS / "langgraph-shapes.json").read_text())
    shape = next(shape for shape in SHAPES if shape.prompts == ("pay Blue", prompt))
    turns = (Turn("pay Blue"), Turn(str(decision), decision=decision))
    async with replaying(kept) as address, opened("langgraph-server", address) as target:
        trace = await ask(target, "pay Blue", case_id=shape.name, turns=turns)
    expect_seen(shape, trace.turns[1])
    kind, arguments = APPROVALS[prompt]
    assert trace.turns[1].metadata["approvals"] == [{"kind": kind, "tool": "pay", "arguments": arguments}]
    assert all(message.role == "assistant" for message in trace.turns[1].messages)


def test_each_decision_is_spelled_as_the_words_for_it_are() -> None:
    request = {"name": "pay", "args": {"room": "Blue"}}
    waiting = [Interrupt("i", {"action_requests": [request, {**request, "name": "book"}]})]
    decision = TurnDecision(approve=("book",), deny={"pay": "no"})
    spelled = {"decisions": [{"type": "reject", "message": "no"}, {"type": "approve"}]}
    assert resume_decided(decision, waiting) == spelled == resume('["no", "yes"]', waiting)
    questions = [Interrupt("a", "Sure?"), Interrupt("b", {"type": "tool_approval", **request})]
    assert resume_decided(TurnDecision(deny={"*": ""}), questions) == {"a": False, "b": {"type": "reject"}}


@pytest.mark.parametrize(
    ("content", "may_have_run"), [("Blue is paid", True), ("no", False), (r"{\"error\": 1}", False)]
)
async def test_a_result_of_a_denied_call_is_no_proof_that_it_did_not_run(content: str, may_have_run: bool) -> None:
    kept = json.loads((RECORDINGS / "langgraph-shapes.json").read_text())
    shape = next(shape for shape in SHAPES if shape.prompts == ("pay Blue", "no"))
    said = "User rejected the tool call for `pay` with reason: no"
    for answer in kept[shape.name]:
        ran = answer["body"].replace(f'"content":"{said}"', f'"content":"{content}"')
        answer["body"] = ran.replace('"artifact":null,"status":"error"', '"artifact":null,"status":"success"')
    async with replaying(kept) as address:
        trace = await seen(shape, address)
    assert trace.tool_calls == ()
    assert [call.text for call in trace.possible_calls] == (["pay"] if may_have_run else [])


async def test_a_graph_that_asks_nothing_has_no_approvals() -> None:
    kept = json.loads((RECORDINGS / "langgraph-shapes.json").read_text())
    async with replaying(kept) as address:
        trace = await seen(next(shape for shape in SHAPES if shape.assistant == "plain"), address)
    assert trace.metadata["approvals"] == []
