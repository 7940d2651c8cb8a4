"""Real LangGraph graphs around a scripted chat model: it is no language model, it says what its script holds."""

from __future__ import annotations

import asyncio
import operator
import sys
from dataclasses import dataclass
from time import time
from typing import Annotated, Any, TypedDict

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ToolRetryMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from langgraph.types import Command, RetryPolicy, interrupt

from targets.behaviours import behave

HUGE = 3_000_000
TRIES: dict[str, list[float]] = {}
"""When the flaky tool was tried, by thread."""


def calling(*calls: tuple[str, dict[str, Any], str], text: Any = "") -> AIMessage:
    return AIMessage(text, tool_calls=[{"name": name, "args": args, "id": call_id} for name, args, call_id in calls])


SCRIPTS: dict[str, list[AIMessage]] = {
    "two at once": [
        calling(("look", {"q": "a"}, "c1"), ("book", {"vehicle": 42}, "c2")),
        AIMessage("Both done."),
    ],
    "same id again": [calling(("look", {"q": "a"}, "call_1")), calling(("book", {}, "call_1")), AIMessage("Done.")],
    "same call again": [
        calling(("look", {"q": "a"}, "call_1")),
        calling(("look", {"q": "b"}, "call_1")),
        AIMessage("Done."),
    ],
    "unknown": [calling(("fly", {"to": "moon"}, "c1")), AIMessage("I cannot fly.")],
    "invalid": [
        AIMessage(
            "",
            invalid_tool_calls=[
                {"type": "invalid_tool_call", "name": "look", "args": '{"q": ', "id": "c1", "error": "no JSON"}
            ],
        )
    ],
    "bad arguments": [calling(("look", {"q": {"no": "text"}}, "c1")), AIMessage("Sorry.")],
    "boom": [calling(("boom", {}, "c1")), AIMessage("That broke.")],
    "flaky": [calling(("flaky", {}, "c1")), AIMessage("At last.")],
    "flaky twice": [calling(("flaky", {}, "call_1")), calling(("flaky", {}, "call_1")), AIMessage("Twice.")],
    "nothing": [calling(("nothing", {}, "c1")), AIMessage("Nothing.")],
    "plain": [calling(("plain", {}, "c1")), AIMessage("Plain.")],
    "blocks": [
        calling(("blocks", {}, "c1"), text=[{"type": "text", "text": "One moment."}]),
        AIMessage([{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "In "}, "blocks."]),
    ],
    "deep": [calling(("deep", {}, "c1")), AIMessage("Deep.")],
    "huge": [calling(("huge", {}, "c1")), AIMessage("x" * HUGE)],
    "surrogates": [AIMessage("a\ud83d b\udfff")],
    "silent end": [calling(("look", {"q": "a"}, "c1"), text="Let me look."), AIMessage("")],
    "tokens": [
        AIMessage(
            "",
            tool_calls=[{"name": "look", "args": {"q": "a"}, "id": "c1"}],
            usage_metadata={"input_tokens": 10, "output_tokens": 2, "total_tokens": 12},
        ),
        AIMessage("Counted.", usage_metadata={"input_tokens": 20, "output_tokens": 3, "total_tokens": 23}),
    ],
    "wait": [calling(("look", {"q": "a"}, "c1"), ("wait", {"for": "ever"}, "c2"), ("fly", {}, "c3"))],
    "ask me": [calling(("ask_person", {"what": "sure?"}, "c1"), text="I will book it."), AIMessage("Booked.")],
    "loop": [calling(("look", {"q": "again"}, "c1"))] * 1000,
}


