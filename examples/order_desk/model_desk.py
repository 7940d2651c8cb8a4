"""The desk with a model in the place of rules: it streams its answers from wherever OPENAI_BASE_URL leads."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from openai import APIStatusError, AsyncOpenAI, OpenAIError

from order_desk.desk import Graph
from order_desk.tools import TOOLS

ROLES = {"human": "user", "ai": "assistant", "tool": "tool"}
PATIENCE = 1.5
"""Seconds that the model has for an answer."""
SORRY = "I could not finish this, because our assistant does not respond. Please try again later."


class Streamed(NamedTuple):
    """What a model said, what it asked for, and how it ended: with nothing, it broke off."""

    text: str
    calls: list[dict[str, Any]]
    finish: str
    tokens: dict[str, int]


class ModelDesk:
    """Asks a model what to do. Weak agents replace one of its methods."""

    async def ask(self, messages: list[dict[str, Any]]) -> Streamed:
        """One answer of the model; one that breaks off is asked for once more."""
        for _ in range(2):
            answer = await self.stream(messages)
            if answer.finish:
                return answer
        return answer

    async def stream(self, messages: list[dict[str, Any]]) -> Streamed:
        text, finish, tokens = "", "", {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
        calls: dict[int, dict[str, str]] = {}
        tools = [convert_to_openai_tool(tool) for tool in TOOLS]
        given: Any = {"messages": messages, "tools": tools, "stream_options": {"include_usage": True}}
        async with AsyncOpenAI(api_key="none", timeout=PATIENCE, max_retries=1) as client:
            async for event in await client.chat.completions.create(model="small", stream=True, **given):
                if event.usage:
                    used = event.usage.prompt_tokens, event.usage.completion_tokens, event.usage.total_tokens
                    tokens = dict(zip(tokens, used, strict=True))
                for choice in event.choices:
                    text += choice.delta.content or choice.delta.refusal or ""
                    finish = choice.finish_reason or finish
                    for part in choice.delta.tool_calls or ():
                        call = calls.setdefault(part.index, {"id": "", "name": "", "arguments": ""})
                        call["id"] += part.id or ""
                        call["name"] += (part.function and part.function.name) or ""
                        call["arguments"] += (part.function and part.function.arguments) or ""
        read = [{"name": one["name"], "args": json.loads(one["arguments"]), "id": one["id"]} for one in calls.values()]
        return Streamed(text, read, finish, tokens)

    def sorry(self, error: Exception) -> str:
        return SORRY

    async def decide(self, state: MessagesState) -> dict[str, list[AnyMessage]]:
        try:
            answer = await self.ask([_spelled(message) for message in state["messages"]])
        except (OpenAIError, ValueError, OSError) as error:
            return {"messages": [AIMessage(self.sorry(error))]}
        known = {tool.name for tool in TOOLS}
        if not answer.finish or not (answer.text or answer.calls) or any(c["name"] not in known for c in answer.calls):
            return {"messages": [AIMessage(SORRY)]}
        more: Any = {"tool_calls": answer.calls, "usage_metadata": answer.tokens}
        return {"messages": [AIMessage(answer.text, **more)]}

    def graph(self) -> Graph:
        builder = StateGraph(MessagesState)
        builder.add_node("model", self.decide)
        builder.add_node("tools", ToolNode(TOOLS, handle_tool_errors=True))
        builder.add_edge(START, "model")
        builder.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
        builder.add_edge("tools", "model")
        return builder.compile(name="model-desk")


class WaitsForTheEnd(ModelDesk):
    """Weak: it waits for the end of an answer that has broken off."""

    async def ask(self, messages: list[dict[str, Any]]) -> Streamed:
        try:
            return await self.stream(messages)
        except APIStatusError:
            raise
        except (OpenAIError, OSError):
            await asyncio.Event().wait()  # the rest may still come
            raise


class StartsOver(ModelDesk):
    """Weak: where an answer breaks off, it begins again with the words of the user, whatever was done since."""

    async def ask(self, messages: list[dict[str, Any]]) -> Streamed:
        try:
            return await self.stream(messages)
        except APIStatusError:
            raise
        except (OpenAIError, OSError):
            return await self.stream(messages[:1])


class AsksOnAndOn(ModelDesk):
    """Weak: it asks again and again where it has no access."""

    async def stream(self, messages: list[dict[str, Any]]) -> Streamed:
        for _ in range(5):
            try:
                return await super().stream(messages)
            except APIStatusError as error:
                if error.status_code != 401:
                    raise
        return await super().stream(messages)


class BreaksDown(ModelDesk):
    """Weak: it trusts that a model asks for tools in whole JSON."""

    def sorry(self, error: Exception) -> str:
        if isinstance(error, ValueError):
            raise error
        return SORRY


def _spelled(message: AnyMessage) -> dict[str, Any]:
    spelled: dict[str, Any] = {"role": ROLES[message.type], "content": str(message.content)}
    if isinstance(message, AIMessage) and message.tool_calls:
        spelled["tool_calls"] = [
            {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": json.dumps(c["args"])}}
            for c in message.tool_calls
        ]
    if isinstance(message, ToolMessage):
        spelled["tool_call_id"] = message.tool_call_id
    return spelled


def sound() -> Graph:
    return ModelDesk().graph()


def waits_for_the_end() -> Graph:
    return WaitsForTheEnd().graph()


def starts_over() -> Graph:
    return StartsOver().graph()


def asks_on_and_on() -> Graph:
    return AsksOnAndOn().graph()


def breaks_down() -> Graph:
    return BreaksDown().graph()
