"""LangChain's messages as a trace holds them: roles, texts, the final message, what an interrupt asks, tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from karat.model.trace import Message, Tokens
from karat.telemetry.finish_reasons import ending
from karat.traces.clean import jsonable, text

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

ROLES = {"ai": "assistant", "human": "user"}
FINISH = ("finish_reason", "stop_reason", "done_reason", "finishReason", "stopReason")
ASKING = ("question", "message", "prompt", "text", "description")


def as_messages(turn: Iterable[BaseMessage]) -> tuple[Message, ...]:
    return tuple(Message(ROLES.get(m.type, m.type), plain_text(m.content), m.name) for m in turn)


def final_text(turn: Sequence[BaseMessage], interrupts: Sequence[object]) -> str:
    """The words that the turn ends with: the last answer, or that of a tool which answers directly, and what is asked.

    An answer that is empty is empty: what was said on the way to it does not replace it.
    """
    last = next((m for m in reversed(turn) if m.type in ("ai", "tool")), None)
    said = plain_text(last.content) if last is not None else ""
    if interrupts and last is not None and last.type == "tool":
        said = ""
    asked = [question for question in map(asked_by, interrupts) if question not in said]
    return "\n".join(filter(None, (said, *asked)))


def plain_text(content: object) -> str:
    """The words of a content: a text, or blocks of which those of text count."""
    if isinstance(content, str):
        return text(content)
    if not isinstance(content, list | tuple):
        return "" if content is None else msgspec.json.encode(jsonable(content)).decode()
    parts = (part if isinstance(part, str) else _block_text(part) for part in content)
    return text("".join(parts))


def _block_text(part: object) -> str:
    said = part.get("text") if isinstance(part, dict) and part.get("type", "text") == "text" else None
    return said if isinstance(said, str) else ""


def asked_by(value: object) -> str:
    """What an interrupt asks the person."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        # langchain's middleware that asks before a tool is run lists what is to be approved
        requests = value.get("action_requests")
        if isinstance(requests, list) and requests:
            return "\n".join(map(asked_by, requests))
        found = next((value[key] for key in ASKING if isinstance(value.get(key), str)), None)
        if found is not None:
            return text(found)
    return msgspec.json.encode(jsonable(value)).decode()


def ended_by(turn: Sequence[BaseMessage]) -> str:
    """How the last model of a turn came to its end, as its finish reason says; empty if it gives none."""
    last = next((m for m in reversed(turn) if m.type == "ai"), None)
    about = last.response_metadata if last is not None else {}
    found = next((about[key] for key in FINISH if about.get(key)), "")
    return ending(str(found))


def token_counts(answers: Iterable[BaseMessage | None], written: Iterable[BaseMessage]) -> Tokens | None:
    """The tokens of all model calls, and of messages that came from none; None if no model reported any."""
    heard = [answer for answer in answers if answer is not None]
    known = {id(answer) for answer in heard} | {answer.id for answer in heard if answer.id}
    others = [message for message in written if id(message) not in known and message.id not in known]
    used = [usage for m in (*heard, *others) if (usage := getattr(m, "usage_metadata", None))]
    if not used:
        return None
    return Tokens(sum(u["input_tokens"] for u in used), sum(u["output_tokens"] for u in used))
