"""Variables of a suite: `{name}` in its texts gives way to a value. Nothing is evaluated."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from karat.suites.diagnostics import Json, Path, PathDiagnostic
from karat.text.wording import find_nearest, quoted

NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_BRACES = re.compile(rf"\{{\{{({NAME})\}}\}}|\{{({NAME})\}}")


class Value(NamedTuple):
    """The value of a variable, and how it is spelled within a longer text, if it can be."""

    value: Json
    text: str | None


def value_of(value: Json) -> Value:
    if isinstance(value, dict | list):
        return Value(value, None)
    return Value(value, value if isinstance(value, str) else json.dumps(value))


class Variables:
    """The variables that one case knows. `missing`: names that other rows of its table have, and this one has not."""

    def __init__(self, values: Mapping[str, Value], missing: Collection[str] = ()) -> None:
        self._values = values
        self._missing = missing
        self.diagnostics: list[PathDiagnostic] = []
        self.near_misses: list[PathDiagnostic] = []

    def substitute(self, tree: Json, path: Path = ()) -> Json:
        """The tree with every variable in it replaced; what went wrong is among the diagnostics then."""
        if isinstance(tree, str):
            return self._text(tree, path) if "{" in tree else tree
        if isinstance(tree, list):
            return [self.substitute(below, (*path, index)) for index, below in enumerate(tree)]
        if isinstance(tree, dict):
            return {self._key(key, path): self.substitute(below, (*path, key)) for key, below in tree.items()}
        return tree

    def _key(self, key: str, path: Path) -> str:
        filled = self._text(key, (*path, key)) if "{" in key else key
        return filled if isinstance(filled, str) else json.dumps(filled)

    def _text(self, text: str, path: Path) -> Json:
        alone = _BRACES.fullmatch(text)
        if alone and alone[2] in self._values:
            return self._values[alone[2]].value
        return _BRACES.sub(lambda braces: self._replace_braces(braces, path), text)

    def _replace_braces(self, braces: re.Match[str], path: Path) -> str:
        literal, name = braces[1], braces[2]
        if literal is not None:
            return f"{{{literal}}}" if literal in self._values else braces[0]
        if name in self._values:
            return self._text_of(name, path)
        if name in self._missing:
            message = f"the row has no {quoted(name)}, which other rows of its table have. Give it one."
            self.diagnostics.append(PathDiagnostic(path, message, "missing-variable"))
        elif self._values and (near := find_nearest(name, self._values)):
            message = (
                f"{quoted(braces[0])} is not a variable, so it is sent as it is. Did you mean {quoted(f'{{{near}}}')}?"
            )
            self.near_misses.append(PathDiagnostic(path, message, "near-variable"))
        return braces[0]

    def _text_of(self, name: str, path: Path) -> str:
        text = self._values[name].text
        if text is None:
            message = f"{quoted(name)} is a list or an object, which cannot be part of a text."
            self.diagnostics.append(PathDiagnostic(path, message, "wrong-type"))
        return text or ""


def resolve_all(
    templates: Mapping[str, Json], row: Mapping[str, Value]
) -> tuple[dict[str, Value], list[tuple[str, ...]]]:
    """Variables that may speak of each other and of a row, each with its value; and the circles among them."""
    values: dict[str, Value] = dict(row)
    circles: list[tuple[str, ...]] = []

    def resolve(name: str, above: tuple[str, ...]) -> None:
        if name in values or name not in templates:
            return
        if name in above:
            circles.append((*above[above.index(name) :], name))
            return
        for other in _names_in(templates[name]):
            resolve(other, (*above, name))
        values[name] = value_of(Variables(values).substitute(templates[name]))

    for name in templates:
        resolve(name, ())
    return values, circles


def _names_in(tree: Json) -> Iterator[str]:
    if isinstance(tree, str):
        yield from (braces[2] for braces in _BRACES.finditer(tree) if braces[2])
    elif isinstance(tree, dict | list):
        for below in tree.values() if isinstance(tree, dict) else tree:
            yield from _names_in(below)
