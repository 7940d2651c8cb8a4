"""A list of messages, in whatever shape an API or a framework has them → a trace, with a turn for each prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from carob.evidence.merge import merge_turns
from carob.evidence.model_evidence import NO_RESULT, read_call
from carob.model.trace import Message, PossibleCall, Trace
from carob.providers.base import text_of
from carob.providers.gemini import read_content
from carob.providers.messages import SYSTEM, CallRequest, ChatMessage, ReturnedResult, read_message
from carob.text.clean import jsonable, text
from carob.text.tool_names import is_helper
from carob.text.wording import with_article

UNREAD = "a message of the conversation could not be read: it is neither an object nor a message of LangChain"
ANSWERING = ("assistant", "ai", "model")
GEMINI_ROLES = ("user", "model", "function")
NO_TELEMETRY = "messages contain no telemetry"
NESTED = 4
"""So deep are the calls that a message asks for."""
NumberedMessages = Sequence[tuple[int, ChatMessage]]


def trace_from_messages(messages: Iterable[object], *, case_id: str = "") -> Trace:
    """The trace of a conversation, from its messages as OpenAI, Anthropic, Gemini or LangChain have them.

    Each prompt of the user begins a turn. What a call gave is in the message that returns its result; where that is
    plain text, it may be the words of an exception, so whether the call succeeded is unknown. A call without a result
    was requested, and it is unknown whether it ran. Raises ValueError for what cannot be read.
    """
    if isinstance(messages, Mapping | str):
        raise ValueError(f"messages are a list, not {with_article(type(messages).__name__)}")
    return build_conversation([_read(message) for message in messages], case_id)


def build_conversation(messages: Iterable[ChatMessage], case_id: str = "") -> Trace:
    """The trace of messages that were read."""
    traces = [build_turn(turn, case_id) for turn in split_turns(messages)]
    if not traces:
        return Trace(case_id=case_id, tool_calls=())
    return traces[0] if len(traces) == 1 else merge_turns(traces)


def missing_turn(why: str, case_id: str = "") -> Trace:
    """A turn of which nothing was seen."""
    unobserved = dict.fromkeys(("input", "tools", "final_message"), why)
    return Trace(case_id=case_id, tool_calls=(), unobserved={"telemetry": NO_TELEMETRY, **unobserved})


def split_turns(messages: Iterable[ChatMessage]) -> list[NumberedMessages]:
    """The messages of each turn, with their numbers; several prompts in a row begin one turn."""
    turns: list[list[tuple[int, ChatMessage]]] = []
    is_answered = True
    for numbered in enumerate(messages):
        message = numbered[1]
        is_prompt = message.is_prompt
        if not turns or (is_prompt and is_answered):
            turns.append([])
            is_answered = False
        turns[-1].append(numbered)
        is_answered = is_answered or not (is_prompt or message.role in SYSTEM)
    return [*turns]


def _read(message: object) -> ChatMessage:
    """One message; of LangChain, an object or its dump."""
    if message.__class__ is dict and (_is_ascii(message) or _is_clean(message)):
        return read_message(message)
    if not isinstance(message, Mapping) and callable(dump := getattr(message, "model_dump", None)):
        message = dump()
    value = jsonable(message)
    if not isinstance(value, Mapping):
        raise ValueError(UNREAD)
    if isinstance(value.get("parts"), list) and text_of(value.get("role")) in GEMINI_ROLES:
        return read_content(value)
    return read_message(value)


def _is_ascii(message: Any) -> bool:
    """Whether a message is nothing but texts of ASCII, by a look at all of them at once."""
    try:
        return "tool_calls" not in message and "".join(message.values()).isascii()
    except TypeError:
        return False


def _is_clean(value: Any, depth: int = NESTED) -> bool:
    """Whether a value holds nothing but texts that UTF-8 can hold, as most messages do, so that it stays as it is."""
    for inner in value.values() if value.__class__ is dict else value:
        kind = inner.__class__
        if kind is str:
            if not (inner.isascii() or text(inner) is inner):
                return False
        elif kind is dict or kind is list:
            if not (depth and _is_clean(inner, depth - 1)):
                return False
        elif inner is not None:
            return False
    return True


def build_turn(turn: NumberedMessages, case_id: str = "") -> Trace:
    """The trace of one turn, as its messages show it."""
    requests: list[tuple[str, CallRequest]] = []
    results: list[ReturnedResult] = []
    prompts: list[str] = []
    words: list[Message] = []
    answer = ""
    for number, message in turn:
        if message.calls:
            requests += [(f"message-{number}", call) for call in message.calls if not is_helper(call.name)]
        results += message.results
        if said := message.text:
            words.append(Message(message.role, said))
            if message.is_prompt:
                prompts.append(said)
            elif message.role in ANSWERING:
                answer = said
    calls = [read_call(request, message, _take(request, results)) for message, request in requests]
    return Trace(
        case_id=case_id,
        input="\n".join(prompts),
        final_message=answer,
        messages=tuple(words),
        tool_calls=tuple(calls),
        possible_calls=tuple([PossibleCall(c.name, NO_RESULT.format(c.name)) for c in calls if not c.called]),
        unobserved={"telemetry": NO_TELEMETRY},
    )


def _take(request: CallRequest, results: list[ReturnedResult]) -> ReturnedResult | None:
    """Take the result of a call: by its id, else the next one of its name, or without one."""
    if request.id:
        for place, result in enumerate(results):
            if result.id == request.id:
                return results.pop(place)
    for place, result in enumerate(results):
        if not (request.id and result.id) and result.name in ("", request.name):
            return results.pop(place)
    return None
