"""Ollama's own chat, whose stream is a line of JSON for each piece."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from carob.providers import base
from carob.providers.messages import ChatMessage, read_message

TOO_LONG = "the input length exceeds the context length"
_MADE_AT = "1970-01-01T00:00:00Z"


class OllamaChat(base.ModelApi):
    """`/api/chat`."""

    name = "ollama"
    address = re.compile(r"/api/chat$")
    request_keys = frozenset({"messages"})
    arguments_as_text = False
    streams_arguments = False
    stream_type = "application/x-ndjson"

    def fits(self, body: base.Table) -> bool:
        """Apps of the AI SDK have this address too; their messages have parts and no content."""
        messages = base.objects(body.get("messages"))
        return (
            "messages" in body
            and bool(base.text_of(body.get("model")))
            and not any("parts" in each for each in messages)
        )

    def wants_stream(self, body: base.Table, path: str) -> bool:
        return body.get("stream") is not False

    def request(self, body: base.Table) -> base.ModelRequest:
        messages = tuple(map(read_message, _with_names(base.objects(body.get("messages")))))
        return base.ModelRequest(
            base.text_of(body.get("model")), messages, base.system_text(messages), body.get("tools")
        )

    def reply(self, body: base.Table) -> base.ModelReply:
        finish = base.text_of(body.get("done_reason")) or ("stop" if body.get("done") is True else "")
        message = body.get("message")
        messages: tuple[ChatMessage, ...] = (read_message(message),) if isinstance(message, dict) else ()
        tokens = base.count_tokens(body, ("prompt_eval_count",), ("eval_count",))
        error = base.error_text(body)
        return base.ModelReply(
            messages, finish, tokens, base.text_of(body.get("model")), error, torn=body.get("done") is not True
        )

    def read_stream(self, data: bytes) -> list[base.Table]:
        lines = [line for line in data.splitlines() if line.strip()]
        return base.objects([base.read_json(line) for line in lines]) if len(lines) > 1 else []

    def join(self, events: Sequence[base.Table]) -> dict[str, Any]:
        body: dict[str, Any] = {}
        whole: dict[str, Any] = {}
        for chunk in events:
            body |= {key: value for key, value in chunk.items() if key != "message"}
            for key, value in base.table(chunk.get("message")).items():
                is_more = isinstance(value, str | list) and key != "role" and type(whole.get(key)) is type(value)
                whole[key] = whole[key] + value if is_more else value
        return body | ({"message": whole} if whole else {})

    def split(self, body: base.Table) -> base.Pieces:
        frame = {key: body[key] for key in ("model", "created_at") if key in body}
        message = base.table(body.get("message"))
        rest = {key: value for key, value in message.items() if key not in ("content", "role")}
        start = {"role": message.get("role", "assistant"), "content": message.get("content", "")}
        yield "", {**frame, "message": {**start, **rest}, "done": False}
        yield "", {**body, "message": {"role": "assistant", "content": ""}}

    def write_stream(self, body: base.Table) -> list[str]:
        return [f"{base.json_text(chunk)}\n" for _, chunk in self.split(body)]

    def tool_calls(self, body: base.Table) -> list[tuple[object, dict[str, Any]]]:
        calls = base.objects(base.table(body.get("message")).get("tool_calls"))
        return [(call.get("id"), function) for call in calls if isinstance(function := call.get("function"), dict)]

    def error_body(self, status: int, message: str = "", retry_after: float | None = None) -> dict[str, Any]:
        return {"error": message or base.ERRORS.get(status, base.SERVER_ERROR)}

    def too_long_body(self) -> dict[str, Any]:
        return self.error_body(400, TOO_LONG)

    def refusal_body(self, request: base.Table, model: str, words: str) -> dict[str, Any]:
        end = {"done": True, "done_reason": "stop", "prompt_eval_count": 0, "eval_count": 0}
        return {"model": model, "created_at": _MADE_AT, "message": {"role": "assistant", "content": words}, **end}

    def empty_body(self, body: base.Table) -> dict[str, Any]:
        return {**body, "message": {"role": "assistant", "content": ""}}


def _with_names(messages: Sequence[base.Table]) -> Iterator[base.Table]:
    """Messages whose results name their tool; where they do not, they come in the order of the calls."""
    open_calls: deque[base.Table] = deque()
    for message in messages:
        open_calls.extend(base.objects(message.get("tool_calls")))
        if message.get("role") != "tool":
            yield message
            continue
        call = open_calls.popleft() if open_calls else {}
        name = message.get("tool_name") or message.get("name") or base.table(call.get("function")).get("name", "")
        yield {**message, "name": name}
