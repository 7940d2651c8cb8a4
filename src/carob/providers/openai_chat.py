"""OpenAI's chat completions, which many other services speak too."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from msgspec import structs

from carob.providers import base
from carob.providers.messages import ChatMessage, read_message

ERROR_TYPES = {
    400: ("invalid_request_error", None), 401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "model_not_found"), 429: ("requests", "rate_limit_exceeded"),
}  # fmt: skip
TOO_LONG = (
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens. "
    "Please reduce the length of the messages."
)


class OpenAiApi(base.ModelApi):
    """What both APIs of OpenAI have in common. Carob sends requests of these itself, for `openai:`."""

    title: ClassVar[str]
    body_key: ClassVar[str]
    """The key that every reply has."""
    end_mark: ClassVar[str]
    """What a reply that was cut off does not have."""
    input_key: ClassVar[str]
    too_long: ClassVar[str]

    @abstractmethod
    def is_event(self, event: base.Table) -> bool:
        """Whether an event is one of this API."""

    @abstractmethod
    def ends_stream(self, event: base.Table) -> bool: ...

    @abstractmethod
    def text_delta(self, event: base.Table) -> str:
        """The words that an event adds to the answer."""

    @abstractmethod
    def write_request(
        self, model: str, system: str, history: list[object], tools: Sequence[base.Table]
    ) -> dict[str, Any]:
        """A request with these messages; a tool has name, description and parameters."""

    @abstractmethod
    def write_reply(self, text: str, calls: Iterable[tuple[str | None, str, str]]) -> list[object]:
        """What the model said, as it is sent again; a call is its id, its name and its arguments as JSON."""

    @abstractmethod
    def write_result(self, call_id: str | None, text: str) -> object: ...

    def error_body(self, status: int, message: str = "", retry_after: float | None = None) -> dict[str, Any]:
        kind, code = ERROR_TYPES.get(status, ("server_error" if status >= 500 else "invalid_request_error", None))
        words = message or base.ERRORS.get(status, base.SERVER_ERROR)
        return {"error": {"message": words, "type": kind, "param": None, "code": code}}

    def too_long_body(self) -> dict[str, Any]:
        body = self.error_body(400, self.too_long)
        body["error"] |= {"param": self.input_key, "code": "context_length_exceeded"}
        return body


class ChatCompletions(OpenAiApi):
    """`/chat/completions`."""

    name = "chat"
    address = re.compile(r"/chat/completions$")
    request_keys = frozenset({"messages"})
    title = "chat completion"
    body_key = "choices"
    end_mark = "`finish_reason`"
    input_key = "messages"
    too_long = TOO_LONG

    def request(self, body: base.Table) -> base.ModelRequest:
        messages = tuple(map(_read_message, base.objects(body.get("messages"))))
        tools = [body.get("tools"), body.get("functions")]
        return base.ModelRequest(base.text_of(body.get("model")), messages, base.system_text(messages), tools)

    def reply(self, body: base.Table) -> base.ModelReply:
        choices = base.objects(body.get("choices"))
        finish = next((base.text_of(choice.get("finish_reason")) for choice in choices), "")
        messages = [message for choice in choices if isinstance(message := choice.get("message"), Mapping)]
        read_messages, model = tuple(map(_read_message, messages)), base.text_of(body.get("model"))
        tokens = base.count_tokens(body.get("usage"), ("prompt_tokens",), ("completion_tokens",))
        return base.ModelReply(read_messages, finish, tokens, model, base.error_text(body), torn=not finish)

    def join(self, events: Sequence[base.Table]) -> dict[str, Any]:
        body: dict[str, Any] = {}
        choices: dict[int, dict[str, Any]] = {}
        for chunk in events:
            body |= {key: value for key, value in chunk.items() if value is not None and key != "choices"}
            for part in base.objects(chunk.get("choices")):
                choice = choices.setdefault(base.number_of(part.get("index")), {"message": {"role": "assistant"}})
                if part.get("finish_reason"):
                    choice["finish_reason"] = part["finish_reason"]
                _add_delta(choice["message"], base.table(part.get("delta")))
        for choice in choices.values():
            if "tool_calls" in choice["message"]:
                choice["message"]["tool_calls"] = list(choice["message"]["tool_calls"].values())
        return body | {"choices": [choices[index] for index in sorted(choices)]}

    def split(self, body: base.Table) -> base.Pieces:
        frame = {key: value for key, value in body.items() if key not in ("choices", "usage", "object")}
        frame["object"] = "chat.completion.chunk"

        def chunk(index: int, delta: base.Table, finish: object = None) -> tuple[str, object]:
            return "", {**frame, "choices": [_choice(index, "delta", delta, finish)]}

        for index, choice in enumerate(base.objects(body.get("choices"))):
            message = base.table(choice.get("message"))
            yield chunk(index, {"role": "assistant", "content": ""})
            for key in ("content", "refusal"):
                if message.get(key):
                    yield chunk(index, {key: message[key]})
            for number, call in enumerate(base.objects(message.get("tool_calls"))):
                yield chunk(index, {"tool_calls": [{"index": number, **call}]})
            yield chunk(index, {}, choice.get("finish_reason"))
        if body.get("usage"):
            yield "", {**frame, "choices": [], "usage": body["usage"]}
        yield "", "[DONE]"

    def tool_calls(self, body: base.Table) -> list[tuple[object, dict[str, Any]]]:
        messages = [base.table(choice.get("message")) for choice in base.objects(body.get("choices"))]
        calls = [call for message in messages for call in base.objects(message.get("tool_calls"))]
        return [(call.get("id"), function) for call in calls if isinstance(function := call.get("function"), dict)]

    def refusal_body(self, request: base.Table, model: str, words: str) -> dict[str, Any]:
        as_refusal = "response_format" in request
        content, refusal = (None, words) if as_refusal else (words, None)
        message = {"role": "assistant", "content": content, "refusal": refusal}
        usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        frame = {"id": "chatcmpl-fault", "object": "chat.completion", "created": 0, "model": model}
        return {**frame, "choices": [_choice(0, "message", message, "stop")], "usage": usage}

    def empty_body(self, body: base.Table) -> dict[str, Any]:
        message = {"role": "assistant", "content": "", "refusal": None}
        return {**body, "choices": [_choice(0, "message", message, "stop")]}

    def is_event(self, event: base.Table) -> bool:
        return "choices" in event

    def ends_stream(self, event: base.Table) -> bool:
        return bool(event.get("error"))

    def text_delta(self, event: base.Table) -> str:
        deltas = [base.table(choice.get("delta")) for choice in base.objects(event.get("choices"))]
        return "".join(base.text_of(delta.get("content")) or base.text_of(delta.get("refusal")) for delta in deltas)

    def write_request(
        self, model: str, system: str, history: list[object], tools: Sequence[base.Table]
    ) -> dict[str, Any]:
        messages = [{"role": "system", "content": system}, *history] if system else history
        offered = {"tools": [{"type": "function", "function": tool} for tool in tools]} if tools else {}
        return {"model": model, "messages": messages, **offered}

    def write_reply(self, text: str, calls: Iterable[tuple[str | None, str, str]]) -> list[object]:
        tool_calls = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id, name, arguments in calls
        ]
        return [{"role": "assistant", "content": text, **({"tool_calls": tool_calls} if tool_calls else {})}]

    def write_result(self, call_id: str | None, text: str) -> object:
        return {"role": "tool", "tool_call_id": call_id, "content": text}


def _read_message(message: base.Table) -> ChatMessage:
    if isinstance(old_call := message.get("function_call"), Mapping):  # as calls were written before tools
        message = {**message, "tool_calls": [old_call]}
    chat_message = read_message(message)
    refusal = base.text_of(message.get("refusal"))
    return structs.replace(chat_message, text=chat_message.text + refusal) if refusal else chat_message


def _choice(index: int, key: str, message: base.Table, finish: object) -> dict[str, Any]:
    return {"index": index, key: message, "finish_reason": finish, "logprobs": None}


def _add_delta(message: dict[str, Any], delta: base.Table) -> None:
    for key in ("content", "refusal"):
        if isinstance(piece := delta.get(key), str):
            message[key] = message.get(key, "") + piece
    if isinstance(old_call := delta.get("function_call"), Mapping):
        _add_call(message.setdefault("function_call", {}), old_call)
    for number, part in enumerate(base.objects(delta.get("tool_calls"))):
        index = part["index"] if isinstance(part.get("index"), int) else number
        call = message.setdefault("tool_calls", {}).setdefault(index, {"type": "function", "function": {}})
        if isinstance(part.get("id"), str) and part["id"]:
            call["id"] = part["id"]
        if isinstance(function := part.get("function"), Mapping):
            _add_call(call["function"], function)


def _add_call(call: dict[str, Any], piece: base.Table) -> None:
    call["name"] = call.get("name") or piece.get("name")
    call["arguments"] = call.get("arguments", "") + str(piece.get("arguments") or "")
