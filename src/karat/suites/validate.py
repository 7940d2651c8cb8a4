"""Values against their model: notes set aside, everything else that does not fit said in plain words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
from pydantic import TypeAdapter, ValidationError

from karat.suites.findings import Finding, Path
from karat.suites.free_keys import Notes, is_note
from karat.suites.hints import Levels
from karat.suites.models import LABEL_PATTERN, TEXT_PATTERN, Shape
from karat.suites.schema import described
from karat.text.wording import did_you_mean, kind, listed, quoted

_TYPES = {
    "string_type": "a string",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "dataclass_type": "an object",
    "none_required": "null",
}
_BOUNDS = {
    "greater_than": ("gt", "over"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "under"),
    "less_than_equal": ("le", "at most"),
}
_CHOICE = re.compile(r"'([^']*)'")


class _Error(NamedTuple):
    path: Path
    key: bool
    type: str
    context: dict[str, Any]
    message: str


class Judge:
    """Judges the parts of one file, so that no more of it than one case need be at hand."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape

    def head(self, tree: Any) -> tuple[Notes, list[Finding]]:
        """Take the notes out of what stands around the cases, and say what of the rest does not fit."""
        return self._judge(tree, self._shape.head, ())

    def case(self, tree: Any, path: Path) -> tuple[Notes, list[Finding]]:
        """The same for the case at a path of the file. Its notes have paths from the case on."""
        return self._judge(tree, self._shape.case, path)

    def _judge(self, tree: Any, adapter: TypeAdapter[Any], at: Path) -> tuple[Notes, list[Finding]]:
        notes: Notes = {}
        while True:
            errors = _errors(tree, adapter)
            if not _set_aside(tree, errors, notes):
                found = _findings(tree, errors, at, self._levels) if errors else []
                return notes, [finding._replace(path=(*at, *finding.path)) for finding in found]

    @cached_property
    def _levels(self) -> Levels:
        return Levels(described(self._shape.whole))


def _errors(tree: Any, adapter: TypeAdapter[Any]) -> list[_Error]:
    try:
        # As JSON, because pydantic's strict mode is about Python objects otherwise: it would refuse lists for tuples.
        adapter.validate_json(msgspec.json.encode(tree))
    except ValidationError as refused:
        return [
            _Error(*_resolve(tree, e["loc"], e["type"]), e["type"], e.get("ctx", {}), e["msg"])
            for e in refused.errors(include_url=False, include_input=False)
        ]
    return []


def _resolve(tree: Any, loc: Iterable[str | int], slug: str) -> tuple[Path, bool]:
    """A pydantic location as a path of the tree: without the names of union members, and whether it means a key."""
    path: list[str | int] = []
    node = tree
    steps = list(loc)
    for step in steps[:-1] if slug == "missing" else steps:
        if isinstance(node, dict) and step in node:
            node = node[str(step)]
            path.append(step)
        elif isinstance(node, list) and isinstance(step, int):
            node = node[step]
            path.append(step)
    if slug == "missing":
        path.append(steps[-1])
    return tuple(path), slug == "extra_forbidden" or steps[-1:] == ["[key]"]


def _set_aside(tree: Any, errors: Iterable[_Error], notes: Notes) -> bool:
    """Move the notes among the unknown keys from the tree to `notes`; whether there were any."""
    found = {e.path for e in errors if e.type == "extra_forbidden" and is_note(e.path[-1])}
    for path in found:
        parent = value_at(tree, path[:-1])
        notes[path] = parent.pop(path[-1])
    return bool(found)


def value_at(tree: Any, path: Path) -> Any:
    for step in path:
        tree = tree[step]
    return tree


def _findings(tree: Any, errors: list[_Error], at: Path, levels: Levels) -> list[Finding]:
    by_place: defaultdict[tuple[Path, bool], list[_Error]] = defaultdict(list)
    for error in errors:
        by_place[error.path, error.key].append(error)
    around = {path[:length] for path, _ in by_place for length in range(len(path))}
    found: list[Finding] = []
    for (path, key), here in by_place.items():
        others = [e for e in here if e.type not in _TYPES]
        if others:
            found += (_said(tree, e, at, levels) for e in others)
        elif key or path not in around:
            # Where something lies deeper, a union member of the right type was tried: the others do not matter.
            found.append(_wrong_type(path, key, here, value_at(tree, path)))
    return found


def _wrong_type(path: Path, key: bool, errors: list[_Error], value: Any) -> Finding:
    wanted = list(dict.fromkeys(_TYPES[e.type] for e in errors))
    if "a number" in wanted and "a whole number" in wanted:
        wanted.remove("a whole number")
    found = f"{value}" if wanted == ["a whole number"] and isinstance(value, float) else kind(value)
    return Finding(path, f"expected {listed(wanted)}, found {found}.", "wrong-type", key)


def _said(tree: Any, error: _Error, at: Path, levels: Levels) -> Finding:
    """One error that is not a matter of type, in our words."""
    path, key, slug, context, message = error
    if slug == "missing":
        return Finding(path, "this field is required and missing.", "missing-field")
    if slug == "extra_forbidden":
        return Finding(path, levels.unknown((*at, *path)), "unknown-field", key=True)
    value: Any = path[-1] if key else value_at(tree, path)
    if slug in ("literal_error", "enum"):
        return Finding(path, *_choice(value, context["expected"]), key)
    if slug in _BOUNDS:
        name, words = _BOUNDS[slug]
        return Finding(path, f"must be {words} {context[name]:g}, found {value:g}.", "out-of-range", key)
    if slug == "string_pattern_mismatch":
        return Finding(path, *_pattern(value, context["pattern"]), key)
    if slug in ("too_short", "string_too_short") and not value:
        return Finding(path, *_empty(path, value), key)
    return Finding(path, f"{message[:1].lower()}{message[1:]}.".replace("..", "."), "invalid-value", key)


def _choice(value: Any, expected: str) -> tuple[str, str]:
    known = _CHOICE.findall(expected)
    if not known:
        word = expected.lower()
        return f"expected {word}, found {kind(value)}. Leave the field out if it shall not be checked.", "wrong-type"
    among = listed(known)
    if not isinstance(value, str):
        quote = f' Did you mean "{value}"?' if str(value) in known else ""
        return f"expected {among} as a string, found {kind(value)}.{quote}", "wrong-type"
    near = did_you_mean(value, known)
    hint = f" {near}" if near else ""
    return f"unknown value {quoted(value)}.{hint} Known are {listed(known, 'and')}.", "unknown-value"


def _pattern(value: str, pattern: str) -> tuple[str, str]:
    if not value.strip():
        return "must not be blank.", "empty-value"
    if pattern in (LABEL_PATTERN, TEXT_PATTERN):
        return "holds a control character. Write it on one line, without tabs and escapes.", "control-character"
    return f"{quoted(value)} is not of the form {pattern}.", "invalid-value"


def _empty(path: Path, value: Any) -> tuple[str, str]:
    if path in ((), ("cases",)) and isinstance(value, list):
        return "the suite has no cases.", "empty-suite"
    empty = "string" if isinstance(value, str) else "list" if isinstance(value, list) else "object"
    return f"an empty {empty} expects nothing. Say what is expected, or leave the field out.", "empty-expectation"
