"""More kinds of graphs that nobody wrote for Carob: own shapes of state, middleware, fan-out, tools that command."""

from __future__ import annotations

import json
import operator
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from langchain.agents import create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    SummarizationMiddleware,
    ToolCallLimitMiddleware,
)
from langchain_core.language_models.chat_models import agenerate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode, tools_condition
from langgraph.runtime import Runtime
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel

from features.langgraph.kinds import MODEL, TOOLS, RuleModel, boom, calling, find, react, single


def looping(model: Any, tools: Any, state: Any = MessagesState, **compiled: Any) -> Any:
    """A model and its tools by turns; what a tool raises is answered with one sentence."""

    async def think(state: Any) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    made = StateGraph(state)
    made.add_node("think", think)
    made.add_node("tools", ToolNode(tools, handle_tool_errors="It broke, I am told."))
    made.add_edge(START, "think")
    made.add_conditional_edges("think", tools_condition)
    made.add_edge("tools", "think")
    return made.compile(**compiled)


@tool
def note(words: str, state: Annotated[Any, InjectedState], call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Keep a note; the state and the id of the call come from LangGraph, not from the model."""
    answer = ToolMessage(f"{words} after {len(state['messages'])} messages", tool_call_id=call)
    return Command(update={"messages": [answer], "noted": words})


class Noted(MessagesState):
    noted: str


noting = looping(
    RuleModel(rules=[("Note", calling(("note", {"words": "Blue"}))), ("after", AIMessage("Noted."))]), [note], Noted
)
handled = looping(
    RuleModel(
        rules=[("Try", calling(("boom", {}), ("find", {"day": "Friday"}))), ('"room"', AIMessage("Half of it."))]
    ),
    [boom, find],
)


class Streaming(RuleModel):
    """A model that can do nothing but stream, the arguments of its calls in pieces."""

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("it only streams")

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        return await agenerate_from_stream(self._astream(messages))

    async def _astream(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        said = RuleModel._generate(self, messages).generations[0].message
        for place, call in enumerate(said.tool_calls):
            arguments = json.dumps(call["args"])
            head = {"name": call["name"], "args": arguments[:4], "id": call["id"], "index": place}
            tail = {"name": None, "args": arguments[4:], "id": None, "index": place}
            for piece in (head, tail):
                yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=[piece]))
        for word in said.text.split():
            yield ChatGenerationChunk(message=AIMessageChunk(f"{word} "))


streaming = create_agent(Streaming(rules=MODEL.rules), TOOLS)


class Survey(TypedDict):
    topic: str
    parts: Annotated[list[str], operator.add]
    report: str


async def _look(state: Any) -> dict[str, Any]:
    result = await find.ainvoke({"day": state["day"]})
    return {"parts": [f"{state['day']}: {result['success']}"]}


def fan_out() -> Any:
    made = StateGraph(Survey)
    made.add_node("look", _look)
    made.add_node("join", lambda state: {"report": f"{state['topic']} {', '.join(sorted(state['parts']))}"})
    made.add_conditional_edges(START, lambda _: [Send("look", {"day": day}) for day in ("Friday", "Sunday")], ["look"])
    made.add_edge("look", "join")
    return made


class Asked(TypedDict):
    question: str


class Answered(TypedDict):
    answer: str


class Whole(MessagesState):
    question: str
    answer: str


def schemas() -> Any:
    """Messages are in its state, and in neither its input nor its output."""
    made = StateGraph(Whole, input_schema=Asked, output_schema=Answered)
    made.add_node("only", lambda state: {"messages": [AIMessage("Hm.")], "answer": f"About: {state['question']}"})
    made.add_edge(START, "only")
    return made


class Order(BaseModel):
    question: str


@dataclass
class Ticket:
    question: str


@entrypoint()
async def takes_a_model(order: Order) -> str:
    return f"You ask: {order.question}"


@entrypoint()
def takes_a_dataclass(ticket: Ticket) -> dict[str, Any]:
    return {"answer": f"You ask: {ticket.question}"}


@entrypoint(checkpointer=InMemorySaver())
async def remembers(prompt: str, *, previous: Any = None) -> Any:
    said = [*(previous or ()), prompt]
    return entrypoint.final(value=f"First you said {said[0]}, in all {len(said)} times.", save=said)


@dataclass
class Desk:
    name: str


def _greet(_: Any, runtime: Runtime[Desk]) -> dict[str, Any]:
    return {"messages": [AIMessage(f"Hello from {runtime.context.name}.")]}


greeting = single(_greet, context_schema=Desk)
AGAIN = RuleModel(rules=[("limit", AIMessage("That is enough.")), ("", calling(("find", {"day": "Friday"})))])
tool_limit = create_agent(AGAIN, TOOLS, middleware=[ToolCallLimitMiddleware(run_limit=1, exit_behavior="continue")])
model_limit = create_agent(AGAIN, TOOLS, middleware=[ModelCallLimitMiddleware(run_limit=2, exit_behavior="error")])
SUMMARY = SummarizationMiddleware(
    RuleModel(rules=[("", AIMessage("A summary."))]), trigger=("messages", 3), keep=("messages", 1)
)
summarizing = create_agent(MODEL, TOOLS, middleware=[SUMMARY], checkpointer=InMemorySaver())
HOLD = HumanInTheLoopMiddleware(interrupt_on={"pay": {"allowed_decisions": ["approve", "respond"]}})
answered_for = create_agent(MODEL, TOOLS, middleware=[HOLD], checkpointer=InMemorySaver())
stopping_after = react(checkpointer=InMemorySaver(), interrupt_after=["think"])


@tool
def move(call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Hand over to the other agent."""
    answer = ToolMessage("moved", tool_call_id=call)
    return Command(goto="back", graph=Command.PARENT, update={"messages": [answer]})


def office() -> Any:
    """Two agents as nodes of one graph, the first of which hands over to the second by a tool of its own."""
    made = StateGraph(MessagesState)
    made.add_node("front", create_agent(RuleModel(rules=[("", calling(("move", {})))]), [move], name="front"))
    made.add_node("back", create_agent(RuleModel(rules=[("", AIMessage("Back office here."))]), [], name="back"))
    made.add_edge(START, "front")
    return made


def remembering_inside() -> Any:
    """A subgraph that has a memory of its own."""
    made = StateGraph(MessagesState)
    made.add_node("desk", react(checkpointer=True))
    made.add_node("close", lambda state: {"messages": [AIMessage(f"{state['messages'][-1].text} Bye.")]})
    made.add_edge(START, "desk")
    made.add_edge("desk", "close")
    return made.compile(checkpointer=InMemorySaver())


def deep_asking() -> Any:
    from deepagents import create_deep_agent

    return create_deep_agent(MODEL, TOOLS, interrupt_on={"pay": True}, checkpointer=InMemorySaver())


def note(words: str) -> str:
    """A plain function that a node calls: LangChain knows nothing of it."""
    return f"Error: no room for {words}" if words == "Sunday" else f"kept {words}"


def _keep(state: Any) -> Any:
    calls = state["messages"][-1].tool_calls
    answers = [{"role": "tool", "content": note(**call["args"]), "tool_call_id": call["id"]} for call in calls]
    return {"messages": answers}


NOTING = RuleModel(
    rules=[
        ("Keep", calling(("note", {"words": "milk"}), ("note", {"words": "Sunday"}))),
        ("Error", AIMessage("Half of it is kept.")),
    ]
)


def plain_functions() -> Any:
    """A node that runs the tools itself, and writes what they gave as dicts."""
    made = StateGraph(MessagesState)
    made.add_node("think", lambda state: {"messages": [NOTING.invoke(state["messages"])]})
    made.add_node("keep", _keep)
    made.add_edge(START, "think")
    made.add_conditional_edges("think", lambda state: "keep" if state["messages"][-1].tool_calls else END)
    made.add_edge("keep", "think")
    return made.compile()


def _research(_: Any) -> Any:
    return {"messages": [AIMessage("Let me see."), HumanMessage("Blue is free.", name="researcher")]}


def _quote(_: Any) -> Any:
    return {"messages": [AIMessage("Blue is free."), HumanMessage("Is it?", name="user"), HumanMessage("So what?")]}


def _typed_answer(_: Any) -> Any:
    answer = interrupt("How many?")
    return {"messages": [AIMessage(f"{type(answer).__name__}: {answer}")]}


def _count_humans(state: Any) -> Any:
    said = [message.text for message in state["messages"] if message.type == "human"]
    return {"messages": [AIMessage(f"{' then '.join(said)}, for {state['who']}")]}


class Guests(MessagesState):
    who: str


class Letter(TypedDict, total=False):
    question: str
    earlier: list[Any]
    transcript: str
    answer: str


def _reply(state: Letter) -> Any:
    earlier = ", ".join(f"{message.type} {message.text}" for message in state.get("earlier") or [])
    return {"answer": f"{state['question']} [{earlier}] {state.get('transcript') or ''}".strip()}


async def _remember(state: Any, runtime: Runtime) -> Any:
    assert runtime.store is not None
    await runtime.store.aput(("said",), state["messages"][-1].text, {"at": 1})
    return {"messages": [AIMessage(", ".join(sorted(item.key for item in await runtime.store.asearch(("said",)))))]}


def only(node: Any, state: Any = MessagesState, **compiled: Any) -> Any:
    made = StateGraph(state)
    made.add_node("only", node)
    made.add_edge(START, "only")
    return made.compile(**compiled)


researched, quoted = only(_research), only(_quote)
typed_answer = only(_typed_answer, checkpointer=InMemorySaver())
guests, letter, remembering = only(_count_humans, Guests), only(_reply, Letter), only(_remember)
bound = remembering.with_config(tags=["bound"])


def _search(_: Any, runtime: Runtime) -> Any:
    return {"messages": [AIMessage(str(runtime.store.search(("said",))))]}  # type: ignore[union-attr] # that is the fault


storeless = only(_search)
