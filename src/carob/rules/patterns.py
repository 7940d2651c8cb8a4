"""Patterns: which events a rule speaks of, and the values that it takes from them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from carob.matchers.matcher import Matcher
from carob.matchers.values import MISSING, format_value
from carob.rules.events import COMMAND, EDIT, TEXT_KINDS, ConversationEvent, EventKind
from carob.rules.values import Steps, format_steps, freeze, holds_removed, value_at
from carob.text.tool_names import is_any_named, is_every_tool, is_same_tool
from carob.text.tool_results import parse_result

Fit: TypeAlias = bool | str
"""Whether an event is as a pattern wants it; a text says why that is not known."""

UNSEEN = {
    "arguments": "the arguments were not observed",
    "result": "the result was not observed",
    "error": "the error was not observed",
}
NO_END = "it is not known whether the call succeeded"
LOST = "a secret was removed from the value"
MEMBERS = (
    "kind", "index", "tool", "arguments", "success", "result", "error", "text", "parallel", "beside_words", "time",
)  # fmt: skip
"""What conditions and paths can read of an event."""
OF_RESULT = frozenset(("success", "result", "error"))
NULL_IF_ENDED = frozenset(("result", "error"))


class Occurrence:
    """An event as far as it is known: a call with its result, if that has arrived.

    `index` is the event that completed it. `horizon`: only what came before this index was known when it was requested.
    """

    __slots__ = ("_arguments", "_result", "end", "event", "horizon")

    def __init__(self, event: ConversationEvent, horizon: int, end: ConversationEvent | None = None) -> None:
        self.event = event
        self.horizon = horizon
        self.end = end
        self._arguments: Any = MISSING
        self._result: Any = MISSING

    @property
    def index(self) -> int:
        return self.event.index if self.end is None else self.end.index

    @property
    def arguments(self) -> Any:
        """The arguments as data, or None where they were not observed."""
        if self._arguments is MISSING:
            self._arguments = parse_result(self.event.arguments)
        return self._arguments

    @property
    def result(self) -> Any:
        if self._result is MISSING:
            self._result = None if self.end is None else parse_result(self.end.result)
        return self._result

    @property
    def success(self) -> bool | None:
        return None if self.end is None else self.end.success

    def with_end(self, end: ConversationEvent) -> Occurrence:
        """The same call with its result."""
        occurrence = Occurrence(self.event, self.horizon, end)
        occurrence._arguments = self._arguments
        return occurrence

    def part(self, name: str) -> Any:
        """The value of a part; MISSING where it was not seen, or is not there."""
        value = self._part(name)
        if value is not None:
            return value
        is_known = name in NULL_IF_ENDED and self.success is not None and (name == "error" or self.success)
        return None if is_known else MISSING

    def _part(self, name: str) -> Any:
        if name == "arguments":
            return self.arguments
        if name == "result":
            return self.result
        if name == "error":
            error = None if self.end is None else self.end.error
            return error if error is not None or not isinstance(self.result, dict) else self.result.get("error")
        if name == "success":
            return self.success
        if name == "time":
            moment = self.event.time
            return None if moment is None else datetime.fromtimestamp(moment, UTC).isoformat()
        return getattr(self.event, name, None)

    def at(self, steps: Steps) -> Any:
        """The value at some steps from the event, or MISSING."""
        if len(steps) == 2:
            whole = self.arguments if steps[0] == "arguments" else self.part(str(steps[0]))
            return whole.get(steps[1], MISSING) if whole.__class__ is dict else value_at(whole, steps[1:])
        return value_at(self.part(str(steps[0])), steps[1:]) if steps else MISSING

    @property
    def doubt(self) -> str:
        return self.event.doubt or ("" if self.end is None else self.end.doubt)

    def __str__(self) -> str:
        event = self.event
        if event.kind in TEXT_KINDS:
            return f"event {self.index}: {event.kind} {format_value(event.text)}"
        arguments = self.arguments
        inner = ", ".join(f"{key}={format_value(value)}" for key, value in arguments.items()) if isinstance(
            arguments, dict
        ) else ""  # fmt: skip
        inner = inner if len(inner) <= 120 else f"{inner[:119]}…"
        kind = "" if event.kind == "call" else f"{event.kind} "
        return f"event {self.index}: {kind}{event.tool}({inner})"


class BoundValue(NamedTuple):
    """A value that `$as` took from an event."""

    key: Hashable
    value: Any


Scope: TypeAlias = Mapping[str, BoundValue]
"""The values that a pattern bound, by name."""


class NamePlace(NamedTuple):
    """A name at a value of an event: where `$as` takes it, or where `$same` compares it."""

    name: str
    steps: Steps


class Phrases(Struct, frozen=True):
    """What a text must say: one of these phrases. `wide`: in any disguise, as for what is forbidden."""

    phrases: tuple[str, ...]
    wide: bool

    @property
    def words(self) -> str:
        return " or ".join(map(repr, self.phrases))

    def holds(self, text: object) -> bool:
        from carob.text.forbidden import find_phrase  # few rules are about words
        from carob.text.phrases import find_word

        find = find_phrase if self.wide else find_word
        return isinstance(text, str) and any(find(text, phrase) is not None for phrase in self.phrases)


class EventPattern(Struct, frozen=True, kw_only=True):
    """One kind of event, with what its parts must be.

    `tools` are names with `*`; none: any. `wide`: under whatever spelling of the name, and as soon as it is requested.
    """

    kind: EventKind
    tools: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    wide: bool
    success: bool | None = None
    parts: tuple[tuple[str, Matcher], ...] = ()
    text: Matcher | Phrases | None = None
    flags: tuple[tuple[str, bool], ...] = ()
    """`parallel` and `beside_words`, as they must be."""
    binds: tuple[NamePlace, ...] = ()
    sames: tuple[NamePlace, ...] = ()
    own_sames: tuple[NamePlace, ...] = ()
    """SourceValues that must equal one that the pattern itself binds."""
    at_end: bool = False
    """Whether a call fits when it has ended; else as soon as it is requested, or where it is needed, started."""

    @property
    def takes_all(self) -> bool:
        """Whether it asks nothing of an event but its kind and its tool."""
        return self.success is None and self.text is None and not self.flags and not self.parts

    @property
    def read_parts(self) -> tuple[str, ...]:
        """The parts of an event that it looks at."""
        places = (*self.binds, *self.sames, *self.own_sames)
        return (*(name for name, _ in self.parts), *(str(name_place.steps[0]) for name_place in places))

    @property
    def words(self) -> str:
        if self.kind in TEXT_KINDS:
            words = "a message of the user" if self.kind == "user" else "words of the agent"
            return words if self.text is None else f"{words} with {self.text.words}"
        names = " or ".join(self.tools) or "any tool"
        words = names if self.kind == "call" else f"{self.kind} {names}"
        return {True: f"{words} that succeeded", False: f"{words} that failed", None: words}[self.success]

    def names(self, tool: str) -> bool:
        """Whether it speaks of this tool."""
        if self.kind in TEXT_KINDS:
            return True
        if self.excluded and any(is_same_tool(name, tool) for name in self.excluded):
            # What is left out must be named exactly where a name is matched widely: a disguise does not free a call.
            return not is_any_named(self.excluded, tool) if self.wide else False
        if tool in (COMMAND, EDIT) or not self.tools:
            return tool in self.tools or not (self.tools or tool in (COMMAND, EDIT))
        if any(map(is_every_tool, self.tools)):
            return True
        return any(is_same_tool(name, tool) for name in self.tools) if self.wide else is_any_named(self.tools, tool)

    def fits(self, occurrence: Occurrence) -> Fit:
        """Whether an event of a tool that it names is as it wants it, its `$same` aside."""
        doubt: Fit = True
        if self.success is not None:
            success = occurrence.success
            if success is None:
                doubt = NO_END
            elif success is not self.success:
                return False
        for name, expected in self.flags:
            flag = getattr(occurrence.event, name)
            if flag is None:
                doubt = f"it was not observed whether it is {name}"
            elif flag is not expected:
                return False
        if self.text is not None and not self.text.holds(occurrence.event.text):
            if not occurrence.doubt:
                return False
            doubt = occurrence.doubt
        for part, wanted_value in self.parts:
            fit = _fits_part(wanted_value, occurrence, part)
            if fit is False:
                return False
            doubt = fit if isinstance(fit, str) else doubt
        return doubt

    def bind(self, occurrence: Occurrence) -> dict[str, BoundValue] | str:
        """The values that it binds, or why one of them is not known."""
        scope: dict[str, BoundValue] = {}
        for name, steps in self.binds:
            value = occurrence.at(steps)
            if value is MISSING:
                return f"{occurrence} has no {format_steps(steps)}"
            if occurrence.doubt and holds_removed(value):
                return f"{format_steps(steps)}: {LOST}"
            scope[name] = BoundValue(value if value.__class__ is str else freeze(value), value)
        return scope

    def own_fit(self, occurrence: Occurrence, scope: Scope) -> Fit:
        """Whether values that must equal what it binds itself do."""
        for name, steps in self.own_sames:
            value = occurrence.at(steps)
            if value is MISSING:
                return f"{occurrence} has no {format_steps(steps)}"
            if freeze(value) != scope[name].key:
                return False
        return True

    def key(self, occurrence: Occurrence) -> tuple[Hashable, ...] | Fit:
        """The values at its `$same`, in order; False if there is none at all, a text if it is not known."""
        if not self.sames:
            return ()
        key: list[Hashable] = []
        for _, steps in self.sames:
            value = occurrence.at(steps)
            if value.__class__ is str and not occurrence.doubt:
                key.append(value)
                continue
            if value is MISSING:
                part = str(steps[0])
                return UNSEEN.get(part, f"{part} is not known") if occurrence.part(part) is MISSING else False
            if occurrence.doubt and holds_removed(value):
                return LOST
            key.append(freeze(value))
        return tuple(key)

    def wanted_key(self, scope: Scope) -> tuple[Hashable, ...]:
        """The key of the events that go with these values."""
        if not self.sames:
            return ()
        return tuple([scope[name].key for name, _ in self.sames])

    def wanted_words(self, scope: Scope) -> str:
        """What it looks for with these values: `get_order that succeeded with order "A-17"`."""
        pairs = [
            f"{format_steps(name_place.steps[1:])} {format_value(scope[name_place.name].value)}"
            for name_place in self.sames
        ]
        return f"{self.words} with {' and '.join(pairs)}" if pairs else self.words


def _fits_part(expected: Matcher, occurrence: Occurrence, part: str) -> Fit:
    value = occurrence.part(part)
    if value is MISSING or value is None:
        return _fits_nothing(expected, occurrence, part)
    if expected.holds(value):
        return True
    raw = None if part != "result" or occurrence.end is None else occurrence.end.result
    if raw is not value and raw is not None and expected.holds(raw):
        return True
    return occurrence.doubt if occurrence.doubt and holds_removed(value) else False


def _fits_nothing(expected: Matcher, occurrence: Occurrence, part: str) -> Fit:
    """Whether a part that is null or was not seen is known not to fit."""
    if part == "arguments":
        return UNSEEN[part]
    if occurrence.success is None:
        return UNSEEN[part]
    if part == "result" and occurrence.success:
        return UNSEEN[part] if occurrence.end is None or occurrence.end.doubt else expected.holds(None)
    return False
