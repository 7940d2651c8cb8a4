"""Tools that write down each call themselves, and a model that says what it is given, one message after the other."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.errors import GraphInterrupt

LOG: list[tuple[str, dict[str, Any], str]] = []
"""The name, the arguments and the end of each call: `ok`, `raised`, or `cut` if it was given up or waits."""


class Script(BaseChatModel):
    """Says its lines in turn: the next one has the number of those that it reads back."""

    lines: list[Any]

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        line = self.lines[min(sum(m.type == "ai" for m in messages), len(self.lines) - 1)]
        return ChatResult(generations=[ChatGeneration(message=line.model_copy(update={"id": None}))])


def asks(*calls: tuple[str, dict[str, Any]], words: str = "") -> AIMessage:
    made = [{"name": name, "args": args, "id": f"{name}-{number}"} for number, (name, args) in enumerate(calls)]
    return AIMessage(words, tool_calls=made)


def script(*lines: AIMessage | str) -> Script:
    return Script(lines=[AIMessage(line) if isinstance(line, str) else line for line in lines])


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which also writes into the log how each of its calls ended."""
    names = [name for name in inspect.signature(function).parameters if name not in HIDDEN]

    def note(given: dict[str, Any], end: str) -> None:
        LOG.append((function.__name__, {name: given[name] for name in names if name in given}, end))

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def waits(**given: Any) -> Any:
            try:
                result = await function(**given)
            except asyncio.CancelledError:
                note(given, "cut")
                raise
            except Exception:
                note(given, "raised")
                raise
            note(given, "ok")
            return result

        return waits

    @functools.wraps(function)
    def runs(**given: Any) -> Any:
        try:
            result = function(**given)
        except GraphInterrupt:
            note(given, "cut")
            raise
        except Exception:
            note(given, "raised")
            raise
        note(given, "ok")
        return result

    return runs


HIDDEN = frozenset({"state", "store", "call", "runtime", "config"})
"""What LangGraph adds to the arguments of a call."""


@tool
@logged
def look(order: str) -> str:
    """Look an order up."""
    return f"{order} has shipped"


@tool
@logged
async def fetch(order: str) -> dict[str, Any]:
    """Fetch an order."""
    await asyncio.sleep(0)
    return {"order": order, "state": "shipped"}


@tool
@logged
def refund(order: str, amount: int) -> str:
    """Refund an order."""
    if amount > 100:
        raise ValueError("too much")
    return f"{amount} for {order}"


@tool
@logged
async def nap() -> str:
    """Work for a long time."""
    await asyncio.sleep(30)
    return "awake"
