"""Bytes as they come → the events of a stream; nothing is dropped, and a torn end is seen."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from typing import Protocol, cast

import jiter

from carob.providers.sse import ServerEvent, SseReader
from carob.suites.diagnostics import Json
from carob.targets.base import TargetError
from carob.targets.http.options import Format
from carob.text.clean import jsonable
from carob.text.wording import pluralize, shorten, visible

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


class EventParser(Protocol):
    def feed(self, data: bytes) -> Iterator[ServerEvent]:
        """The events that are whole now. Raises ValueError for what is not an event."""

    def end(self) -> Iterator[ServerEvent]:
        """What is left when the stream ends."""


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
        carriage_return = b"\r" if self.rest.endswith(b"\r") else b""  # its line feed may be yet to come
        complete = bytes(self.rest).removesuffix(carriage_return)
        *lines, tail = complete.split(b"\n") if b"\r" not in complete else _LINE_END.split(complete)
        self.rest = bytearray(tail + carriage_return)
        return lines


class LineParser:
    """One JSON value per line."""

    def __init__(self, most: int) -> None:
        self._lines = _Lines(most)

    def feed(self, data: bytes) -> Iterator[ServerEvent]:
        yield from (ServerEvent(_text(line)) for line in self._lines.feed(data) if line.strip())

    def end(self) -> Iterator[ServerEvent]:
        """A last line without its end is whole if it is JSON: many writers put line ends between, not after."""
        tail = bytes(self._lines.rest)
        if tail.strip():
            yield ServerEvent(_text(tail), torn=not _is_json(tail))


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

    def feed(self, data: bytes) -> Iterator[ServerEvent]:
        self._rest += data
        yield from self._values(last=False)
        if len(self._rest) > self._most:
            raise ValueError(f"a value is longer than {self._most:,} bytes")

    def end(self) -> Iterator[ServerEvent]:
        yield from self._values(last=True)
        if self._rest or self._in_array:
            yield ServerEvent(_text(bytes(self._rest)), torn=True)

    def _values(self, *, last: bool) -> Iterator[ServerEvent]:
        while self._skip_separators():
            end = self._end(last)
            if not end:
                return
            yield ServerEvent(_text(bytes(self._rest[:end])))
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
            scalar = _SCALAR.match(self._rest)
            end = scalar.end() if scalar is not None else 1
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

    def feed(self, data: bytes) -> Iterator[ServerEvent]:
        yield from map(_frame, self._lines.feed(data))

    def end(self) -> Iterator[ServerEvent]:
        for event in map(_frame, self._lines.end()):
            yield ServerEvent(event.data, event.name, torn=bool(event.data) and not _is_json(event.data.encode()))


def _frame(event: ServerEvent) -> ServerEvent:
    labelled = _FRAME.fullmatch(event.data.strip())
    return ServerEvent(labelled[2], labelled[1]) if labelled else event


class ChunkParser:
    """Plain text as it comes."""

    def __init__(self, most: int) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def feed(self, data: bytes) -> Iterator[ServerEvent]:
        text = self._decoder.decode(data)
        if text:
            yield ServerEvent(text)

    def end(self) -> Iterator[ServerEvent]:
        self._decoder.decode(b"", final=True)
        yield from ()


PARSERS: dict[Format, Callable[[int], EventParser]] = {
    "sse": SseReader,
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


DONE = "[DONE]"
"""What ends a stream of many protocols; no event of it."""
MISFIT = "check the address and the kind in `use`"


def protocol_error(problem: str) -> TargetError:
    """The error of a service that speaks another protocol: one of the configuration, unless others were understood."""
    return TargetError("config", f"{problem}: {MISFIT}")


class EventKinds:
    """Whether any event of a stream was of the protocol, and how the first other one is called."""

    __slots__ = ("_fits", "_other", "_protocol")

    def __init__(self, protocol: str) -> None:
        self._protocol = protocol
        self._fits = False
        self._other = ""

    def note(self, kind: str, *, fits: bool) -> None:
        self._fits = self._fits or fits
        self._other = self._other or kind

    def end_error(self, problem: str) -> TargetError:
        """The error of a stream without its last event: it was cut off, or of another protocol."""
        return self.protocol_error or TargetError("bad-answer", f"{problem}: it was cut off")

    @property
    def protocol_error(self) -> TargetError | None:
        """The error of a stream that has events, and none of the protocol."""
        if self._fits or not self._other:
            return None
        return protocol_error(f"no event is {self._protocol}; the first is {visible(shorten(self._other, 80))!r}")


def event_object(event: ServerEvent, protocol: str) -> dict[str, Json]:
    """An event as the object that it has to be."""
    payload = event_json(event, protocol)
    if not isinstance(payload, dict) or not isinstance(payload.get("type"), str):
        raise protocol_error(f"an event is not a valid {protocol}: {visible(shorten(event.data, 200))}")
    return payload


def as_table(value: Json) -> dict[str, Json]:
    """An object as it is, anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def event_json(event: ServerEvent, protocol: str) -> Json:
    try:
        return loads(event.data)
    except ValueError as error:
        if event.torn:
            raise TargetError("bad-answer", "the stream ended within an event") from error
        excerpt = visible(shorten(event.data, 200))
        raise TargetError("bad-answer", f"an event is not a valid {protocol}: {error}: {excerpt}") from error
