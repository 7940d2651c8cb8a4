"""A file of an export → its rows, one at a time: lines, an element of a list, rows of a table.

A document of JSON is looked into: `{"data": [...]}` holds rows. A file that is not lines is read whole, up to a limit.
"""

from __future__ import annotations

import csv
import glob
import gzip
import json
import os
import re
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import IO, Any, TypeAlias

import msgspec

from carob.criteria.files import EVIDENCE, is_labels_folder
from carob.errors import UsageError
from carob.evidence.exports.base import ExportRow, TableRow
from carob.evidence.exports.record import ExportError
from carob.evidence.exports.storage import is_address, list_files, open_stream
from carob.text.clean import is_clean
from carob.text.file_names import suggest_file

Source: TypeAlias = str | Path
"""A path, or the address of a file of storage."""
LINE_CAP = 64 << 20
DOCUMENT_CAP = 1 << 30
WRAPPERS = ("data", "traces", "spans", "runs", "conversations")
"""Keys of a document whose list holds the rows."""
BOM = b"\xef\xbb\xbf"
SUFFIXES = (
    *(".json", ".jsonl", ".ndjson", ".csv", ".parquet", ".db", ".sqlite", ".sqlite3", ".pb", ".binpb", ".otlp"),
    *(".json.gz", ".jsonl.gz", ".ndjson.gz", ".csv.gz"),
)
"""What is read of a folder."""
HOW_TO_SPLIT = "Export it in parts, or one row per line (JSONL)."
OWN = re.compile(
    rb"""(?x) \s* (?:
      \{\s* (?: "generated_at":\s?"[^"]*",\s*"eval_file" | "headline" | "verdict":\s?"[^"]*","exit_code"
      | "reviewed_share" | "carob_baseline" | "asserted":\{"value" | "\$schema":\s?"https://json-schema.org
      | (?: "judge":\s?"[^"]*",\s? )? "criterion":\s?"[0-9a-f]{64}" | "run_id":"[^"]*","suite"
      | "cases":\s?\[\s*\{"id":"[^"]*","audited" )
    | \[\s*\{"description": | rule,group,held, | run_id,suite,target, )"""
)
"""How files of Carob begin that hold no conversations: results, audits, comparisons, tables, schemas."""
OWN_TABLES = ({"carob_verdicts"}, {"alive", "stops", "spans"}, {"conversations", "events"})
OWN_COLUMNS = {"conversation", "rule", "verdict", "why"}
HEAD = 256
CUT_TEXT = "a text in it is cut within a character, or a number is none"
_decode = msgspec.json.Decoder().decode


