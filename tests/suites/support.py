"""A vocabulary of three fields, and short ways to load a suite and to see what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec
from msgspec import Meta

from carob.errors import SuiteError
from carob.model.check import CheckProblem, CheckSpec, Declared, Field, ParsedCheck
from carob.model.suite import Suite
from carob.plugins.features import Lazy
from carob.plugins.project import Project
from carob.suites import loads
from carob.suites.formats.base import SuiteCatalog
from carob.suites.formats.catalog import find_format, known_formats
from catalogs import CATALOG


class Colour(TypedDict):
    """A colour to find."""

    name: str
    shade: NotRequired[Annotated[str, Meta(min_length=1)]]


FIELDS = {
    "copy": Field("copy", Annotated[str, Meta(min_length=1)], "The answer is a copy of this."),
    "colours": Field("colours", list[Colour], "Colours of the answer.", since="0.2"),
    "schema": Field("schema", tuple[int, ...], "Numbers.", since="9.0"),
}


class Small:
    """What a package from outside might bring: names that models have for themselves, and an object of its own."""

    fields: Mapping[str, Field] = Lazy(FIELDS.__getitem__, FIELDS)

    groups = ("looks", "sounds")
    declared = Declared()

    def read(self, expected: Mapping[str, Any]) -> Iterator[ParsedCheck]:
        for name, value in expected.items():
            flaws = (CheckProblem("bad-copy", "nothing is like it.", ()),) if value == "nothing" else ()
            yield ParsedCheck(CheckSpec(name, msgspec.Raw(msgspec.json.encode(value)), name), (name,), flaws)

    formats = known_formats(Project())

    def ask(self, name: str, args: Mapping[str, object], path: tuple[str | int, ...]) -> ParsedCheck:
        raise NotImplementedError

    def fields_of(self, name: str) -> tuple[Field, ...]:
        return (self.fields[name],) if name in self.fields else ()

    def unused_fields(self, expected: Mapping[str, Any]) -> Iterator[CheckProblem]:
        yield from ()


def schema(name: str, catalog: SuiteCatalog = CATALOG) -> dict[str, Any]:
    """The JSON Schema of a format."""
    return find_format(name, catalog.formats).schema(catalog)


def read(tree: Any, catalog: SuiteCatalog = CATALOG, file: str = "s.json") -> Suite:
    return loads(json.dumps(tree).encode(), file, catalog)


def lines(data: bytes | str, file: str = "s.json", catalog: SuiteCatalog = CATALOG) -> list[str]:
    """Every problem of a file, as it is printed; none if it loads."""
    try:
        loads(data.encode() if isinstance(data, str) else data, file, catalog)
    except SuiteError as error:
        return str(error).splitlines()
    return []


def told(tree: Any) -> list[str]:
    """What is wrong with a tree, each by its path."""
    return [line.partition(" ")[2] for line in lines(json.dumps(tree))]


def slugs(tree: Any) -> list[str]:
    """What is wrong with a tree, as `path slug`."""
    try:
        read(tree)
    except SuiteError as error:
        return [f"{problem.path} {problem.slug}".strip() for problem in error.problems]
    return []


def case(**keys: Any) -> dict[str, Any]:
    return {"id": "A", "prompt": "Hello?", "expected": {"must_say_any": ["hello"]}, **keys}


def eval_set(*cases: Any, **keys: Any) -> dict[str, Any]:
    return {"version": "0.3", "cases": list(cases), **keys}


def expecting(**expected: Any) -> dict[str, Any]:
    return eval_set(case(expected=expected))
