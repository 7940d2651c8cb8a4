"""What was said to a model and by it, in whatever shape a span carries it: words, calls asked for, results."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import cast

import msgspec
from msgspec import Struct

from karat.text.tool_names import is_helper

DEEPEST = 32
USER = frozenset({"user", "human"})
_CALLS = frozenset({"tool_call", "tool_use", "function_call", "tool-call", "functionCall"})
_RESULTS = frozenset({"tool_call_response", "tool_result", "function_call_output", "tool-result"})
_RESULT_KEYS = ("toolResult", "tool_call_result", "functionResponse")
_IDS = ("tool_use_id", "toolUseId", "tool_call_id", "call_id", "id")
_CONTENTS = ("content", "output", "response", "result")
_decode = msgspec.json.Decoder().decode


class AskedCall(Struct, frozen=True):
    """A call that a model asked for."""

    name: str
    id: str = ""
    arguments: object = None


class HandedResult(Struct, frozen=True):
    """The result of a call, as a model is given it."""

    id: str = ""
    name: str = ""
    content: object = None
    failed: bool = False
    """Whether the message itself says that the call failed."""


class Utterance(Struct, frozen=True):
    """One message: whose it is, its words, the calls that it asks for, and whether it hands back results."""

    role: str = ""
    text: str = ""
    calls: tuple[AskedCall, ...] = ()
    hands_back: bool = False
    results: tuple[HandedResult, ...] = ()

    @property
    def is_prompt(self) -> bool:
        """Whether a person speaks, and no tool in the place of one."""
        return self.role in USER and bool(self.text) and not self.hands_back


def decode_value(value: object) -> object:
    """A value that was turned into JSON as it was before; anything else as it is."""
    if isinstance(value, str) and value.startswith(("{", "[", '"', "true", "false", "null")):
        try:
            return cast(object, _decode(value))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return value
    return value


def conversation(value: object) -> tuple[Utterance, ...] | None:
    """The messages that an attribute holds, or None if it holds none that can be read."""
    found = decode_value(value)
    if isinstance(found, Mapping) and isinstance(found.get("messages"), list):
        found = found["messages"]
    if isinstance(found, list) and len(found) == 1 and isinstance(found[0], list):
        found = found[0]
    if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
        return None
    return tuple(map(utterance, found))


def utterance(message: Mapping[str, object]) -> Utterance:
    """One message of OpenTelemetry, OpenAI, Anthropic, Bedrock, LangChain or OpenInference."""
    for inner in ("message", "data", "kwargs"):
        if isinstance(held := message.get(inner), Mapping):
            role = message.get("role", message.get("type"))
            message = {"role": role, **held} if role not in (None, "constructor") else held
    role = str(message.get("role") or message.get("type") or "").lower()
    parts = [part for key in ("parts", "contents", "content") for part in _parts(message.get(key))]
    listed = message.get("tool_calls")
    asked = [call for entry in (listed if isinstance(listed, list) else ()) if (call := _read_call(entry))]
    asked += [call for part in parts if (call := _call_in_part(part)) and call not in asked]
    results = [_result(part) for part in parts if isinstance(part, Mapping) and _hands_back(part)]
    answers = role in ("tool", "function")
    return Utterance(
        role,
        "".join(_words(part) for part in parts),
        tuple(asked),
        answers or bool(results),
        tuple(results) or ((_result(message),) if answers else ()),
    )


def since_the_prompt(said: tuple[Utterance, ...], output_tools: Collection[str] = ()) -> tuple[Utterance, ...]:
    """What was said after a person last spoke: the turn so far."""
    return said[max(_prompts(said, output_tools), default=-1) + 1 :]


def prompts(said: tuple[Utterance, ...], output_tools: Collection[str] = ()) -> list[str]:
    """What a person said, each time."""
    return [said[place].text for place in _prompts(said, output_tools)]


def _prompts(said: tuple[Utterance, ...], output_tools: Collection[str]) -> Iterator[int]:
    """Where a person speaks. A turn ends by the call that hands over its answer: words next to its result begin one."""
    ends = {call.id for one in said for call in one.calls if is_helper(call.name) or call.name in output_tools}
    for place, one in enumerate(said):
        if one.is_prompt or (one.role in USER and one.text and any(result.id in ends for result in one.results)):
            yield place


def nest_attributes(attributes: Mapping[str, object], prefix: str) -> list[object]:
    """A list that was spread over attributes: `prefix.0.a.b`, `prefix.1.a.b`."""
    root: dict[str, object] = {}
    for key, value in attributes.items():
        if key.startswith(prefix + "."):
            _plant(root, key[len(prefix) + 1 :].split(".")[:DEEPEST], value)
    found = _as_lists(root)
    return found if isinstance(found, list) else []


def _plant(root: dict[str, object], way: list[str], value: object) -> None:
    at: object = root
    for step in way[:-1]:
        if not isinstance(at, dict):
            return
        at = at.setdefault(step, {})
    if isinstance(at, dict):
        at[way[-1]] = value


def _as_lists(value: object) -> object:
    if not isinstance(value, dict):
        return value
    if value and all(key.isdecimal() for key in value):
        return [_as_lists(value[key]) for key in sorted(value, key=int)]
    return {key: _as_lists(item) for key, item in value.items()}


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
    part = _inner(part, "message_content")
    if (_type(part) or "text") in ("text", "output_text", "input_text"):
        return next((text for key in ("content", "text") if isinstance(text := part.get(key), str)), "")
    return ""


def _call_in_part(part: object) -> AskedCall | None:
    if not isinstance(part, Mapping):
        return None
    if _type(part) in _CALLS:
        return _read_call(part)
    for key in ("toolUse", "functionCall", "function_call", "tool_call"):
        if isinstance(part.get(key), Mapping):
            return _read_call(part[key])
    return None


def _read_call(entry: object) -> AskedCall | None:
    if not isinstance(entry, Mapping):
        return None
    entry = _inner(entry, "tool_call")
    function = _inner(entry, "function")
    name = function.get("name", function.get("tool_name"))
    if not isinstance(name, str) or not name:
        return None
    given = next((decode_value(function[key]) for key in ("arguments", "args", "input") if key in function), None)
    known = next((entry[key] for key in ("id", "toolUseId", "call_id") if isinstance(entry.get(key), str)), "")
    return AskedCall(name, str(known), given)


def _type(part: Mapping[str, object]) -> str:
    found = part.get("type")
    return found if isinstance(found, str) else ""


def _hands_back(part: object) -> bool:
    return isinstance(part, Mapping) and (_type(part) in _RESULTS or any(key in part for key in _RESULT_KEYS))


def _result(table: Mapping[str, object]) -> HandedResult:
    for key in _RESULT_KEYS:
        table = _inner(table, key)
    return HandedResult(
        next((known for key in _IDS if isinstance(known := table.get(key), str)), ""),
        name if isinstance(name := table.get("name"), str) else "",
        next((table[key] for key in _CONTENTS if key in table), None),
        table.get("is_error") is True or table.get("isError") is True or table.get("status") == "error",
    )


def _inner(table: Mapping[str, object], key: str) -> Mapping[str, object]:
    held = table.get(key)
    return held if isinstance(held, Mapping) else table
