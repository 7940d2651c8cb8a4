"""Kinds of graphs that nobody wrote for Carob, around a chat model that says what its rules hold: it is no model."""

from __future__ import annotations

import datetime
import os
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypedDict

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ToolRetryMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.managed import RemainingSteps
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt
from pydantic import BaseModel

Rules = list[tuple[str, AIMessage]]


def calling(*calls: tuple[str, dict[str, Any]], text: Any = "") -> AIMessage:
    made = [{"name": name, "args": args, "id": f"{name}-{place}"} for place, (name, args) in enumerate(calls)]
    return AIMessage(text, tool_calls=made)


class RuleModel(BaseChatModel):
    """Says what stands at the first rule whose words are in the last message."""

    rules: list[Any]

    @property
    def _llm_type(self) -> str:
        return "rules"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        last = messages[-1].text
        said = next((answer for words, answer in self.rules if words in last), AIMessage(f"I heard: {last}"))
        return ChatResult(generations=[ChatGeneration(message=said.model_copy(update={"id": None}))])


@tool
async def find(day: str) -> dict[str, Any]:
    """Find a room."""
    return {"success": day != "Sunday", "room": "Blue"}


@tool
def book(room: str) -> dict[str, Any]:
    """Book a room; what it gives holds a date, so LangChain hands it on as Python prints it."""
    return {"success": room != "Red", "when": datetime.date(2026, 1, 5)}


@tool
def pay(room: str) -> str:
    """Pay for a room."""
    return "Error: nothing was paid" if room == "Red" else f"{room} is paid"


TOOLS = [find, book, pay]
DESK: Rules = [
    ("Book Red", calling(("book", {"room": "Red"}))),
    ("Book", calling(("find", {"day": "Friday"}))),
    ("Pay Red", calling(("pay", {"room": "Red"}))),
    ("Fly", calling(("fly", {"to": "Rome"}))),
    ("Which", calling(("find", {"date": "Friday"}))),
    ("Try", calling(("wobble", {}))),
    ("steady now", AIMessage("It holds.")),
    ("Both", calling(("book", {"room": "Blue"}), ("pay", {"room": "Blue"}))),
    ('"room": "Blue"', calling(("book", {"room": "Blue"}))),
    ("'success': True", AIMessage("Blue is yours.")),
    ("'success': False", AIMessage("Red is taken.")),
    ("nothing was paid", AIMessage("I could not pay.")),
    ("not a valid tool", AIMessage("I cannot fly.")),
    ("is paid", AIMessage("Booked and paid.")),
    ("Error invoking", AIMessage("Which day?")),
    ("rejected", AIMessage("Then not.")),
    ("no thanks", AIMessage("Then not.")),
    ("transferred to rooms", calling(("find", {"day": "Friday"}))),
]
MODEL = RuleModel(rules=DESK)


def react(**compiled: Any) -> Any:
    return builder().compile(**compiled)


def builder() -> Any:
    async def think(state: Any) -> dict[str, Any]:
        return {"messages": [await MODEL.ainvoke(state["messages"])]}

    made = StateGraph(MessagesState)
    made.add_node("think", think)
    made.add_node("tools", ToolNode(TOOLS))
    made.add_edge(START, "think")
    made.add_conditional_edges("think", lambda s: "tools" if s["messages"][-1].tool_calls else END)
    made.add_edge("tools", "think")
    return made


graph = react()
uncompiled = builder()
agent = create_agent(MODEL, TOOLS)
stopping = react(checkpointer=InMemorySaver(), interrupt_before=["tools"])


async def async_factory() -> Any:
    return react()


def by_config(config: RunnableConfig) -> Any:
    rules: Rules = [("", AIMessage(f"Hello from {config['configurable']['desk']}."))]
    return create_agent(RuleModel(rules=rules), [])


@asynccontextmanager
async def in_a_context() -> AsyncIterator[Any]:
    os.environ["CAROB_KINDS"] = "open"
    yield react()
    del os.environ["CAROB_KINDS"]


@contextmanager
def in_a_sync_context() -> Iterator[Any]:
    yield react()


