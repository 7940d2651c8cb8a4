"""What is read of a file of another tool: of the right types, or refused at its place. Its other keys are its own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from carob.suites.diagnostics import Document, Path, PathDiagnostic, RefusedError, render
from carob.suites.shapes.containers import Key, KnownKeys, RecordShape
from carob.suites.shapes.scalars import Found, Shape, wrong_type
from carob.suites.shapes.types import Type, shape_of

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def snake_case(name: str) -> str:
    """A key in snake case, which some tools write in camel case."""
    return _CAMEL.sub("_", name).lower()


def decode_json(value: Any, otherwise: Any) -> Any:
    """What a text holds as JSON, or something else if it holds none; any other value as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return otherwise


class ForeignRecord(RecordShape):
    """An object of which these keys are read, in snake or camel case. A key that may be absent may be null."""

    def validate(self, value: object) -> Found:
        if type(value) is not dict:
            return wrong_type(self.words, value)
        found: list[PathDiagnostic] = []
        missing = {name for name, key in self.keys.items() if key.required}
        for name, entry in value.items():
            read = name if name in self.keys else snake_case(name)
            if (key := self.keys.get(read)) is not None and (key.required or entry is not None):
                found += [problem.under(name) for problem in key.shape.validate(entry)]
            missing.discard(read)
        return found + [PathDiagnostic((), f"'{name}' is required and missing.", "missing-field") for name in missing]


class _ForeignKeys(KnownKeys):
    def new_record(self, name: str, doc: str, keys: Mapping[str, Key]) -> RecordShape:
        return ForeignRecord(name, doc, keys, self)


@lru_cache
def _shape(declared: Type) -> Shape:
    return shape_of(declared, _ForeignKeys())


def require_shape(tree: Any, declared: Type, document: Document, path: Path = (), file: str = "") -> None:
    """Raise RefusedError, with places, where values are not of the types that are declared for them.

    `path`: where they are in the document. `file`: the one that it is of, if that is not the suite.
    """
    if found := [one.under(*path) for one in find_misfits(tree, declared)]:
        raise RefusedError(*(one._replace(place=document.place(one.path, key=one.key), file=file) for one in found))


def find_misfits(tree: Any, declared: Type) -> Found:
    """Values that are not of the types that are declared for them."""
    plain = {key: _as_list(value) for key, value in tree.items()} if isinstance(tree, dict) else _as_list(tree)
    return _shape(declared).validate(plain)


def require_type(value: Any, declared: Type) -> None:
    """Raise ValueError with the path of the first value that is not of the type that is declared for it."""
    if found := find_misfits(value, declared):
        raise ValueError(f"{render(found[0].path)}: {found[0].message.rstrip('.')}")


def _as_list(value: Any) -> Any:
    """A list, also where it is parsed as it is walked through."""
    return [*value] if isinstance(value, Sequence) and not isinstance(value, str) else value