class ExportFile:
    """One file that was opened: how it begins says how it is read."""

    def __init__(self, source: Source | None, stream: IO[bytes]) -> None:
        self.name = str(source) if source is not None else "standard input"
        self._source = source
        self._file = stream
        is_packed = self.name.endswith(".gz")
        self.suffix = Path(self.name.removesuffix(".gz")).suffix.lower()
        unpacked: Any = gzip.GzipFile(fileobj=stream) if is_packed else stream
        self.stream: BufferedReader = unpacked if isinstance(unpacked, BufferedReader) else BufferedReader(unpacked)

    def __enter__(self) -> ExportFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        self._file.close()

    def beginning(self) -> bytes:
        try:
            return self.stream.peek(64)[:64].removeprefix(BOM)
        except (OSError, EOFError) as error:
            raise ExportError(f"it cannot be read: {error}", where=self.name, fix="Export it again.") from error

    def require_path(self) -> Path:
        """The path of a file that must be on this machine."""
        if not isinstance(self._source, Path):
            problem = "a database of SQLite is read from a file of this machine alone"
            raise ExportError(problem, where=self.name, fix="Copy it here, and name the file.")
        return self._source

    def table_source(self) -> Path | IO[bytes]:
        """A file that is read from any place in it: its path, or what was opened."""
        if self._source is None:
            problem = "Parquet cannot be read from standard input"
            raise ExportError(problem, where=self.name, fix="Name the file.")
        return self._source if isinstance(self._source, Path) else self._file

    def is_text(self) -> bool:
        return self.suffix == ".csv" or self.beginning().lstrip()[:1] in (b"{", b"[", b'"', b"")

    def rows(self) -> Iterator[ExportRow | ExportError]:
        """The rows of a file of text; in the place of one that cannot be read, why. Raises ExportError for the file."""
        csv.field_size_limit(LINE_CAP)
        count = 0
        try:
            for row in self._csv_rows() if self.suffix == ".csv" else self._json_rows():
                count += 1
                yield row
        except (OSError, EOFError) as error:
            cut = ExportError(f"it cannot be read: {error}", where=self.name, fix="Export it again.")
            if not count:
                raise cut from error
            yield cut

    def _csv_rows(self) -> Iterator[ExportRow | ExportError]:
        with TextIOWrapper(self.stream, "utf-8-sig", errors="surrogateescape", newline="") as text:
            reader = csv.reader(text, strict=True)
            columns: list[str] | None = None
            while True:
                try:
                    cells = next(reader)
                except StopIteration:
                    return
                except csv.Error as error:
                    yield self._report_torn(f"not a table of UTF-8 text: {error}", reader.line_num)
                    continue
                if columns is None:
                    columns = cells
                elif len(cells) != len(columns):
                    why = f"the row has {len(cells)} cells, the header {len(columns)}"
                    yield self._report_torn(why, reader.line_num)
                elif not is_clean("".join(cells)):
                    yield self._report_torn("not a table of UTF-8 text", reader.line_num)
                else:
                    row = TableRow(zip(columns, map(_read_cell, cells), strict=True))
                    row.columns, row.cells = columns, cells
                    yield from self._look_into(row, f"{self.name}:{reader.line_num}")

    def _report_torn(self, problem: str, line: int) -> ExportError:
        return ExportError(problem, where=f"{self.name}:{line or 1}", fix="Export it again: it is torn.")

    def _json_rows(self) -> Iterator[ExportRow | ExportError]:
        first = self._next_line(1)
        number = 1
        while first is not None and not first.strip():
            number += 1
            first = self._next_line(number)
        if first is None:
            return
        try:
            value = _read_json(first)
        except ValueError:
            yield from self._document_rows(first, number)
            return
        yield from self._look_into(value, f"{self.name}:{number}")
        while (line := self._next_line(number := number + 1)) is not None:
            yield from self._line_rows(line, f"{self.name}:{number}")

    def _line_rows(self, line: bytes, place: str) -> Iterator[ExportRow | ExportError]:
        try:
            if line.strip():
                yield from self._look_into(_read_json(line), place)
        except ValueError as error:
            torn = "" if line.endswith(b"\n") else ": the file is cut off"
            fix = "Export it again, or remove the line."
            yield ExportError(f"the line is not JSON{torn} ({error})", where=place, fix=fix)

    def _next_line(self, number: int) -> bytes | None:
        line = self.stream.readline(LINE_CAP + 1)
        if len(line) > LINE_CAP:
            problem = f"the line is longer than {LINE_CAP >> 20} MiB, the most that is read of one"
            raise ExportError(problem, where=f"{self.name}:{number}", fix=HOW_TO_SPLIT, slug="too-large")
        return line.removeprefix(BOM) if line else None

    def _document_rows(self, beginning: bytes, first: int) -> Iterator[ExportRow | ExportError]:
        """The rows of a file that is one document, as where it is pretty-printed; or lines, the first of them torn."""
        data = beginning + self.stream.read(DOCUMENT_CAP)
        if len(data) > DOCUMENT_CAP:
            problem = f"larger than {DOCUMENT_CAP >> 30} GiB, the most that is read of one document"
            raise ExportError(problem, where=self.name, fix=HOW_TO_SPLIT, slug="too-large")
        try:
            value = _read_json(data)
        except ValueError as error:
            lines = data.splitlines(keepends=True)
            if not any(map(_is_object, lines)):
                problem = f"neither JSON nor lines of JSON: {error}"
                raise ExportError(problem, where=self.name, fix="Export it again.") from error
            for number, line in enumerate(lines, first):
                yield from self._line_rows(line, f"{self.name}:{number}")
            return
        yield from self._look_into(value, self.name)

    def _look_into(self, value: object, place: str) -> Iterator[ExportRow | ExportError]:
        value = _read_cell(value) if isinstance(value, str) else value  # ADK has written JSON within JSON
        if isinstance(value, list):
            if _are_messages(value):
                yield from self._look_into({"messages": value}, place)
                return
            for number, item in enumerate(value, 1):
                yield from self._look_into(item, f"{place} [{number}]")
            return
        if not isinstance(value, Mapping):
            fix = "An export has one object per row: name the file that holds them."
            yield ExportError("a row is not an object", where=place, fix=fix)
            return
        rows = next((rows for key in WRAPPERS if isinstance(rows := value.get(key), list) and _is_wrapper(value)), None)
        if rows is None:
            is_whole = "resourceSpans" in value or value.__class__ is not _DoubtfulRow or is_clean(value)
            yield ExportRow(value, place) if is_whole else ExportError(CUT_TEXT, where=place, fix="Export it again.")
            return
        for number, item in enumerate(rows, 1):
            yield from self._look_into(item, f"{place} [{number}]")


