"""Agents that look one order up, each in another way, and say what they heard. The tool keeps its own log."""

from __future__ import annotations

import asyncio
import json
import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, ToolException, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent
from langgraph.types import Command

from carob.proxy.faults.world import FaultError
from proxy.agents import post

LOG: list[str] = []
ORDER = "A-1042"
TOOLS = [{"type": "function", "function": {"name": "get_order", "parameters": {"type": "object"}}}]


def look_up(order_id: str) -> dict[str, Any]:
    LOG.append(order_id)
    return {"order_id": order_id, "status": "shipped", "total": 12.5, "updated": "2026-11-01"}


@tool
def get_order(order_id: str) -> dict[str, Any]:
    """Look an order up."""
    return look_up(order_id)


@tool("get_order")
async def get_order_async(order_id: str) -> str:
    """Look an order up."""
    await asyncio.sleep(0)
    return json.dumps(look_up(order_id))


@tool("get_order", response_format="content_and_artifact")
def get_order_with_artifact(order_id: str) -> tuple[str, object]:
    """Look an order up."""
    return json.dumps(look_up(order_id)), {"raw": True}


@tool("get_order", response_format="content_and_artifact")
def get_order_blocks(order_id: str) -> tuple[list[dict[str, str]], object]:
    """Look an order up, as MCP servers answer."""
    return [{"type": "text", "text": json.dumps(look_up(order_id))}], None


class GetOrder(BaseTool):
    name: str = "get_order"
    description: str = "Look an order up."

    def _run(self, order_id: str) -> dict[str, Any]:
        return look_up(order_id)


class GetOrderLoudly(GetOrder):
    def _run(self, order_id: str) -> dict[str, Any]:
        return super()._run(order_id)


class Model(BaseChatModel):
    """Asks for the order once, and then says what it heard."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **more: Any) -> Any:
        return ChatResult(generations=[ChatGeneration(message=reply(messages))])


def reply(messages: list[BaseMessage]) -> AIMessage:
    if isinstance(messages[-1], ToolMessage):
        return AIMessage(str(messages[-1].content))
    call = {"name": "get_order", "args": {"order_id": ORDER}, "id": "call-1", "type": "tool_call"}
    return AIMessage("", tool_calls=[call])  # type: ignore[list-item]  # a call as LangChain spells it


def with_tool_node(tool: Any) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [reply(state["messages"])]})
    graph.add_node("tools", ToolNode([tool], handle_tool_errors=lambda error: f"failed: {error}"))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else "__end__")
    graph.add_edge("tools", "model")
    return graph.compile()


tool_node = with_tool_node(get_order)
async_tool_node = with_tool_node(get_order_async)
artifact_node = with_tool_node(get_order_with_artifact)
blocks_node = with_tool_node(get_order_blocks)
class_node = with_tool_node(GetOrder())
subclass_node = with_tool_node(GetOrderLoudly())
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it has moved, and agents still use it
    react_agent = create_react_agent(Model(), ToolNode([get_order], handle_tool_errors=lambda e: f"failed: {e}"))


def heard(call: Callable[[], object]) -> str:
    try:
        result = call()
    except (ToolException, FaultError) as error:
        return f"failed: {error}"
    return result if isinstance(result, str) else json.dumps(result)


def in_node(run: Any) -> Any:
    return StateGraph(MessagesState).add_node("all", run).add_edge(START, "all").compile()


def _node(state: Any) -> dict[str, Any]:
    return {"messages": [AIMessage(heard(lambda: get_order.invoke({"order_id": ORDER})))]}


async def _async_node(state: Any) -> dict[str, Any]:
    try:
        result = json.dumps(await GetOrder().ainvoke({"order_id": ORDER}))
    except (ToolException, FaultError) as error:
        result = f"failed: {error}"
    return {"messages": [AIMessage(result)]}


direct_node = in_node(_node)
async_node = in_node(_async_node)


def plain_function_node(state: Any) -> dict[str, Any]:
    call = {"name": "get_order", "args": {"order_id": ORDER}, "id": "call-1", "type": "tool_call"}
    answer = ToolMessage(json.dumps(look_up(ORDER)), tool_call_id="call-1")
    return {"messages": [AIMessage("", tool_calls=[call]), answer, AIMessage("It is shipped.")]}  # type: ignore[list-item]


own_function = in_node(plain_function_node)


@tool("get_order")
def hand_over(order_id: str) -> Command[Any]:
    """Go on elsewhere, with nothing for the model to read."""
    look_up(order_id)
    return Command(goto="__end__", update={"messages": [AIMessage("gone on")]})


command_node = with_tool_node(hand_over)


def python_agent(prompt: str) -> str:
    return heard(lambda: get_order.invoke({"order_id": ORDER}))


def own_thread(prompt: str) -> str:
    results: list[str] = []
    thread = threading.Thread(target=lambda: results.append(python_agent(prompt)))
    thread.start()
    thread.join()
    return results[0]


def handed(prompt: str, conversation: Any) -> str:
    lookup = conversation.tool(look_up, name="get_order")
    return heard(lambda: lookup(order_id=ORDER))


async def handed_async(prompt: str, conversation: Any) -> str:
    async def get_order(order_id: str) -> dict[str, Any]:
        return look_up(order_id)

    try:
        return json.dumps(await conversation.tool(get_order)(ORDER))
    except (ToolException, FaultError) as error:
        return f"failed: {error}"


def parallel(prompt: str) -> str:
    """Ten calls at once, in threads that LangChain starts."""
    results = get_order.batch([{"order_id": f"A-{number}"} for number in range(10)], return_exceptions=True)
    return json.dumps([str(result) if isinstance(result, Exception) else result for result in results])


def ask_model(prompt: str) -> str:
    """A loop with a model: what it says of the order, which it looks up by a LangChain tool."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    while True:
        said = json.loads(post("/chat/completions", {"model": "m", "messages": messages, "tools": TOOLS}))
        message = said["choices"][0]["message"]
        if not message.get("tool_calls"):
            return str(message["content"])
        messages.append(message)
        for call in message["tool_calls"]:
            arguments = json.loads(call["function"]["arguments"])
            content = heard(partial(get_order.invoke, arguments))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
