"""What makes two requests the same: everything in them, but for what never counts and what the user leaves out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec
import regex
from jsonpath_rfc9535 import JSONPathEnvironment, JSONPathError
from msgspec import Struct

from carob.errors import ConfigError
from carob.proxy.tape.settings import MODELS
from carob.redaction.key_names import is_secret_parameter
from carob.text.clean import map_texts
from carob.text.wording import shorten

SECONDS = 1.0
"""For one pattern on one request."""
LEFT_OUT = "…"
FORM = "application/x-www-form-urlencoded"
TRACE_CONTEXT = frozenset({"traceparent", "tracestate", "baggage"})
_PATHS = JSONPathEnvironment()
_BEFORE_MODEL_API = regex.compile(r"^/(?:[^?]*?/)?v\d+[a-z]*\d*/(?:openai/)?")
"""What comes before the path of an API at one provider and not at another: a replay has no address but the default."""
_BOUNDARY = regex.compile(r'boundary="?([^";,\s]+)')


class IgnoreRules(Struct, frozen=True):
    """What does not count in a comparison: JSON paths within bodies, and patterns within every text of one."""

    paths: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()

    @classmethod
    def of(cls, ignore: Sequence[str], where: str = "") -> IgnoreRules:
        """Paths begin with `$`, all others are patterns. Raises ConfigError."""
        for entry in ignore:
            try:
                _PATHS.compile(entry) if entry.startswith("$") else regex.compile(entry)
            except (JSONPathError, regex.error) as error:
                fix = "Write a JSON path such as $.metadata.id, or a regular expression."
                message = f"`ignore` of the tape: {entry!r} cannot be read: {error}."
                raise ConfigError(message, where=where, fix=fix, slug="bad-tape") from error
        paths = tuple(entry for entry in ignore if entry.startswith("$"))
        return cls(paths, tuple(entry for entry in ignore if not entry.startswith("$")))

    def strip(self, body: object) -> object:
        """The body without what does not count."""
        for path in self.paths:
            for node in _PATHS.find(path, body) if isinstance(body, dict | list) else ():
                _blank(body, node.location)
        return map_texts(body, self._strip_text) if self.patterns else body

    def _strip_text(self, text: str) -> str:
        for pattern in self.patterns:
            text = regex.sub(pattern, LEFT_OUT, text, timeout=SECONDS)
        return text


def _blank(body: Any, location: tuple[int | str, ...]) -> None:
    *above, last = location or ("",)
    for step in above:
        body = body[step]
    if location:
        body[last] = LEFT_OUT


class ServiceRequest(Struct, frozen=True, dict=True):
    """A request to a service, without secrets: what is kept of it, and what it is known by."""

    service: str
    method: str
    path: str
    content_type: str = ""
    json: object = None
    """The body, where it is JSON."""
    text: str = ""

    @classmethod
    def of(cls, service: str, method: str, address: str, content_type: str, body: bytes) -> ServiceRequest:
        """Read a request. The order of a query, of keys, and the boundary of a form do not count."""
        split = urlsplit(address)
        parameters = parse_qsl(split.query, keep_blank_values=True)
        query = urlencode(sorted(pair for pair in parameters if not is_secret_parameter(pair[0])))
        path = f"{split.path}?{query}" if query else split.path
        kind = content_type.partition(";")[0].strip().lower()
        if kind == FORM:
            fields = parse_qsl(body.decode("utf-8", "backslashreplace"), keep_blank_values=True)
            asked = [pair for pair in fields if not is_secret_parameter(pair[0])]
            body = body if len(asked) == len(fields) else urlencode(asked).encode()
        if (value := read_json(body)) is not None:
            return cls(service, method, path, kind, value)
        if boundary := _BOUNDARY.search(content_type):
            body = body.replace(boundary[1].encode("latin-1", "replace"), b"boundary")
        return cls(service, method, path, kind, None, body.decode("utf-8", "backslashreplace"))

    @property
    def title(self) -> str:
        return f"{self.method} {self.service} {self.path}"

    @property
    def gist(self) -> str:
        """The last words that were sent, for people."""
        last = self.messages[-1] if self.messages else self.json
        return shorten(self.text if self.json is None else msgspec.json.encode(last).decode())

    def compared_part(self, ignore_rules: IgnoreRules) -> object:
        """What counts of the body."""
        if self.json is None:
            return ignore_rules.strip(self.text)
        body = _remove_trace(self.json)
        return ignore_rules.strip(msgspec.json.decode(msgspec.json.encode(body)) if ignore_rules.paths else body)

    def key(self, ignore_rules: IgnoreRules) -> str:
        """The same for requests that are the same, and for no others."""
        path = _BEFORE_MODEL_API.sub("/", self.path) if self.service in MODELS else self.path
        parts = [self.service, self.method, path, self.json is None, self.compared_part(ignore_rules)]
        return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()

    @cached_property
    def messages(self) -> Sequence[object]:
        """The conversation that a model is sent, where the body holds one."""
        body = self.json if isinstance(self.json, Mapping) else {}
        lists = (body[name] for name in ("messages", "input", "contents") if isinstance(body.get(name), list))
        return next(lists, ())


def _remove_trace(body: object) -> object:
    """A message of MCP without the context of a trace, which its clients put there for want of headers."""
    params = body.get("params") if isinstance(body, Mapping) and "jsonrpc" in body else None
    meta = params.get("_meta") if isinstance(params, Mapping) else None
    if not isinstance(body, Mapping) or not isinstance(params, Mapping) or not isinstance(meta, Mapping):
        return body
    meta = {key: value for key, value in meta.items() if key not in TRACE_CONTEXT}
    params = {key: value for key, value in params.items() if key != "_meta"}
    return {**body, "params": {**params, **({"_meta": meta} if meta else {})}}


def read_json(body: bytes) -> dict[str, Any] | list[Any] | None:
    """The object or list of a body; None for any other."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


