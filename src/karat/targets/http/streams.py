"""Bytes as they come → the events of a stream; nothing is dropped, and a torn end is seen."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, cast

import jiter

from karat.suites.diagnostics import Json
from karat.targets.base import TargetError
from karat.targets.http.options import Format
from karat.text.clean import jsonable
from karat.text.wording import pluralize, visible

_BOM = b"\xef\xbb\xbf"


def loads(data: bytes | str) -> Json:
    """The value; ValueError for what is not JSON, not UTF-8, has a key twice in one object, or is nested too deeply."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data.removeprefix(_BOM)
    try:
        return cast(Json, jiter.from_json(raw, catch_duplicate_keys=True, allow_inf_nan=False))
    except ValueError as error:
        if b"\\u" not in raw:
            raise ValueError(_lower_first(str(error))) from None
    try:  # a lone surrogate is not text, yet half of the world's JSON writers let it pass
        return cast(Json, jsonable(json.loads(raw, object_pairs_hook=_once, parse_constant=_refuse_constant)))
    except (ValueError, RecursionError) as error:
        raise ValueError(_lower_first(str(error))) from None


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("Detected duplicate key")
    return table


def _refuse_constant(name: str) -> object:
    raise ValueError(f"the constant {name} is not JSON")


def _lower_first(message: str) -> str:
    return f"{message[:1].lower()}{message[1:]}"


HEAD = 1_000
REPLACEMENT = "\ufffd"


class Received:
    """How much came, and how it began."""

    __slots__ = ("_head", "size")

    def __init__(self) -> None:
        self.size = 0
        self._head = b""

    def add(self, data: bytes) -> None:
        self.size += len(data)
        if len(self._head) < HEAD:
            self._head += data[: HEAD - len(self._head)]

    def __str__(self) -> str:
        if not self.size:
            return "nothing was received"
        head = self._head.decode("utf-8", "replace")
        if self.size <= HEAD:
            return f"received: {visible(head)}"
        # The mark of the cut: secrets are taken out later, and the beginning of one is known by it.
        return f"received {pluralize(self.size, 'byte')}, which begin: {visible(head.rstrip(REPLACEMENT))}…"

    def error(self, kind: str, message: str) -> TargetError:
        return TargetError(kind, message, detail=str(self))


_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class WireEvent:
    """One event: its name where the format has one, and its data as text."""

    data: str
    name: str = ""
    torn: bool = False
    """The stream ended within it."""
    whole: bool = False
    """It is not an event: the server answered with one JSON value."""

    def json(self) -> Json:
        return loads(self.data)


class EventParser(Protocol):
    def feed(self, data: bytes) -> Iterator[WireEvent]:
        """The events that are whole now. Raises ValueError for what is not an event."""
        ...

    def end(self) -> Iterator[WireEvent]:
        """What is left when the stream ends."""
        ...


class _Lines:
    """Lines out of chunks, each as soon as it is whole; one that is too long is a ValueError."""

    def __init__(self, most: int) -> None:
        self.rest = bytearray()
        self._most = most

    def feed(self, data: bytes) -> list[bytes]:
        self.rest += data
        if len(self.rest) > self._most + len(data):
            raise ValueError(f"a line is longer than {self._most:,} bytes")
        if b"\n" not in data and b"\r" not in self.rest[-len(data) - 1 :]:
            return []
        held = b"\r" if self.rest.endswith(b"\r") else b""  # its line feed may be yet to come
        whole = bytes(self.rest).removesuffix(held)
        *lines, rest = whole.split(b"\n") if b"\r" not in whole else _LINE_END.split(whole)
        self.rest = bytearray(rest + held)
        return lines


class SseParser:
    """Server-sent events."""

    def __init__(self, most: int) -> None:
        self._lines = _Lines(most)
        self._most = most
        self._begin()
        self._first = True

    def feed(self, data: bytes) -> Iterator[WireEvent]:
        for line in self._lines.feed(data):
            if self._first:
                line, self._first = line.removeprefix(codecs.BOM_UTF8), False
            if line:
                if not line.startswith(b":"):
                    self._field(line)
            elif self._data or self._name:
                yield self._event()

    def end(self) -> Iterator[WireEvent]:
        torn = bool(self._lines.rest.strip())
        if torn:
            self._field(bytes(self._lines.rest))
        if self._data:
            yield self._event(torn)

    def _begin(self) -> None:
        self._name, self._data, self._size = "", list[str](), 0

    def _field(self, line: bytes) -> None:
        key, _, value = _text(line).partition(":")
        value = value.removeprefix(" ")
        if key == "data":
            self._data.append(value)
            self._size += len(line)
            if self._size > self._most:
                raise ValueError(f"an event is longer than {self._most:,} bytes")
        elif key == "event":
            self._name = value

    def _event(self, torn: bool = False) -> WireEvent:
        event = WireEvent("\n".join(self._data), self._name, torn)
        self._begin()
        return event


