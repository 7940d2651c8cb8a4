"""Suite files of every format: read, listed, described by a JSON Schema, written as Carob 1."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from carob.checks.catalog import catalog_for
from carob.errors import CarobError, UsageError
from carob.plugins.project import Project, find_project
from carob.reports.artifacts import open_atomic
from carob.suites.diagnostics import RefusedError
from carob.suites.documents.source import SuiteSource, read_bytes, source
from carob.text.wording import quoted

if TYPE_CHECKING:
    from carob.suites.listing import Row

_SUFFIXES = (".yaml", ".yml")
_PEEK = 4096
SCHEMA_LINE = "# yaml-language-server: $schema="


def convert(suite: SuiteSource, path: str | Path | None = None, *, force: bool = False) -> str:
    """A suite of any format as Carob 1 in YAML, which reads back to the same cases; what had no equal is a comment.

    With `path` it is written there too. `force`: overwrite an existing file.
    """
    from carob.suites.reading import convert as converted

    if path is not None:
        refuse_place(Path(path), force)
    data, name = source(suite)
    text, tables, _ = converted(data, name, catalog_for(find_project()))
    if path is not None:
        if tables and Path(path).parent.resolve() != Path(name).parent.resolve():
            message = f"the suite names the table {quoted(tables[0])}, which is not in this folder."
            fix = "Write it next to the suite that it comes from, and move both."
            raise UsageError(message, where=str(path), fix=fix, slug="bad-table")
        write_suite(text, Path(path))
    return text


def write_suite(text: str, path: Path) -> None:
    """Write a suite that appears when it is complete."""
    with open_atomic(path, replace=True, elsewhere="name another place for it") as out:
        out.write(text.encode())


def list_cases(path: str | Path) -> list[Row]:
    """Id, category and prompt of every case of a suite file."""
    from carob.suites.reading import list_rows  # late, as are formats: who judges recorded runs reads no suite

    return list_rows(read_bytes(path), str(path), catalog_for(find_project()))


def schema(name: str) -> dict[str, object]:
    """The JSON Schema of a suite format, with every check that is known here."""
    from carob.suites.formats.catalog import blame, find_format

    catalog = catalog_for(find_project())
    suite_format = find_format(name, catalog.formats)
    with blame(suite_format):
        return suite_format.schema(catalog)


def write_schema(name: str, suites: Sequence[str | Path] = (), folder: str | Path = ".") -> list[str]:
    """Write the JSON Schema of a format to a folder, and name it in the first line of YAML suites; what was written.

    The line is the one that yaml-language-server reads, which most editors use.
    """
    file = Path(folder, f"{name}.schema.json")
    text = json.dumps(schema(name), indent=2, ensure_ascii=False)
    changed = [(Path(suite), _with_schema_line(Path(suite), file)) for suite in suites]
    for path, content in [(file, f"{text}\n".encode()), *changed]:
        with open_atomic(path, replace=True, elsewhere="run it in another folder") as out:
            out.write(content)
    return [str(path) for path in (file, *(path for path, _ in changed))]


def _with_schema_line(suite: Path, schema_file: Path) -> bytes:
    if suite.suffix.lower() not in _SUFFIXES:
        fix = f'Write "$schema": "{schema_file.name}" into a JSON suite.'
        raise UsageError("only YAML suites can begin with a comment.", where=str(suite), fix=fix, slug="bad-option")
    data = read_bytes(suite)
    address = Path(os.path.relpath(schema_file, suite.parent)).as_posix()
    first, end, remainder = data.partition(b"\n")
    has_line = first.removeprefix(b"\xef\xbb\xbf").startswith(SCHEMA_LINE.encode())
    return f"{SCHEMA_LINE}{address}\n".encode() + (remainder if has_line else first + end + remainder)


def refuse_place(path: Path, force: bool) -> None:
    """Refuse a place before any work is done."""
    if path.suffix.lower() not in _SUFFIXES:
        fix = "Give it a name that ends in .yaml."
        raise UsageError("its name does not end in .yaml.", where=str(path), fix=fix, slug="bad-option")
    refuse_taken(path, force)


def refuse_taken(path: Path, force: bool) -> None:
    """Refuse to overwrite a file, unless that is wanted."""
    if not force and os.path.lexists(path):
        fix = "Choose another path, or overwrite it with --force."
        raise UsageError("it already exists.", where=str(path), fix=fix, slug="name-taken")


def name_suite_format(path: Path, project: Project) -> str:
    """The format of a suite of ours; nothing for any other file. (A list may be one of traces as well.)"""
    from carob.suites.formats.base import SuiteFile
    from carob.suites.formats.carob1 import Carob1
    from carob.suites.formats.catalog import detect_format
    from carob.suites.formats.eval_set import EvalSet

    if path.suffix.lower() not in (*_SUFFIXES, ".json"):
        return ""
    try:
        file = SuiteFile(read_bytes(path), str(path))
        if b"carob_tape" in file.data[:_PEEK]:
            return ""
        suite_format = detect_format(file, catalog_for(project).formats)
    except (CarobError, RefusedError):
        return ""
    return suite_format.name if isinstance(suite_format, Carob1 | EvalSet) else ""
