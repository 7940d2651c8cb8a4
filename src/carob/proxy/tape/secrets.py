"""Secrets out of an exchange, in every byte of it, before it is written.

Known are the values that the project and the environment name, and those by which the agent itself proves who it is:
they are in the headers and addresses of its requests. A stream may have a secret in pieces.
"""

from __future__ import annotations

import base64
import re
import threading
from binascii import Error as Base64Error
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec import structs

from carob.model.trace import REMOVED
from carob.proxy.tape.file import Answer, Exchange, StreamEvent
from carob.proxy.tape.requests import ServiceRequest, read_json
from carob.proxy.tape.settings import PLACEHOLDER
from carob.redaction.key_names import SHORTEST_SECRET, is_secret_field, is_secret_header, is_secret_parameter
from carob.redaction.redactor import Redactor

FORM = "x-www-form-urlencoded"
DIGEST = frozenset({"response", "nonce", "cnonce"})
_HEADER_PARAMETER = re.compile(r'([\w-]+)=(?:"([^"]*)"|([^",\s]+))')
"""`Signature=1f…` in what signs a request."""
SURE = 16
"""A shorter value is a key only if it has digits too: else it may be a word."""
_ORDERED = ("index", "output_index", "content_index", "item_id")
"""What says which of several texts an event of a stream continues."""


class SecretKeeper:
    """Knows the secrets of one tape. Requests come from any thread; what they are sent with is learnt."""

    def __init__(self, values: Iterable[str]) -> None:
        self._values = {value for value in values if value}
        self._redactor = Redactor(self._values)
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        """How many are known; what was cleaned with fewer may have to be cleaned again."""
        return len(self._values)

    def learn(self, headers: Mapping[str, str], address: str, request: ServiceRequest) -> None:
        """Learn by what the agent proves who it is."""
        found = {key for name, value in headers.items() for key in _keys_of_header(name.lower(), value)}
        fields = parse_qsl(urlsplit(address).query)
        fields += parse_qsl(request.text) if FORM in request.content_type else []
        grants = any(name == "grant_type" for name, _ in fields)
        found |= {value for name, value in fields if is_secret_parameter(name) or (grants and name == "code")}
        self._learn_keys(found | set(_find_fields(request.json)))

    def _learn_keys(self, found: set[str]) -> None:
        new = {key for key in found if _is_secret(key)} - self._values
        if new:
            with self._lock:
                self._values |= new
                self._redactor = Redactor(self._values)

    def is_clean(self, data: bytes) -> bool:
        """Whether no secret is in bytes that were written."""
        return not self._redactor.has_value(data)

    def clean(self, exchange: Exchange) -> Exchange:
        """The exchange without secrets, those that the answer gives the agent among them."""
        self._learn_keys(set(_find_fields(exchange.answer.json)))
        return structs.replace(
            exchange, request=self.clean_request(exchange.request), answer=self._clean_answer(exchange.answer)
        )

    def clean_request(self, request: ServiceRequest) -> ServiceRequest:
        redactor = self._redactor
        if not redactor.finds(msgspec.json.encode(request)):
            return request
        value, text = self._clean_body(request.json, request.text)
        path, kind = redactor.text(request.path), redactor.text(request.content_type)
        return structs.replace(request, path=path, content_type=kind, json=value, text=text)

    def _clean_answer(self, answer: Answer) -> Answer:
        redactor = self._redactor
        headers = {name: redactor.text(value) for name, value in answer.headers.items()}
        if answer.base64:
            data = base64.b64decode(answer.base64)
            cleaned = redactor.data(data)
            return structs.replace(answer, headers=headers, base64=base64.b64encode(cleaned).decode())
        if not redactor.finds(msgspec.json.encode([answer.json, answer.text])) and not answer.events:
            return structs.replace(answer, headers=headers)
        value, text = self._clean_body(answer.json, answer.text)
        return structs.replace(answer, headers=headers, json=value, text=text, events=self._clean_events(answer.events))

    def _clean_body(self, value: object, text: str) -> tuple[object, str]:
        """A body as JSON or as text. One whose numbers are a secret is kept as text."""
        cleaned = self._redactor.redact(value)
        data = b"" if cleaned is None else msgspec.json.encode(cleaned)
        if self._redactor.has_value(data):
            return None, self._redactor.data(data).decode("utf-8", "replace")
        return cleaned, self._redactor.text(text)

    def _clean_events(self, events: tuple[StreamEvent, ...]) -> tuple[StreamEvent, ...]:
        """The events of a stream: each by itself, and then the texts that they bring in pieces."""
        raw = [self._redactor.data(event.raw) for event in events]
        contents = [_read_content(event) for event in raw]
        texts: dict[tuple[object, ...], list[tuple[int, Any, Any]]] = {}
        for number, content in enumerate(contents):
            for path, holder, key in _find_texts(content):
                texts.setdefault(path, []).append((number, holder, key))
        changed = set[int]()
        for places in texts.values():
            pieces = [_encode(holder[key]) for _, holder, key in places]
            for (number, holder, key), before, after in zip(places, pieces, self._clean_pieces(pieces), strict=True):
                if before != after:
                    holder[key] = after.decode("utf-8", "surrogateescape")
                    changed.add(number)
        for number in changed:
            raw[number] = _with_content(raw[number], contents[number])
        return tuple(
            event if data == event.raw else StreamEvent.of_bytes(event.after_ms, data)
            for event, data in zip(events, raw, strict=True)
        )

    def _clean_pieces(self, pieces: Sequence[bytes]) -> list[bytes]:
        """The pieces of a text without the secrets that are in it as a whole."""
        spans = self._redactor.find_secrets(b"".join(pieces))
        cleaned, offset = list[bytes](), 0
        for piece in pieces:
            end, kept, at = offset + len(piece), list[bytes](), offset
            for start, stop in spans:
                if stop > offset and start < end:
                    kept += (piece[at - offset : max(start, offset) - offset], REMOVED.encode() * (start >= offset))
                    at = min(stop, end)
            cleaned.append(b"".join((*kept, piece[at - offset :])))
            offset = end
        return cleaned


