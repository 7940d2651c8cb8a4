"""`stream` of a configuration, ready to be used: which events are meant, and what each of them says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from carob.errors import ConfigError
from carob.providers.sse import ServerEvent
from carob.suites.diagnostics import Json
from carob.targets.http.call_reader import CallPaths, CallReader
from carob.targets.http.conversation import TurnBuffer
from carob.targets.http.jsonpath import JsonPath, words
from carob.targets.http.options import CallPart, EndPart, StreamPaths, TextPart, When

CALL = ("name", "arguments", "result", "error", "id")
MakePath = Callable[[str, str], JsonPath | None]
Flawed = Callable[[str, str, str], ConfigError]


Holds = Callable[[Json, str], bool]
"""Whether an event, as its value and its name, is meant."""


def condition(when: When | None) -> Holds:
    """What `when` asks of an event; without one, nothing. Raises ValueError with what is wrong with it."""
    if when is None:
        return lambda value, name: True
    parts = [_condition(part) for part in (when if isinstance(when, list) else [when])]
    if not parts:
        raise ValueError("`when` is empty")
    return lambda value, name: all(holds(value, name) for holds in parts)


def _condition(part: str | Mapping[str, object]) -> Holds:
    if not isinstance(part, str):
        fields = [_field(key, value) for key, value in part.items()]
        if not fields:
            raise ValueError("`when` is empty")
        return lambda value, name: all(holds(value, name) for holds in fields)
    if not part.startswith(("?", "$")):
        return lambda value, name: name == part
    # A filter looks at the members of what it is given: an event is given as the only member of a list.
    text = part if part.startswith("$[?") else f"$[?@{part[1:]}]" if part.startswith("$") else f"$[{part}]"
    find = JsonPath(text).all
    return lambda value, name: bool(find([value]))


def _field(key: str, expected: object) -> Holds:
    values = expected if isinstance(expected, list) else [expected]
    if key.startswith("$"):
        path = JsonPath(key)
        return lambda value, name: any(_is_same(item, choice) for item in path.all(value) for choice in values)
    return lambda value, name: (
        isinstance(value, dict) and key in value and any(_is_same(value[key], choice) for choice in values)
    )


def _is_same(actual: Json, expected: object) -> bool:
    """Equal as JSON has it: true is not 1."""
    return actual == expected and isinstance(actual, bool) == isinstance(expected, bool)


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
        read(item, [words([id]) for path in part.ids for id in path.all(item) if id is not None], part.paths, value)
    return bool(items)


class StreamMapping:
    """The parts of a stream. What no part finds anything in is not understood."""

    def __init__(self, options: StreamPaths, has_answer: bool, path: MakePath, flawed: Flawed) -> None:
        self._path = path
        self._flawed = flawed
        self.plain = options.format == "chunks"
        self.text = TextPart(at=options.text) if isinstance(options.text, str) else options.text
        self._check(options, has_answer)
        self._says = self.when(self.text.when)
        self._text = path("stream", self.text.at)
        each = (options.each,) if isinstance(options.each, str) else options.each
        self._each = [compiled for entry in each if (compiled := path("stream", entry)) is not None]
        self._whole = options.whole
        self.tool = path("stream", options.tool) if isinstance(options.tool, str) else None
        self._start = self._part(options.tool, "tool", ("name",)) if isinstance(options.tool, CallPart) else None
        self._arguments = self._part(options.arguments, "arguments", ("arguments",))
        self._result = self._part(options.result, "result")
        self._error = self._part(options.error, "error")
        self._ignored = [self.when(entry) for entry in options.ignore]
        end = options.done
        self.done = end if isinstance(end, str) else ""
        self._done = self.when(end.when) if isinstance(end, EndPart) else None
        self._done_at = path("stream", self.done) if self.done.startswith("$") else None
        self.has_results = any(part and (part.result or part.error) for part in (options.result, options.error)) or (
            isinstance(options.tool, CallPart) and bool(options.tool.result or options.tool.error)
        )

    @property
    def has_tools(self) -> bool:
        return self.tool is not None or self._start is not None

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

    def say_raw(self, event: ServerEvent, buffer: TurnBuffer) -> bool:
        """Whether the data of an event is a part of the answer as it is."""
        if not self.text.raw or not self._says(None, event.name):
            return False
        self._say(event.data, buffer)
        return True

    def say(self, value: Json, name: str, buffer: TurnBuffer) -> bool:
        """Whether an event has words."""
        if self._text is None or self.text.raw or not self._says(value, name):
            return False
        parts = self._text.all(value)
        for part in parts:
            self._say(part if isinstance(part, str) else "" if part is None else words([part]), buffer)
        return bool(parts)

    def _say(self, part: str, buffer: TurnBuffer) -> None:
        if self.text.whole:
            buffer.replace(part)
        else:
            buffer.say(part)

    def take_calls(self, value: Json, name: str, reader: CallReader) -> bool:
        """Whether an event says something of a call."""
        starts = _read_all(self._start, value, name, reader.start)
        adds = _read_all(self._arguments, value, name, reader.add_arguments)
        fails = _read_all(self._error, value, name, partial(reader.end, failed=True))
        ends = not fails and _read_all(self._result, value, name, reader.end)
        return starts or adds or fails or ends

    def when(self, when: When | None) -> Holds:
        try:
            return condition(when)
        except ValueError as error:
            raise self._flawed("stream", f"`when`: {error}", 'For instance: when = { kind = "word" }') from error

    def _part(self, part: CallPart | None, name: str, needs: tuple[str, ...] = ()) -> _Call | None:
        if part is None:
            return None
        for need in needs:
            if not getattr(part, need):
                raise self._flawed("stream", f"`{name}` has no `{need}`", f'Set {need} = "$.{need}".')
        ids = (part.id,) if isinstance(part.id, str) else part.id
        paths = {field: self._path("stream", getattr(part, field)) for field in CALL if field != "id"}
        at = self._path("stream", part.at)
        assert at is not None, "`at` is never empty"
        return _Call(
            self.when(part.when), at, paths, [compiled for entry in ids if (compiled := self._path("stream", entry))]
        )

    def _check(self, options: StreamPaths, has_answer: bool) -> None:
        calls = (options.tool, options.arguments, options.result, options.error)
        if options.format == "chunks":
            if any((options.text, options.done, options.each, *calls)):
                raise self._flawed("stream", "chunks are plain text, without `text`, `tool` or `done`", "")
        elif not self.text.at and not self.text.raw and not has_answer:
            raise self._flawed("stream", "`text` is not set", 'Set text = "$.delta.text".')
        elif options.whole and not options.each:
            raise self._flawed("stream", "`whole` needs `each`", 'Set each = "$.messages[*]".')
        elif self.text.raw and self.text.at:
            raise self._flawed("stream", "`text` has both `raw` and `at`", "Set one of them.")
        elif not options.tool and (options.arguments or options.result or options.error):
            raise self._flawed("stream", "`tool` is not set", 'Set tool = { when = { … }, name = "$.name" }.')
