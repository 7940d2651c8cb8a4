"""The classes of values that the JSON Schema of a tool's arguments distinguishes, and which of them a call had."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from carob.checks.base import excerpt
from carob.matchers.values import MISSING, format_value
from carob.text.wording import pluralize

DEEPEST: Final = 4
"""Objects within objects, and references to definitions, are followed so far."""
MOST_ARGUMENTS: Final = 100
MOST_MEMBERS: Final = 50
LONGEST_NAME: Final = 60
LEFT_OUT: Final = "left out"
ANY: Final = "any value"
_SIZES: Final = (("minLength", "maxLength", "character", str), ("minItems", "maxItems", "item", list))


class SchemaClass(NamedTuple):
    """A class of values, and whether a value is in it. `MISSING` is the value of an argument that was left out."""

    name: str
    holds: Callable[[object], bool]


class SchemaArgument(NamedTuple):
    """One argument: its path in the arguments, and the classes of its values."""

    path: tuple[str, ...]
    classes: tuple[SchemaClass, ...]

    @property
    def name(self) -> str:
        return ".".join(self.path)

    def value_in(self, arguments: Mapping[str, Any]) -> object:
        """What a call gave for it; `MISSING` for nothing, and `OUTSIDE` where what would hold it is missing too."""
        value: Any = arguments
        for depth, step in enumerate(self.path):
            if not isinstance(value, Mapping):
                return OUTSIDE
            if step not in value:
                return MISSING if depth == len(self.path) - 1 else OUTSIDE
            value = value[step]
        return value


OUTSIDE: Final = object()
"""Instead of a value: what would hold the argument is missing too, so the call says nothing of it."""


def read_arguments(schema: object) -> list[SchemaArgument]:
    """The arguments that a schema declares, with those of objects in it; none if it is not the schema of an object."""
    if not isinstance(schema, Mapping):
        return []
    arguments: list[SchemaArgument] = []
    for argument in _read_object(schema, schema, (), DEEPEST):
        if len(arguments) == MOST_ARGUMENTS:
            break
        arguments.append(argument)
    return arguments


def _read_object(
    schema: Mapping[str, Any], root: Mapping[str, Any], path: tuple[str, ...], depth: int
) -> Iterator[SchemaArgument]:
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping) or not depth:
        return
    for name, part in properties.items():
        variants = [*_variants(part, root, DEEPEST)]
        classes = [entry for variant in variants for entry in _classes(variant)]
        if not isinstance(required, Sequence) or name not in required:
            classes.append(SchemaClass(LEFT_OUT, lambda value: value is MISSING))
        own_path = (*path, str(name))
        yield SchemaArgument(own_path, tuple({entry.name: entry for entry in classes}.values()))
        for variant in variants:
            yield from _read_object(variant, root, own_path, depth - 1)


def _variants(schema: object, root: Mapping[str, Any], depth: int) -> Iterator[Mapping[str, Any]]:
    """The schemas of which a value fits one, with references to definitions replaced by these."""
    if not isinstance(schema, Mapping):
        yield {}
        return
    alternatives = next((schema[key] for key in ("anyOf", "oneOf", "allOf") if key in schema), None)
    reference = schema.get("$ref")
    if depth and isinstance(reference, str):
        yield from _variants(_resolve(reference, root), root, depth - 1)
    elif depth and isinstance(alternatives, Sequence) and not isinstance(alternatives, str):
        for alternative in alternatives[:MOST_MEMBERS]:
            yield from _variants(alternative, root, depth - 1)
    else:
        yield schema


def _resolve(reference: str, root: Mapping[str, Any]) -> object:
    """What a reference within the schema leads to; nothing for any other."""
    found: Any = root if reference.startswith("#/") else {}
    for step in reference.removeprefix("#/").split("/"):
        found = found.get(step, {}) if isinstance(found, Mapping) else {}
    return found


def _classes(schema: Mapping[str, Any]) -> Iterator[SchemaClass]:
    """What one schema distinguishes: members of an enumeration, null, true and false, values at a bound, else any."""
    members = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(members, Sequence) and not isinstance(members, str):
        yield from (_member(member) for member in members[:MOST_MEMBERS])
        return
    listed = schema.get("type")
    types = [listed] if isinstance(listed, str) else [*listed] if isinstance(listed, Sequence) else []
    if "null" in types:
        yield _member(None)
    if "boolean" in types:
        yield from (_member(True), _member(False))
    if set(types) - {"null", "boolean"} or not types:
        yield from _bounds(schema)
        yield SchemaClass(ANY, lambda value: value is not MISSING and value is not None)


def _bounds(schema: Mapping[str, Any]) -> Iterator[SchemaClass]:
    for side in ("minimum", "maximum"):
        step = 1 if side == "minimum" else -1
        bounds = [(schema.get(side), 0), (schema.get(f"exclusive{side.capitalize()}"), step)]
        for bound, beyond in bounds:
            # Only among integers there is a first value within an exclusive bound.
            is_reached = not beyond or schema.get("type") == "integer"
            if isinstance(bound, int | float) and not isinstance(bound, bool) and is_reached:
                yield _member(bound + beyond, f"{side} ")
    for least, most, unit, kind in _SIZES:
        for size in dict.fromkeys(schema.get(key) for key in (least, most)):
            if isinstance(size, int) and not isinstance(size, bool):
                yield SchemaClass(pluralize(size, unit), partial(_is_sized, size, kind))


def _member(member: object, label: str = "") -> SchemaClass:
    name = label + excerpt(format_value(member), LONGEST_NAME)
    return SchemaClass(name, lambda value: _is_same(value, member))


def _is_same(value: object, member: object) -> bool:
    """Whether a value is this member: 1 is 1.0, and not true."""
    return isinstance(value, bool) is isinstance(member, bool) and value == member


def _is_sized(size: int, kind: type[str] | type[list[Any]], value: object) -> bool:
    return isinstance(value, kind) and len(value) == size
