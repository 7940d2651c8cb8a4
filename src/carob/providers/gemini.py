"""Google's Gemini, as AI Studio and Vertex AI have it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from carob.model.trace import ToolCall
from carob.providers import base
from carob.providers.messages import ChatMessage, read_message

MODEL = re.compile(r"/models/(?P<model>[^/:]+):(?P<stream>stream)?generateContent$", re.IGNORECASE)
ERROR_STATUSES = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip
OUTPUT_TOKENS = ("candidatesTokenCount", "thoughtsTokenCount")
TOO_LONG = "The input token count (1179648) exceeds the maximum number of tokens allowed (1048576)."
SPELLINGS = {"function_call": "functionCall", "function_response": "functionResponse"}
ROLES = {"model": "assistant", "function": "user"}


class Gemini(base.ModelApi):
    """`:generateContent`, and the same as a stream."""

    name = "gemini"
    address = re.compile(r":(?:stream)?generateContent$", re.IGNORECASE)
    request_keys = frozenset({"contents"})
    arguments_key = "args"
    arguments_as_text = False
    streams_arguments = False

    def model_of(self, body: base.Table, path: str) -> str:
        address = MODEL.search(path.partition("?")[0])
        return address["model"] if address else super().model_of(body, path)

    def wants_stream(self, body: base.Table, path: str) -> bool:
        address = MODEL.search(path.partition("?")[0])
        return bool(address["stream"]) if address else super().wants_stream(body, path)

    def request(self, body: base.Table) -> base.ModelRequest:
        prompt = body.get("contents")
        contents = [{"parts": [{"text": prompt}]}] if isinstance(prompt, str) else base.objects(prompt)
        system = read_content(base.table(body.get("systemInstruction", body.get("system_instruction")))).text
        return base.ModelRequest("", tuple(map(read_content, contents)), system, lower_types(body.get("tools")))

    def reply(self, body: base.Table) -> base.ModelReply:
        candidates = base.objects(body.get("candidates"))
        finish = next((base.text_of(candidate.get("finishReason")) for candidate in candidates), "")
        if not candidates:
            finish = base.text_of(base.table(body.get("promptFeedback")).get("blockReason"))
        contents = [content for candidate in candidates if isinstance(content := candidate.get("content"), Mapping)]
        messages = tuple(read_content({"role": "model", **content}) for content in contents)
        tokens = base.count_tokens(body.get("usageMetadata"), ("promptTokenCount",), OUTPUT_TOKENS)
        calls = tuple(_run_code([part for content in contents for part in base.objects(content.get("parts"))]))
        model = base.text_of(body.get("modelVersion"))
        return base.ModelReply(messages, finish, tokens, model, base.error_text(body), calls, torn=not finish)

    def read_stream(self, data: bytes) -> list[base.Table]:
        """A list of all events, where the request did not ask for server-sent ones."""
        return base.objects(base.read_json(data)) if data.lstrip()[:1] == b"[" else []

    def join(self, events: Sequence[base.Table]) -> dict[str, Any]:
        body: dict[str, Any] = {}
        candidates: dict[int, dict[str, Any]] = {}
        for chunk in events:
            body |= {key: value for key, value in chunk.items() if key != "candidates"}
            for part in base.objects(chunk.get("candidates")):
                index = base.number_of(part.get("index"))
                candidate = candidates.setdefault(index, {"content": {"role": "model", "parts": []}})
                candidate |= {key: value for key, value in part.items() if key != "content"}
                candidate["content"]["parts"] += base.objects(base.table(part.get("content")).get("parts"))
        return body | ({"candidates": [candidates[index] for index in sorted(candidates)]} if candidates else {})

    def split(self, body: base.Table) -> base.Pieces:
        yield "", body

    def tool_calls(self, body: base.Table) -> list[tuple[object, dict[str, Any]]]:
        contents = [base.table(candidate.get("content")) for candidate in base.objects(body.get("candidates"))]
        parts = [part for content in contents for part in base.objects(content.get("parts"))]
        return [(call.get("id"), call) for part in parts if isinstance(call := part.get("functionCall"), dict)]

    def error_body(self, status: int, message: str = "", retry_after: float | None = None) -> dict[str, Any]:
        kind = ERROR_STATUSES.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT")
        error = {"code": status, "message": message or base.ERRORS.get(status, base.SERVER_ERROR), "status": kind}
        if retry_after is not None:
            info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{retry_after:g}s"}
            error["details"] = [info]
        return {"error": error}

    def too_long_body(self) -> dict[str, Any]:
        return self.error_body(400, TOO_LONG)

    def refusal_body(self, request: base.Table, model: str, words: str) -> dict[str, Any]:
        usage = {"promptTokenCount": 0, "candidatesTokenCount": 0, "totalTokenCount": 0}
        return {**_reply([{"text": words}]), "usageMetadata": usage, "modelVersion": model, "responseId": "fault"}

    def empty_body(self, body: base.Table) -> dict[str, Any]:
        return {**body, **_reply([])}


def _reply(parts: list[base.Table]) -> dict[str, Any]:
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}


def read_content(content: base.Table) -> ChatMessage:
    """One message, as Gemini has it."""
    parts = [part for part in base.objects(content.get("parts")) if part.get("thought") is not True]
    respelled = [{SPELLINGS.get(key, key): value for key, value in part.items()} for part in parts]
    return read_message({"role": ROLES.get(base.text_of(content.get("role")), "user"), "parts": respelled})


def lower_types(value: object) -> object:
    """Schemas with the types of JSON Schema: Gemini writes them in capitals."""
    if isinstance(value, Mapping):
        is_type = isinstance(kind := value.get("type"), str) and kind.isupper()
        lowered = {key: lower_types(item) for key, item in value.items()}
        return {**lowered, "type": str(kind).lower()} if is_type else lowered
    return [lower_types(item) for item in value] if isinstance(value, list) else value


def _run_code(parts: Sequence[base.Table]) -> Iterator[ToolCall]:
    """The code that the provider ran. Results follow their code: of several before one result, the last had it."""
    calls: list[tuple[base.Table, object]] = []
    waiting: list[int] = []
    results: list[object] = []
    for part in (*parts, {"executableCode": None}):
        if "codeExecutionResult" in part:
            results.append(part["codeExecutionResult"])
        if "executableCode" not in part:
            continue
        if results:
            for index, result in zip(waiting[-len(results) :], results, strict=False):
                calls[index] = calls[index][0], result
            waiting, results = [], []
        waiting.append(len(calls))
        calls.append((part["executableCode"], None))
    for code, result in calls[:-1]:
        if isinstance(code, Mapping):
            failed = isinstance(result, Mapping) and result.get("outcome") not in (None, "OUTCOME_OK")
            call = base.provider_call("code_execution", dict(code), result, failed=failed)
            yield call if result is not None else structs.replace(call, success=None)
