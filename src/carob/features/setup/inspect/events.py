"""The events of an answer taken apart: what each has where, which field says its kind, which of them are calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from carob.suites.diagnostics import Json
from carob.targets.http.options import When
from carob.targets.http.streams import loads

DEEPEST = 6
MOST_KEYS = 100
MOST_LEAVES = 100
MOST_EVENTS = 1_000
"""So much of an event, and so many events of an answer, are looked at."""
LABEL_KEYS = (*("type", "kind", "event", "event_type", "eventType", "msg_type"), *("phase", "stage", "channel", "role"))
"""Keys that usually say which kind of event it is, the likeliest first."""
NAME = "(name)"
"""In place of a path: the name that an event of a stream has besides its data."""
RAW = "(data)"
"""In place of a path: the data of an event that is not JSON."""
_LABEL = re.compile(r"[A-Za-z/@#_][\w.:/@#-]{0,39}")
_STEP = re.compile(r"\.(\w+)|\['([^']+)'\]")


@dataclass(eq=False)
class ObservedEvent:
    """One event, or a member of a list in an answer: its name, its value, and which answer it is of."""

    name: str
    value: Json
    answer: int
    raw: str = ""
    kind: str = ""
    """What its label says, once that is known."""
    leaves: dict[str, Json] = field(default_factory=dict)
    """Every value in it that holds no others, by its path."""

    def __post_init__(self) -> None:
        self.leaves = {RAW: self.raw} if self.value is None else dict(islice(_leaves(self.value), MOST_LEAVES))
        if self.name:
            self.leaves[NAME] = self.name

    def describe(self) -> str:
        """What kind of event it is, as people would call it."""
        return self.kind or ", ".join(list(self.value)[:4] if isinstance(self.value, dict) else ()) or "text"


def label_events(events: Sequence[ObservedEvent]) -> str:
    """The path of the field that says of every event which kind it is, which becomes its kind; empty without one."""
    shared = set.intersection(*({*event.leaves} for event in events)) if events else set[str]()
    order = [NAME, *LABEL_KEYS]
    labels = [path for path in shared if path == NAME or last_key(path) in LABEL_KEYS]
    for path in sorted(labels, key=lambda path: (order.index(last_key(path) or NAME), len(path))):
        values = [event.leaves[path] for event in events]
        if all(isinstance(value, str) and _LABEL.fullmatch(value) for value in values) and len({*values}) > 1:
            for event, value in zip(events, values, strict=True):
                event.kind = str(value)
            return path
    return ""


def when_kind(label: str, kind: str) -> When:
    """The condition that chooses the events of a kind."""
    return kind if label == NAME else {label.removeprefix("$.") if re.fullmatch(r"\$\.\w+", label) else label: kind}


def read_json(text: str | bytes) -> Json:
    """A text as JSON; None where it is not."""
    try:
        return loads(text)
    except ValueError:
        return None


def step(key: str) -> str:
    """A key as a part of a path."""
    return f".{key}" if re.fullmatch(r"[A-Za-z_]\w*", key) else f"['{key}']" if "'" not in key else f'["{key}"]'


def value_at(value: Json, path: str) -> Json:
    """What a path of keys leads to."""
    for plain, quoted in _STEP.findall(path):
        value = value.get(plain or quoted) if isinstance(value, dict) else None
    return value


def last_key(path: str) -> str:
    """The last key of a path."""
    match = re.search(r"\.(\w+)(?:\[\*\])?$|\['(.+)'\](?:\[\*\])?$", path)
    return (match[1] or match[2]) if match else ""


def _leaves(value: Json, path: str = "$", depth: int = 0) -> Iterator[tuple[str, Json]]:
    """What an object holds, without what is in lists."""
    if isinstance(value, dict) and depth < DEEPEST:
        for key, inner in list(value.items())[:MOST_KEYS]:
            yield from _leaves(inner, path + step(key), depth + 1)
    elif not isinstance(value, dict | list):
        yield path, value


def objects_in(value: Json) -> list[tuple[str, dict[str, Json]]]:
    """The objects in a value with their paths, the outer ones first; those of a list share theirs."""
    return list(islice(_objects(value), MOST_LEAVES))


def _objects(value: Json, path: str = "$", depth: int = 0) -> Iterator[tuple[str, dict[str, Json]]]:
    if depth > DEEPEST:
        return
    if isinstance(value, dict):
        yield path, value
        for key, inner in list(value.items())[:MOST_KEYS]:
            yield from _objects(inner, path + step(key), depth + 1)
    elif isinstance(value, list):
        for inner in value[:MOST_KEYS]:
            yield from _objects(inner, f"{path}[*]", depth + 1)


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
_ENDS = re.compile(r"result|output|out\b|return|respon|observ|end|done|finish|complet|success|acted", re.IGNORECASE)
_FAILS = re.compile(r"fail|error|exception|reject|denied|refus|abort|crash|time[ds]?_?out", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.:/-]{0,79}")


class ObjectPlace(NamedTuple):
    """An object in an event, and where it is."""

    event: ObservedEvent
    order: int
    at: str
    value: dict[str, Json]


@dataclass
class CallShape:
    """Objects in events of one kind that say something of calls: where they are, and what each has where."""

    kind: str
    at: str
    fields: dict[str, str] = field(default_factory=dict)
    places: list[ObjectPlace] = field(default_factory=list)

    def add(self, place: ObjectPlace, fields: Mapping[str, str]) -> None:
        self.fields = {**fields, **self.fields}
        self.places.append(place)


@dataclass
class CallShapes:
    """What looks like calls. `unclear`: why nothing is proposed although something looks like a call."""

    start: CallShape | None = None
    end: CallShape | None = None
    unclear: str = ""


def find_calls(events: Sequence[ObservedEvent], label: str) -> CallShapes:
    """The calls of some answers, where they are clear: one kind of events has them, and at most one their results."""
    places = [
        ObjectPlace(event, order, at, value)
        for order, event in enumerate(events)
        for at, value in objects_in(event.value)
    ]
    shapes: dict[object, CallShape] = {}
    for place in places:
        kind, fields = place.event.kind, _read_call(place, label)
        inside = any(
            place.at.startswith((f"{shape.at}.", f"{shape.at}[")) for shape in shapes.values() if shape.kind == kind
        )
        if fields and not inside:
            shapes.setdefault((kind, place.at, fields["name"]), CallShape(kind, place.at)).add(place, fields)
    starts = [shape for shape in shapes.values() if "arguments" in shape.fields] or list(shapes.values())
    if len(starts) > 1:
        kinds = " and ".join(repr(shape.places[0].event.describe()) for shape in starts[:2])
        return CallShapes(unclear=f"events of the kinds {kinds} look like tool calls, and only one can be `tool`")
    if not starts:
        return CallShapes()
    others = [place for place in places if place.event.kind != starts[0].kind]
    return CallShapes(starts[0], None if "result" in starts[0].fields else _find_end(starts[0], others))


def _read_call(place: ObjectPlace, label: str) -> dict[str, str]:
    """What an object says as a call, by the usual keys; empty if it is none."""
    for inside in ("", *INSIDE):
        inner = place.value.get(inside) if inside else place.value
        prefix = f"${step(inside)}" if inside else "$"
        if isinstance(inner, dict) and (fields := _read_keys(inner, prefix, place, label)):
            holders = (("$", place.value), (prefix, inner))
            ids = [
                f"{at}{step(key)}"
                for at, holder in holders
                for key in usual_keys(holder, IDS)
                if _is_id(holder[key]) and f"{at}{step(key)}" not in fields.values()
            ]
            return fields | ({"id": ids[0]} if ids else {})
    return {}


def _read_keys(value: dict[str, Json], prefix: str, place: ObjectPlace, label: str) -> dict[str, str]:
    for key in usual_keys(value, NAMES):
        name, path = value[key], f"{prefix}{step(key)}"
        if not (isinstance(name, str) and _IDENTIFIER.fullmatch(name)) or place.at + path[1:] == label:
            continue
        others = {other: inner for other, inner in value.items() if other != key}
        fields = {"name": path, **find_keys(others, prefix, arguments=ARGUMENTS, result=RESULTS, error=ERRORS)}
        about = f"{place.event.kind} {last_key(place.at)} {last_key(prefix)} {'' if key == 'name' else key}"
        is_call = _CALLS.search(about)
        if "arguments" in fields and (is_call or _holds_object(value_at(place.value, fields["arguments"]))):
            return fields
        if is_call and "result" in fields:
            return fields
    return {}


def _find_end(start: CallShape, others: Sequence[ObjectPlace]) -> CallShape | None:
    """The kind of events that end the calls: each names its call, or there is one after each call."""
    ends: dict[object, CallShape] = {}
    for place in others:
        link = _link_to_call(start, place)
        fields = find_keys(
            {key: value for key, value in place.value.items() if f"${step(key)}" not in link.values()},
            "$",
            result=RESULTS,
            error=ERRORS,
        )
        if fields and (link or _ENDS.search(place.event.kind)):
            end = ends.setdefault((place.event.kind, place.at, *link.items()), CallShape(place.event.kind, place.at))
            end.add(place, link | fields)
    with_results = [end for end in ends.values() if "result" in end.fields and not _FAILS.search(end.kind)]
    if linked := [end for end in with_results if {"id", "name"} & end.fields.keys()]:
        return linked[0] if len({end.kind for end in linked}) == 1 else None
    for end in with_results:
        turns = sorted([(place.order, False) for place in start.places] + [(place.order, True) for place in end.places])
        if [is_end for _, is_end in turns] == [False, True] * len(start.places):
            return end
    return None


def _link_to_call(start: CallShape, place: ObjectPlace) -> dict[str, str]:
    """How an object names a call before it: by its id, or by the name of its tool."""
    for link in ("id", "name"):
        earlier = {
            str(value_at(call.value, start.fields[link]))
            for call in start.places
            if link in start.fields and call.event.answer == place.event.answer and call.order < place.order
        }
        for key, value in place.value.items():
            if _is_id(value) and str(value) in earlier:
                return {link: f"${step(key)}"}
    return {}


def find_keys(value: Mapping[str, Json], prefix: str, **usual: tuple[str, ...]) -> dict[str, str]:
    """The path of the most usual key of each thing that an object has."""
    keys = {attribute: usual_keys(value, names) for attribute, names in usual.items()}
    return {attribute: f"{prefix}{step(names[0])}" for attribute, names in keys.items() if names}


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
    return isinstance(read_json(value) if isinstance(value, str) else value, dict)


def _is_id(value: Json) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool) and 0 < len(str(value)) <= 100