class ScriptedChatModel(BaseChatModel):
    """Says what the script of the last prompt holds, one message after the other."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        last = max(place for place, message in enumerate(messages) if message.type == "human")
        prompt = messages[last].text
        said = sum(message.type == "ai" for message in messages[last:])
        if prompt.startswith("say "):
            message = AIMessage(prompt.removeprefix("say "))
        elif prompt == "recall":
            message = AIMessage(" | ".join(m.text for m in messages if m.type == "human"))
        elif prompt == "crash":
            raise ValueError("the agent\nbroke")
        else:
            message = SCRIPTS[prompt][said]
        return ChatResult(generations=[ChatGeneration(message=message.model_copy(update={"id": None}))])


@tool
async def look(q: str) -> dict[str, Any]:
    """Look something up."""
    return {"success": True, "found": q}


@tool
def book(vehicle: int | None = None) -> dict[str, Any]:
    """Book a vehicle; a sync tool, which LangGraph runs in a thread."""
    return {"success": False, "missing_fields": ["date", 7]}


@tool
async def boom() -> str:
    """Break."""
    raise ValueError("fuse blown")


@tool
async def flaky(config: RunnableConfig) -> dict[str, Any]:
    """Break on the first try in each thread, and tell when it was tried since it last worked."""
    thread = config["configurable"]["thread_id"]
    tries = TRIES.setdefault(thread, [])
    tries.append(time())
    if tries[0] == tries[-1]:
        raise ConnectionError("try again")
    TRIES[thread] = [0.0]
    return {"tries": [moment for moment in tries if moment]}


@tool
async def nothing() -> None:
    """Return nothing."""


@tool
async def plain() -> str:
    """Return text."""
    return "plain text"


@tool
async def blocks() -> list[dict[str, Any]]:
    """Return content blocks, as tools of MCP servers do."""
    return [{"type": "text", "text": '{"success": false, '}, {"type": "text", "text": '"missingFields": ["vin"]}'}]


@tool
async def deep() -> str:
    """Return what looks like JSON and is a trap for parsers."""
    return "[" * 200_000


@tool
async def huge() -> str:
    """Return a lot."""
    return "y" * HUGE


@tool("wait")
async def wait(**_: Any) -> None:
    """Never end."""
    await asyncio.Event().wait()


@tool
async def ask_person(what: str) -> str:
    """Ask the person before going on."""
    return f"the person said {interrupt({'question': f'Are you {what}'})}"


TOOLS = [look, book, boom, flaky, nothing, plain, blocks, deep, huge, wait, ask_person]


def react(state: type = MessagesState, *, handle: Any = True, retry: RetryPolicy | None = None, **compiled: Any) -> Any:
    """model → tools → model."""

    async def model(state: Any) -> dict[str, Any]:
        return {"messages": [await ScriptedChatModel().ainvoke(state["messages"])]}

    builder = StateGraph(state)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode(TOOLS, handle_tool_errors=handle), retry_policy=retry)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", lambda s: "tools" if s["messages"][-1].tool_calls else END)
    builder.add_edge("tools", "model")
    return builder.compile(**compiled)


graph = react()
remembering = react(checkpointer=InMemorySaver())


class LostSaver(InMemorySaver):
    """A saver whose database is gone."""

    async def aget_tuple(self, config: Any) -> Any:
        raise OSError("connection refused")


unreachable_saver = react(checkpointer=LostSaver())
raising = react(handle=False)
retrying = react(handle=False, retry=RetryPolicy(max_attempts=3, initial_interval=0.001, retry_on=ConnectionError))
modest = react().with_config(recursion_limit=7)
agent = create_agent(ScriptedChatModel(), [look, book, plain, blocks])
approving = create_agent(
    ScriptedChatModel(),
    [look, book],
    middleware=[HumanInTheLoopMiddleware(interrupt_on={"book": True})],
    checkpointer=InMemorySaver(),
)
patient = create_agent(
    ScriptedChatModel(), [flaky], middleware=[ToolRetryMiddleware(max_retries=2, initial_delay=0.001, jitter=False)]
)


def factory() -> Any:
    return react()


async def async_factory() -> Any:
    await asyncio.sleep(0)
    return react()


def factory_with_a_default(model: Any = None) -> Any:
    return react()


def factory_of_context(context: dict[str, Any]) -> Any:
    """A graph for one conversation: it knows its lab."""
    return answering(f"lab {context['lab']} of {context['case']}")


def factory_that_asks_for_more(model: Any) -> Any:
    return react()


def factory_that_breaks() -> Any:
    raise RuntimeError("no model here")


def factory_that_breaks_for_some(context: dict[str, Any]) -> Any:
    if context["case"] == "bad":
        raise RuntimeError("no lab for it")
    return answering("fine")


def factory_of_something_else() -> str:
    return "not a graph"


number = 42


def answering(words: str) -> Any:
    return single(lambda _: {"messages": [AIMessage(words)]})


def single(node: Any, state: Any = MessagesState, **rest: Any) -> Any:
    """A graph of one node."""
    builder = StateGraph(state, **rest)
    builder.add_node("only", node)
    builder.add_edge(START, "only")
    builder.add_edge("only", END)
    return builder.compile()


def for_lab(case_id: str) -> dict[str, Any]:
    """The setup hook."""
    return {"lab": 7, "case": case_id}


def bare_lab() -> str:
    """A setup hook that gives something else than a dict."""
    return "lab 9"


@dataclass
class Lab:
    lab: int
    case: str


def _by_context(_: Any, runtime: Runtime[Lab]) -> dict[str, Any]:
    return {"messages": [AIMessage(f"lab {runtime.context.lab} of {runtime.context.case}")]}


def _by_config(_: Any, config: RunnableConfig) -> dict[str, Any]:
    configurable = config["configurable"]
    return {"messages": [AIMessage(f"lab {configurable['lab']} of {configurable['case']}")]}


def _thread(_: Any, config: RunnableConfig) -> dict[str, Any]:
    return {"messages": [AIMessage(config["configurable"]["thread_id"])]}


def _bare(_: Any, config: RunnableConfig) -> dict[str, Any]:
    return {"messages": [AIMessage(config["configurable"]["context"])]}


by_context = single(_by_context, context_schema=Lab)
by_config = single(_by_config)
by_bare_config = single(_bare)
thread = single(_thread)


class Parts(TypedDict):
    question: str
    parts: list[str]


wordless = single(lambda _: {"parts": []}, Parts)


class AnyMessages(TypedDict):
    messages: Annotated[list[Any], operator.add]


class LastMessages(TypedDict):
    messages: list[Any]


as_dicts = single(lambda _: {"messages": [{"role": "assistant", "content": "a dict"}]}, AnyMessages)
unreadable = single(lambda _: {"messages": [42]}, AnyMessages)
overwriting = single(lambda _: {"messages": [AIMessage("only this")]}, LastMessages)


@entrypoint()
async def functional(table: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [*table["messages"], AIMessage("by function")]}


@entrypoint()
async def functional_number(table: dict[str, Any]) -> int:
    return 42


@entrypoint()
async def functional_dict(table: dict[str, Any]) -> dict[str, Any]:
    return {"answer": "by function"}


async def _forgetful(state: Any) -> dict[str, Any]:
    """Cut the conversation down to its answer, as graphs with long conversations do."""
    dropped = [RemoveMessage(id=message.id) for message in state["messages"]]
    return {"messages": [*dropped, AIMessage("Only this is left.")]}


async def _repeating(state: Any) -> dict[str, Any]:
    """Give the whole conversation again at every turn, and call a tool in the first."""
    looked = [calling(("look", {"q": "a"}, "c1")), ToolMessage("found", tool_call_id="c1")]
    new = looked if len(state["messages"]) == 1 else []
    return {"messages": [*state["messages"], *new, AIMessage("Here it is.")]}


def forgetful() -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("agent", react())
    builder.add_node("cut", _forgetful)
    builder.add_edge(START, "agent")
    builder.add_edge("agent", "cut")
    builder.add_edge("cut", END)
    return builder.compile()


async def _hidden(state: Any) -> dict[str, Any]:
    """Ask a subgraph and tell of its last message alone."""
    inner = await react().ainvoke({"messages": [HumanMessage(state["messages"][-1].text)]})
    return {"messages": [AIMessage(f"It says: {inner['messages'][-1].text}")]}


async def _by_hand(state: Any) -> dict[str, Any]:
    """Call tools without a ToolNode, tell of one of them, and all at the end."""
    await plain.ainvoke({})
    await look.ainvoke({"q": "aside"})
    result = await look.ainvoke({"q": "by hand"})
    return {
        "messages": [
            calling(("look", {"q": "by hand"}, "c1")),
            ToolMessage(str(result), tool_call_id="c1"),
            AIMessage("Looked by hand."),
        ]
    }


async def _handing_over(state: Any) -> Command[Any]:
    return Command(update={"messages": [AIMessage("Handed over.")]})


def nested() -> Any:
    """A graph whose first node is a graph: its messages are the outer graph's too."""
    builder = StateGraph(MessagesState)
    builder.add_node("inner", react())
    builder.add_node("after", lambda _: {"messages": [AIMessage("And outside.")]})
    builder.add_edge(START, "inner")
    builder.add_edge("inner", "after")
    builder.add_edge("after", END)
    return builder.compile()


