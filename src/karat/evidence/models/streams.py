"""The events of a model's stream → the reply that they make up, as the API would send it at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from karat.evidence import memory_estimate as weight

Table = Mapping[str, Any]
ENDS = ("response.completed", "response.incomplete", "response.failed")


def read_json(text: bytes | str) -> object:
    """A value of JSON; None for what is not one, or would take too much memory."""
    data = text.encode() if isinstance(text, str) else text
    if weight.json_weight(data) > weight.HEAVIEST:
        return None
    try:
        return cast(object, msgspec.json.decode(data))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def read_events(events: Sequence[str]) -> list[Table]:
    """The data of events that is an object. What ends a stream, and what was cut off, is none."""
    found: list[Table] = []
    for event in events:
        lines = (line.partition(":") for line in event.splitlines())
        data = "\n".join(value.removeprefix(" ") for field, _, value in lines if field == "data")
        value = read_json(data) if data.strip() else None
        if isinstance(value, dict):
            found.append(value)
    return found


def objects(value: object) -> list[Table]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def table(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _place(value: object) -> int:
    return value if isinstance(value, int) else 0


def join_chat(chunks: Sequence[Table]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        whole |= {key: value for key, value in chunk.items() if value is not None and key != "choices"}
        for choice in objects(chunk.get("choices")):
            own = choices.setdefault(_place(choice.get("index")), {"message": {"role": "assistant"}})
            if choice.get("finish_reason"):
                own["finish_reason"] = choice["finish_reason"]
            if isinstance(delta := choice.get("delta"), Mapping):
                _add_delta(own["message"], delta)
    for choice in choices.values():
        if "tool_calls" in choice["message"]:
            choice["message"]["tool_calls"] = list(choice["message"]["tool_calls"].values())
    return whole | {"choices": [choices[place] for place in sorted(choices)]}


def _add_delta(message: dict[str, Any], delta: Table) -> None:
    for key in ("content", "refusal"):
        if isinstance(piece := delta.get(key), str):
            message[key] = message.get(key, "") + piece
    if isinstance(old := delta.get("function_call"), Mapping):
        _add_call(message.setdefault("function_call", {}), old)
    for place, part in enumerate(objects(delta.get("tool_calls"))):
        index = part["index"] if isinstance(part.get("index"), int) else place
        call = message.setdefault("tool_calls", {}).setdefault(index, {"type": "function", "function": {}})
        if isinstance(part.get("id"), str) and part["id"]:
            call["id"] = part["id"]
        if isinstance(function := part.get("function"), Mapping):
            _add_call(call["function"], function)


def _add_call(call: dict[str, Any], piece: Table) -> None:
    call["name"] = call.get("name") or piece.get("name")
    call["arguments"] = call.get("arguments", "") + str(piece.get("arguments") or "")


def join_responses(events: Sequence[Table]) -> dict[str, Any]:
    items: dict[int, Any] = {}
    whole: dict[str, Any] = {}
    for event in events:
        kind = event.get("type")
        if kind in ENDS and isinstance(event.get("response"), dict):
            return dict(event["response"])
        if kind == "error":
            whole["error"] = event.get("error") or {"message": event.get("message")}
        elif kind in ("response.output_item.added", "response.output_item.done"):
            items[_place(event.get("output_index"))] = event.get("item")
    return whole | {"output": [items[place] for place in sorted(items)]}


def join_messages(events: Sequence[Table]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        kind, place = event.get("type"), _place(event.get("index"))
        if kind == "message_start" and isinstance(event.get("message"), dict):
            whole |= event["message"]
        elif kind == "content_block_start" and isinstance(event.get("content_block"), dict):
            blocks[place] = dict(event["content_block"])
        elif kind == "content_block_delta" and isinstance(delta := event.get("delta"), Mapping):
            _add_to_block(blocks.setdefault(place, {"type": "text", "text": ""}), delta)
        elif kind == "message_delta":
            whole |= {key: value for key, value in table(event.get("delta")).items() if value is not None}
            whole["usage"] = table(whole.get("usage")) | table(event.get("usage"))
        elif kind == "error":
            whole["error"] = event.get("error")
    for block in blocks.values():
        if isinstance(written := block.pop("partial_json", None), str):
            block["input"] = (read_json(written) if written.strip() else {}) or written
    return whole | {"content": [blocks[place] for place in sorted(blocks)]}


def _add_to_block(block: dict[str, Any], delta: Table) -> None:
    for key in ("text", "partial_json", "thinking"):
        if isinstance(piece := delta.get(key), str):
            block[key] = str(block.get(key) or "") + piece


def join_gemini(chunks: Sequence[Table]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    candidates: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        whole |= {key: value for key, value in chunk.items() if key != "candidates"}
        for candidate in objects(chunk.get("candidates")):
            own = candidates.setdefault(_place(candidate.get("index")), {"content": {"role": "model", "parts": []}})
            own |= {key: value for key, value in candidate.items() if key != "content"}
            if isinstance(content := candidate.get("content"), Mapping):
                own["content"]["parts"] += objects(content.get("parts"))
    return whole | ({"candidates": [candidates[place] for place in sorted(candidates)]} if candidates else {})
