"""The whole agent: what it says, what it calls, what it streams, and how it behaves when something breaks."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from sqlalchemy.exc import OperationalError

from dyno_agent import lookups
from dyno_agent.graph import GAVE_UP, TOOL_BROKE, make_graph
from dyno_agent.policy import RECURSION_LIMIT
from dyno_agent.rule_based import RuleBasedChatModel
from dyno_agent.settings import ConfigurationError
from dyno_agent.testing import database_rows, setup, teardown
from dyno_agent.tools import TOOLS

Context = Any
"""What `setup` gives; LangGraph makes a DynoContext of it, which its types do not say."""


@pytest.fixture
async def context(database_url: str | None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Context]:
    """What `setup` gives, once on each database."""
    if database_url is not None:
        monkeypatch.setenv("DYNO_DATABASE_URL", database_url)
    made = await setup("graph")
    yield made
    await teardown(made)


@pytest.fixture
async def sqlite_context() -> AsyncIterator[Context]:
    made = await setup("graph")
    yield made
    await teardown(made)


class Scripted(BaseChatModel):
    """Says these things in turn, the last one for ever: a model that misbehaves as a test needs it."""

    script: list[AIMessage]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        said = sum(isinstance(message, AIMessage) for message in messages)
        message = self.script[min(said, len(self.script) - 1)]
        return ChatResult(generations=[ChatGeneration(message=message.model_copy(update={"id": None}))])


def calling(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "call_1", "type": "tool_call"}])


async def talk(context: Context, *turns: str, model: BaseChatModel | None = None) -> list[AnyMessage]:
    graph = make_graph(model or RuleBasedChatModel())
    messages: list[AnyMessage] = []
    for turn in turns:
        state: Any = {"messages": [*messages, HumanMessage(turn)]}
        messages = (await graph.ainvoke(state, context=context))["messages"]
    return messages


def tool_names(messages: list[AnyMessage]) -> list[str]:
    return [call["name"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]


def results(messages: list[AnyMessage]) -> list[dict[str, Any]]:
    return [json.loads(message.text) for message in messages if isinstance(message, ToolMessage)]


CONVERSATIONS = {
    "backup shift": (
        ["Allocate vehicle 42 (AWD, 4800 lbs) for a brake test from 2026-03-10 to 2026-03-11"],
        ["auto_allocate_vehicle"],
        ["Allocated with backup shift of 2 days", "Allocated in requested window: no"],
        1,
    ),
    "in the window": (
        ["Book VIN 3HKAC36509L000142 for a brake test on 20 March"],
        ["auto_allocate_vehicle"],
        ["Allocated in requested window: vehicle 42"],
        1,
    ),
    "unknown vehicle": (
        ["Book vehicle 999 for a brake test on 2026-03-20"],
        ["auto_allocate_vehicle"],
        ["Vehicle not found"],
        0,
    ),
    "answered question": (
        ["Book a brake test on 04/03/2026", "vehicle 42, and I mean 4 March 2026"],
        ["auto_allocate_vehicle"],
        ["Allocated in requested window", "2026-03-04"],
        1,
    ),
    "two vehicles": (
        ["Book vehicles 3 and 4 for a brake test on 2026-03-25"],
        ["auto_allocate_vehicle", "auto_allocate_vehicle"],
        ["vehicle 3 (", "vehicle 4 ("],
        2,
    ),
    "refusal": (["Delete all allocations"], [], ["I cannot do that", "read-only SELECT"], 0),
    "sql refused by the database": (
        ["Run SELECT 1; DELETE FROM allocations"],
        ["query_database"],
        ["Query refused: only a single read-only SELECT is run."],
        0,
    ),
    "sql": (
        ["SELECT id FROM vehicles WHERE drive = '4WD' ORDER BY id"],
        ["query_database"],
        ["3 rows.", "- id: 22"],
        0,
    ),
    "time": (["What day is it?"], ["get_datetime_now"], ["It is Monday, 2026-03-02 09:00."], 0),
    "knowledge": (["What makes a dyno compatible?"], [], ["supported_weight_classes", "supported_drives"], 0),
    "two topics in one conversation": (
        ["Is vehicle 7 booked?", "And are there any conflicts?"],
        ["check_vehicle_allocation", "detect_conflicts"],
        ["Conflicts detected in 4 bookings"],
        0,
    ),
}


@pytest.mark.parametrize(("turns", "tools", "words", "booked"), CONVERSATIONS.values(), ids=CONVERSATIONS)
async def test_a_conversation(
    context: Context, turns: list[str], tools: list[str], words: list[str], booked: int
) -> None:
    count = "SELECT count(*) AS n FROM allocations"
    before = (await database_rows(context, count))[0]["n"]
    messages = await talk(context, *turns)
    assert tool_names(messages) == tools
    for phrase in words:
        assert phrase in messages[-1].text
    assert (await database_rows(context, count))[0]["n"] == before + booked
    assert all({"success", "message"} <= result.keys() for result in results(messages))


async def test_every_tool_tells_what_is_missing(sqlite_context: Context) -> None:
    needed = {
        "auto_allocate_vehicle": ["vehicle_id", "test_type", "start_date"],
        "find_available_dynos": ["start_date"],
        "check_vehicle_allocation": ["vehicle_id"],
        "get_tests_by_status": ["status"],
        "query_database": ["sql"],
    }
    for tool in TOOLS:
        messages = await talk(sqlite_context, "x", model=Scripted(script=[calling(tool.name), AIMessage("done")]))
        assert results(messages)[0].get("missing_fields", []) == needed.get(tool.name, []), tool.name


async def test_progress_is_streamed(sqlite_context: Context) -> None:
    state: Any = {"messages": [("user", "Book vehicle 42 for a brake test on 2026-03-20")]}
    stream = make_graph(RuleBasedChatModel()).astream(state, context=sqlite_context, stream_mode="custom")
    events: list[Any] = [event async for event in stream]
    assert {event["source"] for event in events} == {"tool.auto_allocate_vehicle"}
    assert [event["event"] for event in events] == ["start", "progress", "progress", "result"]
    assert events[-1]["data"]["success"]


async def test_a_broken_tool_becomes_a_polite_answer(sqlite_context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> None:
        raise OperationalError("SELECT secret", None, Exception("disk on fire"))

    monkeypatch.setattr(lookups, "find_conflicts", broken)
    messages = await talk(sqlite_context, "Any conflicts?")
    assert messages[-1].text == TOOL_BROKE
    assert "fire" not in str(messages)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        pytest.param(calling("check_vehicle_allocation", vehicle_id="many"), "Invalid arguments", id="bad arguments"),
        pytest.param(calling("launch_rocket"), "launch_rocket is not a valid tool", id="unknown tool"),
    ],
)
async def test_a_model_that_calls_wrongly_is_told(sqlite_context: Context, call: AIMessage, words: str) -> None:
    messages = await talk(sqlite_context, "x", model=Scripted(script=[call, AIMessage("sorry")]))
    told = [message.text for message in messages if isinstance(message, ToolMessage)]
    assert words in told[0]
    assert messages[-1].text == "sorry"


async def test_a_model_that_never_stops_is_stopped_politely(sqlite_context: Context) -> None:
    messages = await talk(sqlite_context, "x", model=Scripted(script=[calling("get_datetime_now")]))
    assert messages[-1].text == GAVE_UP
    assert len(messages) <= RECURSION_LIMIT + 1


async def test_the_database_is_needed() -> None:
    state: Any = {"messages": [("user", "Any conflicts?")]}
    with pytest.raises(ConfigurationError, match=r"context"):
        await make_graph(RuleBasedChatModel()).ainvoke(state)


async def test_the_clock_is_the_context_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_NOW", "2027-07-01T08:30")
    made = await setup("clock")
    messages = await talk(made, "Book vehicle 42 for a brake test tomorrow")
    await teardown(made)
    assert "2027-07-02" in messages[-1].text


def test_without_its_tools_the_rule_based_model_says_so() -> None:
    answer = RuleBasedChatModel().bind_tools([]).invoke("Any conflicts?")
    assert answer.text == "Sorry, I have no tool for that here (detect_conflicts)."
    assert RuleBasedChatModel().invoke("What are the weight classes?").text.startswith("Weight classes: light")
