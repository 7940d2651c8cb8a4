"""Responses of OpenAI's API, with what they were given if the export has it: `{"input": [...], "response": {...}}`.

A response names its conversation or the one before it, or its input repeats what was said. They are put together here,
in memory: which response is the last of a conversation is known at the end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from carob.evidence.conversations import NO_TELEMETRY, build_conversation
from carob.evidence.exports.base import ExportFormat, ExportRow, KeySign, RowCollector, Table
from carob.evidence.exports.facts import ABOUT, find_text, read_time
from carob.evidence.exports.record import RecordedConversation
from carob.evidence.merge import merge_turns
from carob.model.trace import Trace
from carob.providers.base import objects, table, text_of
from carob.providers.messages import ChatMessage
from carob.providers.openai_responses import read_items

NOT_EXPORTED = "the response before it is not in the export: export the whole conversation"
NO_INPUT = 'the export has no input of the response: export it with its input, {"input": [...], "response": {...}}'


class _Part(Struct, frozen=True):
    """One response and what was new in its input."""

    messages: tuple[ChatMessage, ...]
    created: float
    number: int


class _Chain(Struct):
    """The responses of one conversation."""

    id: str
    place: str
    about: Table
    parts: list[_Part]
    model: str = ""
    goes_on: bool = False
    """Whether it goes on with a response that is not in the export."""
    lacks_input: bool = False


class ResponseChains(RowCollector):
    """Responses, put together by what they name, else by the input that repeats what was said."""

    def __init__(self) -> None:
        self._chains: list[_Chain] = []
        self._by_id: dict[str, _Chain] = {}
        self._by_messages: dict[bytes, _Chain] = {}
        self._number = 0

    def add(self, row: ExportRow) -> None:
        """Add a response. Raises ValueError for what is none."""
        response = table(row.value.get("response")) or row.value
        given = row.value.get("input", response.get("input"))
        asked = [{"role": "user", "content": given}] if isinstance(given, str) else objects(given)
        messages, answered = (_join(read_items(items)) for items in (asked, objects(response.get("output"))))
        conversation = response.get("conversation")
        named = text_of(table(conversation).get("id")) or text_of(conversation)
        earlier = text_of(response.get("previous_response_id"))
        chain, repeated = self._find(named, earlier, messages)
        response_id = text_of(response.get("id"))
        if chain is None:
            about = {**table(response.get("metadata")), **{key: response.get(key) for key in ("user", "model")}}
            chain = _Chain(named or response_id or row.place, row.place, about, [])
            chain.goes_on = bool(earlier) and not named
            self._chains.append(chain)
        chain.lacks_input = chain.lacks_input or given is None
        self._number += 1
        created = read_time(response.get("created_at")) or 0.0
        chain.parts.append(_Part((*messages[repeated:], *answered), created, self._number))
        chain.model = text_of(response.get("model")) or chain.model
        self._by_id |= {key: chain for key in (named, response_id) if key}
        if not (named or earlier):
            self._by_messages[_digest((*messages, *answered))] = chain

    def _find(self, named: str, earlier: str, messages: Sequence[ChatMessage]) -> tuple[_Chain | None, int]:
        """The conversation that a response goes on with, and how many messages of its input repeat what was said."""
        if named or earlier:
            return self._by_id.get(named or earlier), 0
        for size in range(len(messages), 0, -1):
            if (chain := self._by_messages.get(_digest(messages[:size]))) is not None:
                return chain, size
        return None, 0

    def conversations(self) -> Iterator[RecordedConversation]:
        """Each conversation, in the order in which they came."""
        for chain in self._chains:
            parts = sorted(chain.parts, key=lambda part: (part.created, part.number))
            messages = [message for part in parts for message in part.messages]
            yield RecordedConversation(
                id=chain.id,
                trace=_build_trace(messages, chain),
                format=RESPONSES.name,
                source=chain.place,
                started_at=parts[0].created or None,
                user=find_text(chain.about, ABOUT["user"]),
                model=chain.model,
                version=find_text(chain.about, ABOUT["version"]),
                metadata={key: value for key, value in chain.about.items() if key not in ("user", "model")},
            )


def _build_trace(messages: Sequence[ChatMessage], chain: _Chain) -> Trace:
    trace = build_conversation(messages, chain.id)
    if chain.lacks_input:
        unobserved = {**trace.unobserved, "input": NO_INPUT, "tools": NO_INPUT}
        trace = structs.replace(trace, unobserved=unobserved, turns=())
    if not chain.goes_on:
        return trace
    why = dict.fromkeys(("tools", "input", "final_message"), NOT_EXPORTED)
    unseen = Trace(case_id=chain.id, tool_calls=(), unobserved={**why, "telemetry": NO_TELEMETRY})
    return merge_turns([unseen, *(trace.turns or (trace,))])


def _join(items: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """The items of one response as one message: its calls were requested together, next to its words."""
    messages: list[ChatMessage] = []
    for item in items:
        if item.role != "assistant" or not messages or messages[-1].role != "assistant":
            messages.append(item)
            continue
        text = "\n".join(filter(None, (messages[-1].text, item.text)))
        calls = (structs.replace(call, with_words=bool(text)) for call in (*messages[-1].calls, *item.calls))
        messages[-1] = structs.replace(messages[-1], text=text, calls=tuple(calls))
    return tuple(messages)


def _digest(messages: Sequence[ChatMessage]) -> bytes:
    """What makes a list of messages the same when it is sent again: who said what, and asked for which calls."""
    said = [(message.role, message.text, [call.name for call in message.calls]) for message in messages]
    return hashlib.sha256(repr(said).encode("utf-8", "surrogatepass")).digest()


def _is_response(row: Table) -> bool:
    return row.get("object") == "response" or table(row.get("response")).get("object") == "response"


RESPONSES = ExportFormat(
    name="openai-responses",
    signs=(KeySign(("object", "output"), _is_response), KeySign(("response.object",), _is_response)),
    collect=ResponseChains,
)
