"""The events of an answer taken apart: what each has where, and what distinguishes one kind from another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from karat.suites.diagnostics import Json
from karat.targets.http.options import When

DEEPEST = 6
MOST_KEYS = 100
MOST_LEAVES = 100
MOST_EVENTS = 1_000
MOST_PATHS = 300
"""So much of an event, so many events of an answer and so many different paths are looked at."""
LABEL_KEYS = (
    *("type", "kind", "event", "event_type", "eventType", "op", "ev", "t", "k", "tag", "action", "method", "cmd"),
    *("code", "msg_type", "phase", "stage", "status", "state", "role", "channel", "target", "name"),
)
"""Keys that usually say which kind of event it is, the likeliest first."""
TOOL_KEYS = frozenset({"action", "op", "method", "cmd", "target", "name"})
"""Those that may name a tool instead: they are labels only where nothing else distinguishes kinds."""
STATE_KEYS = frozenset({"phase", "stage", "status", "state", "role", "channel"})
"""Those that results have as well: they are labels only in an object that most events have."""
CLEAR_KEYS = STATE_KEYS | {"type", "kind", "event", "event_type", "eventType", "msg_type"}
"""Those that are labels even if no value comes twice."""
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
    order: int
    raw: str = ""
    kind: tuple[str, ...] = ()
    """What its labels say, once they are known."""
    leaves: dict[str, Json] = field(default_factory=dict)
    """Every value in it that holds no others, by its path."""

    def __post_init__(self) -> None:
        self.leaves = {RAW: self.raw} if self.value is None else dict(islice(_leaves(self.value), MOST_LEAVES))

    def label(self, path: str) -> Json:
        return self.name if path == NAME else self.leaves.get(path)

    def has_path(self, path: str) -> bool:
        return any(leaf == path or leaf.startswith((f"{path}.", f"{path}[")) for leaf in self.leaves) or any(
            inner == path or inner.startswith(f"{path}[") for inner, _ in objects_in(self.value)
        )


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
    """What an object holds, without what is in lists; an array that is an event has places."""
    if isinstance(value, dict) and depth < DEEPEST:
        for key, inner in list(value.items())[:MOST_KEYS]:
            yield from _leaves(inner, path + step(key), depth + 1)
    elif isinstance(value, list) and not depth:
        for number, inner in enumerate(value[:8]):
            yield from _leaves(inner, f"{path}[{number}]", depth + 1)
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
        numbered = not depth and bool(value) and isinstance(value[0], str)
        for number, inner in enumerate(value[:MOST_KEYS]):
            yield from _objects(inner, f"{path}[{number if numbered else '*'}]", depth + 1)


def keep_common_paths(events: Sequence[ObservedEvent]) -> None:
    """Forget the paths that few events have, where there are very many of them."""
    counts = Counter(path for event in events for path in event.leaves)
    if len(counts) > MOST_PATHS:
        common = {path for path, _ in counts.most_common(MOST_PATHS)}
        for event in events:
            event.leaves = {path: value for path, value in event.leaves.items() if path in common}


class Labels:
    """The fields that distinguish one kind of event from another, the clearest first."""

    def __init__(self, events: Sequence[ObservedEvent]) -> None:
        self.events = events
        paths = dict.fromkeys([NAME, *(path for event in events for path in event.leaves)])
        rated = [(rate, path) for path in paths if (rate := self._rate(path)) is not None]
        self.known = [path for _, path in sorted(rated)]
        """All that only say of which kind an event is."""
        self.paths: list[str] = []
        """Those that distinguish kinds."""
        for path in list(self.known):
            if self.paths and last_key(path) in TOOL_KEYS:
                self.known.remove(path)
            elif self._count_kinds([*self.paths, path]) > self._count_kinds(self.paths):
                self.paths.append(path)
        for event in events:
            event.kind = tuple("" if (label := event.label(path)) is None else str(label) for path in self.paths[:2])

    @property
    def cover_all(self) -> bool:
        """Whether one label says of every event which kind it is, or there is only one kind."""
        labelled = [
            path for path in self.paths[:1] if all(event.label(path) not in (None, "") for event in self.events)
        ]
        return bool(labelled) or len({frozenset(event.leaves) for event in self.events}) == 1

    def _count_kinds(self, paths: Sequence[str]) -> int:
        return len({tuple(event.label(path) for path in paths) for event in self.events})

    def _rate(self, path: str) -> tuple[float, int, int] | None:
        """How clear a label a field is, the least number the clearest; None if it is not a label."""
        key, is_position = last_key(path), path in (NAME, "$[0]")
        values = [value for event in self.events if (value := event.label(path)) not in (None, "")]
        if not values or not (key in LABEL_KEYS or is_position):
            return None
        if not all(type(value) is int or (isinstance(value, str) and _LABEL.fullmatch(value)) for value in values):
            return None
        distinct, share = len(set(map(str, values))), len(values) / len(self.events)
        repeats = distinct * 2 <= len(values) or key in CLEAR_KEYS or is_position
        holders = sum(isinstance(value_at(event.value, path.rpartition(".")[0]), dict) for event in self.events)
        if not repeats or (distinct < 2 and share == 1) or (key in TOOL_KEYS and share < 0.6):
            return None
        if key in STATE_KEYS and holders * 2 < len(self.events):
            return None
        return (1 - share, 0 if is_position else LABEL_KEYS.index(key), len(path))

    def describe(self, event: ObservedEvent) -> str:
        """What kind of event it is, as people would call it."""
        keys = event.value if isinstance(event.value, dict) else ()
        return " ".join(filter(None, event.kind)) or ", ".join(map(str, list(keys)[:4])) or "text"

    def words(self, event: ObservedEvent) -> str:
        """All that labels say of an event."""
        return " ".join(str(event.label(path)) for path in self.known if event.label(path))

    def when(self, chosen: Sequence[ObservedEvent], keys: Sequence[str] = ()) -> When | None:
        """The fewest conditions that hold for these events and no other one; None if there are none.

        Where labels are not enough, a path of `keys` that no other event has is a condition.
        """
        others = [event for event in self.events if event not in {*chosen}]
        fields: dict[str, list[Json]] = {}
        for path in self.paths:
            values = list(dict.fromkeys(event.label(path) for event in chosen))
            if not values or any(value in (None, "") for value in values) or (path == NAME and len(values) > 1):
                continue
            alike = [event for event in others if event.label(path) in values]
            if len(alike) < len(others) or (not fields and not others):
                fields[path], others = values, alike
        conditions = _write_conditions(fields)
        for key in keys if others else ():
            if all(event.has_path(key) for event in chosen) and not any(event.has_path(key) for event in others):
                return [*conditions, f"?@{key[1:]}"] if conditions else f"?@{key[1:]}"
        return None if others else conditions[0] if len(conditions) == 1 else conditions or None


def as_filter(when: When | None) -> str:
    """Conditions on the members of a list as a filter of JSONPath, without its brackets; empty for none."""
    parts = when if isinstance(when, list) else [when] if when is not None else []
    conditions: list[str] = []
    for part in parts:
        if isinstance(part, str):
            conditions.append(part.removeprefix("?"))
            continue
        for key, expected in part.items():
            path = f"@{key[1:]}" if key.startswith("$") else f"@{step(key)}"
            values = expected if isinstance(expected, list) else [expected]
            either = " || ".join(f"{path} == {_literal(value)}" for value in values)
            conditions.append(f"({either})" if len(values) > 1 else either)
    return f"?{' && '.join(conditions)}" if conditions else ""


def _literal(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


def _write_conditions(fields: dict[str, list[Json]]) -> list[str | dict[str, object]]:
    """Conditions as `when` has them: a name by itself, all fields in one table."""
    table: dict[str, object] = {
        path.removeprefix("$.") if re.fullmatch(r"\$\.\w+", path) else path: values[0] if len(values) == 1 else values
        for path, values in fields.items()
        if path != NAME
    }
    names = [str(name) for name in fields.get(NAME, [])]
    return [*names[:1], *([table] if table else [])]
