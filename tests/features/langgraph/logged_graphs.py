"""Forty kinds of graphs whose tools write down their calls: however a graph is written, what ran has to be seen."""

from __future__ import annotations

import asyncio
import operator
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import SimpleNamespace
from typing import Annotated, Any, TypedDict

from langchain.agents import create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    ModelFallbackMiddleware,
    ToolCallLimitMiddleware,
    after_model,
    before_agent,
    wrap_tool_call,
)
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, tool
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode, ToolRuntime
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import CachePolicy, Command, RetryPolicy, Send, interrupt

from features.langgraph.tool_log import asks, fetch, logged, look, nap, refund, script

A, B, C = ({"order": name} for name in ("A-1", "B-2", "C-3"))
OVER: dict[str, Any] = {"order": "A-1", "amount": 500}
SMALL: dict[str, Any] = {"order": "A-1", "amount": 40}


def says(words: str) -> dict[str, Any]:
    return {"messages": [AIMessage(words)]}


def lone(node: Any, state: Any = MessagesState, **compiled: Any) -> Any:
    made = StateGraph(state)
    made.add_node("only", node)
    made.add_edge(START, "only")
    return made.compile(**compiled)


def line(*nodes: Any, state: Any = MessagesState, **compiled: Any) -> Any:
    made = StateGraph(state).add_sequence([(f"n{number}", node) for number, node in enumerate(nodes)])
    return made.add_edge(START, "n0").compile(**compiled)


def talk(*lines: Any, tools: Any = (look, fetch, refund), **rest: Any) -> Any:
    return create_agent(script(*lines), list(tools), **rest)


# --- what a node does by itself


def in_a_pool(_: Any) -> Any:
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(look.invoke, (A, B, C)))
    return says(" ".join(found))


def in_a_bare_thread(_: Any) -> Any:
    worker = threading.Thread(target=look.invoke, args=(A,))
    worker.start()
    worker.join()
    return says("Looked.")


async def gathered(_: Any) -> Any:
    return says(str(len(await asyncio.gather(*(fetch.ainvoke(order) for order in (A, B, C))))))


async def timed_out(_: Any) -> Any:
    with suppress(TimeoutError):
        await asyncio.wait_for(nap.ainvoke({}), 0.02)
    return says("It took too long.")


async def kept_answer(_: Any) -> Any:
    model, history = script(asks(("look", A)), asks(("refund", SMALL)), "All done."), [("user", "go")]
    tools: dict[str, BaseTool] = {"look": look, "refund": refund}
    while (answer := await model.ainvoke(history)).tool_calls:
        history += [answer, *(tools[call["name"]].invoke(call) for call in answer.tool_calls)]
    return {"messages": [answer]}


async def swallowed(_: Any) -> Any:
    with suppress(ValueError):
        refund.invoke(OVER)
    return says("I refunded it.")


async def tried_until_it_holds(_: Any) -> Any:
    safe = refund.with_fallbacks([RunnableLambda(lambda _: look.invoke(A))])
    return says(str(await safe.ainvoke(OVER)))


async def batched(_: Any) -> Any:
    return says(" ".join([*look.batch([A, B]), *map(str, await fetch.abatch([C]))]))


async def piped(state: Any) -> Any:
    chain = script(asks(("look", A))) | (lambda answer: answer.tool_calls[0]["args"]) | look
    return says(await chain.ainvoke(state["messages"]))


async def called_by_id(_: Any) -> Any:
    call = {"name": "look", "args": A, "id": "x1", "type": "tool_call"}
    return {"messages": [asks(("look", A)), await look.ainvoke(call), AIMessage("By its id.")]}


def by_hand(_: Any) -> Any:
    return {"messages": [asks(("look", A)), ToolMessage(look.invoke(A), tool_call_id="look-0"), AIMessage("By hand.")]}


# --- tools of other makes


@tool
@logged
def ask_desk(order: str) -> str:
    """Ask a desk, which looks it up."""
    return str(look.invoke({"order": order}))


@tool
@logged
def countdown(left: int) -> str:
    """Count down, by itself."""
    return str(countdown.invoke({"left": left - 1})) if left else "zero"


class Scale(BaseTool):
    """A tool that is a class, with one method alone."""

    name: str = "weigh"
    description: str = "Weigh an order."

    def _run(self, order: str) -> str:
        return str(logged(weigh)(order=order))


def weigh(order: str) -> str:
    return f"{order}: 3 kg"


def stamp(order: str) -> str:
    return f"{order} stamped"


stamping = StructuredTool.from_function(logged(stamp), name="stamp", description="Stamp an order.", return_direct=True)


