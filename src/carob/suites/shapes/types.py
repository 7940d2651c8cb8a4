"""Shapes out of Python types, which is how checks and formats declare what a field may hold."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from msgspec import Meta, Struct

from carob.errors import ConfigError
from carob.matchers.reading import DOLLAR_KEYS, MatchedMembers, MatchedValue, find_problems
from carob.suites.diagnostics import PathDiagnostic
from carob.suites.shapes import scalars
from carob.suites.shapes.containers import Key, KnownKeys, ListShape, MapShape, UnionShape

NAME = "Matcher"
_REFERENCE: scalars.Schema = {"$ref": f"#/$defs/{NAME}"}
_ABOUT = "A plain value or a list must be equal, an object must have at least these members; or a matcher."


class MatcherShape(Struct, frozen=True):
    """A value or a matcher; with `members` it must be an object."""

    members: bool = False

    @property
    def words(self) -> str:
        return "an object" if self.members else "anything"

    @property
    def types(self) -> tuple[type, ...]:
        return (dict,) if self.members else (dict, list, str, int, float, bool, type(None))

    def validate(self, value: object) -> scalars.Found:
        if self.members and not isinstance(value, dict):
            return scalars.wrong_type(self.words, value)
        diagnostics = (
            list(scalars.check_size(value, 1, None, "keys")) if self.members and isinstance(value, dict) else []
        )
        return [
            *diagnostics,
            *(PathDiagnostic(flaw.path, flaw.message, flaw.slug, flaw.key) for flaw in find_problems(value)),
        ]

    def schema(self, defs: dict[str, scalars.Schema]) -> scalars.Schema:
        defs.setdefault(NAME, _matcher_schema())
        return {**_REFERENCE, "type": "object", "minProperties": 1} if self.members else dict(_REFERENCE)


def _matcher_schema() -> scalars.Schema:
    keys: scalars.Schema = {name: {**key.schema, "description": key.about} for name, key in DOLLAR_KEYS.items()}  # type: ignore[dict-item]
    matcher: scalars.Schema = {
        "type": "object",
        "description": "Matchers, all of which must match.",
        "properties": keys,
        "minProperties": 1,
        "additionalProperties": False,
    }
    members: scalars.Schema = {
        "type": "object",
        "description": "An object that has at least these members.",
        "additionalProperties": dict(_REFERENCE),
        "propertyNames": {"pattern": "^[^$]|^$"},
    }
    plain: scalars.Schema = {"type": ["string", "number", "boolean", "null"]}
    several: scalars.Schema = {"type": "array", "items": dict(_REFERENCE)}
    return {"title": NAME, "description": _ABOUT, "anyOf": [matcher, members, several, plain]}


# A type is whatever Python lets people write as one; there is no type of types.
Type = Any

_FLAG, _NULL = (
    scalars.PlainShape("true or false", (bool,), "boolean"),
    scalars.PlainShape("null", (type(None),), "null"),
)
_PLAIN: dict[Type, scalars.Shape] = {
    Any: scalars.AnyShape(),
    object: scalars.AnyShape(),
    bool: _FLAG,
    type(None): _NULL,
    None: _NULL,
    MatchedValue: MatcherShape(),
    MatchedMembers: MatcherShape(members=True),
}
_LISTS = (list, tuple, set, frozenset)


def shape_of(declared: Type, known_keys: KnownKeys) -> scalars.Shape:
    """What a type lets a value be. Raises ConfigError for a type that no JSON value has."""
    kind, limits = _split_annotations(declared)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind is str:
        return scalars.TextShape(limits.get("min_length", 0), limits.get("max_length"), limits.get("pattern"))
    if kind in (int, float):
        bounds = [limits.get(name) for name in ("gt", "ge", "lt", "le", "multiple_of")]
        return scalars.NumberShape(kind is int, *bounds)
    if is_typeddict(kind):
        return known_keys.new_record(kind.__name__, kind.__doc__ or "", dict(keys_of(kind, known_keys)))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return scalars.ChoiceShape(tuple(member.value for member in kind))
    return _generic(kind, limits, known_keys)


def _generic(kind: Type, limits: Mapping[str, Any], known_keys: KnownKeys) -> scalars.Shape:
    origin: Type = get_origin(kind)
    inner = get_args(kind)
    size = limits.get("min_length", 0), limits.get("max_length")
    if origin is Literal:
        return scalars.ChoiceShape(inner)
    if origin in (Union, types.UnionType):
        return UnionShape(
            tuple(shape_of(Annotated[part, Meta(**limits)] if limits else part, known_keys) for part in inner)
        )
    if origin is None:
        origin = kind
    if origin in _LISTS:
        return ListShape(shape_of(inner[0] if inner else Any, known_keys), *size)
    if origin in (dict, Mapping):
        key, value = inner or (str, Any)
        return MapShape(shape_of(key, known_keys), shape_of(value, known_keys), *size)
    raise ConfigError(
        f"a suite cannot contain a value of the type {kind!r}.", fix="Declare the field with types that JSON has."
    )


def keys_of(record: Type, known_keys: KnownKeys) -> Iterator[tuple[str, Key]]:
    """The keys of a typed dictionary."""
    for name, hint in get_type_hints(record, include_extras=True).items():
        marked = get_origin(hint) in (Required, NotRequired)
        inner = get_args(hint)[0] if marked else hint
        required = get_origin(hint) is Required if marked else name in record.__required_keys__
        yield name, Key(shape_of(inner, known_keys), _doc(inner), required)


def _split_annotations(declared: Type) -> tuple[Type, dict[str, Any]]:
    """A type without its annotations, and the limits that they set."""
    kind, *marks = get_args(declared) if _is_annotated(declared) else (declared,)
    names = ("gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length")
    limits = [(name, getattr(mark, name)) for mark in marks if isinstance(mark, Meta) for name in names]
    return kind, {name: limit for name, limit in limits if limit is not None}


def _doc(declared: Type) -> str:
    marks = get_args(declared)[1:] if _is_annotated(declared) else ()
    return next((mark.description for mark in marks if isinstance(mark, Meta) and mark.description), "")


def _is_annotated(declared: Type) -> bool:
    origin: Type = get_origin(declared)
    return origin is Annotated
