"""OpenAI's responses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from carob.model.trace import ToolCall
from carob.providers import base
from carob.providers.messages import ChatMessage, read_message
from carob.providers.openai_chat import OpenAiApi

ENDS = ("response.completed", "response.incomplete", "response.failed")
ENDED = ("completed", "incomplete", "failed", "cancelled")
USAGE = {
    "input_tokens": 0, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 0,
}  # fmt: skip


class Responses(OpenAiApi):
    """`/responses`."""

    name = "responses"
    address = re.compile(r"/responses$")
    request_keys = frozenset({"input", "prompt"})
    title = "response"
    body_key = "output"
    end_mark = "end"
    input_key = "input"
    too_long = "Your input exceeds the context window of this model. Please adjust your input and try again."

    def request(self, body: base.Table) -> base.ModelRequest:
        prompt = body.get("input")
        messages = read_items(
            [{"role": "user", "content": prompt}] if isinstance(prompt, str) else base.objects(prompt)
        )
        system = "\n".join(filter(None, (base.content_text(body.get("instructions")), base.system_text(messages))))
        return base.ModelRequest(base.text_of(body.get("model")), messages, system, body.get("tools"))

    def reply(self, body: base.Table) -> base.ModelReply:
        items, status = base.objects(body.get("output")), base.text_of(body.get("status"))
        finish = base.text_of(base.table(body.get("incomplete_details")).get("reason")) or status
        tokens = base.count_tokens(body.get("usage"), ("input_tokens",), ("output_tokens",))
        error = base.error_text(body) or (status if status in ("failed", "cancelled") else "")
        messages, calls, model = read_items(items), tuple(_provider_calls(items)), base.text_of(body.get("model"))
        return base.ModelReply(messages, finish, tokens, model, error, calls, torn=status not in ENDED)

    def join(self, events: Sequence[base.Table]) -> dict[str, Any]:
        items: dict[int, Any] = {}
        body: dict[str, Any] = {}
        for event in events:
            kind = event.get("type")
            if kind in ENDS and isinstance(event.get("response"), dict):
                return dict(event["response"])
            if kind == "error":
                body["error"] = event.get("error") or {"message": event.get("message")}
            elif kind in ("response.output_item.added", "response.output_item.done"):
                items[base.number_of(event.get("output_index"))] = event.get("item")
        return body | {"output": [items[index] for index in sorted(items)]}

    def split(self, body: base.Table) -> base.Pieces:
        for number, (kind, data) in enumerate(_events(body)):
            yield kind, {"type": kind, "sequence_number": number, **data}

    def tool_calls(self, body: base.Table) -> list[tuple[object, dict[str, Any]]]:
        items = [item for item in base.objects(body.get("output")) if item.get("type") == "function_call"]
        return [(item.get("call_id"), item) for item in items if isinstance(item, dict)]

    def refusal_body(self, request: base.Table, model: str, words: str) -> dict[str, Any]:
        as_refusal = base.table(base.table(request.get("text")).get("format")).get("type") not in (None, "text")
        part: dict[str, Any] = {"type": "output_text", "text": words, "annotations": [], "logprobs": []}
        part = {"type": "refusal", "refusal": words} if as_refusal else part
        message = {
            "type": "message", "id": "msg_fault", "role": "assistant", "status": "completed", "content": [part],
        }  # fmt: skip
        return {
            "id": "resp_fault", "object": "response", "created_at": 0, "model": model, "status": "completed",
            "error": None, "incomplete_details": None, "instructions": None, "metadata": {}, "output": [message],
            "parallel_tool_calls": True, "temperature": None, "tool_choice": "auto", "tools": [], "top_p": None,
            "usage": USAGE,
        }  # fmt: skip

    def empty_body(self, body: base.Table) -> dict[str, Any]:
        return {**body, "status": "completed", "output": []}

    def is_event(self, event: base.Table) -> bool:
        return str(event.get("type")).startswith("response.")

    def ends_stream(self, event: base.Table) -> bool:
        return event.get("type") in (*ENDS, "error")

    def text_delta(self, event: base.Table) -> str:
        speaks = event.get("type") in ("response.output_text.delta", "response.refusal.delta")
        return base.text_of(event.get("delta")) if speaks else ""

    def write_request(
        self, model: str, system: str, history: list[object], tools: Sequence[base.Table]
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"model": model, "input": history}
        body |= {"instructions": system} if system else {}
        return body | ({"tools": [{"type": "function", **tool} for tool in tools]} if tools else {})

    def write_reply(self, text: str, calls: Iterable[tuple[str | None, str, str]]) -> list[object]:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        message = {"type": "message", "role": "assistant", "status": "completed", "content": content}
        items = [
            {"type": "function_call", "call_id": id, "name": name, "arguments": arguments}
            for id, name, arguments in calls
        ]
        return [*([message] if text else []), *items]

    def write_result(self, call_id: str | None, text: str) -> object:
        return {"type": "function_call_output", "call_id": call_id, "output": text}


def read_items(items: Sequence[base.Table]) -> tuple[ChatMessage, ...]:
    """The messages of a list of items: those that are words, a call or a result."""
    return tuple(read_message(message) for item in items if (message := _as_message(item)) is not None)


def _as_message(item: base.Table) -> dict[str, object] | None:
    """An item as a message; None for one that is neither words, a call nor a result."""
    kind = base.text_of(item.get("type")) or "message"
    if kind.endswith("_call_output"):
        return {"role": "tool", "content": [{**item, "type": "function_call_output"}]}
    if kind.endswith("_call"):
        arguments = next((item[key] for key in ("arguments", "input", "action", "operation") if key in item), None)
        id, name = item.get("call_id"), item.get("name") or kind.removesuffix("_call")
        part = {"type": "function_call", "call_id": id, "name": name, "arguments": arguments}
        return {"role": "assistant", "content": [part]} if id else None
    return dict(item) if "role" in item else None


def _provider_calls(items: Sequence[base.Table]) -> Iterator[ToolCall]:
    """What the provider ran on its side: items of a call that no result is to be handed back for."""
    for item in items:
        kind = base.text_of(item.get("type"))
        if kind.endswith("_call") and not item.get("call_id"):
            name = base.text_of(item.get("name")) or kind.removesuffix("_call")
            result = next((item[key] for key in ("output", "results", "outputs", "action") if item.get(key)), None)
            failed = bool(item.get("error")) or item.get("status") in ("failed", "incomplete")
            yield base.provider_call(name, item.get("arguments"), result, failed=failed, id=item.get("id"))


def _events(body: base.Table) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "response.created", {"response": {**body, "status": "in_progress", "output": [], "usage": None}}
    for index, item in enumerate(base.objects(body.get("output"))):
        at = {"item_id": item.get("id", ""), "output_index": index}
        bare: dict[str, Any] = {"content": []} if item.get("type") == "message" else {"arguments": ""}
        yield "response.output_item.added", {"output_index": index, "item": {**item, **bare, "status": "in_progress"}}
        if item.get("type") == "function_call":
            arguments = item.get("arguments", "")
            yield "response.function_call_arguments.delta", {**at, "delta": arguments}
            yield "response.function_call_arguments.done", {**at, "arguments": arguments, "name": item.get("name")}
        for number, part in enumerate(base.objects(item.get("content"))):
            here = {**at, "content_index": number}
            key, kind = ("refusal", "refusal") if part.get("type") == "refusal" else ("text", "output_text")
            text = part.get(key, "")
            yield "response.content_part.added", {**here, "part": {**part, key: ""}}
            yield f"response.{kind}.delta", {**here, "delta": text, "logprobs": []}
            yield f"response.{kind}.done", {**here, key: text, "logprobs": []}
            yield "response.content_part.done", {**here, "part": part}
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield f"response.{body.get('status') or 'completed'}", {"response": body}