def _is_wrapper(value: Mapping[str, object]) -> bool:
    """Whether an object is nothing but a list of rows, and what is said of paging."""
    return sum(isinstance(item, list) for item in value.values()) == 1 and "info" not in value and "id" not in value


def _are_messages(value: list[object]) -> bool:
    return bool(value) and all(
        isinstance(item, Mapping) and isinstance(item.get("role"), str) and not isinstance(item.get("messages"), list)
        for item in value
    )


def _read_cell(cell: str) -> object:
    """A cell: objects and lists are JSON in it, and nothing is null."""
    if cell == "":
        return None
    if cell[:1] in "{[":
        try:
            return _decode(cell)
        except (msgspec.DecodeError, RecursionError):
            return cell
    return cell


class _DoubtfulRow(dict[str, Any]):
    """An object of a document that only a lenient reader takes: some of its rows may be whole."""


def _read_json(data: bytes) -> object:
    """JSON, also where a text of it is cut within a character. Raises ValueError."""
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error)
    try:
        return json.loads(data.decode("utf-8-sig", "surrogateescape"), object_pairs_hook=_DoubtfulRow)
    except (ValueError, RecursionError):
        raise ValueError(reason) from None


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(_decode(line), dict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def find_files(source: Source) -> Iterator[Source]:
    """A file, or those of a folder and its folders that an export may have."""
    if is_address(source):
        yield from (file for file in list_files(str(source)) if file == source or _is_readable(file.partition("?")[0]))
        return
    path = Path(source)
    if not path.is_dir():
        yield path
        return
    yield from (below for below in _find_below(path) if _is_readable(below.name) and not is_own(below))


def find_passed_over(source: Source) -> Iterator[Path]:
    """The files of a folder that hold no export: by their names, or because Carob wrote them."""
    if not is_address(source) and Path(source).is_dir():
        yield from (below for below in _find_below(Path(source)) if not _is_readable(below.name) or is_own(below))


def _find_below(folder: Path) -> Iterator[Path]:
    for below in sorted(folder.rglob("*")):
        is_hidden = any(part.startswith((".", "_")) for part in below.relative_to(folder).parts)
        if not is_hidden and below.is_file():
            yield below


def _is_readable(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


def is_own(path: Path) -> bool:
    """Whether Carob wrote a file that holds no conversations: it may be next to those that do."""
    if is_labels_folder(path.parent) or (path.parent.name == EVIDENCE and is_labels_folder(path.parent.parent)):
        return True
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
        if head.startswith(b"SQLite format 3"):
            with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
                tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
            return any(own <= tables for own in OWN_TABLES)
        if head.startswith(b"PAR1"):
            from pyarrow import parquet  # type: ignore[import-untyped, import-not-found, unused-ignore]

            return {*parquet.read_schema(path).names} >= OWN_COLUMNS
        return OWN.match(head) is not None
    except (OSError, sqlite3.Error, ImportError, ValueError):
        return False  # whoever reads it says why that cannot be done


def open_file(source: Source) -> ExportFile:
    """Open a file; `-` is standard input."""
    if is_address(source):
        return ExportFile(source, open_stream(str(source)))
    path = Path(source)
    if str(path) == "-":
        return ExportFile(None, sys.stdin.buffer)
    try:
        return ExportFile(path, path.open("rb"))
    except OSError as error:
        raise ExportError(
            f"it cannot be read: {error.strerror}", where=str(path), fix=suggest_file(str(path))
        ) from error


def expand_sources(sources: Sequence[Source]) -> list[Source]:
    """The files and folders that are named; one with `*` means those that match. Raises UsageError for nothing."""
    if not sources:
        fix = "Name exports, folders of them, or - for standard input."
        raise UsageError("there is nothing to check.", fix=fix, slug="no-traces")
    expanded: list[Source] = []
    for source in sources:
        name = str(source)
        if is_address(source):
            expanded.append(source)
        elif glob.has_magic(name) and not os.path.exists(name):
            matches = sorted(glob.glob(name, recursive=True))
            if not matches:
                raise UsageError("no file matches this.", where=name, fix="Check the path.", slug="no-traces")
            expanded += map(Path, matches)
        else:
            expanded.append(Path(name))
    return list(dict.fromkeys(expanded))