class LineParser:
    """One JSON value per line."""

    def __init__(self, most: int) -> None:
        self._lines = _Lines(most)

    def feed(self, data: bytes) -> Iterator[WireEvent]:
        yield from (WireEvent(_text(line)) for line in self._lines.feed(data) if line.strip())

    def end(self) -> Iterator[WireEvent]:
        """A last line without its end is whole if it is JSON: many writers put line ends between, not after."""
        rest = bytes(self._lines.rest)
        if rest.strip():
            yield WireEvent(_text(rest), torn=not _is_json(rest))


_BETWEEN = re.compile(rb"[\s,\x1e]*")
_STRUCTURE = re.compile(rb'["\\{}\[\]]')
_SCALAR = re.compile(rb"[^\s,\x1e\]]+")


class ValueParser:
    """JSON values one after another, or the members of one array, with anything or nothing between them."""

    def __init__(self, most: int) -> None:
        self._rest = bytearray()
        self._most = most
        self._scanned = self._depth = 0
        self._quoted = self._begun = self._in_array = False

    def feed(self, data: bytes) -> Iterator[WireEvent]:
        self._rest += data
        yield from self._values(last=False)
        if len(self._rest) > self._most:
            raise ValueError(f"a value is longer than {self._most:,} bytes")

    def end(self) -> Iterator[WireEvent]:
        yield from self._values(last=True)
        if self._rest or self._in_array:
            yield WireEvent(_text(bytes(self._rest)), torn=True)

    def _values(self, *, last: bool) -> Iterator[WireEvent]:
        while self._skip_separators():
            end = self._end(last)
            if not end:
                return
            yield WireEvent(_text(bytes(self._rest[:end])))
            del self._rest[:end]

    def _skip_separators(self) -> bool:
        """Remove what is between values; whether one begins now."""
        if self._scanned:
            return True
        del self._rest[: _BETWEEN.match(self._rest).end()]  # type: ignore[union-attr]  # it matches the empty string
        if self._in_array and self._rest.startswith(b"]"):
            self._in_array = False
            del self._rest[:1]
            return self._skip_separators()
        if not self._begun and self._rest.startswith(b"["):
            inside = self._rest[1:].lstrip()
            if not inside:
                return False
            self._begun, self._in_array = True, inside.startswith((b"{", b"["))
            if self._in_array:  # an array of events, and not an event that is an array
                del self._rest[:1]
                return self._skip_separators()
        self._begun = self._begun or bool(self._rest)
        return bool(self._rest)

    def _end(self, last: bool) -> int:
        """Where the value ends that begins the rest; 0 if it has not ended yet."""
        if not self._rest.startswith((b"{", b"[", b'"')):
            found = _SCALAR.match(self._rest)
            end = found.end() if found is not None else 1
            return end if last or end < len(self._rest) else 0
        while (mark := _STRUCTURE.search(self._rest, self._scanned)) is not None:
            sign, self._scanned = mark[0], mark.end()
            if sign == b"\\":
                self._scanned += 1
            elif sign == b'"':
                self._quoted = not self._quoted
            elif not self._quoted:
                self._depth += 1 if sign in b"{[" else -1
            if not self._quoted and self._depth <= 0:
                end, self._scanned, self._depth = self._scanned, 0, 0
                return end
        self._scanned = max(self._scanned, len(self._rest))
        return 0


_FRAME = re.compile(r"([\w.-]{1,40})(?:$|\s*:\s*|(?=[\[{]))(.*)", re.DOTALL)


class FrameParser:
    """Lines with a label before their JSON, which is the name of the event: `0:"Hel"`, `42["word", {}]`."""

    def __init__(self, most: int) -> None:
        self._lines = LineParser(most)

    def feed(self, data: bytes) -> Iterator[WireEvent]:
        yield from map(_frame, self._lines.feed(data))

    def end(self) -> Iterator[WireEvent]:
        for event in map(_frame, self._lines.end()):
            yield WireEvent(event.data, event.name, torn=bool(event.data) and not _is_json(event.data.encode()))


def _frame(event: WireEvent) -> WireEvent:
    labelled = _FRAME.fullmatch(event.data.strip())
    return WireEvent(labelled[2], labelled[1]) if labelled else event


class ChunkParser:
    """Plain text as it comes."""

    def __init__(self, most: int) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def feed(self, data: bytes) -> Iterator[WireEvent]:
        text = self._decoder.decode(data)
        if text:
            yield WireEvent(text)

    def end(self) -> Iterator[WireEvent]:
        self._decoder.decode(b"", final=True)
        yield from ()


PARSERS: dict[Format, Callable[[int], EventParser]] = {
    "sse": SseParser,
    "ndjson": LineParser,
    "json": ValueParser,
    "frames": FrameParser,
    "chunks": ChunkParser,
}


def parser(form: Format, most: int) -> EventParser:
    return PARSERS[form](most)


def _text(line: bytes) -> str:
    return line.decode("utf-8")


def _is_json(line: bytes) -> bool:
    try:
        loads(line)
    except ValueError:
        return False
    return True
