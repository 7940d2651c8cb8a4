"""The wire formats: how a request is read and how an answer is written, at once and as a stream of events."""

import json
import re
from collections.abc import Iterator
from typing import Any, ClassVar, Protocol

from scripted_model.conversation import Answer, Conversation

Json = dict[str, Any]
Event = tuple[str, Json | str]
"""Name of an event of a stream ("" if the format names none) and its data."""


class Dialect(Protocol):
    """One wire format."""

    def read(self, body: Json) -> Conversation: ...

    def write(self, answer: Answer) -> Json: ...

    def stream(self, answer: Answer, said: Conversation) -> Iterator[Event]: ...

    def error(self, status: int, message: str) -> Json: ...


def pieces(text: str) -> list[str]:
    """The text as a model would stream it: a few characters at a time."""
    return re.findall(r"\s*\S{1,12}|\s+\Z", text)


def text_of(content: Any) -> str:
    """The text of a message, written as a string or as parts."""
    if isinstance(content, list):
        return "\n".join(text_of(part) for part in content)
    if isinstance(content, dict):
        return str(content.get("text") or content.get("content") or content.get("output") or "")
    return "" if content is None else str(content)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


class ChatCompletions:
    """OpenAI chat completions."""

    _finish: ClassVar = {"stop": "stop", "calls": "tool_calls", "length": "length", "filter": "content_filter"}

    def read(self, body: Json) -> Conversation:
        wants_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        said = Conversation(str(body.get("model", "")), bool(body.get("stream")), wants_usage)
        for message in body["messages"]:
            if message["role"] == "tool":
                said.add_result(message["tool_call_id"], text_of(message.get("content")))
                continue
            said.add_text(message["role"], text_of(message.get("content")))
            for call in message.get("tool_calls") or []:
                said.add_call(call["id"], call["function"]["name"])
        return said

    def write(self, answer: Answer) -> Json:
        message: Json = {"role": "assistant", "content": answer.text or None}
        if answer.calls:
            message["tool_calls"] = self._calls(answer)
        choice = {"index": 0, "message": message, "finish_reason": self._finish[answer.finish], "logprobs": None}
        return self._frame(answer, "chat.completion", [choice]) | {"usage": self._usage(answer)}

    def stream(self, answer: Answer, said: Conversation) -> Iterator[Event]:
        def chunk(delta: Json, finish: str | None = None) -> Event:
            choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
            return "", self._frame(answer, "chat.completion.chunk", [choice])

        yield chunk({"role": "assistant", "content": ""})
        for piece in pieces(answer.text):
            yield chunk({"content": piece})
        for at, call in enumerate(self._calls(answer)):
            arguments, call["function"]["arguments"] = call["function"]["arguments"], ""
            yield chunk({"tool_calls": [{"index": at} | call]})
            for piece in pieces(arguments):
                yield chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
        yield chunk({}, self._finish[answer.finish])
        if said.include_usage:
            yield "", self._frame(answer, "chat.completion.chunk", []) | {"usage": self._usage(answer)}
        yield "", "[DONE]"

    def error(self, status: int, message: str) -> Json:
        return {"error": {"message": message, "type": "scripted_model", "code": status, "param": None}}

    def _calls(self, answer: Answer) -> list[Json]:
        return [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _dump(call.arguments)}}
            for call in answer.calls
        ]

    def _frame(self, answer: Answer, kind: str, choices: list[Json]) -> Json:
        return {"id": answer.id, "object": kind, "created": 0, "model": answer.model, "choices": choices}

    def _usage(self, answer: Answer) -> Json:
        total = answer.input_tokens + answer.output_tokens
        return {"prompt_tokens": answer.input_tokens, "completion_tokens": answer.output_tokens, "total_tokens": total}


