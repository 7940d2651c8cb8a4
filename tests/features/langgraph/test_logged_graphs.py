"""Kinds of graphs beyond those of the docs: what is recorded is what the tools wrote down themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import carob
from carob.model.trace import Trace
from features.langgraph import logged_graphs
from features.langgraph.tool_log import LOG
from targets.conftest import ask, opened

HERE = Path(__file__).parent
NAMES = [*logged_graphs.GRAPHS]
ANSWERED = frozenset(
    {
        "a tool that asks a person",
        "a node that asks and starts anew",
        "an entrypoint that asks",
        "middleware: approved",
    }
)
"""Those that ask, and are answered in a second turn."""
REMOTE = frozenset({"a remote graph", "a remote graph as a node", "a node that asks a remote graph"})
"""Those that call tools where they are not seen."""
UNLOGGED = frozenset({"expert", "task", "transfer_to_rooms", "transfer_to_back", "transfer_back_to_supervisor"})
"""Tools that are agents or hand over, which write nothing down."""
ENDS = {True: "ok", False: "raised", None: "cut"}


async def trace_of(name: str) -> Trace:
    LOG.clear()
    setup = ("Go",) if name in ANSWERED else ()
    async with opened("langgraph", f"logged_graphs.py:graph_{NAMES.index(name)}", HERE) as target:
        return await ask(target, "yes" if setup else "Go", setup_prompts=setup)


def entries(trace: Trace) -> list[str]:
    calls = [*trace.setup_calls, *trace.tool_calls]
    return sorted(entry(c.name, c.arguments, ENDS[c.success]) for c in calls if c.called and c.name not in UNLOGGED)


def entry(name: str, arguments: object, end: str) -> str:
    return f"{name}{json.dumps(arguments, sort_keys=True)} {end}"


def result(trace: Trace, **expected: object) -> tuple[str, str]:
    verdict = carob.judge({"id": trace.case_id, "prompt": "Go", "expected": expected}, trace)
    check = next(check for check in verdict.checks if check.name.startswith("tool_calls"))
    return check.status, check.found


@pytest.mark.filterwarnings("ignore::langchain_core._api.beta_decorator.LangChainBetaWarning")
@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
@pytest.mark.parametrize("name", NAMES)
async def test_what_ran_is_recorded(name: str) -> None:
    trace = await trace_of(name)
    assert entries(trace) == sorted(entry(*logged) for logged in LOG)
    status, why = result(trace, tool_calls_none=["wire_money"])
    if name in REMOTE:
        assert (status, "the remote graph 'far_desk' may have called" in why) == ("unknown", True)
    else:
        assert status == "passed"


async def test_an_answer_without_its_tool_is_no_call() -> None:
    trace = await trace_of("middleware: never")
    status, why = result(trace, tool_calls=[{"tool": "look"}])
    assert status == "unknown"
    assert why.startswith("look was answered, but the tool was not seen to run")


async def test_a_call_that_is_left_out_is_noticed() -> None:
    trace = await trace_of("a node's own pool of threads")
    lacking = carob.Trace(case_id="x", tool_calls=trace.tool_calls[1:])
    assert entries(lacking) != sorted(entry(*logged) for logged in LOG)


def test_there_are_forty() -> None:
    assert len(NAMES) >= 40
