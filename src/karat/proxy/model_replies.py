"""Replies as each model API words them: errors, words, a call that is changed, and a reply as a stream."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from karat.evidence.models.streams import Table, objects, table

GEMINI = re.compile(r"/models/(?P<model>[^/:]+):(?P<stream>stream)?generateContent$", re.IGNORECASE)
SAYS_NO = "I'm sorry, but I can't help with that."
_OPENAI = {
    400: ("invalid_request_error", None), 401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "model_not_found"), 429: ("requests", "rate_limit_exceeded"),
}  # fmt: skip
_ANTHROPIC = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip
_GEMINI = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip
_SAID = {
    401: "Incorrect API key provided.", 403: "You do not have access to this model.", 404: "The model does not exist.",
    429: "Rate limit reached. Please try again later.", 503: "The service is overloaded. Please try again later.",
    529: "Overloaded",
}  # fmt: skip
TOO_LONG = {
    "chat": "This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens. "
    "Please reduce the length of the messages.",
    "responses": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "messages": "prompt is too long: 212992 tokens > 200000 maximum",
    "gemini": "The input token count (1179648) exceeds the maximum number of tokens allowed (1048576).",
}


def error_body(api: str, status: int, message: str = "", retry_after: float | None = None) -> dict[str, Any]:
    """An error as the API words it."""
    said = message or _SAID.get(status, "The server had an error while processing your request. Sorry about that!")
    if api == "messages":
        kind = _ANTHROPIC.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": said}, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"}
    if api == "gemini":
        kind = _GEMINI.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT")
        error: dict[str, Any] = {"code": status, "message": said, "status": kind}
        if retry_after is not None:
            info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{retry_after:g}s"}
            error["details"] = [info]
        return {"error": error}
    kind, code = _OPENAI.get(status, ("server_error" if status >= 500 else "invalid_request_error", None))
    return {"error": {"message": said, "type": kind, "param": None, "code": code}}


def too_long_body(api: str) -> dict[str, Any]:
    """The error for a request that is longer than the model can take."""
    body = error_body(api, 400, TOO_LONG[api])
    if api in ("chat", "responses"):
        param = "messages" if api == "chat" else "input"
        body["error"] |= {"param": param, "code": "context_length_exceeded"}
    return body


def model_of(body: Table, path: str) -> str:
    named = GEMINI.search(path.partition("?")[0])
    return named["model"] if named else str(body.get("model") or "")


def wants_stream(body: Table, path: str) -> bool:
    named = GEMINI.search(path.partition("?")[0])
    return bool(named["stream"]) if named else body.get("stream") is True


def refusal_body(api: str, request: Table, model: str, words: str) -> dict[str, Any]:
    """A reply that refuses. Where the request asks for JSON, the APIs of OpenAI have a place of its own for that."""
    if api == "chat":
        own = "response_format" in request
        message = {"role": "assistant", "content": None if own else words, "refusal": words if own else None}
        return _chat(model, message)
    if api == "responses":
        own = table(table(request.get("text")).get("format")).get("type") not in (None, "text")
        part = {"type": "refusal", "refusal": words} if own else {"type": "output_text", "text": words}
        return _response(model, [_response_message([part | ({} if own else {"annotations": [], "logprobs": []})])])
    if api == "messages":
        return _message(model, [{"type": "text", "text": words}], "refusal")
    return _generate_reply(model, [{"text": words}])


def empty_body(api: str, whole: Table) -> dict[str, Any]:
    """The reply without anything in it."""
    if api == "chat":
        message = {"role": "assistant", "content": "", "refusal": None}
        return {**whole, "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}]}
    if api == "responses":
        return {**whole, "status": "completed", "output": []}
    if api == "messages":
        return {**whole, "content": [], "stop_reason": "end_turn"}
    candidate = {"index": 0, "content": {"role": "model", "parts": []}, "finishReason": "STOP"}
    return {**whole, "candidates": [candidate]}


def _chat(model: str, message: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    frame = {"id": "chatcmpl-fault", "object": "chat.completion", "created": 0, "model": model}
    return frame | {"choices": [choice], "usage": usage}


def _response_message(content: list[Any]) -> dict[str, Any]:
    return {"type": "message", "id": "msg_fault", "role": "assistant", "status": "completed", "content": content}


def _response(model: str, output: list[Any]) -> dict[str, Any]:
    usage = {
        "input_tokens": 0, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 0,
    }  # fmt: skip
    return {
        "id": "resp_fault", "object": "response", "created_at": 0, "model": model, "status": "completed", "error": None,
        "incomplete_details": None, "instructions": None, "metadata": {}, "output": output, "parallel_tool_calls": True,
        "temperature": None, "tool_choice": "auto", "tools": [], "top_p": None, "usage": usage,
    }  # fmt: skip


def _message(model: str, content: list[Any], stop_reason: str) -> dict[str, Any]:
    frame = {"id": "msg_fault", "type": "message", "role": "assistant", "model": model, "content": content}
    usage = {"input_tokens": 0, "output_tokens": 0}
    return frame | {"stop_reason": stop_reason, "stop_sequence": None, "usage": usage}


def _generate_reply(model: str, parts: list[Any]) -> dict[str, Any]:
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 0, "candidatesTokenCount": 0, "totalTokenCount": 0}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model, "responseId": "fault"}


def calls_in(api: str, whole: Table) -> list[dict[str, Any]]:
    """The parts of a reply that ask for tools, to be changed in place."""
    if api == "chat":
        messages = [table(choice.get("message")) for choice in objects(whole.get("choices"))]
        asked = [call.get("function") for message in messages for call in objects(message.get("tool_calls"))]
    elif api == "responses":
        asked = [item for item in objects(whole.get("output")) if item.get("type") == "function_call"]
    elif api == "messages":
        asked = [block for block in objects(whole.get("content")) if block.get("type") == "tool_use"]
    else:
        contents = [table(candidate.get("content")) for candidate in objects(whole.get("candidates"))]
        asked = [part.get("functionCall") for content in contents for part in objects(content.get("parts"))]
    return [call for call in asked if isinstance(call, dict)]


_ARGUMENTS = {"chat": "arguments", "responses": "arguments", "messages": "input", "gemini": "args"}


def break_arguments(api: str, call: dict[str, Any], value: object, *, streamed: bool) -> None:
    """Give a call the arguments `value`, or ones that are not JSON.

    Where the API can only have an object, it is one that fits no tool.
    """
    key = _ARGUMENTS[api]
    as_text = api in ("chat", "responses")
    if isinstance(value, Mapping):
        call[key] = msgspec.json.encode(value).decode() if as_text else dict(value)
        return
    if isinstance(value, str):
        call[key] = value if as_text or (api == "messages" and streamed) else {"value": value}
        return
    given = call.get(key)
    text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
    torn = text.replace('"', "'").rstrip("}") or "{"  # what is only cut off, some clients complete
    call[key] = torn if as_text or (api == "messages" and streamed) else {"": torn}


def split(api: str, whole: Table) -> list[str]:
    """A reply as the events of a stream."""
    return [_event(kind, data) for kind, data in _SPLIT[api](whole)]


def _event(kind: str, data: object) -> str:
    text = data if isinstance(data, str) else msgspec.json.encode(data).decode()
    return (f"event: {kind}\n" if kind else "") + f"data: {text}\n\n"


Pieces = Iterator[tuple[str, object]]


def _split_chat(whole: Table) -> Pieces:
    frame = {key: value for key, value in whole.items() if key not in ("choices", "usage", "object")}
    frame["object"] = "chat.completion.chunk"

    def chunk(place: int, delta: Table, finish: object = None) -> tuple[str, object]:
        return "", {**frame, "choices": [{"index": place, "delta": delta, "finish_reason": finish, "logprobs": None}]}

    for place, choice in enumerate(objects(whole.get("choices"))):
        message = table(choice.get("message"))
        yield chunk(place, {"role": "assistant", "content": ""})
        for key in ("content", "refusal"):
            if message.get(key):
                yield chunk(place, {key: message[key]})
        for number, call in enumerate(objects(message.get("tool_calls"))):
            yield chunk(place, {"tool_calls": [{"index": number, **call}]})
        yield chunk(place, {}, choice.get("finish_reason"))
    if whole.get("usage"):
        yield "", {**frame, "choices": [], "usage": whole["usage"]}
    yield "", "[DONE]"


def _split_responses(whole: Table) -> Pieces:
    for number, (kind, data) in enumerate(_response_events(whole)):
        yield kind, {"type": kind, "sequence_number": number, **data}


def _response_events(whole: Table) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "response.created", {"response": {**whole, "status": "in_progress", "output": [], "usage": None}}
    for place, item in enumerate(objects(whole.get("output"))):
        at = {"item_id": item.get("id", ""), "output_index": place}
        bare: dict[str, Any] = {"content": []} if item.get("type") == "message" else {"arguments": ""}
        yield "response.output_item.added", {"output_index": place, "item": {**item, **bare, "status": "in_progress"}}
        if item.get("type") == "function_call":
            yield "response.function_call_arguments.delta", {**at, "delta": item.get("arguments", "")}
            done = {**at, "arguments": item.get("arguments", ""), "name": item.get("name")}
            yield "response.function_call_arguments.done", done
        for number, part in enumerate(objects(item.get("content"))):
            here = {**at, "content_index": number}
            key, kind = ("refusal", "refusal") if part.get("type") == "refusal" else ("text", "output_text")
            text = part.get(key, "")
            yield "response.content_part.added", {**here, "part": {**part, key: ""}}
            yield f"response.{kind}.delta", {**here, "delta": text, "logprobs": []}
            yield f"response.{kind}.done", {**here, key: text, "logprobs": []}
            yield "response.content_part.done", {**here, "part": part}
        yield "response.output_item.done", {"output_index": place, "item": item}
    yield f"response.{whole.get('status') or 'completed'}", {"response": whole}


def _split_messages(whole: Table) -> Pieces:
    usage = table(whole.get("usage"))
    start = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 0}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    for place, block in enumerate(objects(whole.get("content"))):
        bare, delta = dict(block), dict[str, Any]()
        if block.get("type") == "tool_use":
            given = block.get("input")
            text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
            bare, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": text}
        elif block.get("type") == "text":
            bare, delta = {**block, "text": ""}, {"type": "text_delta", "text": block.get("text", "")}
        events.append({"type": "content_block_start", "index": place, "content_block": bare})
        if delta:
            events.append({"type": "content_block_delta", "index": place, "delta": delta})
        events.append({"type": "content_block_stop", "index": place})
    end = {"stop_reason": whole.get("stop_reason"), "stop_sequence": whole.get("stop_sequence")}
    made = {"output_tokens": usage.get("output_tokens", 0)}
    events += [{"type": "message_delta", "delta": end, "usage": made}, {"type": "message_stop"}]
    yield from ((str(event["type"]), event) for event in events)


def _split_gemini(whole: Table) -> Pieces:
    yield "", whole


_SPLIT = {"chat": _split_chat, "responses": _split_responses, "messages": _split_messages, "gemini": _split_gemini}


def half_of(count: int) -> int:
    """Where something breaks off that is to break off in its middle."""
    return max(1, count // 2)


def cut_at(events: Sequence[object], body: bytes, value: object) -> int:
    """After how many events of a stream, or bytes of a body, a reply breaks off: never at its end."""
    size = len(events) or len(body)
    wanted = value if isinstance(value, int) and not isinstance(value, bool) and events else half_of(size)
    return min(wanted, max(0, size - 1))