def desk() -> dict[str, Any]:
    """The setup hook."""
    return {"desk": "Desk 7"}


def _greeting(_: Any, runtime: Runtime[Any]) -> dict[str, Any]:
    return {"messages": [AIMessage(f"Hello from {runtime.context['desk']}.")]}


def single(node: Any, state: Any = MessagesState, **rest: Any) -> Any:
    made = StateGraph(state, **rest)
    made.add_node("only", node)
    made.add_edge(START, "only")
    made.add_edge("only", END)
    return made.compile()


without_schema = single(_greeting)


class Question(TypedDict):
    user_input: str
    user_name: str
    reply: dict[str, Any]


async def _reply(state: Any) -> dict[str, Any]:
    result = await find.ainvoke({"day": state["user_input"].split()[-1]})
    return {"reply": {"words": f"{state['user_name']}, {result['room']} is free."}}


own_state = single(_reply, Question)


def ask_hook(prompt: str, context: Any) -> dict[str, Any]:
    """A hook that makes the input of a graph."""
    return {"user_input": prompt.rstrip("."), "user_name": "Bo"}


@task
async def _look(day: str) -> Any:
    return await find.ainvoke({"day": day})


@entrypoint()
async def text_to_text(prompt: str) -> str:
    result = await _look(prompt.split()[-1])
    return f"{result['room']} is free."


@entrypoint()
async def messages_to_messages(messages: list[AnyMessage]) -> list[AnyMessage]:
    result = await _look(messages[-1].text.split()[-1])
    return [*messages, AIMessage(f"{result['room']} is free.")]


@entrypoint()
async def dict_to_dict(table: dict[str, Any]) -> dict[str, Any]:
    result = await _look(table["day"])
    return {"answer": f"{result['room']} is free."}


@entrypoint(checkpointer=InMemorySaver())
async def asking_entrypoint(prompt: str) -> str:
    return f"You said {interrupt('Which day?')}."


@tool
async def sign(paper: str) -> str:
    """Sign a paper, if the person agrees."""
    return f"signed: {interrupt({'question': f'Sign {paper}?'})}"


SIGNING = RuleModel(
    rules=[("Sign", calling(("sign", {"paper": "A"}), text="One moment.")), ("signed", AIMessage("Done."))]
)
signing = create_agent(SIGNING, [sign], checkpointer=InMemorySaver())
forgetting = create_agent(SIGNING, [sign])
approving = create_agent(
    MODEL,
    TOOLS,
    middleware=[HumanInTheLoopMiddleware(interrupt_on={"book": True, "pay": True})],
    checkpointer=InMemorySaver(),
)
approving_each = create_agent(
    MODEL,
    TOOLS,
    middleware=[HumanInTheLoopMiddleware(interrupt_on={"book": True, "pay": True}, interrupt_mode="per_call")],
    checkpointer=InMemorySaver(),
)


class Weather(BaseModel):
    """The weather."""

    city: str
    degrees: int


structured = create_agent(
    RuleModel(rules=[("weather", calling(("Weather", {"city": "Rome", "degrees": 21})))]),
    [find],
    response_format=ToolStrategy(Weather, tool_message_content="Here you are."),
)

SEARCHED: list[Any] = [
    {"type": "server_tool_call", "id": "s1", "name": "web_search", "args": {"query": "rooms"}},
    {"type": "server_tool_result", "tool_call_id": "s1", "status": "success", "output": "3 rooms"},
    {"type": "server_tool_use", "id": "s2", "name": "code_execution", "input": {"code": "1/0"}},
    {
        "type": "code_execution_tool_result",
        "tool_use_id": "s2",
        "content": {"type": "code_execution_tool_result_error", "error_code": "unavailable"},
    },
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "beds"}},
    {"type": "text", "text": "There are three."},
]
searching = create_agent(RuleModel(rules=[("rooms", AIMessage(SEARCHED))]), [])


@tool
async def ask_expert(question: str) -> str:
    """Ask an agent that is a tool of this one."""
    answered = await agent.ainvoke({"messages": [("user", question)]})
    return str(answered["messages"][-1].text)


