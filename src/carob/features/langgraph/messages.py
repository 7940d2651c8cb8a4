"""LangChain's messages as a trace holds them: roles, texts, the final message, tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from carob.model.trace import Message, Tokens
from carob.providers.base import read_ending
from carob.targets.interrupts import interrupt_text
from carob.text.clean import jsonable, text

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

ROLES = {"ai": "assistant", "human": "user"}
FINISH = ("finish_reason", "stop_reason", "done_reason", "finishReason", "stopReason")


class Spoken(Protocol):
    """A message of LangChain's, or one of the same form that came over a wire."""

    @property
    def type(self) -> str: ...

    @property
    def content(self) -> Any: ...

    @property
    def name(self) -> str | None: ...


def as_messages(turn: Iterable[BaseMessage]) -> tuple[Message, ...]:
    return tuple(Message(ROLES.get(m.type, m.type), plain_text(m.content), m.name) for m in turn)


def final_text(turn: Sequence[Spoken], interrupts: Sequence[object], prompt: str) -> str:
    """The words that the turn ends with: the last answer, or that of a tool which answers directly, and what is asked.

    An answer that is empty is empty: what was said on the way to it does not replace it. A graph that ends at a tool
    node ends with what the assistant said with the call; a tool answers only where the assistant said nothing. Graphs
    of several agents write the answer of one of them as a human message that has its name.
    """
    spoken = [m for m in turn if m.type in ("ai", "tool") or _is_of_an_agent(m, prompt)]
    last = spoken[-1] if spoken else None
    answer = plain_text(last.content) if last is not None else ""
    if last is not None and last.type == "tool":
        before = next((m for m in reversed(spoken) if m.type != "tool"), None)
        answer = (plain_text(before.content) if before is not None else "") or answer
        answer = "" if interrupts else answer
    questions = [question for question in map(interrupt_text, interrupts) if question not in answer]
    return "\n".join(filter(None, (answer, *questions)))


def _is_of_an_agent(message: Spoken, prompt: str) -> bool:
    """Whether a human message is that of another agent, and not what the person said, with a name for him or her."""
    if message.type != "human" or not message.name or message.name.lower() in ("user", "human"):
        return False
    return plain_text(message.content).strip() != prompt.strip()


def plain_text(content: object) -> str:
    """The words of a content: a text, or blocks of which those of text count."""
    if isinstance(content, str):
        return text(content)
    if not isinstance(content, list | tuple):
        return "" if content is None else msgspec.json.encode(jsonable(content)).decode()
    parts = (part if isinstance(part, str) else _block_text(part) for part in content)
    return text("".join(parts))


def _block_text(part: object) -> str:
    words = part.get("text") if isinstance(part, dict) and part.get("type", "text") == "text" else None
    return words if isinstance(words, str) else ""


def find_ending(turn: Sequence[BaseMessage]) -> str:
    """How the last model of a turn came to its end, as its finish reason says; empty if it gives none."""
    last = next((m for m in reversed(turn) if m.type == "ai"), None)
    about = last.response_metadata if last is not None else {}
    reason = next((about[key] for key in FINISH if about.get(key)), "")
    return read_ending(str(reason))


def token_counts(answers: Iterable[BaseMessage | None], messages: Iterable[BaseMessage]) -> Tokens | None:
    """The tokens of all model calls, and of messages that came from none; None if no model reported any."""
    replies = [answer for answer in answers if answer is not None]
    reply_ids = {id(answer) for answer in replies} | {answer.id for answer in replies if answer.id}
    others = [message for message in messages if id(message) not in reply_ids and message.id not in reply_ids]
    used = [usage for m in (*replies, *others) if (usage := getattr(m, "usage_metadata", None))]
    if not used:
        return None
    return Tokens(sum(u["input_tokens"] for u in used), sum(u["output_tokens"] for u in used))
