"""The APIs of models: what a request gives a model, and what its reply says, in the words of no API."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from re import Pattern
from typing import Any

import msgspec
from msgspec import Struct

from karat.evidence.models import streams
from karat.evidence.models.streams import Table, objects
from karat.evidence.spans.messages import Utterance, utterance
from karat.model.trace import Tokens, ToolCall
from karat.text.tool_results import call_success, parse_result

SYSTEM = frozenset({"system", "developer"})


class ModelRequest(Struct, frozen=True):
    """What a model is given."""

    model: str = ""
    given: tuple[Utterance, ...] = ()
    system: str = ""
    offered: object = None
    """The definitions of tools."""


class ModelReply(Struct, frozen=True):
    """What a model says. A reply that is torn did not come to its end."""

    said: tuple[Utterance, ...] = ()
    finish: str = ""
    tokens: Tokens | None = None
    model: str = ""
    error: str = ""
    ran: tuple[ToolCall, ...] = ()
    """The calls that the provider ran on its side."""
    torn: bool = False


class ModelApi(Struct, frozen=True):
    """One API: the addresses that it has, and how it is read."""

    name: str
    address: Pattern[str]
    given: frozenset[str]
    """One of these keys is in every request."""
    request: Callable[[Table], ModelRequest]
    reply: Callable[[Table], ModelReply]
    join: Callable[[Sequence[Table]], dict[str, Any]]
    """The events of a stream as the reply that they make up."""

    def fits(self, body: Table) -> bool:
        """Whether a body may be a request of this API: other services have such addresses too."""
        return not self.given.isdisjoint(body)

    def read_request(self, body: bytes) -> ModelRequest | None:
        """None: it cannot be read."""
        found = streams.read_json(body)
        return self.request(found) if isinstance(found, Mapping) and self.fits(found) else None

    def read_reply(self, body: bytes, events: Sequence[str]) -> ModelReply | None:
        """None: it cannot be read."""
        found = self.join(streams.read_events(events)) if events else streams.read_json(body)
        if isinstance(found, list):  # a stream of Gemini that is not one of events
            found = self.join([one for one in found if isinstance(one, Mapping)])
        return self.reply(found) if isinstance(found, Mapping) else None


def find_api(path: str) -> ModelApi | None:
    """The API that an address belongs to, with whatever comes before it."""
    plain = path.partition("?")[0].rstrip("/")
    return next((api for api in APIS if api.address.search(plain)), None)


def asks_a_model(path: str, body: bytes) -> bool:
    """Whether an address of a model service that belongs to no API that is read may be one of a model that answers."""
    plain = path.partition("?")[0].rstrip("/").lower()
    return not plain.endswith(_NO_MODEL) and any(key in body for key in _GIVEN)


_NO_MODEL = (
    *("/embeddings", "/moderations", "/count_tokens", "/tokenize", "/rerank", "/files", "/models", "/speech"),
    *(":embedcontent", ":batchembedcontents", ":counttokens", "/transcriptions", "/translations", "/embed"),
    *("/input_tokens", "/generations", "/vector_stores"),
)
_GIVEN = (b'"messages"', b'"input"', b'"contents"', b'"prompt"')


def _system(given: Sequence[Utterance]) -> str:
    return "\n".join(one.text for one in given if one.role in SYSTEM)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _words(value: object) -> str:
    """The text of content that is a string or parts."""
    return utterance({"role": "system", "content": value}).text


def _count(table: object, *names: str) -> int | None:
    """The sum of these numbers; None where none of them is there."""
    given = [table.get(name) for name in names] if isinstance(table, Mapping) else []
    known = [number for number in given if isinstance(number, int)]
    return sum(known) if known else None


def _tokens(usage: object, given: tuple[str, ...], made: tuple[str, ...]) -> Tokens | None:
    counts = _count(usage, *given), _count(usage, *made)
    return None if None in counts else Tokens(*counts)


def _error(table: Table) -> str:
    error = table.get("error")
    if isinstance(error, Mapping):
        return str(error.get("message") or error.get("type") or "error")
    return str(error) if error else ""


def _call_part(id: object, name: object, arguments: object) -> dict[str, object]:
    return {"type": "function_call", "call_id": id, "name": name, "arguments": arguments}


def _chat_message(message: Table) -> Utterance:
    if isinstance(old := message.get("function_call"), Mapping):  # as calls were written before tools
        message = {**message, "tool_calls": [old]}
    found = utterance(message)
    refusal = _text(message.get("refusal"))
    return msgspec.structs.replace(found, text=found.text + refusal) if refusal else found


def _chat_request(body: Table) -> ModelRequest:
    given = tuple(map(_chat_message, objects(body.get("messages"))))
    offered = [body.get("tools"), body.get("functions")]
    return ModelRequest(_text(body.get("model")), given, _system(given), offered)


def _chat_reply(body: Table) -> ModelReply:
    choices = objects(body.get("choices"))
    finish = next((_text(one.get("finish_reason")) for one in choices), "")
    return ModelReply(
        tuple(_chat_message(message) for one in choices if isinstance(message := one.get("message"), Mapping)),
        finish,
        _tokens(body.get("usage"), ("prompt_tokens",), ("completion_tokens",)),
        _text(body.get("model")),
        _error(body),
        torn=not finish,
    )


def _response_item(item: Table) -> dict[str, object] | None:
    """An item of the responses API as a message; None for one that is neither words, a call nor a result."""
    kind = _text(item.get("type")) or "message"
    if kind.endswith("_call_output"):
        return {"role": "tool", "content": [{**item, "type": "function_call_output"}]}
    if kind.endswith("_call"):
        given = next((item[key] for key in ("arguments", "input", "action", "operation") if key in item), None)
        part = _call_part(item.get("call_id"), item.get("name") or kind.removesuffix("_call"), given)
        return {"role": "assistant", "content": [part]} if item.get("call_id") else None
    return dict(item) if "role" in item else None


def _responses_request(body: Table) -> ModelRequest:
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else objects(given)
    found = tuple(utterance(message) for item in items if (message := _response_item(item)) is not None)
    system = "\n".join(filter(None, (_words(body.get("instructions")), _system(found))))
    return ModelRequest(_text(body.get("model")), found, system, body.get("tools"))


def _responses_reply(body: Table) -> ModelReply:
    items = objects(body.get("output"))
    why, status = body.get("incomplete_details"), _text(body.get("status"))
    finish = _text(why.get("reason")) if isinstance(why, Mapping) else status
    return ModelReply(
        tuple(utterance(message) for item in items if (message := _response_item(item)) is not None),
        finish or status,
        _tokens(body.get("usage"), ("input_tokens",), ("output_tokens",)),
        _text(body.get("model")),
        _error(body) or ("" if status not in ("failed", "cancelled") else status),
        tuple(_run_by_provider(items)),
        torn=status not in ("completed", "incomplete", "failed", "cancelled"),
    )


def _run_by_provider(items: Sequence[Table]) -> Iterator[ToolCall]:
    """What the provider ran on its side: items of a call that no result is to be handed back for."""
    for item in items:
        kind = _text(item.get("type"))
        if kind.endswith("_call") and not item.get("call_id"):
            name = _text(item.get("name")) or kind.removesuffix("_call")
            result = next((item[key] for key in ("output", "results", "outputs", "action") if item.get(key)), None)
            failed = bool(item.get("error")) or item.get("status") in ("failed", "incomplete")
            yield _provider_call(name, item.get("arguments"), result, failed=failed, id=item.get("id"))


def _provider_call(name: str, arguments: object, result: object, *, failed: bool, id: object = None) -> ToolCall:
    success = call_success(result, raised=failed)
    return ToolCall(
        name,
        parse_result(arguments),
        id=_text(id) or None,
        result=parse_result(result),
        success=success,
        kind="provider",
    )


def _messages_request(body: Table) -> ModelRequest:
    given = tuple(map(utterance, objects(body.get("messages"))))
    return ModelRequest(_text(body.get("model")), given, _words(body.get("system")), body.get("tools"))


def _messages_reply(body: Table) -> ModelReply:
    blocks = objects(body.get("content"))
    ended = [block for block in blocks if _text(block.get("type")).endswith("_tool_result")]
    results = {_text(block.get("tool_use_id")): block for block in ended}
    ran = []
    for block in blocks:
        if block.get("type") in ("server_tool_use", "mcp_tool_use"):
            name, id = _text(block.get("name")), _text(block.get("id"))
            end = results.get(id, {})
            failed = end.get("is_error") is True
            ran.append(_provider_call(name, block.get("input"), end.get("content"), failed=failed, id=id))
    finish = _text(body.get("stop_reason"))
    return ModelReply(
        (utterance({"role": "assistant", "content": body.get("content")}),),
        finish,
        _tokens(
            body.get("usage"),
            ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
            ("output_tokens",),
        ),
        _text(body.get("model")),
        _error(body),
        tuple(ran),
        torn=not finish,
    )


_MODEL_PARTS = (("functionCall", "function_call"), ("functionResponse", "function_response"))


def _gemini_content(content: Table) -> Utterance:
    parts = []
    for given in objects(content.get("parts")):
        part = dict(given)
        for name, other in _MODEL_PARTS:
            if other in part:
                part[name] = part.pop(other)
        if part.get("thought") is not True:
            parts.append(part)
    role = {"model": "assistant", "function": "user"}.get(_text(content.get("role")), "user")
    return utterance({"role": role, "parts": parts})


def _gemini_request(body: Table) -> ModelRequest:
    given = body.get("contents")
    contents = [{"parts": [{"text": given}]}] if isinstance(given, str) else objects(given)
    system = body.get("systemInstruction", body.get("system_instruction"))
    words = _gemini_content(system).text if isinstance(system, Mapping) else ""
    return ModelRequest("", tuple(map(_gemini_content, contents)), words, _lower_types(body.get("tools")))


def _lower_types(value: object) -> object:
    """Schemas with the types of JSON Schema: Gemini writes them in capitals."""
    if isinstance(value, Mapping):
        is_type = isinstance(kind := value.get("type"), str) and kind.isupper()
        found = {key: _lower_types(item) for key, item in value.items()}
        return {**found, "type": str(kind).lower()} if is_type else found
    return [_lower_types(item) for item in value] if isinstance(value, list) else value


def _gemini_reply(body: Table) -> ModelReply:
    candidates = objects(body.get("candidates"))
    finish = next((_text(one.get("finishReason")) for one in candidates), "")
    blocked = body.get("promptFeedback")
    if not candidates and isinstance(blocked, Mapping):
        finish = _text(blocked.get("blockReason"))
    contents = [content for one in candidates if isinstance(content := one.get("content"), Mapping)]
    return ModelReply(
        tuple(_gemini_content({"role": "model", **content}) for content in contents),
        finish,
        _tokens(body.get("usageMetadata"), ("promptTokenCount",), ("candidatesTokenCount", "thoughtsTokenCount")),
        _text(body.get("modelVersion")),
        _error(body),
        tuple(_code_of_gemini(contents)),
        torn=not finish,
    )


def _code_of_gemini(contents: Sequence[Table]) -> Iterator[ToolCall]:
    """The code that the provider ran: a part with it, and one with its result after that."""
    parts = [part for content in contents for part in objects(content.get("parts"))]
    for place, part in enumerate(parts):
        if isinstance(code := part.get("executableCode"), Mapping):
            after = (one["codeExecutionResult"] for one in parts[place:] if "codeExecutionResult" in one)
            result = next(after, None)
            failed = isinstance(result, Mapping) and result.get("outcome") not in (None, "OUTCOME_OK")
            yield _provider_call("code_execution", dict(code), result, failed=failed)


APIS = (
    ModelApi(
        "chat",
        re.compile(r"/chat/completions$"),
        frozenset({"messages"}),
        _chat_request,
        _chat_reply,
        streams.join_chat,
    ),
    ModelApi(
        "responses",
        re.compile(r"/responses$"),
        frozenset({"input", "prompt"}),
        _responses_request,
        _responses_reply,
        streams.join_responses,
    ),
    ModelApi(
        "messages",
        re.compile(r"/messages$|:(?:stream)?rawPredict$", re.IGNORECASE),
        frozenset({"messages"}),
        _messages_request,
        _messages_reply,
        streams.join_messages,
    ),
    ModelApi(
        "gemini",
        re.compile(r":(?:stream)?generateContent$", re.IGNORECASE),
        frozenset({"contents"}),
        _gemini_request,
        _gemini_reply,
        streams.join_gemini,
    ),
)
