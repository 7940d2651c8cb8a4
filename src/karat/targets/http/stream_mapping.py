"""`stream` of a configuration, ready to be used: which events are meant, and what each of them says."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from karat.errors import ConfigError
from karat.providers.sse import ServerEvent
from karat.suites.diagnostics import Json
from karat.targets.http.call_reader import CallPaths, CallReader
from karat.targets.http.conditions import Holds, condition
from karat.targets.http.conversation import TurnBuffer
from karat.targets.http.jsonpath import JsonPath, words
from karat.targets.http.options import CallPart, EndPart, StreamPaths, TextPart, When

CALL = ("name", "arguments", "result", "error", "id")
MakePath = Callable[[str, str], JsonPath | None]
Flawed = Callable[[str, str, str], ConfigError]


class _Call(NamedTuple):
    """Events that say something of a call: which they are, where in them it is, and what is read."""

    holds: Holds
    at: JsonPath
    paths: CallPaths
    ids: list[JsonPath]

    def items(self, value: Json, name: str) -> list[Json]:
        return self.at.all(value) if self.holds(value, name) else []


ReadCall = Callable[[Json, list[str], CallPaths, Json], None]
"""Reads what an object of an event says of the call with these ids."""


def _read_all(part: _Call | None, value: Json, name: str, read: ReadCall) -> bool:
    if part is None:
        return False
    items = part.items(value, name)
    for item in items:
        read(item, [words([one]) for path in part.ids for one in path.all(item) if one is not None], part.paths, value)
    return bool(items)


class StreamMapping:
    """The parts of a stream. What no part finds anything in is not understood."""

    def __init__(self, given: StreamPaths, has_answer: bool, path: MakePath, flawed: Flawed) -> None:
        self._path = path
        self._flawed = flawed
        self.plain = given.format == "chunks"
        self.text = TextPart(at=given.text) if isinstance(given.text, str) else given.text
        self._check(given, has_answer)
        self._says = self.when(self.text.when)
        self._text = path("stream", self.text.at)
        each = (given.each,) if isinstance(given.each, str) else given.each
        self._each = [made for one in each if (made := path("stream", one)) is not None]
        self._whole = given.whole
        self.tool = path("stream", given.tool) if isinstance(given.tool, str) else None
        self._start = self._part(given.tool, "tool", ("name",)) if isinstance(given.tool, CallPart) else None
        self._arguments = self._part(given.arguments, "arguments", ("arguments",))
        self._result = self._part(given.result, "result")
        self._error = self._part(given.error, "error")
        self._ignored = [self.when(one) for one in given.ignore]
        done = given.done
        self.done = done if isinstance(done, str) else ""
        self._done = self.when(done.when) if isinstance(done, EndPart) else None
        self._done_at = path("stream", self.done) if self.done.startswith("$") else None
        self.has_results = any(part and (part.result or part.error) for part in (given.result, given.error)) or (
            isinstance(given.tool, CallPart) and bool(given.tool.result or given.tool.error)
        )

    @property
    def has_tools(self) -> bool:
        return self.tool is not None or self._start is not None

    @property
    def tool_text(self) -> str:
        """How the place of tools is written, for messages."""
        return self.tool.text if self.tool else ""

    @property
    def has_end(self) -> bool:
        return bool(self.done) or self._done is not None

    def items(self, value: Json) -> list[Json]:
        """What is read as events: the parts of an event, or the event itself where it has none."""
        return [item for each in self._each for item in each.all(value)] or [value]

    def is_whole(self, value: Json) -> bool:
        """Whether an event has all of the answer so far."""
        return self._whole and any(each.all(value) for each in self._each)

    def has_words(self, value: Json, name: str) -> bool:
        return self._text is not None and any(
            self._says(item, name) and any(self._text.all(item)) for item in self.items(value)
        )

    def ends_by_name(self, event: ServerEvent) -> bool:
        return bool(self.done) and self.done in (event.data.strip(), event.name)

    def ends(self, value: Json, name: str) -> bool:
        """Whether an event is the last."""
        if self._done is not None:
            return self._done(value, name)
        return self._done_at is not None and any(map(bool, self._done_at.all(value)))

    def ignores(self, value: Json, name: str) -> bool:
        return any(holds(value, name) for holds in self._ignored)

    def say_raw(self, event: ServerEvent, heard: TurnBuffer) -> bool:
        """Whether the data of an event is a part of the answer as it is."""
        if not self.text.raw or not self._says(None, event.name):
            return False
        self._say(event.data, heard)
        return True

    def say(self, value: Json, name: str, heard: TurnBuffer) -> bool:
        """Whether an event has words."""
        if self._text is None or self.text.raw or not self._says(value, name):
            return False
        found = self._text.all(value)
        for part in found:
            self._say(part if isinstance(part, str) else "" if part is None else words([part]), heard)
        return bool(found)

    def _say(self, part: str, heard: TurnBuffer) -> None:
        if self.text.whole:
            heard.replace(part)
        else:
            heard.say(part)

    def take_calls(self, value: Json, name: str, reader: CallReader) -> bool:
        """Whether an event says something of a call."""
        starts = _read_all(self._start, value, name, reader.start)
        adds = _read_all(self._arguments, value, name, reader.add_arguments)
        fails = _read_all(self._error, value, name, partial(reader.end, failed=True))
        ends = not fails and _read_all(self._result, value, name, reader.end)
        return starts or adds or fails or ends

    def when(self, given: When | None) -> Holds:
        try:
            return condition(given)
        except ValueError as error:
            raise self._flawed("stream", f"`when`: {error}", 'For instance: when = { kind = "word" }') from error

    def _part(self, given: CallPart | None, name: str, needs: tuple[str, ...] = ()) -> _Call | None:
        if given is None:
            return None
        for need in needs:
            if not getattr(given, need):
                raise self._flawed("stream", f"`{name}` has no `{need}`", f'Set {need} = "$.{need}".')
        ids = (given.id,) if isinstance(given.id, str) else given.id
        paths = {field: self._path("stream", getattr(given, field)) for field in CALL if field != "id"}
        at = self._path("stream", given.at)
        assert at is not None, "`at` is never empty"
        return _Call(self.when(given.when), at, paths, [made for one in ids if (made := self._path("stream", one))])

    def _check(self, given: StreamPaths, has_answer: bool) -> None:
        mapped = given.text or given.tool or given.done or given.each or given.arguments or given.result or given.error
        if given.format == "chunks":
            if mapped:
                raise self._flawed("stream", "chunks are plain text, without `text`, `tool` or `done`", "")
        elif not self.text.at and not self.text.raw and not has_answer:
            raise self._flawed("stream", "`text` is not set", 'Set text = "$.delta.text".')
        elif given.whole and not given.each:
            raise self._flawed("stream", "`whole` needs `each`", 'Set each = "$.messages[*]".')
        elif self.text.raw and self.text.at:
            raise self._flawed("stream", "`text` has both `raw` and `at`", "Set one of them.")
        elif not given.tool and (given.arguments or given.result or given.error):
            raise self._flawed("stream", "`tool` is not set", 'Set tool = { when = { … }, name = "$.name" }.')