class RequestDifference(Struct, frozen=True):
    """The first place at which two requests differ; a side without a value is missing there."""

    path: str
    recorded: str
    actual: str


def first_difference(recorded: object, actual: object, path: str = "$") -> RequestDifference | None:
    """The first place, in order of the recorded value, at which another one differs from it."""
    if isinstance(recorded, dict) and isinstance(actual, dict):
        for key in dict.fromkeys([*recorded, *actual]):
            if key not in recorded or key not in actual:
                return RequestDifference(f"{path}.{key}", _format_field(recorded, key), _format_field(actual, key))
            if (difference := first_difference(recorded[key], actual[key], f"{path}.{key}")) is not None:
                return difference
        return None
    if isinstance(recorded, list) and isinstance(actual, list):
        for index, pair in enumerate(zip(recorded, actual, strict=False)):
            if (difference := first_difference(*pair, f"{path}[{index}]")) is not None:
                return difference
        if len(recorded) != len(actual):
            return RequestDifference(path, f"{len(recorded)} items", f"{len(actual)} items")
        return None
    return None if recorded == actual else RequestDifference(path, *_cut_to_difference(recorded, actual))


def _format_field(table: Mapping[str, object], key: str) -> str:
    return _cut(msgspec.json.encode(table[key]).decode()) if key in table else "missing"


def _cut_to_difference(recorded: object, actual: object) -> tuple[str, str]:
    """Both values, cut to where they start to differ."""
    texts = [value if isinstance(value, str) else msgspec.json.encode(value).decode() for value in (recorded, actual)]
    pairs = enumerate(zip(*texts, strict=False))
    common = next((index for index, (recorded_char, right) in pairs if recorded_char != right), min(map(len, texts)))
    start = max(0, common - 20)
    return _cut(texts[0], start), _cut(texts[1], start)


def _cut(text: str, start: int = 0) -> str:
    text, dots = text[start:], "…" if start else ""
    return dots + (text if len(text) <= 80 else f"{text[:79]}…")