def _is_secret(key: str) -> bool:
    """Whether a value may be searched for everywhere: words such as `ollama` may not."""
    if len(key) < SHORTEST_SECRET or key == PLACEHOLDER:
        return False
    return len(key) >= SURE or any(char.isdigit() for char in key)


def _keys_of_header(name: str, value: str) -> Iterator[str]:
    if not is_secret_header(name):
        return
    if name.endswith("cookie"):
        yield from (part.partition("=")[2].strip() for part in value.split(";"))
        return
    for parameter, quoted, bare in _HEADER_PARAMETER.findall(value):
        if is_secret_parameter(parameter) or parameter.lower() in DIGEST:
            yield from ((quoted or bare), (quoted or bare).partition("/")[0])
    scheme, _, credentials = value.strip().rpartition(" ")
    yield credentials
    if scheme.lower() == "basic":
        with suppress(Base64Error, UnicodeDecodeError):
            yield from base64.b64decode(credentials).decode().split(":", 1)


def _find_fields(value: Any) -> Iterator[str]:
    """What fields of JSON hold that let somebody in: one word each."""
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            texts = (item for name, item in value.items() if is_secret_field(name) and isinstance(item, str))
            yield from (text for text in texts if not any(map(str.isspace, text)))
            pending += value.values()
        elif isinstance(value, list):
            pending += value


class _Text(list[str]):
    """The text of an event that is not JSON."""


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _read_content(event: bytes) -> Any:
    """What an event brings: an object or a list, else its text as the only entry of a `_Text`."""
    lines = event.decode("utf-8", "surrogateescape").splitlines()
    text = "\n".join(line.removeprefix("data:").removeprefix(" ") for line in lines if line.startswith("data:"))
    value = read_json(_encode(text))
    return _Text([text]) if value is None else value


def _with_content(event: bytes, content: Any) -> bytes:
    """An event with other content; its other lines stay."""
    lines = event.decode("utf-8", "surrogateescape").splitlines(keepends=True)
    text = str(content[0]) if isinstance(content, _Text) else msgspec.json.encode(content).decode()
    first = next(index for index, line in enumerate(lines) if line.startswith("data:"))
    end = "\r\n" if lines[first].endswith("\r\n") else "\n"
    data = "".join(f"data: {line}{end}" for line in text.split("\n"))
    rest = [line for line in lines[first + 1 :] if not line.startswith("data:")]
    return _encode("".join((*lines[:first], data, *rest)))


def _find_texts(value: Any, path: tuple[object, ...] = ()) -> Iterator[tuple[tuple[object, ...], Any, Any]]:
    """Every text in a value: by what it continues, what holds it, and where."""
    if isinstance(value, dict):
        order = tuple(value[name] for name in _ORDERED if isinstance(value.get(name), int | str))
        entries: Iterable[tuple[Any, Any]] = [*value.items()]
        path = (*path, order)
    else:
        entries = [*enumerate(value)]
    for key, item in entries:
        if isinstance(item, str):
            yield (*path, key), value, key
        elif isinstance(item, dict | list):
            yield from _find_texts(item, (*path, key))
