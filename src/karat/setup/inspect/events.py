"""The events of an answer taken apart: what each has where, and the one field that says which kind each is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from karat.suites.diagnostics import Json
from karat.targets.http.options import When
from karat.targets.http.streams import loads

DEEPEST = 6
MOST_KEYS = 100
MOST_LEAVES = 100
MOST_EVENTS = 1_000
"""So much of an event, and so many events of an answer, are looked at."""
LABEL_KEYS = (
    *("type", "kind", "event", "event_type", "eventType", "msg_type"),
    *("phase", "stage", "channel", "role"),
)
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
