"""Bedrock's Converse, whose stream is frames of AWS: a length, headers, JSON and two checksums."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote
from zlib import crc32

from carob.providers import base
from carob.providers.messages import read_message

ADDRESS = re.compile(r"/model/(?P<model>[^/]+)/converse(?P<stream>-stream)?$")
ERROR_TYPES = {
    400: "ValidationException", 403: "AccessDeniedException", 404: "ResourceNotFoundException",
    408: "ModelTimeoutException", 429: "ThrottlingException", 503: "ServiceUnavailableException",
}  # fmt: skip
PRELUDE = 12
"""Bytes of a frame before its headers: its length, that of its headers, and the checksum of both."""
STRING = 7
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""How long the value of a header is, by its type; others have their length before them."""


class BedrockConverse(base.ModelApi):
    """`/converse` and `/converse-stream`."""

    name = "bedrock"
    address = ADDRESS
    request_keys = frozenset({"messages"})
    arguments_key = "input"
    arguments_as_text = False
    stream_type = "application/vnd.amazon.eventstream"

    def model_of(self, body: base.Table, path: str) -> str:
        address = ADDRESS.search(path.partition("?")[0])
        return unquote(address["model"]) if address else ""

    def wants_stream(self, body: base.Table, path: str) -> bool:
        address = ADDRESS.search(path.partition("?")[0])
        return bool(address and address["stream"])

    def request(self, body: base.Table) -> base.ModelRequest:
        messages = tuple(read_message(_with_plain_results(message)) for message in base.objects(body.get("messages")))
        return base.ModelRequest(
            "", messages, base.content_text(body.get("system")), base.table(body.get("toolConfig")).get("tools")
        )

    def reply(self, body: base.Table) -> base.ModelReply:
        finish = base.text_of(body.get("stopReason"))
        message = base.table(body.get("output")).get("message")
        messages = (read_message({"role": "assistant", **message}),) if isinstance(message, Mapping) else ()
        error = "" if messages else base.text_of(body.get("message"))
        tokens = base.count_tokens(body.get("usage"), ("inputTokens",), ("outputTokens",))
        return base.ModelReply(messages, finish, tokens, error=error, torn=not finish)

    def read_stream(self, data: bytes) -> list[base.Table]:
        return [] if data[:1] == b"{" else list(_frames(data))

    def join(self, events: Sequence[base.Table]) -> dict[str, Any]:
        body: dict[str, Any] = {}
        blocks: dict[int, dict[str, Any]] = {}
        for event in events:
            start, delta = base.table(event.get("contentBlockStart")), base.table(event.get("contentBlockDelta"))
            if start:
                blocks[base.number_of(start.get("contentBlockIndex"))] = dict(base.table(start.get("start")))
            elif delta:
                index = base.number_of(delta.get("contentBlockIndex"))
                _add_delta(blocks.setdefault(index, {}), base.table(delta.get("delta")))
            body |= base.table(event.get("messageStop")) | base.table(event.get("metadata"))
            body |= {"message": error} if (error := event.get("error")) else {}
        content = [_with_input(blocks[index]) for index in sorted(blocks)]
        is_started = any(key in event for event in events for key in ("messageStart", "contentBlockDelta"))
        return {**body, **({"output": {"message": {"role": "assistant", "content": content}}} if is_started else {})}

    def split(self, body: base.Table) -> base.Pieces:
        message = base.table(base.table(body.get("output")).get("message"))
        yield _event("messageStart", role="assistant")
        for index, block in enumerate(base.objects(message.get("content"))):
            use = base.table(block.get("toolUse"))
            if use:
                bare = {key: value for key, value in use.items() if key != "input"}
                yield _event("contentBlockStart", start={"toolUse": bare}, contentBlockIndex=index)
                block = {"toolUse": {"input": base.json_text(use.get("input", {}))}}
            yield _event("contentBlockDelta", delta=block, contentBlockIndex=index)
            yield _event("contentBlockStop", contentBlockIndex=index)
        yield _event("messageStop", stopReason=body.get("stopReason"))
        yield _event("metadata", **{key: body[key] for key in ("usage", "metrics") if key in body})

    def write_body(self, body: base.Table) -> bytes:
        return b"".join(
            _frame(kind, base.json_text(base.table(data)[kind]).encode()) for kind, data in self.split(body)
        )

    def tool_calls(self, body: base.Table) -> list[tuple[object, dict[str, Any]]]:
        message = base.table(base.table(body.get("output")).get("message"))
        uses = [block.get("toolUse") for block in base.objects(message.get("content"))]
        return [(use.get("toolUseId"), use) for use in uses if isinstance(use, dict)]

    def error_body(self, status: int, message: str = "", retry_after: float | None = None) -> dict[str, Any]:
        kind = ERROR_TYPES.get(status, "InternalServerException" if status >= 500 else "ValidationException")
        return {"__type": kind, "message": message or base.ERRORS.get(status, base.SERVER_ERROR)}

    def too_long_body(self) -> dict[str, Any]:
        return self.error_body(400, "Input is too long for requested model.")

    def refusal_body(self, request: base.Table, model: str, words: str) -> dict[str, Any]:
        usage = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
        return {**_reply([{"text": words}]), "usage": usage, "metrics": {"latencyMs": 0}}

    def empty_body(self, body: base.Table) -> dict[str, Any]:
        return {**body, **_reply([])}


