"""A file of an export → its rows, one at a time: lines, an element of a list, rows of a table.

A document of JSON is looked into: `{"data": [...]}` holds rows. A file that is not lines is read whole, up to a limit.
"""

from __future__ import annotations

import csv
import gzip
import re
import sys
from collections.abc import Iterator, Mapping
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import IO, Any, TypeAlias

import msgspec

from carob.evidence.exports.base import ExportRow
from carob.evidence.exports.record import ExportError
from carob.evidence.exports.storage import is_address, list_files, open_stream
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
REPORT = re.compile(rb'\{\s*"generated_at": ?"[^"]*",\s*"eval_file": ?"')
HEAD = 256
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
        return self.suffix == ".csv" or self.beginning().lstrip()[:1] in (b"{", b"[", b"")

    def rows(self) -> Iterator[ExportRow]:
        """The rows of a file of text. Raises ExportError with the line of what cannot be read."""
        csv.field_size_limit(LINE_CAP)
        try:
            yield from self._csv_rows() if self.suffix == ".csv" else self._json_rows()
        except (OSError, EOFError) as error:
            raise ExportError(f"it cannot be read: {error}", where=self.name, fix="Export it again.") from error

    def _csv_rows(self) -> Iterator[ExportRow]:
        with TextIOWrapper(self.stream, "utf-8-sig", newline="") as text:
            reader = csv.reader(text, strict=True)
            try:
                yield from self._table_rows(reader)
            except (csv.Error, UnicodeDecodeError) as error:
                where = f"{self.name}:{reader.line_num or 1}"
                fix = "Export it again."
                raise ExportError(f"not a table of UTF-8 text: {error}", where=where, fix=fix) from error

    def _table_rows(self, reader: Any) -> Iterator[ExportRow]:
        columns: list[str] = next(reader, [])
        for cells in reader:
            place = f"{self.name}:{reader.line_num}"
            if len(cells) != len(columns):
                problem = f"the row has {len(cells)} cells, the header {len(columns)}"
                raise ExportError(problem, where=place, fix="Export it again: it is torn.")
            yield ExportRow({name: _read_cell(cell) for name, cell in zip(columns, cells, strict=True)}, place)

    def _json_rows(self) -> Iterator[ExportRow]:
        first = self._next_line(1)
        number = 1
        while first is not None and not first.strip():
            number += 1
            first = self._next_line(number)
        if first is None:
            return
        try:
            value = _decode(first)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            yield from self._document_rows(first)
            return
        yield from self._look_into(value, f"{self.name}:{number}")
        while (line := self._next_line(number := number + 1)) is not None:
            if line.strip():
                place = f"{self.name}:{number}"
                yield from self._look_into(self._decode_line(line, place), place)

    def _next_line(self, number: int) -> bytes | None:
        line = self.stream.readline(LINE_CAP + 1)
        if len(line) > LINE_CAP:
            problem = f"the line is longer than {LINE_CAP >> 20} MiB, the most that is read of one"
            raise ExportError(problem, where=f"{self.name}:{number}", fix=HOW_TO_SPLIT, slug="too-large")
        return line.removeprefix(BOM) if line else None

    def _decode_line(self, line: bytes, place: str) -> object:
        try:
            return _decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            torn = "" if line.endswith(b"\n") else ": the file is cut off"
            fix = "Export it again, or remove the line."
            raise ExportError(f"the line is not JSON{torn} ({error})", where=place, fix=fix) from error

    def _document_rows(self, beginning: bytes) -> Iterator[ExportRow]:
        """The rows of a file that is one document, as it is where it is pretty-printed."""
        data = beginning + self.stream.read(DOCUMENT_CAP)
        if len(data) > DOCUMENT_CAP:
            problem = f"larger than {DOCUMENT_CAP >> 30} GiB, the most that is read of one document"
            raise ExportError(problem, where=self.name, fix=HOW_TO_SPLIT, slug="too-large")
        try:
            value = _decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ExportError(
                f"neither JSON nor lines of JSON: {error}", where=self.name, fix="Export it again."
            ) from (error)
        yield from self._look_into(value, self.name)

    def _look_into(self, value: object, place: str) -> Iterator[ExportRow]:
        if isinstance(value, list):
            if _are_messages(value):
                yield ExportRow({"messages": value}, place)
                return
            for number, item in enumerate(value, 1):
                yield from self._look_into(item, f"{place} [{number}]")
            return
        if not isinstance(value, Mapping):
            fix = "An export has one object per row: name the file that holds them."
            raise ExportError("a row is not an object", where=place, fix=fix)
        rows = next((rows for key in WRAPPERS if isinstance(rows := value.get(key), list) and _is_wrapper(value)), None)
        if rows is None:
            yield ExportRow(value, place)
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


def find_files(source: Source) -> Iterator[Source]:
    """A file, or those of a folder and its folders that an export may have."""
    if is_address(source):
        yield from (file for file in list_files(str(source)) if file == source or _is_readable(file.partition("?")[0]))
        return
    path = Path(source)
    if not path.is_dir():
        yield path
        return
    for below in sorted(path.rglob("*")):
        is_hidden = any(part.startswith((".", "_")) for part in below.relative_to(path).parts)
        if not is_hidden and _is_readable(below.name) and below.is_file() and not _is_report(below):
            yield below


def _is_readable(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


def _is_report(path: Path) -> bool:
    """Whether a file is the results of a run of Carob, which are next to its journal and hold no conversations."""
    try:
        with path.open("rb") as file:
            return REPORT.match(file.read(HEAD)) is not None
    except OSError:
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
