"""Every kind of target through: answers, crashes, hangs, garbage, huge output, nothing, cancelled, hostile text."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from time import monotonic

import msgspec
import pytest

from carob.errors import SuiteError
from carob.journal.limits import cap_trace
from carob.model.trace import TEXT_CAP, Trace, TraceError
from carob.targets.base import RunContext, TargetError

from .behaviours import HUGE
from .conftest import PROGRAM, ask, case, opened

SYNC = ("python", "behaviours.py:sync_agent")
ASYNC = ("python", "behaviours.py:async_agent")
COMMAND = ("command", PROGRAM)
LANGGRAPH = ("langgraph", "features.langgraph.graphs:conforming")
AGENTS = [pytest.param(SYNC, id="sync"), pytest.param(ASYNC, id="async"), pytest.param(COMMAND, id="command")]
WITH_GRAPH = [*AGENTS, pytest.param(LANGGRAPH, id="langgraph")]

Agent = tuple[str, str]


def written(trace: Trace) -> Trace:
    """A trace as it is after the journal: capped, encoded, decoded."""
    capped = cap_trace(trace)
    again = msgspec.json.decode(msgspec.json.encode(capped), type=Trace)
    assert again == capped
    return again


@pytest.mark.parametrize("agent", AGENTS)
async def test_answers(agent: Agent) -> None:
    async with opened(*agent) as target:
        trace = written(await ask(target, "say hello"))
        assert (trace.case_id, trace.input, trace.final_message) == ("one", "say hello", "hello")
        assert set(trace.unobserved) == {"tools", "telemetry"}
        assert trace.error is None
        tools = written(await ask(target, "tools"))
        assert [(call.name, call.success) for call in tools.tool_calls] == [("lookup", True)]
        assert set(tools.unobserved) == {"telemetry"}


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    ("prompt", "kinds", "message"),
    [
        pytest.param("crash", {"agent"}, {"ValueError: the agent broke", "exit status 1"}, id="crash"),
        pytest.param("exit", {"agent"}, {"SystemExit: 3", "exit status 3"}, id="exit"),
        pytest.param("none", {"bad-answer"}, {"returned None", "wrote 0 lines"}, id="none"),
        pytest.param("garbage", {"bad-answer"}, {"type int", "it wrote: \x00 no JSON"}, id="garbage"),
        pytest.param("typo", {"bad-answer"}, {"Did you mean 'final_message'?", "wrote 0 lines"}, id="typo"),
        pytest.param("wrong type", {"bad-answer"}, {"Expected `array"}, id="wrong-type"),
    ],
)
async def test_breaks(agent: Agent, prompt: str, kinds: set[str], message: set[str]) -> None:
    async with opened(*agent) as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, prompt)
        assert caught.value.kind in kinds
        assert any(part in caught.value.message for part in message), caught.value.message
        assert "\n" not in caught.value.message
        if prompt == "crash":
            assert "ValueError" in caught.value.detail
        assert (await ask(target, "say still there")).final_message == "still there"


async def test_a_graph_that_breaks() -> None:
    async with opened(*LANGGRAPH) as target:
        with pytest.raises(TargetError, match="ValueError: the agent broke") as caught:
            await ask(target, "crash")
        assert (caught.value.kind, "Traceback" in caught.value.detail) == ("agent", True)
        assert (await ask(target, "say still there")).final_message == "still there"


@pytest.mark.parametrize("agent", AGENTS)
async def test_hangs_and_is_cancelled(agent: Agent) -> None:
    context = RunContext()
    async with opened(*agent) as target:
        running = asyncio.create_task(target.run(case("hang"), context))
        while context.recorder.tool_calls is None or context.recorder.telemetry is None:
            assert not running.done()
            await asyncio.sleep(0.01)
        cancelled_at = monotonic()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(running, 0.01)
        assert monotonic() - cancelled_at < 5
        partial = written(context.recorder.partial(case("hang"), TraceError("timeout", "too long")))
        assert [call.name for call in partial.tool_calls] == ["lookup", "search"]
        assert partial.telemetry == ('{"source":"tool.search","event":"start"}',)
        assert partial.unobserved.keys() == {"page"}
        assert (await ask(target, "say next")).final_message == "next"


@pytest.mark.parametrize("agent", WITH_GRAPH)
async def test_huge_output_is_kept_as_a_prefix(agent: Agent) -> None:
    async with opened(*agent) as target:
        trace = written(await ask(target, "huge"))
    assert trace.final_message == "x" * TEXT_CAP
    assert trace.cuts["final_message"].size == HUGE
    assert trace.cut("final_message")


@pytest.mark.parametrize("agent", WITH_GRAPH)
@pytest.mark.parametrize(
    ("prompt", "message"),
    [("surrogates", "a\ufffd b\ufffd"), ("nul", "a\x00\x1b[31mb"), ("say ünï 🎉 \u2028", "ünï 🎉 \u2028")],
)
async def test_hostile_text(agent: Agent, prompt: str, message: str) -> None:
    async with opened(*agent) as target:
        assert written(await ask(target, prompt)).final_message == message


@pytest.mark.parametrize("agent", AGENTS[:2])
async def test_results_that_json_cannot_hold(agent: Agent) -> None:
    async with opened(*agent) as target:
        trace = written(await ask(target, "unjsonable"))
    result = trace.tool_calls[0].result
    assert (result["nan"], result["infinite"]) == ("NaN", "-Infinity")
    assert result["opaque"].startswith("<opaque xxx")
    assert len(result["opaque"]) < 2_100
    assert (result["hostile"], result["set"], result["when"]) == (
        "<Hostile that cannot be shown>",
        [1],
        "2026-01-01T00:00:00Z",
    )
    assert (result["(1, 2)"], result["3"], result["surrogate \ufffd"]) == ("key", "number key", "\ufffd")
    assert result["big"] == str(1 << 70)


RECORDED = {
    "answers": {"final_message": "hello", "tools_called": []},
    "crash": {"error": {"kind": "agent", "message": "ValueError: boom", "retry_after": 3}, "telemetry": []},
    "huge": {"final_message": "x" * 3_000_000},
    "surrogates": {"final_message": "a\ud83d"},
    "nul": {"final_message": "a\x00"},
    "nan": {"final_message": "", "tool_calls": [{"name": "a", "result": float("nan")}]},
}


async def test_replay(tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    file.write_text("".join(json.dumps({"case_id": key, **value}) + "\n" for key, value in RECORDED.items()))
    async with opened("replay", str(file)) as target:
        traces = {}
        for key in RECORDED.keys() - {"crash"}:
            traces[key] = written(await ask(target, "any", case_id=key))
        with pytest.raises(TargetError, match="boom") as caught:
            await ask(target, "any", case_id="crash")
    assert traces["answers"].final_message == "hello"
    assert traces["answers"].unobserved.keys() == {"tool_results", "telemetry"}
    assert traces["huge"].cuts["final_message"].size == 3_000_000
    assert traces["surrogates"].final_message == "a\ufffd"
    assert traces["nul"].final_message == "a\x00"
    assert traces["nan"].tool_calls[0].result == "NaN"
    assert (caught.value.kind, caught.value.retry_after) == ("agent", 3)
    assert caught.value.partial is not None


@pytest.mark.parametrize(
    "text", ["\x00garbage\n", "42\n", "{" * 200_000, '{"case_id": "a"}\n', '{"case_id": "a", "final']
)
async def test_replay_of_garbage_is_refused_before_any_case(tmp_path: Path, text: str) -> None:
    file = tmp_path / "traces.jsonl"
    file.write_text(text)
    with pytest.raises(SuiteError, match=rf"{file}:1:1"):
        async with opened("replay", str(file)):
            pass


def test_the_table_of_ways_of_building_agents_is_that_of_the_live_tests() -> None:
    from counterparts.ways_of_building import WAYS, table

    assert table() in (Path(__file__).parents[2] / "docs" / "conformance.md").read_text("utf-8")
    assert len(WAYS) >= 20