def _reply(content: list[base.Table]) -> dict[str, Any]:
    return {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "end_turn"}


def _event(kind: str, **data: object) -> tuple[str, object]:
    return kind, {kind: data}


def _with_plain_results(message: base.Table) -> base.Table:
    """A message whose results are the value, or the words, that a tool gave."""
    content = [
        {"toolResult": {**result, "content": _plain_result(base.objects(result.get("content")))}}
        if isinstance(result := block.get("toolResult"), Mapping)
        else block
        for block in base.objects(message.get("content"))
    ]
    return {**message, "content": content}


def _plain_result(blocks: Sequence[base.Table]) -> object:
    if len(blocks) == 1 and "json" in blocks[0]:
        return blocks[0]["json"]
    return (
        "".join(base.text_of(block.get("text")) for block in blocks)
        if all("text" in each for each in blocks)
        else blocks
    )


def _add_delta(block: dict[str, Any], delta: base.Table) -> None:
    if isinstance(piece := delta.get("text"), str):
        block["text"] = str(block.get("text") or "") + piece
    elif isinstance(use := delta.get("toolUse"), Mapping):
        whole = block["toolUse"] = dict(base.table(block.get("toolUse")))
        whole["input"] = str(whole.get("input") or "") + str(use.get("input") or "")
    else:
        block.update(delta)


def _with_input(block: dict[str, Any]) -> dict[str, Any]:
    """A block of a stream, whose arguments came as text."""
    use = block.get("toolUse")
    if not isinstance(use, dict):
        return block
    text = str(use.get("input") or "")
    return {"toolUse": {**use, "input": (base.read_json(text) if text.strip() else {}) or text}}


def _frames(data: bytes) -> Iterator[base.Table]:
    """The events of a stream by their kind, until it breaks off. Bodies may be of any shape."""
    at = 0
    while len(data) - at > PRELUDE:
        length, header_length = struct.unpack_from(">II", data, at)
        payload_at, end = at + PRELUDE + header_length, at + length - 4
        if end > len(data) - 4 or payload_at > end:
            return
        try:
            headers = dict(_headers(data[at + PRELUDE : payload_at]))
        except (struct.error, UnicodeDecodeError):
            return
        payload = base.read_json(data[payload_at:end])
        if headers.get(":message-type") in ("exception", "error"):
            words = base.text_of(base.table(payload).get("message"))
            yield {"error": words or headers.get(":exception-type") or headers.get(":error-code") or "error"}
        elif kind := headers.get(":event-type"):
            yield {kind: payload}
        at += length


def _headers(data: bytes) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(data):
        (name_length,) = struct.unpack_from("B", data, at)
        name = data[at + 1 : at + 1 + name_length].decode()
        at += 1 + name_length
        (kind,) = struct.unpack_from("B", data, at)
        at += 1
        size = _SIZES.get(kind)
        if size is None:
            (size,) = struct.unpack_from(">H", data, at)
            at += 2
        if kind == STRING:
            yield name, data[at : at + size].decode()
        at += size


def _frame(kind: str, payload: bytes) -> bytes:
    values = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        struct.pack("B", len(name)) + name.encode() + struct.pack(">BH", STRING, len(value)) + value.encode()
        for name, value in values.items()
    )
    prelude = struct.pack(">II", PRELUDE + len(headers) + len(payload) + 4, len(headers))
    frame = prelude + struct.pack(">I", crc32(prelude)) + headers + payload
    return frame + struct.pack(">I", crc32(frame))
