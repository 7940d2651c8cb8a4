"""Anthropic's messages, also as Vertex AI and Bedrock have them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from carob.model.trace import ToolCall
from carob.providers import base
from carob.providers.messages import read_message

ERROR_TYPES = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip
INPUT_TOKENS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class AnthropicMessages(base.ModelApi):
    """`/messages`."""

    name = "messages"
    address = re.compile(r"/messages$|:(?:stream)?rawPredict$", re.IGNORECASE)
    request_keys = frozenset({"messages"})
    arguments_key = "input"
    arguments_as_text = False

    def request(self, body: base.Table) -> base.ModelRequest:
        messages = tuple(map(read_message, base.objects(body.get("messages"))))
        return base.ModelRequest(
            base.text_of(body.get("model")), messages, base.content_text(body.get("system")), body.get("tools")
        )

    def reply(self, body: base.Table) -> base.ModelReply:
        finish, model = base.text_of(body.get("stop_reason")), base.text_of(body.get("model"))
        message = read_message({"role": "assistant", "content": body.get("content")})
        tokens = base.count_tokens(body.get("usage"), INPUT_TOKENS, ("output_tokens",))
        calls = tuple(_provider_calls(base.objects(body.get("content"))))
        return base.ModelReply((message,), finish, tokens, model, base.error_text(body), calls, torn=not finish)

    def join(self, events: Sequence[base.Table]) -> dict[str, Any]:
        body: dict[str, Any] = {}
        blocks: dict[int, dict[str, Any]] = {}
        for event in events:
            kind, index = event.get("type"), base.number_of(event.get("index"))
            if kind == "message_start":
                body |= base.table(event.get("message"))
            elif kind == "content_block_start" and isinstance(event.get("content_block"), dict):
                blocks[index] = dict(event["content_block"])
            elif kind == "content_block_delta" and (delta := base.table(event.get("delta"))):
                _add_delta(blocks.setdefault(index, {"type": "text", "text": ""}), delta)
            elif kind == "message_delta":
                body |= {key: value for key, value in base.table(event.get("delta")).items() if value is not None}
                body["usage"] = base.table(body.get("usage")) | base.table(event.get("usage"))
            elif kind == "error":
                body["error"] = event.get("error")
        for block in blocks.values():
            if isinstance(json := block.pop("partial_json", None), str):
                block["input"] = (base.read_json(json) if json.strip() else {}) or json
        return body | {"content": [blocks[index] for index in sorted(blocks)]}

    def split(self, body: base.Table) -> base.Pieces:
        usage = base.table(body.get("usage"))
        start = {**body, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 0}}
        yield _event("message_start", message=start)
        for index, block in enumerate(base.objects(body.get("content"))):
            bare, delta = dict(block), dict[str, Any]()
            if block.get("type") == "tool_use":
                delta = {"type": "input_json_delta", "partial_json": base.json_text(block.get("input"))}
                bare["input"] = {}
            elif block.get("type") == "text":
                delta = {"type": "text_delta", "text": block.get("text", "")}
                bare["text"] = ""
            yield _event("content_block_start", index=index, content_block=bare)
            if delta:
                yield _event("content_block_delta", index=index, delta=delta)
            yield _event("content_block_stop", index=index)
        end = {"stop_reason": body.get("stop_reason"), "stop_sequence": body.get("stop_sequence")}
        yield _event("message_delta", delta=end, usage={"output_tokens": usage.get("output_tokens", 0)})
        yield _event("message_stop")

    def tool_calls(self, body: base.Table) -> list[tuple[object, dict[str, Any]]]:
        blocks = [block for block in base.objects(body.get("content")) if block.get("type") == "tool_use"]
        return [(block.get("id"), block) for block in blocks if isinstance(block, dict)]

    def error_body(self, status: int, message: str = "", retry_after: float | None = None) -> dict[str, Any]:
        kind = ERROR_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
        error = {"type": kind, "message": message or base.ERRORS.get(status, base.SERVER_ERROR)}
        return {"type": "error", "error": error, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"}

    def too_long_body(self) -> dict[str, Any]:
        return self.error_body(400, "prompt is too long: 212992 tokens > 200000 maximum")

    def refusal_body(self, request: base.Table, model: str, words: str) -> dict[str, Any]:
        frame = {"id": "msg_fault", "type": "message", "role": "assistant", "model": model}
        end = {"stop_reason": "refusal", "stop_sequence": None, "usage": {"input_tokens": 0, "output_tokens": 0}}
        return {**frame, "content": [{"type": "text", "text": words}], **end}

    def empty_body(self, body: base.Table) -> dict[str, Any]:
        return {**body, "content": [], "stop_reason": "end_turn"}


def _event(kind: str, **data: object) -> tuple[str, object]:
    return kind, {"type": kind, **data}


def _add_delta(block: dict[str, Any], delta: base.Table) -> None:
    for key in ("text", "partial_json", "thinking"):
        if isinstance(piece := delta.get(key), str):
            block[key] = str(block.get(key) or "") + piece


def _provider_calls(blocks: Sequence[base.Table]) -> Iterator[ToolCall]:
    """What the provider ran on its side: a block with the call, and one with its result after that."""
    ends = [block for block in blocks if base.text_of(block.get("type")).endswith("_tool_result")]
    results = {base.text_of(block.get("tool_use_id")): block for block in ends}
    for block in blocks:
        if block.get("type") in ("server_tool_use", "mcp_tool_use"):
            id = base.text_of(block.get("id"))
            end = results.get(id, {})
            failed = end.get("is_error") is True
            yield base.provider_call(
                base.text_of(block.get("name")), block.get("input"), end.get("content"), failed=failed, id=id
            )
