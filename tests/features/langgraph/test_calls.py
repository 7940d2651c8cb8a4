"""Tool calls of graphs, whoever made them and however they ended, and the words around them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import carob
from carob.journal.limits import cap_trace
from carob.model.trace import Tokens, ToolCall, Trace, TraceError
from carob.targets.base import RunContext, TargetError
from targets.conftest import ask, case, opened

HERE = Path(__file__).parent
NO_ARGUMENTS: dict[str, Any] = {}


class Call(NamedTuple):
    """What a row of the table says of a call."""

    name: str
    arguments: Any = NO_ARGUMENTS
    success: bool | None = True
    started: bool = True
    error: str | None = None
    result: Any = ...
    missing: tuple[str, ...] = ()
    ran: bool = True
    kind: str = "tool"
    parent: str | None = None


def graph(name: str, **rest: Any) -> Any:
    return opened("langgraph", f"graphs.py:{name}", HERE, **rest)


def check(calls: tuple[ToolCall, ...], rows: list[Call]) -> None:
    seen = [(c.name, c.arguments, c.success, c.started, c.missing_fields, c.called, c.kind, c.parent) for c in calls]
    assert seen == [(r.name, r.arguments, r.success, r.started, r.missing, r.ran, r.kind, r.parent) for r in rows]
    for call, row in zip(calls, rows, strict=True):
        assert (call.error is None) is (row.error is None), call
        assert row.error is None or row.error in (call.error or ""), call
        assert row.result is ... or call.result == row.result
        assert (call.started_at is not None) is row.started
        if row.started and row.success is not None:
            assert call.started_at is not None
            assert call.ended_at is not None
            assert call.started_at <= call.ended_at


def within(parent: str, *rows: Call) -> list[Call]:
    return [row._replace(parent=parent) for row in rows]


LOOK = Call("look", {"q": "a"}, result={"success": True, "found": "a"})
TRIED = Call("flaky", success=False, error="ConnectionError: try again", result=None)
BOOK = Call("book", {"vehicle": 42}, success=False, missing=("date",))

TURNS = {
    "parallel": ("graph", "two at once", "Both done.", [LOOK, BOOK]),
    "parallel in another graph": ("agent", "two at once", "Both done.", [LOOK, BOOK]),
    "an id that comes again": ("graph", "same id again", "Done.", [LOOK, BOOK._replace(arguments={})]),
    "a call that comes again": (
        "graph",
        "same call again",
        "Done.",
        [LOOK, Call("look", {"q": "b"}, result={"success": True, "found": "b"})],
    ),
    "unknown tool": (
        "graph",
        "unknown",
        "I cannot fly.",
        [Call("fly", {"to": "moon"}, success=False, started=False, ran=False, error="fly is not a valid tool")],
    ),
    "invalid call": (
        "graph",
        "invalid",
        "",
        [Call("look", '{"q": ', success=False, started=False, ran=False, error="no JSON", result=None)],
    ),
    "bad arguments": (
        "graph",
        "bad arguments",
        "Sorry.",
        [Call("look", {"q": {"no": "text"}}, success=False, started=False, ran=False, error="valid string")],
    ),
    "handled exception": (
        "graph",
        "boom",
        "That broke.",
        [Call("boom", success=False, error="ValueError: fuse blown")],
    ),
    "retried node": ("retrying", "flaky", "At last.", [TRIED, Call("flaky")]),
    "retried by middleware": ("patient", "flaky", "At last.", [TRIED, Call("flaky")]),
    "no result": ("graph", "nothing", "Nothing.", [Call("nothing", result="null")]),
    "plain text": ("graph", "plain", "Plain.", [Call("plain", result="plain text")]),
    "content blocks": ("graph", "blocks", "In blocks.", [Call("blocks", success=False, missing=("vin",))]),
    "deeply nested text": ("graph", "deep", "Deep.", [Call("deep", result="[" * 200_000)]),
    "direct answer of a tool": ("direct_agent", "direct", "the tool's own words", [Call("direct")]),
    "an empty answer stays empty": ("graph", "silent end", "", [LOOK]),
    "subgraph as a node": ("nested", "two at once", "And outside.", within("inner", LOOK, BOOK)),
    "hidden subgraph": ("hidden", "two at once", "It says: Both done.", within("only", LOOK, BOOK)),
    "unknown tool in a hidden subgraph": (
        "hidden",
        "unknown",
        "It says: I cannot fly.",
        [Call("fly", {"to": "moon"}, False, started=False, ran=False, error="not a valid tool", parent="only")],
    ),
    "messages that were cut away": ("forgetful", "two at once", "Only this is left.", within("agent", LOOK, BOOK)),
    "tools that a node calls itself": (
        "by_hand",
        "hi",
        "Looked by hand.",
        [Call("plain", result="plain text"), Call("look", {"q": "aside"}), Call("look", {"q": "by hand"})],
    ),
}


@pytest.mark.parametrize(("name", "prompt", "final", "rows"), TURNS.values(), ids=TURNS)
async def test_a_turn(name: str, prompt: str, final: str, rows: list[Call]) -> None:
    async with graph(name) as target:
        trace = await ask(target, prompt)
    assert trace.final_message == final
    check(trace.tool_calls, rows)
    assert cap_trace(trace).case_id == "one"


async def test_a_tool_that_raises_spoils_the_turn_and_is_kept() -> None:
    context = RunContext()
    async with graph("raising") as target:
        with pytest.raises(TargetError) as caught:
            await target.run(case("boom"), context)
    assert str(caught.value) == "ValueError: fuse blown [agent]"
    partial = context.recorder.partial(case("boom"), caught.value.error)
    check(partial.tool_calls, [Call("boom", success=False, error="ValueError: fuse blown")])
    assert [message.role for message in partial.messages] == ["assistant"]


async def test_a_loop_that_was_ended_keeps_what_it_did() -> None:
    context = RunContext()
    async with graph("graph", options={"recursion_limit": 6}) as target:
        calls = (await target.run(case("loop"), context)).tool_calls
    assert [(call.name, call.arguments, call.success) for call in calls] == [("look", {"q": "again"}, True)] * 3


async def test_a_call_in_flight_is_kept_when_the_case_is_cancelled() -> None:
    context = RunContext()
    async with graph("graph") as target:
        running = asyncio.create_task(target.run(case("wait"), context))
        while [c.name for c in context.recorder.tool_calls or () if c.success] != ["look"]:
            assert not running.done()
            await asyncio.sleep(0.005)
        while len(context.recorder.tool_calls or ()) < 2:
            await asyncio.sleep(0.005)
        in_flight = context.recorder.partial(case("wait"), TraceError("timeout", "too long"))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await ask(target, "say next")).final_message == "next"
    check(in_flight.tool_calls, [LOOK, Call("wait", {"for": "ever"}, success=None, result=None)])
    partial = context.recorder.partial(case("wait"), TraceError("timeout", "too long"))
    check(
        partial.tool_calls,
        [
            LOOK,
            Call("wait", {"for": "ever"}, success=None, result=None),
            Call("fly", {}, success=None, started=False, ran=False, result=None),
        ],
    )
    assert partial.tool_calls[1].ended_at is None
    assert "tools" not in partial.unobserved


async def test_an_interrupt_asks_and_the_next_prompt_answers_it() -> None:
    waiting = Call("ask_person", {"what": "sure?"}, success=None, result=None)
    async with graph("remembering") as target:
        trace = await ask(target, "ask me")
        assert trace.final_message == "I will book it.\nAre you sure?"
        check(trace.tool_calls, [waiting])
        question = {"question": "Are you sure?"}
        asked = {"kind": "asks_approval", "tool": "", "arguments": question}
        assert trace.metadata == {"interrupts": [question], "approvals": [asked]}
        answered = await ask(target, "yes", setup_prompts=("ask me",))
    assert answered.final_message == "Booked."
    check(answered.tool_calls, [Call("ask_person", {"what": "sure?"}, result="the person said yes")])
    assert answered.metadata == {"approvals": [{**asked, "kind": "approved"}]}


async def test_an_agent_that_waits_for_approval_has_not_called_the_tool() -> None:
    async with graph("approving") as target:
        trace = await ask(target, "two at once")
    assert "Tool: book" in trace.final_message
    check(
        trace.tool_calls,
        [
            Call("look", {"q": "a"}, success=None, started=False, ran=False, result=None),
            Call("book", {"vehicle": 42}, success=None, started=False, ran=False, result=None),
        ],
    )


async def test_a_call_that_is_tried_again_is_a_call_each_time() -> None:
    async with graph("retrying") as target:
        calls = (await ask(target, "flaky twice")).tool_calls
    check(calls, [TRIED, Call("flaky"), Call("flaky")])
    for call, tries in zip(calls[1:], (2, 1), strict=True):
        assert len(call.result["tries"]) == tries
        assert call.started_at is not None
        assert call.ended_at is not None
        assert call.started_at <= call.result["tries"][-1] <= call.ended_at


async def test_calls_of_earlier_turns_are_not_counted_again() -> None:
    async with graph("repeating") as target:
        assert [call.name for call in (await ask(target, "hi")).tool_calls] == ["look"]
        assert (await ask(target, "thanks", setup_prompts=("hi",))).tool_calls == ()


async def test_tokens_are_counted_over_all_answers() -> None:
    async with graph("graph") as target:
        assert (await ask(target, "tokens")).tokens == Tokens(30, 5)
        assert (await ask(target, "plain")).tokens is None
    async with graph("hidden") as target:
        assert (await ask(target, "tokens")).tokens == Tokens(30, 5)


async def test_messages_have_roles_and_words() -> None:
    async with graph("graph") as target:
        trace = await ask(target, "blocks")
    assert [(m.role, m.content) for m in trace.messages] == [
        ("assistant", "One moment."),
        ("tool", '{"success": false, "missingFields": ["vin"]}'),
        ("assistant", "In blocks."),
    ]


async def test_huge_results_are_cut_and_said_to_be() -> None:
    async with graph("graph") as target:
        trace: Trace = cap_trace(await ask(target, "huge"))
    assert trace.cuts["final_message"].size == 3_000_000
    assert {"messages", "tool_results"} <= trace.cuts.keys()
    assert [(call.name, call.success) for call in trace.tool_calls] == [("huge", True)]


async def test_cases_side_by_side_do_not_mix() -> None:
    async with graph("graph") as target:
        prompts = ["two at once", "unknown", "plain", "same id again"] * 5
        traces = await asyncio.gather(*(ask(target, prompt, case_id=str(n)) for n, prompt in enumerate(prompts)))
        alone = {prompt: await ask(target, prompt) for prompt in set(prompts)}
    for prompt, trace in zip(prompts, traces, strict=True):
        expected = [(c.name, c.arguments, c.success) for c in alone[prompt].tool_calls]
        assert [(c.name, c.arguments, c.success) for c in trace.tool_calls] == expected


FORBIDDEN: tuple[dict[str, Any], ...] = (
    {"tool_calls_none": ["look"]},
    {"tool_calls_none": ["*"]},
    {"max_tool_calls": 0},
)


@pytest.mark.parametrize(
    ("name", "started", "success", "possible"),
    [
        ("loop_with_tool", True, True, []),
        ("loop_with_function", True, True, []),
        ("loop_unseen", False, None, ["look"]),
    ],
)
async def test_what_a_model_asks_for_within_a_node_is_a_call(
    name: str, started: bool, success: bool | None, possible: list[str]
) -> None:
    async with graph(name) as target:
        trace = await ask(target, "silent end")
    assert [(call.name, call.arguments, call.called, call.success) for call in trace.tool_calls] == [
        ("look", {"q": "a"}, started, success)
    ]
    assert [call.text for call in trace.possible_calls] == possible
    for expected in FORBIDDEN:
        verdict = carob.judge(carob.case(trace.case_id, "silent end", outcome="completed", **expected), trace)
        assert verdict.status == "FAIL", expected


async def test_an_answer_that_a_model_gives_as_a_call_is_none() -> None:
    async with graph("routing") as target:
        assert (await ask(target, "silent end")).tool_calls == ()
