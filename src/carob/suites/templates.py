"""What makes several cases of one that is written: variables in its texts, rows of a table, defaults of the suite."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import jiter

from carob.errors import UsageError
from carob.model.check import Field
from carob.suites.diagnostics import Json, Path, PathDiagnostic, RefusedError, refuse
from carob.suites.documents.source import OUT_OF_RANGE, fit_numbers, holds, read_bytes, utf8
from carob.text.wording import find_nearest, kind, quoted

NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
MOST_FILLED = 1 << 22
"""In one case."""
MOST_FILLED_IN_FILE = 1 << 29
VALUE_SIZE = 16
_BRACES = re.compile(rf"\{{\{{({NAME})\}}\}}|\{{({NAME})\}}")


class Value(NamedTuple):
    """The value of a variable, and how it is spelled within a longer text, if it can be."""

    value: Json
    text: str | None


def value_of(value: Json) -> Value:
    if isinstance(value, dict | list):
        return Value(value, None)
    return Value(value, value if isinstance(value, str) else json.dumps(value))


class Room:
    """How much variables may still fill in: a few that name each other several times stand for more than memory holds.

    In characters, as JSON would be about as long.
    """

    def __init__(self) -> None:
        self._file = MOST_FILLED_IN_FILE
        self.begin_case()

    def begin_case(self) -> None:
        self._case = min(MOST_FILLED, self._file)
        self.is_full = False

    def take(self, size: int) -> bool:
        """Whether there was room for so much. After the first time that there was not, the case gets no more."""
        self.is_full = self.is_full or size > self._case
        if not self.is_full:
            self._case -= size
            self._file -= size
        return not self.is_full


class Variables:
    """The variables that one case knows. `missing`: names that other rows of its table have, and this one has not."""

    def __init__(self, values: Mapping[str, Value], room: Room, missing: Collection[str] = ()) -> None:
        self._values = values
        self._room = room
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
            value = self._values[alone[2]].value
            return value if self._has_room(_size(value), path) else text
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
        return text if text and self._has_room(len(text), path) else ""

    def _has_room(self, size: int, path: Path) -> bool:
        was_full = self._room.is_full
        if self._room.take(size):
            return True
        if not was_full:
            message = "the variables of this file stand for too much text. Write it out, or split the suite."
            self.diagnostics.append(PathDiagnostic(path, message, "too-large"))
        return False


def _size(value: Json) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list | dict):
        return VALUE_SIZE + sum(map(_size, value.values() if isinstance(value, dict) else value))
    return VALUE_SIZE


def resolve_all(
    templates: Mapping[str, Json], row: Mapping[str, Value], room: Room
) -> tuple[dict[str, Value], list[PathDiagnostic]]:
    """Variables that may speak of each other and of a row, each with its value; and what is wrong with them."""
    values: dict[str, Value] = dict(row)
    diagnostics: list[PathDiagnostic] = []

    def resolve(name: str, above: tuple[str, ...]) -> None:
        if name in values or name not in templates:
            return
        if name in above:
            circle = " → ".join((*above[above.index(name) :], name))
            message = f"circular variables: {circle}. Give one of them a value."
            diagnostics.append(PathDiagnostic(("vars", name), message, "cyclic-variable"))
            return
        for other in _names_in(templates[name]):
            resolve(other, (*above, name))
        variables = Variables(values, room)
        values[name] = value_of(variables.substitute(templates[name], ("vars", name)))
        diagnostics.extend(variables.diagnostics)

    for name in templates:
        resolve(name, ())
    return values, diagnostics


def _names_in(tree: Json) -> Iterator[str]:
    if isinstance(tree, str):
        yield from (braces[2] for braces in _BRACES.finditer(tree) if braces[2])
    elif isinstance(tree, dict | list):
        for below in tree.values() if isinstance(tree, dict) else tree:
            yield from _names_in(below)


SUFFIXES = (".csv", ".jsonl")

_NAME = re.compile(NAME)
_TYPED = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


class Row(NamedTuple):
    """One row of a table: its values by column, and its place, for messages."""

    values: Mapping[str, Value]
    where: str


def read_table(name: str, folder: FilePath, named_at: Path) -> tuple[list[Row], bytes]:
    """The rows of a table that a suite names, and its bytes. Raises RefusedError."""
    path = folder / name
    inside = not FilePath(name).is_absolute() and ".." not in FilePath(name).parts
    if not inside or path.suffix.lower() not in SUFFIXES:
        message = f"{quoted(name)} is not a table. Name a .csv or .jsonl file next to the suite."
        raise RefusedError(PathDiagnostic(named_at, message, "bad-table"))
    try:
        data = read_bytes(path)
    except UsageError as error:
        raise RefusedError(PathDiagnostic(named_at, f"{quoted(name)} {error.message}", error.slug)) from None
    file = str(path)
    try:
        text = utf8(data, is_suite=False).decode()
    except RefusedError as refused:
        raise refused.in_file(file) from None
    rows = list((_csv if path.suffix.lower() == ".csv" else _jsonl)(text, name, file))
    if not rows:
        raise refuse("the table has no rows.", "empty-table").in_file(file)
    return rows, data


def _csv(text: str, name: str, file: str) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    columns: list[str] | None = None
    line = 1
    try:
        for cells in reader:
            if columns is None:
                columns = _columns(cells, file)
            elif cells:
                if len(cells) != len(columns):
                    message = f"the line has {len(cells)} cells, the table has {len(columns)} columns."
                    raise _table_error(message, line, file)
                yield Row(dict(zip(columns, map(_cell, cells), strict=True)), f"{name}:{line}")
            line = reader.line_num + 1
    except csv.Error as error:
        raise _table_error(f"the line is not CSV: {error}.", line, file) from None


def _columns(cells: list[str], file: str) -> list[str]:
    odd = next((cell for cell in cells if not _NAME.fullmatch(cell) or cells.count(cell) > 1), None)
    if odd is not None:
        rule = "is not a name: begin it with a letter, go on with letters, digits, - or _"
        why = "appears twice" if _NAME.fullmatch(odd) else rule
        raise _table_error(f"the column {quoted(odd)} {why}.", 1, file)
    return cells


def _cell(text: str) -> Value:
    """A cell as JSON reads it if it is a number, true, false or null; within a longer text as it is written."""
    value: Json = jiter.from_json(text.encode()) if _TYPED.fullmatch(text) else text
    return Value(text if isinstance(value, int | float) and not holds(value) else value, text)


def _jsonl(text: str, name: str, file: str) -> Iterator[Row]:
    for line, row in enumerate(text.split("\n"), 1):
        if row.strip():
            yield Row(columns_of(_object(row, line, file)), f"{name}:{line}")


def _object(text: str, line: int, file: str) -> dict[str, Json]:
    try:
        value: Json = jiter.from_json(text.encode(), allow_inf_nan=False, catch_duplicate_keys=True)
    except ValueError as error:
        raise _table_error(f"the line is not JSON: {str(error).partition(' at line')[0]}.", line, file) from None
    if not isinstance(value, dict):
        raise _table_error(f"expected an object, found {kind(value)}.", line, file)
    misfits: list[PathDiagnostic] = []
    fit_numbers(value, (), misfits)
    if misfits:
        raise _table_error(OUT_OF_RANGE, line, file)
    return value


def columns_of(row: Mapping[str, Json]) -> dict[str, Value]:
    return {name: value_of(value) for name, value in row.items()}


def _table_error(message: str, line: int, file: str) -> RefusedError:
    return refuse(message, "bad-table", (line, 1)).in_file(file)


JsonObject = dict[str, Any]
REPLACE, SMALLER, NEVER, TOTAL = "replace", "smaller", "never", "total"


def add_prohibitions(expected: JsonObject, defaults: Mapping[str, Any], fields: Mapping[str, Field]) -> JsonObject:
    """What a case expects, with what `defaults` forbid under the keys that it names itself.

    A value of the wrong type stays as the case has it, and is reported there.
    """
    added = {
        name: _combine(fields[name].in_defaults, expected[name], default)
        for name, default in defaults.items()
        if name in expected
    }
    return {**expected, **added} if added else expected


def _combine(how: str | tuple[tuple[str, str], ...], value: Any, default: Any) -> Any:
    if not isinstance(how, str):
        return _combine_members(dict(how), value, default)
    if how == REPLACE:
        return value
    if how == SMALLER:
        return _take_smaller(value, default)
    if isinstance(value, dict):
        return _combine_tables(how, value, default)
    if not isinstance(value, list) or not isinstance(default, list):
        return value
    entries = default if how == "add" else [rule for rule in default if isinstance(rule, dict) and rule.get(NEVER)]
    return [*value, *(entry for entry in entries if entry not in value)]


def _combine_members(how: Mapping[str, str], value: Any, default: Any) -> Any:
    if not isinstance(value, dict) or not isinstance(default, dict):
        return value
    both = {key: _combine(how.get(key, REPLACE), value[key], default[key]) for key in value if key in default}
    return {**value, **both}


def _take_smaller(value: Any, default: Any) -> Any:
    if isinstance(value, dict) or isinstance(default, dict):
        return _combine_tables(SMALLER, _as_table(value), _as_table(default))
    return default if _is_number(value) and _is_number(default) and default < value else value


def _combine_tables(how: str, value: Any, default: Any) -> Any:
    if not isinstance(value, dict) or not isinstance(default, dict):
        return value
    both = {key: _combine(how, value[key], default[key]) for key in value if key in default}
    return {**default, **value, **both}


def _as_table(bound: Any) -> Any:
    """A number in the place of several bounds is that of all together."""
    return {TOTAL: bound} if _is_number(bound) else bound


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