hidden = single(_hidden)
repeating = single(_repeating)
by_hand = single(_by_hand)
commanding = single(_handing_over)


@tool(return_direct=True)
async def direct() -> str:
    """Answer the person directly."""
    return "the tool's own words"


SCRIPTS["direct"] = [calling(("direct", {}, "c1"))]
direct_agent = create_agent(ScriptedChatModel(), [direct])


def _behave(state: Any) -> dict[str, Any]:
    prompt = state["messages"][-1].text
    if prompt == "exit":
        sys.exit(3)
    return {"messages": [AIMessage(prompt)]}


exiting = single(_behave)
conforming = single(lambda state: {"messages": [AIMessage(behave(state["messages"][-1].text, None))]})
"""Behaves as the agents of the other kinds do, as far as a graph can."""


def own_loop(run: str) -> Any:
    """A node that runs what its model asks for by itself, and writes no more than the answer to the state."""

    async def node(state: Any) -> dict[str, Any]:
        messages = [*state["messages"]]
        asked = await ScriptedChatModel().ainvoke(messages)
        [call] = asked.tool_calls
        if run == "tool":
            messages += [asked, await look.ainvoke(call)]
        elif run == "function":
            messages += [asked, ToolMessage('{"success": true}', tool_call_id=call["id"])]
        else:
            return {"messages": [AIMessage("Looked.")]}
        return {"messages": [AIMessage((await ScriptedChatModel().ainvoke(messages)).text)]}

    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile()


loop_with_tool, loop_with_function, loop_unseen = own_loop("tool"), own_loop("function"), own_loop("unseen")


class Route(TypedDict):
    """Where to go."""

    q: str


def route() -> Any:
    """A node whose model gives its answer as a call."""

    async def node(state: Any) -> dict[str, Any]:
        format = {"kwargs": {"method": "function_calling"}, "schema": Route}
        await ScriptedChatModel().ainvoke(state["messages"], ls_structured_output_format=format)
        return {"messages": [AIMessage("Routed.")]}

    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile()


routing = route()