nested_agents = create_agent(
    RuleModel(
        rules=[("expert", calling(("ask_expert", {"question": "Book a room"}))), ("yours", AIMessage("It is done."))]
    ),
    [ask_expert],
)


class Counted(MessagesState):
    remaining_steps: RemainingSteps


def _tired(_: Any) -> dict[str, Any]:
    return {"messages": [AIMessage("Sorry, need more steps to process this request.")]}


tired = single(_tired, Counted)
looping = create_agent(RuleModel(rules=[("", calling(("pay", {"room": "Blue"})))]), TOOLS)


def supervised() -> Any:
    from langgraph_supervisor import create_supervisor

    warnings.simplefilter("ignore")  # it still calls what LangGraph has moved elsewhere
    rooms = create_agent(MODEL, TOOLS, name="rooms")
    rules: Rules = [("Book", calling(("transfer_to_rooms", {}))), ("", AIMessage("The desk booked Blue."))]
    return create_supervisor([rooms], model=RuleModel(rules=rules)).compile()


def swarm() -> Any:
    from langgraph_swarm import create_handoff_tool, create_swarm

    rooms = create_agent(
        RuleModel(rules=[("transferred", calling(("find", {"day": "Friday"}))), ("room", AIMessage("Blue is free."))]),
        TOOLS,
        name="rooms",
    )
    front = create_agent(
        RuleModel(rules=[("", calling(("transfer_to_rooms", {})))]),
        [create_handoff_tool(agent_name="rooms")],
        name="front",
    )
    return create_swarm([front, rooms], default_active_agent="front")


def deep() -> Any:
    from deepagents import create_deep_agent

    rules: Rules = [
        ("Plan", calling(("task", {"description": "Book a room", "subagent_type": "rooms"}))),
        ("yours", AIMessage("The room is booked.")),
    ]
    rooms: Any = {"name": "rooms", "description": "Books rooms.", "runnable": create_agent(MODEL, TOOLS)}
    return create_deep_agent(RuleModel(rules=rules), subagents=[rooms])


def sync_saver() -> Any:
    import sqlite3

    from langgraph.checkpoint.sqlite import SqliteSaver

    return react(checkpointer=SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False)))


def _going(_: Any) -> Command[Any]:
    return Command(update={"messages": [AIMessage("Handed over.")]})


commanding = single(_going)


class Wobbling:
    """A tool that breaks on every first try."""

    tries = 0


@tool
async def wobble() -> str:
    """Break every other time."""
    Wobbling.tries += 1
    if Wobbling.tries % 2:
        raise ConnectionError("wobbles")
    return "steady now"


trying_again = create_agent(
    MODEL, [wobble], middleware=[ToolRetryMiddleware(max_retries=2, initial_delay=0.001, jitter=False)]
)


async def _twice(state: Any) -> dict[str, Any]:
    """A loop of the agent's own, within one node."""
    for _ in range(2):
        with suppress(ConnectionError):
            return {"messages": [AIMessage(await wobble.ainvoke({}))]}
    return {"messages": [AIMessage("It never held.")]}


looping_inside = single(_twice)


async def _outer(state: Any) -> dict[str, Any]:
    inner = await graph.ainvoke({"messages": state["messages"]})
    return {"messages": [AIMessage(f"They say: {inner['messages'][-1].text}")]}


hidden = single(_outer)


def nested() -> Any:
    made = StateGraph(MessagesState)
    made.add_node("desk", react())
    made.add_edge(START, "desk")
    return made


def prebuilt() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from langgraph.prebuilt import create_react_agent

        return create_react_agent(MODEL, TOOLS)


@tool
async def boom() -> str:
    """Break."""
    raise ValueError("fuse blown")


raising = create_agent(RuleModel(rules=[("", calling(("boom", {})))]), [boom])


@tool(response_format="content_and_artifact")
async def fetch(name: str) -> tuple[str, dict[str, Any]]:
    """Words for the model, and data beside them."""
    return "Have a look.", {"ok": False, "name": name}


artifacts = create_agent(
    RuleModel(rules=[("Fetch", calling(("fetch", {"name": "A"}))), ("look", AIMessage("I looked."))]), [fetch]
)
