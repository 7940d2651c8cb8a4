"""Messages as a LangGraph server sends them: those of its state, and those that nodes wrote in any form it takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import Struct

from karat.model.trace import Tokens
from karat.suites.diagnostics import Json
from karat.targets.http.jsonpath import count, objects
from karat.targets.langgraph.messages import plain_text

TYPES = {
    "ai": "ai", "assistant": "ai", "AIMessageChunk": "ai", "human": "human", "user": "human", "tool": "tool",
    "system": "system", "developer": "system",
}  # fmt: skip
"""What a message is, by its `type` or by its `role`."""


class ServerCall(NamedTuple):
    """A call that a message asks for."""

    name: str
    id: str | None
    arguments: Json


class ServerMessage(Struct, frozen=True):
    """One message. `id` is None where the node that wrote it gave none: the state gives it one later."""

    type: str
    content: Any
    id: str | None = None
    name: str | None = None
    calls: tuple[ServerCall, ...] = ()
    call_id: str | None = None
    failed: bool = False
    used: Tokens | None = None
    is_chunk: bool = False

    @property
    def text(self) -> str:
        return plain_text(self.content)

    @property
    def content_key(self) -> tuple[object, ...]:
        """Equal for one message that is written without an id and then given with one."""
        return self.type, self.text, self.name, self.call_id, tuple(call.id for call in self.calls)


def messages_in(update: Json) -> Iterator[ServerMessage]:
    """The messages in what nodes wrote, wherever in it they are."""
    for node_output in update.values() if isinstance(update, dict) else ():
        for part in node_output if isinstance(node_output, list) else [node_output]:
            messages = part.get("messages") if isinstance(part, dict) else None
            parsed = map(
                read_message, messages if isinstance(messages, list) and not _is_pair(messages) else [messages]
            )
            yield from (message for message in parsed if message is not None)


def read_message(raw: Json) -> ServerMessage | None:
    """A message, or None for what is not one: an object with `type` or `role`, or a pair of role and words."""
    if isinstance(raw, list) and _is_pair(raw):
        return ServerMessage(TYPES[str(raw[0])], raw[1])
    if not isinstance(raw, dict):
        return None
    kind = TYPES.get(str(raw.get("type"))) or TYPES.get(str(raw.get("role")))
    if kind is None:
        return None
    return ServerMessage(
        kind,
        raw.get("content"),
        _text(raw.get("id")),
        _text(raw.get("name")),
        tuple(map(_call, objects(raw.get("tool_calls")))),
        _text(raw.get("tool_call_id")),
        raw.get("status") == "error",
        _tokens(raw.get("usage_metadata")),
        raw.get("type") == "AIMessageChunk",
    )


def _tokens(usage: Json) -> Tokens | None:
    if not isinstance(usage, dict):
        return None
    return Tokens(count(usage.get("input_tokens")), count(usage.get("output_tokens")))


def _call(raw: dict[str, Json]) -> ServerCall:
    """A call as LangChain writes it, or as OpenAI does."""
    function = raw.get("function")
    call = function if isinstance(function, dict) else raw
    return ServerCall(str(call.get("name")), _text(raw.get("id")), call.get("args", call.get("arguments")))


def _is_pair(raw: list[Json]) -> bool:
    return len(raw) == 2 and isinstance(raw[0], str) and isinstance(raw[1], str) and raw[0] in TYPES


def _text(value: Json) -> str | None:
    return None if value is None else str(value)
