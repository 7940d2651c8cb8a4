"""Server-sent events: bytes as they come → blocks that end with an empty line → the event that a block is."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n|\n|\r")
_BLOCK_END = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event of a stream: its name where the format has one, and its data as text."""

    data: str
    name: str = ""
    torn: bool = False
    """The stream ended within it."""
    whole: bool = False
    """It is not an event: the server answered with one JSON value."""


def parse_event(block: str) -> ServerEvent | None:
    """The event of a block; None if it has neither data nor a name, as a comment."""
    name, data = "", list[str]()
    for line in _LINE_END.split(block):
        key, _, value = line.partition(":")
        if key == "data":
            data.append(value.removeprefix(" "))
        elif key == "event":
            name = value.removeprefix(" ")
    return ServerEvent("\n".join(data), name) if data or name else None


class BlockSplitter:
    """The blocks of a stream, each as soon as it is there, with the empty line that ends it."""

    def __init__(self, most: int) -> None:
        self._rest = bytearray()
        self._scanned = 0
        self._most = most

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The blocks that are whole now. Raises ValueError for one that is too long."""
        self._rest += data
        while (end := _BLOCK_END.search(self._rest, self._scanned)) is not None:
            yield self._take(end.end())
        self._scanned = max(0, len(self._rest) - 3)  # as much of an end as may be there already
        if len(self._rest) > self._most:
            raise ValueError(f"an event is longer than {self._most:,} bytes")

    def end(self) -> bytes:
        """What is left when the stream ends."""
        return self._take(len(self._rest))

    def _take(self, size: int) -> bytes:
        block = bytes(self._rest[:size])
        del self._rest[:size]
        self._scanned = 0
        return block


class SseReader:
    """The events of a stream. Nothing is dropped, and a torn end is seen."""

    def __init__(self, most: int) -> None:
        self._blocks = BlockSplitter(most)
        self._started = False

    def feed(self, data: bytes) -> Iterator[ServerEvent]:
        """The events that are whole now. Raises ValueError for what is not an event."""
        for block in self._blocks.feed(data):
            event = parse_event(self._text(block))
            if event is not None:
                yield event

    def end(self) -> Iterator[ServerEvent]:
        """The event that no empty line ends, if the stream has one."""
        text = self._text(self._blocks.end())
        event = parse_event(text)
        if event is not None and event.data:
            yield ServerEvent(event.data, event.name, torn=bool(_LINE_END.split(text)[-1].strip()))

    def _text(self, block: bytes) -> str:
        start, self._started = codecs.BOM_UTF8 if not self._started else b"", True
        return block.removeprefix(start).decode("utf-8")
