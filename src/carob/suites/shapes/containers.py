"""Values that hold others: lists, objects, and a choice between kinds of values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from msgspec import Struct

from carob.suites.diagnostics import PathDiagnostic
from carob.suites.shapes.scalars import FINE, ChoiceShape, Found, Schema, Shape, check_size, given_limits, wrong_type
from carob.text.wording import join_words, quoted

MOST_KEYS = 3
"""As many keys are named as an example."""
MOST = 500
"""Different unknown keys of one file that get a suggestion: each costs a comparison with every known one."""


_JUDGE = re.compile(r"rubric|judge|criteria|llm|g_?eval|relevan|faithful|similar|semantic|embedding", re.IGNORECASE)
NO_JUDGE = (
    "Write what the answer must and must not say, and which tools are called; what only a reader can judge is a "
    "criterion, which people's labels decide: meets: ['It is polite.']."
)


class KnownKeys:
    """The keys of a format by the level they belong to, so that a message can say where one belongs."""

    def __init__(self) -> None:
        self._levels: list[tuple[str, Iterable[str]]] = []
        self._messages: dict[tuple[str, frozenset[str]], str] = {}

    def new_record(self, name: str, doc: str, keys: Mapping[str, Key]) -> RecordShape:
        """What a typed dictionary is here."""
        return RecordShape(name, doc, keys, self)

    def add(self, where: str, keys: Iterable[str]) -> None:
        """Keys of a level; where it is known by several, messages name the last one that was added."""
        self._levels.append((where, keys))

    def describe_unknown(self, key: str, here: Collection[str]) -> str:
        """What to say of a key that is none of those here."""
        question = key, frozenset(here)
        if question not in self._messages:
            if len(self._messages) >= MOST:
                return "unknown field."
            self._messages[question] = self._say(*question)
        return self._messages[question]

    def _say(self, key: str, here: frozenset[str]) -> str:
        from carob.text.key_names import meant_keys, suggest_keys, synonyms_of  # most files have no unknown key

        elsewhere = {name: where for where, keys in self._levels for name in keys if name not in here}
        if key in elsewhere and not synonyms_of(key, here):
            return f"unknown field here: it belongs {elsewhere[key]}."
        if hint := suggest_keys(key, here):
            return f"unknown field. {hint}"
        for near in meant_keys(key, elsewhere):
            return f"unknown field. Did you mean {quoted(near)}, which belongs {elsewhere[near]}?"
        if _JUDGE.search(key):
            return f"unknown field. {NO_JUDGE}"
        return "unknown field. Start its name with 'x-' to keep it as a note."


NOTE = "note"
"""The slug of what is not a problem: a key that anything may carry, and that nothing judges."""

FILLER = "asks-nothing"
"""The slug of a key that could ask for something and is given nothing: a warning, as if it were not there."""

_NOTES: Schema = {"description": "A note: kept, never judged."}


class ListShape(Struct, frozen=True):
    """A list."""

    item: Shape
    fewest: int = 0
    most: int | None = None
    words: ClassVar = "a list"
    types: ClassVar = (list,)

    def validate(self, value: object) -> Found:
        if type(value) is not list:
            return wrong_type(self.words, value, _write(self, value))
        fits = self.most is None and len(value) >= self.fewest
        diagnostics = FINE if fits else check_size(value, self.fewest, self.most, "entries")
        validate = self.item.validate
        for index, entry in enumerate(value):
            if wrong := validate(entry):
                diagnostics = [*diagnostics, *(diagnostic.under(index) for diagnostic in wrong)]
        return diagnostics

    def schema(self, defs: dict[str, Schema]) -> Schema:
        limits = {"minItems": self.fewest or None, "maxItems": self.most}
        return {"type": "array", "items": self.item.schema(defs), **given_limits(limits)}


class MapShape(Struct, frozen=True):
    """An object whose keys the author chooses."""

    key: Shape
    value: Shape
    fewest: int = 0
    most: int | None = None
    words: ClassVar = "an object"
    types: ClassVar = (dict,)

    def validate(self, value: object) -> Found:
        if type(value) is not dict:
            return wrong_type(self.words, value)
        diagnostics = list(check_size(value, self.fewest, self.most, "keys"))
        for name, entry in value.items():
            diagnostics += [diagnostic.under(name)._replace(key=True) for diagnostic in self.key.validate(name)]
            diagnostics += [diagnostic.under(name) for diagnostic in self.value.validate(entry)]
        return diagnostics

    def schema(self, defs: dict[str, Schema]) -> Schema:
        schema: Schema = {"type": "object", "additionalProperties": self.value.schema(defs)}
        names = {key: limit for key, limit in self.key.schema(defs).items() if key != "type"}
        limits = {"minProperties": self.fewest or None, "maxProperties": self.most}
        return schema | ({"propertyNames": names} if names else {}) | given_limits(limits)


class Key(Struct, frozen=True):
    """A key of a record: its value, what it means, and whether it must be there."""

    shape: Shape
    doc: str = ""
    required: bool = False


@dataclass(frozen=True)
class RecordShape:
    """An object of these keys and no others, but for notes. `is_free`: none of them must be there."""

    name: str
    doc: str
    keys: Mapping[str, Key]
    known_keys: KnownKeys = field(compare=False)
    is_free: bool = False
    words: ClassVar = "an object"
    types: ClassVar = (dict,)

    @cached_property
    def _shapes(self) -> dict[str, Shape]:
        """Those that were needed so far."""
        return {}

    @cached_property
    def _required(self) -> tuple[str, ...]:
        return () if self.is_free else tuple(name for name, key in self.keys.items() if key.required)

    @property
    def main_key(self) -> str:
        """The key that must be there, or the first one if none must; none if several must."""
        return "" if len(self._required) > 1 else next(iter((*self._required, *self.keys)), "")

    def validate(self, value: object) -> Found:
        if type(value) is not dict:
            return wrong_type(self.words, value, _write(self, value))
        diagnostics: list[PathDiagnostic] = []
        shapes = self._shapes
        for name, entry in value.items():
            shape = shapes.get(name)
            if shape is None and (key := self.keys.get(name)) is not None:
                shape = shapes[name] = key.shape
            if shape is None:
                diagnostics.append(self._other(name))
            elif wrong := shape.validate(entry):
                empty = not self.keys[name].required and is_filler(shape, entry)
                diagnostics += [_filler(name, entry)] if empty else [diagnostic.under(name) for diagnostic in wrong]
        for name in self._required:
            if name not in value and not self._is_misnamed(name, value):
                diagnostics.append(PathDiagnostic((name,), "this field is required and missing.", "missing-field"))
        return diagnostics

    def _is_misnamed(self, name: str, value: Mapping[str, object]) -> bool:
        """Whether the value has it under another name, which is one problem and not two."""
        from carob.text.key_names import synonyms_of

        keys = self.keys
        return any(name in synonyms_of(key, keys)[:1] for key in value if key not in keys and not is_note(key))

    def _other(self, name: str) -> PathDiagnostic:
        if is_note(name):
            return PathDiagnostic((name,), "", NOTE)
        return PathDiagnostic((name,), self.known_keys.describe_unknown(name, self.keys), "unknown-field", key=True)

    def schema(self, defs: dict[str, Schema]) -> Schema:
        if self.name not in defs:
            defs[self.name] = {}
            defs[self.name] = self.full_schema(defs)
        return {"$ref": f"#/$defs/{self.name}"}

    def full_schema(self, defs: dict[str, Schema]) -> Schema:
        """The schema itself, where `schema` refers to it."""
        keys: Schema = {}
        for name, key in self.keys.items():
            keys[name] = key.shape.schema(defs) | ({"description": key.doc} if key.doc else {})
        return {
            "title": self.name,
            "description": self.doc,
            "type": "object",
            "properties": {**keys, "metadata": _NOTES},
            "patternProperties": {"^x-": _NOTES},
            "additionalProperties": False,
            **({"required": list(self._required)} if self._required else {}),
        }


@dataclass(frozen=True)
class UnionShape:
    """A value of one of several kinds."""

    shapes: tuple[Shape, ...]

    @cached_property
    def words(self) -> str:
        kinds = list(dict.fromkeys(shape.words for shape in self.shapes))
        return join_words([kind for kind in kinds if kind != "a whole number" or "a number" not in kinds])

    @cached_property
    def types(self) -> Collection[type]:
        return self._by_type.keys()

    @cached_property
    def _by_type(self) -> dict[type, list[Shape]]:
        by_type: dict[type, list[Shape]] = {}
        for shape in self.shapes:
            for value_type in shape.types:
                by_type.setdefault(value_type, []).append(shape)
        return by_type

    def validate(self, value: object) -> Found:
        """What the kind that comes nearest has to tell."""
        candidates = self._by_type.get(type(value))
        return (
            wrong_type(self.words, value)
            if candidates is None
            else min((s.validate(value) for s in candidates), key=len)
        )

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return {"anyOf": [shape.schema(defs) for shape in self.shapes]}


def _write(shape: Shape, value: object) -> str:
    """`Write [{tool: 'pay'}].`, for a text without the list or object that it is an entry of; nothing for others."""
    if not isinstance(value, str):
        return ""
    if spelled := _spell(shape, value):
        return f"Write {spelled}."
    keys = [*shape.keys] if isinstance(shape, RecordShape) else []
    return f"Write KEY: VALUE, with keys such as {join_words(keys[:MOST_KEYS])}." if keys else ""


def _spell(shape: Shape, text: str) -> str:
    """How a text is written as a value of a shape, if there is one way."""
    if isinstance(shape, ListShape):
        entry = _spell(shape.item, text)
        return f"[{entry}]" if entry else ""
    if isinstance(shape, RecordShape):
        main = shape.main_key
        entry = _spell(shape.keys[main].shape, text) if main else ""
        return f"{{{main}: {entry}}}" if entry else ""
    return "" if shape.validate(text) else quoted(text)


def is_filler(shape: Shape, value: object) -> bool:
    """Whether an empty list or `false` is where a list that must not be empty or `true` would ask for something."""
    if isinstance(shape, UnionShape):
        return any(is_filler(part, value) for part in shape.shapes)
    if isinstance(shape, ListShape):
        return value == [] and shape.fewest > 0
    return value is False and isinstance(shape, ChoiceShape) and shape.values == (True,)


def _filler(name: str, value: object) -> PathDiagnostic:
    content, fix = ("false", "write true") if value is False else ("an empty list", "say what is expected")
    return PathDiagnostic((name,), f"{content} checks nothing. Remove the field, or {fix}.", FILLER)


def is_note(key: str | int) -> bool:
    """AnyShape may carry `metadata` and `x-` keys: they are kept, and nothing judges them."""
    return isinstance(key, str) and (key == "metadata" or key.startswith("x-"))
