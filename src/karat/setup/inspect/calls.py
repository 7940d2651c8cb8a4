"""Tool calls among the events of a stream, or in one answer, by the usual keys."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from karat.setup.inspect.events import Labels, ObservedEvent, last_key, objects_in, step, value_at
from karat.suites.diagnostics import Json
from karat.targets.http.streams import loads

NAMES = ("tool", "tool_name", "tool_call_name", "function_name", "name", "fn", "func", "function", "action", "call")
ARGUMENTS = ("arguments", "args", "input", "parameters", "params", "tool_input", "tool_args", "kwargs", "with")
RESULTS = (
    "result",
    "output",
    "out",
    "returned",
    "return",
    "tool_output",
    "observation",
    "value",
    "response",
    "content",
)
ERRORS = ("error", "err", "errors", "exception", "exc", "failure", "error_message", "errorMessage", "errorText")
IDS = ("tool_call_id", "call_id", "tool_use_id", "ref", "id", "uid", "call", "index")
INSIDE = ("function", "func", "tool", "call", "tool_call", "function_call")
"""Keys of an object in a call that says what is called."""
_CALLS = re.compile(r"tool|func|\bfn|call|act(?!iv)|invo|exec|use\b|step|skill|command", re.IGNORECASE)
_ENDS = re.compile(
    r"result|output|out\b|return|respon|observ|end|done|finish|complet|success|acted|gave|answered", re.IGNORECASE
)
_FAILS = re.compile(r"fail|error|exception|reject|denied|refus|abort|crash|time[ds]?_?out", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.:/-]{0,79}")


class ObjectPlace(NamedTuple):
    """An object in an event, and where it is."""

    event: ObservedEvent
    at: str
    value: dict[str, Json]


@dataclass
class CallShape:
    """Events that say something of calls: where in them it is, and the path of each thing from there."""

    at: str
    fields: dict[str, str]
    places: list[ObjectPlace] = field(default_factory=list)

    @property
    def events(self) -> list[ObservedEvent]:
        return list(dict.fromkeys(occurrence.event for occurrence in self.places))


@dataclass
class CallShapes:
    """What looks like calls. `unclear`: why nothing is proposed although something looks like a call."""

    start: CallShape | None = None
    end: CallShape | None = None
    error: CallShape | None = None
    unclear: str = ""


def find_calls(events: Sequence[ObservedEvent], labels: Labels) -> CallShapes:
    """The calls of some answers, where they are clear."""
    places = [ObjectPlace(event, at, value) for event in events for at, value in objects_in(event.value)]
    starts = _find_starts(places, labels)
    if len(starts) > 1:
        kinds = " and ".join(repr(labels.describe(shape.events[0])) for shape in starts[:2])
        return CallShapes(unclear=f"events of the kinds {kinds} look like tool calls, and only one can be `tool`")
    if not starts:
        return CallShapes()
    start = starts[0]
    if "result" in start.fields:
        return CallShapes(start)
    return CallShapes(
        start,
        *_find_ends(start, [occurrence for occurrence in places if occurrence.event not in {*start.events}], labels),
    )


def _find_starts(places: Sequence[ObjectPlace], labels: Labels) -> list[CallShape]:
    """The objects that are calls, by the kind of their events; not those that name a tool again later."""
    shapes: dict[object, CallShape] = {}
    for occurrence in places:
        if fields := _read_call(occurrence, labels):
            shape = shapes.setdefault(
                (occurrence.event.kind, occurrence.at, fields["name"]), CallShape(occurrence.at, {})
            )
            shape.fields |= {name: path for name, path in fields.items() if name not in shape.fields}
            shape.places.append(occurrence)
    starts: list[CallShape] = []
    for shape in shapes.values():
        if not any(_repeats(shape, other) for other in starts):
            starts.append(shape)
    return starts


def _repeats(shape: CallShape, other: CallShape) -> bool:
    """Whether each of these objects comes after an object of the other shape that names the same tool."""
    first: dict[tuple[int, Json], int] = {}
    for occurrence in other.places:
        first.setdefault(
            (occurrence.event.answer, value_at(occurrence.value, other.fields["name"])), occurrence.event.order
        )
    return all(
        first.get(
            (occurrence.event.answer, value_at(occurrence.value, shape.fields["name"])), occurrence.event.order + 1
        )
        <= occurrence.event.order
        for occurrence in shape.places
    )


def _read_call(occurrence: ObjectPlace, labels: Labels) -> dict[str, str]:
    """What an object says as a call, by the usual keys; empty if it is none."""
    for inside in ("", *INSIDE):
        inner = occurrence.value.get(inside) if inside else occurrence.value
        prefix = f"${step(inside)}" if inside else "$"
        fields = _read_keys(inner, prefix, occurrence, labels) if isinstance(inner, dict) else {}
        if not fields:
            continue
        for holder, at in ((occurrence.value, "$"), (inner, prefix)):
            if isinstance(holder, dict) and "id" not in fields:
                fields |= find_keys(holder, at, {"id": IDS}, fields, is_id)
        return fields
    return {}


def _read_keys(value: dict[str, Json], prefix: str, occurrence: ObjectPlace, labels: Labels) -> dict[str, str]:
    label = labels.words(occurrence.event)
    for key in usual_keys(value, NAMES):
        name, path = value[key], f"{prefix}{step(key)}"
        if not (isinstance(name, str) and _IDENTIFIER.fullmatch(name)) or occurrence.at + path[1:] in labels.known:
            continue
        fields = {"name": path}
        fields |= find_keys(value, prefix, {"arguments": ARGUMENTS, "result": RESULTS, "error": ERRORS}, fields)
        is_call = _CALLS.search(f"{label} {last_key(occurrence.at)} {last_key(prefix)} {'' if key == 'name' else key}")
        if "arguments" in fields and (is_call or _holds_object(value_at(occurrence.value, fields["arguments"]))):
            return fields
        if is_call and ("result" in fields or not _ENDS.search(label)):
            return fields
    return {}


def find_keys(
    value: dict[str, Json],
    prefix: str,
    usual: Mapping[str, tuple[str, ...]],
    used: Mapping[str, str],
    accepts: object = None,
) -> dict[str, str]:
    """The first usual key of each thing that an object has, without those that are taken."""
    fields: dict[str, str] = {}
    for attribute, keys in usual.items():
        paths = [f"{prefix}{step(key)}" for key in usual_keys(value, keys) if accepts is not is_id or is_id(value[key])]
        path = next((path for path in paths if path not in {*used.values(), *fields.values()}), None)
        fields |= {} if path is None else {attribute: path}
    return fields


def _find_ends(
    start: CallShape, later: Sequence[ObjectPlace], labels: Labels
) -> tuple[CallShape | None, CallShape | None]:
    """The events that end the calls, and those that say that one failed: they name a call by its id or its name."""
    for link in ("id", "name"):
        linked: dict[tuple[str, str], list[ObjectPlace]] = {}
        for call in start.places if link in start.fields else ():
            reference = str(value_at(call.value, start.fields[link]))
            for occurrence in later:
                if occurrence.event.answer == call.event.answer and occurrence.event.order > call.event.order:
                    keys = [key for key, value in occurrence.value.items() if is_id(value) and str(value) == reference]
                    for key in keys[:1]:
                        linked.setdefault((occurrence.at, key), []).append(occurrence)
        for (at, key), places in sorted(linked.items(), key=lambda entry: -len(entry[1])):
            ends = _read_ends(at, {link: f"${step(key)}"}, places, labels)
            if any(ends):
                return ends
    return _find_unlinked_ends(start, later, labels)


def _find_unlinked_ends(
    start: CallShape, later: Sequence[ObjectPlace], labels: Labels
) -> tuple[CallShape | None, CallShape | None]:
    """Ends that name nothing: after each call, and before the next, one event of a kind of its own with a result."""
    kinds: dict[tuple[str, tuple[str, ...]], list[ObjectPlace]] = {}
    for occurrence in later:
        if _ENDS.search(f"{labels.words(occurrence.event)} {' '.join(occurrence.value)}"):
            kinds.setdefault((occurrence.at, occurrence.event.kind), []).append(occurrence)
    for (at, _), places in kinds.items():
        moments = [(occurrence.event.answer, occurrence.event.order, False) for occurrence in start.places]
        moments += [(occurrence.event.answer, occurrence.event.order, True) for occurrence in places]
        if [is_end for *_, is_end in sorted(moments)] == [False, True] * len(start.places):
            return _read_ends(at, {}, places, labels)
    return None, None


def _read_ends(
    at: str, link: dict[str, str], places: Sequence[ObjectPlace], labels: Labels
) -> tuple[CallShape | None, CallShape | None]:
    """Ends with their results, and failures, as far as it is clear what each is."""
    end, error = CallShape(at, dict(link)), CallShape(at, dict(link))
    kinds: dict[tuple[str, ...], str] = {}
    for occurrence in places:
        fails = bool(_FAILS.search(labels.words(occurrence.event)))
        fields = find_keys(occurrence.value, "$", {"error": ERRORS, "result": RESULTS}, link)
        if "result" in fields and not fails:
            kinds.setdefault(occurrence.event.kind, labels.words(occurrence.event))
        if fields or fails:
            shape = error if fails else end
            shape.fields |= {name: path for name, path in fields.items() if name not in shape.fields}
            shape.places.append(occurrence)
    if len(kinds) > 1 and not all(map(_ENDS.search, kinds.values())):
        return None, None  # one of these kinds may be that of calls that failed
    return end if "result" in end.fields else None, error if error.places else None


def with_usual_errors(fields: dict[str, str]) -> dict[str, str]:
    """What an end has, and the usual keys of an error: all calls that were seen may have succeeded."""
    keys = [key for key in ERRORS if f"$.{key}" not in fields.values()]
    return {"error": f"$[{','.join(repr(key) for key in keys)}]"} | fields


def usual_keys(value: Mapping[str, Json], usual: Sequence[str]) -> list[str]:
    """The keys of an object that are usual ones in any spelling (`call_id`, `callID`), the most usual first."""
    ranks = {_fold(key): rank for rank, key in reversed([*enumerate(usual)])}
    return sorted((key for key in value if _fold(key) in ranks), key=lambda key: ranks[_fold(key)])


def _fold(key: str) -> str:
    return re.sub(r"[_-]", "", key).lower()


def _holds_object(value: Json) -> bool:
    """Whether it is an object, or JSON of one."""
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        try:
            value = loads(value)
        except ValueError:
            return False
    return isinstance(value, dict)


def is_id(value: Json) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool) and 0 < len(str(value)) <= 100
