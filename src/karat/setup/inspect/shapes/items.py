"""The events of an answer taken apart: what each has where, and what distinguishes one kind from another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from karat.suites.diagnostics import Json
from karat.targets.http.jsonpath import JsonPath
from karat.targets.http.options import When

DEEPEST = 6
MOST_KEYS = 100
MOST_LEAVES = 100
MOST_EVENTS = 1_000
MOST_PATHS = 300
"""So much of an event, so many events of an answer and so many different paths are looked at."""
LABEL_KEYS = (
    *(
        "type",
        "kind",
        "event",
        "event_type",
        "eventType",
        "op",
        "ev",
        "t",
        "k",
        "tag",
        "what",
        "action",
        "method",
        "cmd",
        "code",
    ),
    *("msg_type", "phase", "stage", "status", "state", "role", "channel", "target", "name"),
)
"""Keys that usually say which kind of event it is, the likeliest first."""
ALSO_NAMES = frozenset({"action", "op", "method", "cmd", "target", "name"})
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


@dataclass(eq=False)
class EventItem:
    """One event, or a part of one: its name, its value, and which answer it is of."""

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
        self.leaves = {RAW: self.raw} if self.value is None else dict(islice(leaves(self.value), MOST_LEAVES))

    def label(self, path: str) -> Json:
        return self.name if path == NAME else self.leaves.get(path)


def step(key: str) -> str:
    """A key as a part of a path."""
    return f".{key}" if re.fullmatch(r"[A-Za-z_]\w*", key) else f"['{key}']" if "'" not in key else f'["{key}"]'


def leaves(value: Json, path: str = "$", depth: int = 0) -> Iterator[tuple[str, Json]]:
    """What an object holds, without what is in lists; an array that is an event has places."""
    if isinstance(value, dict) and depth < DEEPEST:
        for key, inner in list(value.items())[:MOST_KEYS]:
            yield from leaves(inner, path + step(key), depth + 1)
    elif isinstance(value, list) and (not depth or not any(isinstance(inner, dict | list) for inner in value)):
        for number, inner in enumerate(value[:8]):
            yield from leaves(inner, f"{path}[{number}]", depth + 1)
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


def key_of(path: str) -> str:
    """The last key of a path."""
    found = re.search(r"\.(\w+)(?:\[\*\])?$|\['(.+)'\](?:\[\*\])?$", path)
    return (found[1] or found[2]) if found else ""


def keep_common_paths(items: Sequence[EventItem]) -> None:
    """Forget the paths that few events have, where there are very many of them."""
    counts = Counter(path for item in items for path in item.leaves)
    if len(counts) > MOST_PATHS:
        common = {path for path, _ in counts.most_common(MOST_PATHS)}
        for item in items:
            item.leaves = {path: value for path, value in item.leaves.items() if path in common}


def parts_path(values: Sequence[Json]) -> str:
    """Where most events have several parts of their own; empty if they have not."""
    counts: Counter[str] = Counter()
    for value in values:
        counts.update({path for path, _ in objects_in(value) if path.endswith("[*]")})
    often = [path for path, count in counts.items() if count * 2 >= len(values) and len(values) > 1]
    found = ""
    for path in sorted(often, key=len):
        if not found or (path.startswith(found) and _most_have(values, found, path)):
            found = path
    return found


def _most_have(values: Sequence[Json], outer: str, inner: str) -> bool:
    """Whether most parts have parts in turn: if few do, the outer ones are what an event consists of."""
    parts = [part for value in values for part in JsonPath(outer).all(value)]
    has = JsonPath(f"${inner.removeprefix(outer)}").all
    return sum(bool(has(part)) for part in parts) * 2 >= len(parts)


def extends(later: Json, earlier: Json) -> bool:
    """Whether a value is an earlier one with more at its ends."""
    if isinstance(earlier, dict) and isinstance(later, dict):
        return all(key in later and extends(later[key], one) for key, one in earlier.items())
    if isinstance(earlier, list) and isinstance(later, list):
        return len(later) >= len(earlier) and all(map(extends, later, earlier))
    if isinstance(earlier, str) and isinstance(later, str):
        return later.startswith(earlier)
    return later == earlier


class Labels:
    """The fields that distinguish one kind of event from another, the clearest first."""

    def __init__(self, items: Sequence[EventItem]) -> None:
        self.items = items
        paths = dict.fromkeys([NAME, *(path for item in items for path in item.leaves)])
        rated = [(rate, path) for path in paths if (rate := self._rate(path)) is not None]
        self.known = [path for _, path in sorted(rated, key=lambda one: one[0])]
        """All that only say of which kind an event is."""
        self.paths: list[str] = []
        """Those that distinguish kinds."""
        for path in list(self.known):
            if self.paths and key_of(path) in ALSO_NAMES:
                self.known.remove(path)
            elif self._count_kinds([*self.paths, path]) > self._count_kinds(self.paths):
                self.paths.append(path)
        for item in items:
            item.kind = tuple("" if (label := item.label(path)) is None else str(label) for path in self.paths[:2])

    def _count_kinds(self, paths: Sequence[str]) -> int:
        return len({tuple(item.label(path) for path in paths) for item in self.items})

    def _rate(self, path: str) -> tuple[float, int, int] | None:
        """How clear a label a field is, the least number the clearest; None if it is not a label."""
        values = [value for item in self.items if (value := item.label(path)) not in (None, "")]
        if path == RAW or not values:
            return None
        numbers = key_of(path) in LABEL_KEYS and all(type(value) is int for value in values)
        if not numbers and not all(
            isinstance(value, str) and (path == NAME or _LABEL.fullmatch(value)) for value in values
        ):
            return None
        key, distinct = key_of(path), len(set(map(str, values)))
        known = LABEL_KEYS.index(key) if key in LABEL_KEYS else 0 if path in (NAME, "$[0]") else len(LABEL_KEYS)
        share = len(values) / len(self.items)
        repeats = distinct * 2 <= len(values) or key in CLEAR_KEYS or path in (NAME, "$[0]")
        holders = sum(bool(_keys_next_to(item.value, path)) for item in self.items)
        if key in STATE_KEYS and holders * 2 < len(self.items):
            return None
        if (distinct < 2 and share == 1) or (key in ALSO_NAMES and share < 0.6):
            return None
        if not repeats or (known == len(LABEL_KEYS) and (share < 0.6 or not self._goes_with_shapes(path))):
            return None
        return (1 - share, known, len(path))

    def _goes_with_shapes(self, path: str) -> bool:
        """Whether most values go with one set of keys, next to them or in the event, and not all with the same."""
        labelled = [item for item in self.items if item.label(path)]
        for shape in (lambda item: _keys_next_to(item.value, path), lambda item: frozenset(item.leaves)):
            shapes: dict[str, set[frozenset[str]]] = {}
            for item in labelled:
                shapes.setdefault(str(item.label(path)), set()).add(shape(item))
            single = [found for found in shapes.values() if len(found) == 1]
            if len(single) * 2 >= len(shapes) and len({*map(frozenset, shapes.values())}) > 1:
                return True
        return False

    def describe(self, item: EventItem) -> str:
        """What kind of event it is, as people would call it."""
        keys = item.value if isinstance(item.value, dict) else ()
        return " ".join(filter(None, item.kind)) or ", ".join(map(str, list(keys)[:4])) or "text"

    def words(self, item: EventItem) -> str:
        """All that labels say of an item."""
        return " ".join(str(item.label(path)) for path in self.known if item.label(path))

    def when(
        self, chosen: Sequence[EventItem], keys: Sequence[str] = (), unlike: Sequence[EventItem] = ()
    ) -> When | None:
        """The fewest conditions that hold for these items and no other one; None if there are none.

        Where labels of their own are not enough, a path of `keys` that no other item has is a condition. If all that
        is left are items of `unlike`, the conditions exclude those: the labels of these may vary.
        """
        wanted = {*chosen}
        others = [item for item in self.items if item not in wanted]
        fields: dict[str, list[Json]] = {}
        for path in self.paths:
            values = list(dict.fromkeys(item.label(path) for item in chosen))
            if not values or any(value in (None, "") for value in values) or (path == NAME and len(values) > 1):
                continue
            left = [item for item in others if item.label(path) in values]
            if fields and len(left) < len(others) and path != NAME and {*others} <= {*unlike}:
                excluded = {item.label(path) for item in others}
                if len(excluded) == 1 and not excluded & {*values}:
                    return [*_write_conditions(fields), f"?@{path[1:]} != {_literal(excluded.pop())}"]
            if len(left) < len(others) or (not fields and not others):
                fields[path], others = values, left
        made = _write_conditions(fields)
        for key in keys if others else ():
            if all(has_path(item, key) for item in chosen) and not any(has_path(item, key) for item in others):
                return [*made, f"?@{key[1:]}"] if made else f"?@{key[1:]}"
        return None if others else made[0] if len(made) == 1 else made or None


def _keys_next_to(value: Json, path: str) -> frozenset[str]:
    """What else the object has that holds a field."""
    *outer, _ = re.findall(r"\.(\w+)|\['([^']+)'\]", path) or [("", "")]
    for plain, quoted in outer:
        value = value.get(plain or quoted) if isinstance(value, dict) else None
    return frozenset(value) if isinstance(value, dict) else frozenset()


def as_filter(when: When | None) -> str:
    """Conditions on the members of a list as a filter of JSONPath, without its brackets; empty for none."""
    parts = when if isinstance(when, list) else [when] if when is not None else []
    said: list[str] = []
    for part in parts:
        if isinstance(part, str):
            said.append(part.removeprefix("?"))
            continue
        for key, wanted in part.items():
            path = f"@{key[1:]}" if key.startswith("$") else f"@{step(key)}"
            values = wanted if isinstance(wanted, list) else [wanted]
            either = " || ".join(f"{path} == {_literal(value)}" for value in values)
            said.append(f"({either})" if len(values) > 1 else either)
    return f"?{' && '.join(said)}" if said else ""


def _literal(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


def has_path(item: EventItem, path: str) -> bool:
    return any(leaf == path or leaf.startswith((f"{path}.", f"{path}[")) for leaf in item.leaves) or any(
        found == path or found.startswith(f"{path}[") for found, _ in objects_in(item.value)
    )


def _write_conditions(fields: dict[str, list[Json]]) -> list[str | dict[str, object]]:
    """Conditions as `when` has them: a name by itself, all fields in one table."""
    table: dict[str, object] = {
        path.removeprefix("$.") if re.fullmatch(r"\$\.\w+", path) else path: values[0] if len(values) == 1 else values
        for path, values in fields.items()
        if path != NAME
    }
    names = [str(name) for name in fields.get(NAME, [])]
    return [*names[:1], *([table] if table else [])]