class Responses:
    """OpenAI responses."""

    def read(self, body: Json) -> Conversation:
        if body.get("previous_response_id"):
            raise ValueError("the scripted model keeps no responses: send the whole input, not `previous_response_id`")
        said = Conversation(str(body.get("model", "")), bool(body.get("stream")))
        said.add_text("system", text_of(body.get("instructions")))
        given = body["input"]
        for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
            if item.get("type") == "function_call":
                said.add_call(item["call_id"], item["name"])
            elif item.get("type") == "function_call_output":
                said.add_result(item["call_id"], text_of(item["output"]))
            elif "role" in item:
                said.add_text(item["role"], text_of(item.get("content")))
        return said

    def write(self, answer: Answer) -> Json:
        reason = {"length": "max_output_tokens", "filter": "content_filter"}.get(answer.finish)
        return {
            "id": answer.id, "object": "response", "created_at": 0, "model": answer.model, "error": None,
            "status": "incomplete" if reason else "completed",
            "incomplete_details": {"reason": reason} if reason else None,
            "output": [item for _, item, _ in self._items(answer)], "parallel_tool_calls": True, "tool_choice": "auto",
            "tools": [], "instructions": None, "metadata": {}, "temperature": None, "top_p": None,
            "usage": {
                "input_tokens": answer.input_tokens, "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": answer.output_tokens, "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": answer.input_tokens + answer.output_tokens,
            },
        }  # fmt: skip

    def stream(self, answer: Answer, said: Conversation) -> Iterator[Event]:
        for number, (kind, data) in enumerate(self._events(answer)):
            yield kind, {"type": kind, "sequence_number": number} | data

    def error(self, status: int, message: str) -> Json:
        return {"error": {"message": message, "type": "scripted_model", "code": str(status), "param": None}}

    def _items(self, answer: Answer) -> Iterator[tuple[str, Json, str]]:
        """Kind, whole item and its streamed text."""
        if answer.text or not answer.calls:
            part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
            message = {"type": "message", "id": f"msg_{answer.id}", "role": "assistant", "status": "completed"}
            yield "output_text", message | {"content": [part]}, answer.text
        for call in answer.calls:
            written = _dump(call.arguments)
            item = {"type": "function_call", "id": f"fc_{call.id}", "call_id": call.id, "name": call.name}
            yield "function_call_arguments", item | {"arguments": written, "status": "completed"}, written

    def _events(self, answer: Answer) -> Iterator[tuple[str, Json]]:
        whole = self.write(answer)
        begun = whole | {"status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
        yield "response.created", {"response": begun}
        for at, (kind, item, text) in enumerate(self._items(answer)):
            place: Json = {"item_id": item["id"], "output_index": at}
            empty: Json = {"content": []} if kind == "output_text" else {"arguments": ""}
            yield "response.output_item.added", {"output_index": at, "item": item | empty | {"status": "in_progress"}}
            if kind == "output_text":
                part, place = item["content"][0], place | {"content_index": 0}
                yield "response.content_part.added", place | {"part": part | {"text": ""}}
                for piece in pieces(text):
                    yield "response.output_text.delta", place | {"delta": piece, "logprobs": []}
                yield "response.output_text.done", place | {"text": text, "logprobs": []}
                yield "response.content_part.done", place | {"part": part}
            else:
                for piece in pieces(text):
                    yield "response.function_call_arguments.delta", place | {"delta": piece}
                yield "response.function_call_arguments.done", place | {"arguments": text, "name": item["name"]}
            yield "response.output_item.done", {"output_index": at, "item": item}
        yield f"response.{whole['status']}", {"response": whole}


class Messages:
    """Anthropic messages."""

    _finish: ClassVar = {"stop": "end_turn", "calls": "tool_use", "length": "max_tokens", "filter": "refusal"}

    def read(self, body: Json) -> Conversation:
        said = Conversation(str(body.get("model", "")), bool(body.get("stream")))
        said.add_text("system", text_of(body.get("system")))
        for message in body["messages"]:
            content = message["content"]
            texts = [content] if isinstance(content, str) else []
            for block in [] if isinstance(content, str) else content:
                if block["type"] == "tool_use":
                    said.add_call(block["id"], block["name"])
                elif block["type"] == "tool_result":
                    said.add_result(block["tool_use_id"], text_of(block.get("content")))
                elif block["type"] == "text":
                    texts.append(block["text"])
            if texts:
                said.add_text(message["role"], "\n".join(texts))
        return said

    def write(self, answer: Answer) -> Json:
        return self._frame(answer) | {
            "content": [block | whole for block, whole, _, _ in self._blocks(answer)],
            "stop_reason": self._finish[answer.finish],
            "usage": {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens},
        }

    def stream(self, answer: Answer, said: Conversation) -> Iterator[Event]:
        usage = {"input_tokens": answer.input_tokens, "output_tokens": 0}
        events: list[Json] = [{"type": "message_start", "message": self._frame(answer) | {"usage": usage}}]
        for at, (block, _, (kind, key), text) in enumerate(self._blocks(answer)):
            events.append({"type": "content_block_start", "index": at, "content_block": block})
            deltas = ({"type": kind, key: piece} for piece in pieces(text))
            events.extend({"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas)
            events.append({"type": "content_block_stop", "index": at})
        end = {"stop_reason": self._finish[answer.finish], "stop_sequence": None}
        events.append({"type": "message_delta", "delta": end, "usage": {"output_tokens": answer.output_tokens}})
        events.append({"type": "message_stop"})
        yield from ((event["type"], event) for event in events)

    def error(self, status: int, message: str) -> Json:
        kinds = {429: "rate_limit_error", 400: "invalid_request_error", 404: "not_found_error", 529: "overloaded_error"}
        return {"type": "error", "error": {"type": kinds.get(status, "api_error"), "message": message}}

    def _blocks(self, answer: Answer) -> Iterator[tuple[Json, Json, tuple[str, str], str]]:
        """A block as it starts, what completes it, how its pieces are named, and their text."""
        if answer.text:
            yield {"type": "text", "text": ""}, {"text": answer.text}, ("text_delta", "text"), answer.text
        for call in answer.calls:
            block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
            yield block, {"input": call.arguments}, ("input_json_delta", "partial_json"), _dump(call.arguments)

    def _frame(self, answer: Answer) -> Json:
        frame: Json = {"id": answer.id, "type": "message", "role": "assistant", "model": answer.model}
        return frame | {"content": [], "stop_reason": None, "stop_sequence": None}


class Gemini:
    """Gemini generateContent; the address, not the body, names the model and asks for a stream."""

    _finish: ClassVar = {"stop": "STOP", "calls": "STOP", "length": "MAX_TOKENS", "filter": "SAFETY"}

    def read(self, body: Json) -> Conversation:
        said = Conversation()
        said.add_text("system", text_of((body.get("systemInstruction") or {}).get("parts")))
        for content in body["contents"]:
            texts = []
            for part in content["parts"]:
                if "functionCall" in part:
                    said.add_call(part["functionCall"]["name"], part["functionCall"]["name"])
                elif "functionResponse" in part:
                    said.add_result(part["functionResponse"]["name"], _dump(part["functionResponse"]["response"]))
                elif "text" in part:
                    texts.append(part["text"])
            if texts:
                said.add_text(content.get("role", "user"), "\n".join(texts))
        return said

    def write(self, answer: Answer) -> Json:
        calls = [{"functionCall": {"id": it.id, "name": it.name, "args": it.arguments}} for it in answer.calls]
        return self._frame(answer, ([{"text": answer.text}] if answer.text else []) + calls, last=True)

    def stream(self, answer: Answer, said: Conversation) -> Iterator[Event]:
        parts: list[Json] = [{"text": piece} for piece in pieces(answer.text)]
        parts += [part for part in self.write(answer)["candidates"][0]["content"]["parts"] if "functionCall" in part]
        for part in parts[:-1]:
            yield "", self._frame(answer, [part], last=False)
        yield "", self._frame(answer, parts[-1:], last=True)

    def error(self, status: int, message: str) -> Json:
        kinds = {400: "INVALID_ARGUMENT", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}
        return {"error": {"code": status, "message": message, "status": kinds.get(status, "INTERNAL")}}

    def _frame(self, answer: Answer, parts: list[Json], *, last: bool) -> Json:
        candidate: Json = {"index": 0, "content": {"role": "model", "parts": parts}}
        frame: Json = {"responseId": answer.id, "modelVersion": answer.model, "candidates": [candidate]}
        if last:
            candidate["finishReason"] = self._finish[answer.finish]
            total = answer.input_tokens + answer.output_tokens
            counts = {"promptTokenCount": answer.input_tokens, "candidatesTokenCount": answer.output_tokens}
            frame["usageMetadata"] = counts | {"totalTokenCount": total}
        return frame


DIALECTS: tuple[tuple[re.Pattern[str], Dialect], ...] = (
    (re.compile(r"/chat/completions$"), ChatCompletions()),
    (re.compile(r"/responses$"), Responses()),
    (re.compile(r"/messages$"), Messages()),
    (re.compile(r"/models/(?P<model>[^/:]+):(?P<stream>stream)?generateContent$", re.IGNORECASE), Gemini()),
)
"""Which addresses belong to which format; what comes before, as `/v1` or `/v1beta`, does not matter."""
