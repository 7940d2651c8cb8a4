"""What was said to a model and by it, in whatever shape an API or a span has it: words, requested calls, results."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import cast

import msgspec
from msgspec import Struct, structs

from carob.text.tool_names import is_helper

USER = frozenset({"user", "human"})
SYSTEM = frozenset({"system", "developer"})
_TEXT_TYPES = ("", "text", "output_text", "input_text")
_CALL_TYPES = frozenset({"tool_call", "tool_use", "function_call", "tool-call", "functionCall", "function"})
_CALL_KEYS = ("toolUse", "functionCall", "function_call", "tool_call")
_NAME_KEYS = ("name", "tool_name", "toolName")
_ARGUMENT_KEYS = ("arguments", "args", "input", "input_parameters", "parameters")
_ID_KEYS = ("toolUseId", "call_id", "toolCallId", "tool_call_id", "id")
CALL_MARKS = frozenset((*_CALL_KEYS, "function", "toolName", "type", "index", *_ID_KEYS[:-1]))
"""Keys of a call by itself that say that an API or a framework wrote it."""
CALL_PARTS = frozenset(("name", "id", "arguments", "args", "input"))
_LISTS = ("tool_calls", "toolCalls", "function_calls", "content", "parts", "output", "choices", "candidates", "message")
"""Keys of an answer that hold its calls, or the parts or messages in which they are."""
_WORDS = frozenset({"text", "output_text", "message", "thinking", "reasoning", "redacted_thinking"})
_RESULT_TYPES = frozenset({"tool_call_response", "tool_result", "function_call_output", "tool-result"})
_RESULT_KEYS = ("toolResult", "tool_call_result", "functionResponse", "function_response")
_RESULT_WRAPPERS = frozenset(_RESULT_KEYS)
_WRAPPED_CALLS = frozenset((*_CALL_KEYS, "function"))
_RESULT_IDS = ("tool_use_id", "toolUseId", "tool_call_id", "call_id", "toolCallId", "id")
_NESTED = frozenset(("message", "data", "kwargs", "parts", "contents"))
"""Keys of a message that may have its words in another place than `content`."""
_decode = msgspec.json.Decoder().decode


class CallRequest(Struct, frozen=True):
    """A call that a model asked for."""

    name: str
    id: str = ""
    arguments: object = None
    with_words: bool = False
    """Whether the message says something too."""


class ReturnedResult(Struct, frozen=True):
    """The result of a call, as a model is given it."""

    id: str = ""
    name: str = ""
    content: object = None
    failed: bool = False
    """Whether the message itself says that the call failed."""


class ChatMessage(Struct, frozen=True):
    """One message: whose it is, its words, the calls that it asks for, and the results that it returns."""

    role: str = ""
    text: str = ""
    calls: tuple[CallRequest, ...] = ()
    results: tuple[ReturnedResult, ...] = ()

    @property
    def is_prompt(self) -> bool:
        """Whether a person speaks, and no tool in the place of one."""
        return self.role in USER and bool(self.text) and not self.results


def decode_value(value: object) -> object:
    """A value that was turned into JSON as it was before; anything else as it is."""
    if isinstance(value, str) and value.startswith(("{", "[", '"', "true", "false", "null")):
        try:
            return cast(object, _decode(value))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return value
    return value


def read_messages(value: object) -> tuple[ChatMessage, ...] | None:
    """The messages that a value holds, or None if it holds none that can be read."""
    messages = decode_value(value)
    if isinstance(messages, Mapping) and isinstance(messages.get("messages"), list):
        messages = messages["messages"]
    if isinstance(messages, list) and len(messages) == 1 and isinstance(messages[0], list):
        messages = messages[0]
    if not isinstance(messages, list) or not all(isinstance(message, Mapping) for message in messages):
        return None
    return tuple(map(read_message, messages))


def read_message(message: Mapping[str, object]) -> ChatMessage:
    """One message of OpenTelemetry, OpenAI, Anthropic, Bedrock, LangChain or OpenInference."""
    content = message.get("content")
    if (content is None or (content.__class__ is str and content[:1] != "[")) and _NESTED.isdisjoint(message):
        return _read_plain(message, content or "")
    for key in ("message", "data", "kwargs"):
        if isinstance(inner := message.get(key), Mapping):
            role = message.get("role", message.get("type"))
            message = {"role": role, **inner} if role not in (None, "constructor") else inner
    role = str(message.get("role") or message.get("type") or "").lower()
    parts = [part for key in ("parts", "contents", "content") for part in _parts(message.get(key))]
    tables = [part for part in parts if isinstance(part, Mapping)]
    listed = message.get("tool_calls")
    calls = [call for entry in (listed if isinstance(listed, list) else ()) if (call := _read_call(entry))]
    calls += [call for part in tables if (call := _call_in_part(part)) and call not in calls]
    results = [_read_result(part) for part in tables if _is_result(part)]
    if not results and role in ("tool", "function"):
        results = [_read_result(message)]
    words = "".join(map(_words, parts))
    if words.strip():
        calls = [structs.replace(call, with_words=True) for call in calls]
    return ChatMessage(role, words, tuple(calls), tuple(results))


def _read_plain(message: Mapping[str, object], words: str) -> ChatMessage:
    """A message whose content is a text, as most are."""
    role = str(message.get("role") or message.get("type") or "").lower()
    results = (_read_result(message),) if role == "tool" or role == "function" else ()
    if "tool_calls" not in message:
        return ChatMessage(role, words, (), results)
    listed = message.get("tool_calls")
    calls = [call for entry in listed if (call := _read_call(entry))] if isinstance(listed, list) else []
    if calls and words.strip():
        calls = [structs.replace(call, with_words=True) for call in calls]
    return ChatMessage(role, words, tuple(calls), results)


def read_calls(value: object) -> tuple[CallRequest, ...] | None:
    """The calls that an answer asks for, as any API or framework writes it; None if it is not written as calls.

    It may be a call, a list of them, parts of a message, a message, or the body of a reply.
    """
    value = decode_value(value)
    calls: list[CallRequest] = []
    for entry in value if isinstance(value, list) else [value]:
        if not isinstance(entry, Mapping):
            return None
        inner = next((entry[key] for key in _LISTS if isinstance(entry.get(key), list | dict)), None)
        if call := read_call_entry(entry):
            calls.append(call)
        elif inner is not None and (found := read_calls(inner)):
            calls += found
        elif inner is not None or not (_type(entry) in _WORDS or "text" in entry):
            return None
    return tuple(calls) or None


def read_call_entry(entry: Mapping[str, object]) -> CallRequest | None:
    """A call by itself: it says that it is one, or has a name and its arguments."""
    if _type(entry) in _CALL_TYPES or not _WRAPPED_CALLS.isdisjoint(entry):
        return _read_call(entry)
    is_bare = not {"arguments", "args", "input_parameters"}.isdisjoint(entry) or "toolName" in entry
    return _read_call(entry) if is_bare else None


def since_last_prompt(messages: tuple[ChatMessage, ...], output_tools: Collection[str] = ()) -> tuple[ChatMessage, ...]:
    """What was said after a person last spoke: the turn so far."""
    return messages[max(_find_prompts(messages, output_tools), default=-1) + 1 :]


def find_prompts(messages: tuple[ChatMessage, ...], output_tools: Collection[str] = ()) -> list[str]:
    """What a person said, each time."""
    return [messages[index].text for index in _find_prompts(messages, output_tools)]


def _find_prompts(messages: tuple[ChatMessage, ...], output_tools: Collection[str]) -> Iterator[int]:
    """Where a person speaks. A turn ends by the call that hands over its answer: words next to its result begin one."""
    calls = (call for message in messages for call in message.calls)
    ends = {call.id for call in calls if is_helper(call.name) or call.name in output_tools}
    for index, message in enumerate(messages):
        speaks = message.role in USER and bool(message.text)
        if message.is_prompt or (speaks and any(result.id in ends for result in message.results)):
            yield index


def _parts(value: object) -> Iterator[object]:
    value = decode_value(value) if isinstance(value, str) and value[:1] == "[" else value
    if isinstance(value, list):
        yield from value
    elif value not in (None, ""):
        yield value


def _words(part: object) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return ""
    part = _unwrap(part, "message_content")
    kind = _type(part)
    keys = ("content", "text") if kind in _TEXT_TYPES else ("refusal",) if kind == "refusal" else ()
    return next((text for key in keys if isinstance(text := part.get(key), str)), "")


def _call_in_part(part: Mapping[str, object]) -> CallRequest | None:
    is_call = _type(part) in _CALL_TYPES or any(isinstance(part.get(key), Mapping) for key in _CALL_KEYS)
    return _read_call(part) if is_call else None


def _read_call(entry: object) -> CallRequest | None:
    if not (entry.__class__ is dict or isinstance(entry, Mapping)):
        return None
    for key in _CALL_KEYS:
        entry = _unwrap(entry, key)
    function = _unwrap(entry, "function")
    name = _first_text(function, _NAME_KEYS) or _first_text(entry, ("function",))
    if not name:
        return None
    return CallRequest(name, _first_text(entry, _ID_KEYS), decode_value(_first_value(function, _ARGUMENT_KEYS)))


def _type(part: Mapping[str, object]) -> str:
    return _first_text(part, ("type",))


def _is_result(part: Mapping[str, object]) -> bool:
    return _type(part) in _RESULT_TYPES or any(key in part for key in _RESULT_KEYS)


def _read_result(table: Mapping[str, object]) -> ReturnedResult:
    if not _RESULT_WRAPPERS.isdisjoint(table):
        for key in _RESULT_KEYS:
            table = _unwrap(table, key)
    content = _first_value(table, ("content", "output", "response", "result"))
    failed = table.get("is_error") is True or table.get("isError") is True or table.get("status") == "error"
    if "toolCallId" in table and isinstance(content, Mapping) and "value" in content:  # the AI SDK's
        failed, content = str(content.get("type")).startswith("error"), content["value"]
    return ReturnedResult(_first_text(table, _RESULT_IDS), _first_text(table, _NAME_KEYS), content, failed)


def _first_value(table: Mapping[str, object], keys: tuple[str, ...]) -> object:
    for key in keys:
        if key in table:
            return table[key]
    return None


def _first_text(table: Mapping[str, object], keys: tuple[str, ...]) -> str:
    for key in keys:
        if key in table and isinstance(text := table[key], str):
            return text
    return ""


def _unwrap(table: Mapping[str, object], key: str) -> Mapping[str, object]:
    if key not in table:
        return table
    inner = table[key]
    return inner if inner.__class__ is dict or isinstance(inner, Mapping) else table