@tool
@logged
def settle(order: str, call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Settle an order, and say so in the state."""
    return Command(update={"messages": [ToolMessage(f"{order} settled", tool_call_id=call)]})


@tool
@logged
def recall(order: str, state: Annotated[Any, InjectedState]) -> str:
    """Recall what was said."""
    return f"{order} after {len(state['messages'])} messages"


@tool
@logged
def describe(order: str, runtime: ToolRuntime) -> str:
    """Describe an order, with what the runtime knows."""
    return f"{order} for {runtime.tool_call_id}"


@tool
@logged
def stream_out(order: str) -> str:
    """Write progress while it works."""
    get_stream_writer()({"progress": order})
    return order


@tool(response_format="content_and_artifact")
@logged
def scan(order: str) -> tuple[str, dict[str, Any]]:
    """Scan an order."""
    return f"{order} scanned", {"pages": 3}


@tool
@logged
def sign(order: str) -> str:
    """Sign for an order, once a person agrees."""
    return f"signed: {interrupt(order)}"


class Item(TypedDict):
    order: str


class Tally(MessagesState):
    found: Annotated[list[str], operator.add]


# --- graphs of several nodes


def looks_up(order: dict[str, str]) -> Any:
    return lambda _: {"found": [look.invoke(order)]}


def deferred() -> Any:
    made = StateGraph(Tally)
    made.add_node("left", looks_up(A)).add_node("right", looks_up(B))
    made.add_node(
        "last", lambda state: says(refund.invoke({"order": "A-1", "amount": len(state["found"])})), defer=True
    )
    for side in ("left", "right"):
        made.add_edge(START, side).add_edge(side, "last")
    return made.compile()


def sends() -> Any:
    made = StateGraph(Tally)
    made.add_node("one", lambda item: {"found": [look.invoke({"order": item["order"]})]}, input_schema=Item)
    made.add_node("end", lambda state: says(str(len(state["found"]))))
    made.add_conditional_edges(START, lambda _: [Send("one", order) for order in (A, B, A)], ["one"])
    return made.add_edge("one", "end").compile()


def sends_calls() -> Any:
    made = StateGraph(MessagesState)
    made.add_node("think", lambda _: {"messages": [asks(("look", A), ("refund", OVER), ("look", B))]})
    made.add_node("tools", ToolNode([look, refund], handle_tool_errors=True))
    made.add_node("end", lambda _: says("Two of three."), defer=True)
    made.add_conditional_edges(
        "think",
        lambda state: [Send("tools", {"messages": [AIMessage("", tool_calls=[call])]})
                       for call in state["messages"][-1].tool_calls],
        ["tools"],
    )  # fmt: skip
    return made.add_edge(START, "think").add_edge("tools", "end").compile()


def commands() -> Any:
    made = StateGraph(Tally)
    made.add_node("start", lambda _: Command(update={"found": [look.invoke(A)]}, goto="next"), destinations=("next",))
    made.add_node("next", lambda _: Command(update=says(look.invoke(B)), goto=END), destinations=(END,))
    return made.add_edge(START, "start").compile()


def routed() -> Any:
    made = StateGraph(MessagesState)
    made.add_node("shipped", lambda _: says("Shipped.")).add_node("lost", lambda _: says("Lost."))
    made.add_conditional_edges(START, lambda _: "shipped" if "shipped" in look.invoke(A) else "lost")
    return made.compile()


def retried_node() -> Any:
    tries: list[int] = []

    def wobbles(_: Any) -> Any:
        tries.append(1)
        return says(refund.invoke(OVER if len(tries) < 3 else SMALL))

    made = StateGraph(MessagesState)
    made.add_node("only", wobbles, retry_policy=RetryPolicy(max_attempts=3, initial_interval=0.01, retry_on=ValueError))
    return made.add_edge(START, "only").compile()


def cached_node() -> Any:
    made = StateGraph(Tally)
    cached = CachePolicy(key_func=lambda _: b"same")
    made.add_node("first", lambda _: {}).add_node("one", looks_up(A), cache_policy=cached)
    made.add_node("end", lambda state: says(f"{len(state['found'])} found"))
    made.add_conditional_edges("one", lambda state: "end" if len(state["found"]) > 1 else "one", ["one", "end"])
    return made.add_edge(START, "first").add_edge("first", "one").compile(cache=InMemoryCache())


def twin_desks() -> Any:
    made = StateGraph(MessagesState)
    for name in ("left", "right"):
        made.add_node(name, talk(asks(("look", A)), f"{name} is done.", name=name)).add_edge(START, name)
    made.add_node("end", lambda _: says("Both looked."), defer=True)
    return made.add_edge("left", "end").add_edge("right", "end").compile()


def asks_again() -> Any:
    """A node that starts anew once it is answered: what it called before it asked, it calls again."""

    def node(_: Any) -> Any:
        look.invoke(A)
        return says(f"You said {interrupt('Sure?')}.")

    return lone(node, checkpointer=InMemorySaver())


def handed_to_the_parent() -> Any:
    def leave(_: Any) -> Any:
        return Command(graph=Command.PARENT, goto="end", update=says(look.invoke(A)))

    made = StateGraph(MessagesState)
    made.add_node("inner", lone(leave), destinations=("end",)).add_node("end", lambda _: says(look.invoke(B)))
    return made.add_edge(START, "inner").compile()


def supervised() -> Any:
    from langgraph_supervisor import create_supervisor

    rooms = talk(asks(("look", A), ("look", B)), "Both shipped.", name="rooms")
    model = script(asks(("transfer_to_rooms", {})), "The desk says both shipped.")
    return create_supervisor([rooms], model=model, output_mode="last_message").compile()


def swarm() -> Any:
    from langgraph_swarm import create_handoff_tool, create_swarm

    back = create_handoff_tool(agent_name="back")
    front = talk(asks(("look", A)), asks(("transfer_to_back", {})), tools=(look, back), name="front")
    behind = talk("", "", "", asks(("refund", SMALL)), "Refunded.", name="back")
    return create_swarm([front, behind], default_active_agent="front").compile()


def subagents() -> Any:
    from deepagents import create_deep_agent

    workers: Any = [
        {"name": name, "description": name, "runnable": talk(asks(("look", order)), f"{name} looked.")}
        for name, order in (("one", A), ("two", B))
    ]
    calls = [("task", {"description": "look", "subagent_type": name}) for name in ("one", "two")]
    return create_deep_agent(script(asks(*calls), "Both looked."), subagents=workers)


def agent_as_a_tool() -> Any:
    expert = talk(asks(("look", A)), "It shipped.").as_tool(
        name="expert", description="Asks", arg_types={"messages": list}
    )
    return talk(asks(("expert", {"messages": [["user", "go"]]})), "The expert says it shipped.", tools=(expert,))


class FarDesk:
    """Answers for a server of LangGraph: what its graph called is in no message."""

    async def stream(self, **_: Any) -> Any:
        yield SimpleNamespace(event="values", data={"messages": [{"type": "ai", "content": "It shipped.", "id": "a"}]})


def remote() -> Any:
    return RemoteGraph("far_desk", client=SimpleNamespace(runs=FarDesk()))  # type: ignore[arg-type]


async def asks_afar(_: Any) -> Any:
    answer = await remote().ainvoke({"messages": []})
    return says(f"{look.invoke(A)}, and they say: {answer['messages'][-1]['content']}")


# --- functions


@task
def look_up(order: str) -> str:
    return str(look.invoke({"order": order}))


@entrypoint()
def parallel_tasks(prompt: str) -> str:
    return " ".join(future.result() for future in [look_up("A-1"), look_up("B-2")])


@task(retry_policy=RetryPolicy(max_attempts=2, initial_interval=0.01, retry_on=ValueError))
async def pay(order: str) -> str:
    TRIES.append(order)
    return str(await refund.ainvoke(OVER if len(TRIES) % 2 else SMALL))


TRIES: list[str] = []


@entrypoint()
async def retried_task(prompt: str) -> str:
    return await pay("A-1")


@entrypoint(checkpointer=InMemorySaver())
def asking(prompt: str) -> str:
    found = look_up("A-1").result()
    return f"{found}: {interrupt('Sure?')}"


# --- middleware


@wrap_tool_call
async def twice(request: Any, handler: Any) -> Any:
    await handler(request)
    return await handler(request)


@wrap_tool_call
async def never(request: Any, handler: Any) -> Any:
    return ToolMessage("not today", tool_call_id=request.tool_call["id"])


@wrap_tool_call
async def smaller(request: Any, handler: Any) -> Any:
    call = {**request.tool_call, "args": {**request.tool_call["args"], "amount": 40}}
    return await handler(request.override(tool_call=call))


@wrap_tool_call
async def forgiving(request: Any, handler: Any) -> Any:
    try:
        return await handler(request)
    except ValueError as error:
        return ToolMessage(f"could not: {error}", tool_call_id=request.tool_call["id"], status="error")


@after_model
def adds_a_call(state: Any, runtime: Any) -> Any:
    last = state["messages"][-1]
    if last.text == "Done." or not last.tool_calls:
        return None
    more = {"name": "look", "args": B, "id": "added", "type": "tool_call"}
    return {"messages": [last.model_copy(update={"tool_calls": [*last.tool_calls, more]})]}


@before_agent
def looks_first(state: Any, runtime: Any) -> Any:
    look.invoke(C)


GRAPHS: dict[str, Any] = {
    "a node's own pool of threads": lambda: lone(in_a_pool),
    "a thread without a context": lambda: lone(in_a_bare_thread),
    "calls at once in a node": lambda: lone(gathered),
    "a call that is cancelled": lambda: lone(timed_out),
    "a loop that keeps its answer": lambda: lone(kept_answer),
    "an error that a node swallows": lambda: lone(swallowed),
    "a fallback for a tool": lambda: lone(tried_until_it_holds),
    "batches": lambda: lone(batched),
    "a chain that ends in a tool": lambda: lone(piped),
    "a call by its id": lambda: lone(called_by_id),
    "messages written by hand": lambda: lone(by_hand),
    "a tool that calls another": lambda: talk(asks(("ask_desk", A)), "Done.", tools=(ask_desk,)),
    "a tool that calls itself": lambda: talk(asks(("countdown", {"left": 2})), "Done.", tools=(countdown,)),
    "a tool that is a class": lambda: talk(asks(("weigh", A)), "Done.", tools=(Scale(),)),
    "a tool whose result is the answer": lambda: talk(asks(("stamp", A), words="Here:"), tools=(stamping,)),
    "a tool that returns a Command": lambda: talk(asks(("settle", A)), "Done.", tools=(settle,)),
    "a tool that takes the state": lambda: talk(asks(("recall", A)), "Done.", tools=(recall,)),
    "a tool that takes the runtime": lambda: talk(asks(("describe", A)), "Done.", tools=(describe,)),
    "a tool that streams": lambda: talk(asks(("stream_out", A)), "Done.", tools=(stream_out,)),
    "words and an artifact": lambda: talk(asks(("scan", A)), "Done.", tools=(scan,)),
    "a tool that asks a person": lambda: talk(
        asks(("look", A), ("sign", B)), "Signed.", tools=(look, sign), checkpointer=InMemorySaver()
    ),
    "a deferred node": deferred,
    "Send, twice the same": sends,
    "Send, of calls": sends_calls,
    "Command between nodes": commands,
    "a call in an edge": routed,
    "a node with a policy of retries": retried_node,
    "a node with a cache": cached_node,
    "two desks that call the same": twin_desks,
    "a node that asks and starts anew": asks_again,
    "a Command to the parent": handed_to_the_parent,
    "a supervisor": supervised,
    "a swarm": swarm,
    "subagents at once": subagents,
    "an agent as a tool": agent_as_a_tool,
    "tasks at once": lambda: parallel_tasks,
    "a task that is tried again": lambda: retried_task,
    "an entrypoint that asks": lambda: asking,
    "middleware: twice": lambda: talk(asks(("look", A)), "Done.", middleware=[twice]),
    "middleware: never": lambda: talk(asks(("look", A)), "Done.", middleware=[never]),
    "middleware: other arguments": lambda: talk(asks(("refund", OVER)), "Done.", middleware=[smaller]),
    "middleware: forgives": lambda: talk(asks(("refund", OVER)), "Done.", middleware=[forgiving]),
    "middleware: adds a call": lambda: talk(asks(("look", A)), "Done.", middleware=[adds_a_call]),
    "middleware: calls by itself": lambda: talk("Done.", middleware=[looks_first]),
    "middleware: a limit": lambda: talk(
        asks(("look", A), ("look", B), ("look", C)), "Done.", middleware=[ToolCallLimitMiddleware(run_limit=2)]
    ),
    "middleware: approved": lambda: talk(
        asks(("refund", SMALL)), "Done.",
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"refund": True})], checkpointer=InMemorySaver(),
    ),
    "middleware: another model": lambda: create_agent(
        RunnableLambda(lambda _: 1 / 0), [look],
        middleware=[ModelFallbackMiddleware(script(asks(("look", A)), "Done."))],
    ),
    "a remote graph": remote,
    "a remote graph as a node": lambda: line(remote()),
    "a node that asks a remote graph": lambda: lone(asks_afar),
    "a line of nodes": lambda: line(lambda _: {"found": [look.invoke(A)]}, lambda _: says("Done."), state=Tally),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    number = name.removeprefix("graph_")
    if not number.isdecimal():
        raise AttributeError(name)
    return [*GRAPHS.values()][int(number)]()
