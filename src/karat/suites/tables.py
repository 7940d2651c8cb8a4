"""Tables next to a suite: CSV with a line of names, or JSON objects, one a line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import NamedTuple

import jiter

from karat.errors import UsageError
from karat.suites.diagnostics import Json, PathDiagnostic, RefusedError, refuse
from karat.suites.diagnostics import Path as TreePath
from karat.suites.documents.source import OUT_OF_RANGE, fit_numbers, holds, read_bytes, utf8
from karat.suites.variables import NAME, Value, value_of
from karat.text.wording import kind, quoted

SUFFIXES = (".csv", ".jsonl")

_NAME = re.compile(NAME)
_TYPED = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


class Row(NamedTuple):
    """One row of a table: its values by column, and its place, for messages."""

    values: Mapping[str, Value]
    where: str


def read_table(name: str, folder: FilePath, named_at: TreePath) -> tuple[list[Row], bytes]:
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
        text = utf8(data).decode()
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
