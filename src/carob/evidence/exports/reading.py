"""Files and folders of exports → conversations, one at a time.

One format fits a row, or the row is refused by naming its keys and what comes close.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import IO, Any

from msgspec import structs

from carob.evidence.exports.assembly import assemble
from carob.evidence.exports.base import (
    CANNOT_READ,
    ExportFormat,
    ExportRow,
    RowCollector,
    Table,
    TraceNotes,
    explain,
    has_key,
)
from carob.evidence.exports.catalog import FORMATS, find_formats, result_formats
from carob.evidence.exports.files import ExportFile, Source, find_files, open_file
from carob.evidence.exports.mlflow import MLFLOW, describe_trace, read_span
from carob.evidence.exports.otlp import OTLP, split_requests
from carob.evidence.exports.record import ExportError, RecordedConversation, unread_conversation
from carob.evidence.exports.spool import SpanSpool
from carob.evidence.exports.storage import is_address
from carob.evidence.spans.otlp import SpanBatch, SpanRecord
from carob.providers.base import table
from carob.providers.messages import decode_value
from carob.system.installing import install_extra
from carob.text.wording import did_you_mean, error_text, join_words, visible

PARQUET, SQLITE = b"PAR1", b"SQLite format 3\0"
"""How such files begin."""
BATCH = 256
MLFLOW_TABLES = ("spans", "trace_info", "trace_request_metadata", "trace_tags")
_MLFLOW_SPANS = """
SELECT trace_id, span_id, parent_span_id, name, start_time_unix_nano, end_time_unix_nano, status, content FROM spans
"""


def read_parquet(source: Path | IO[bytes], name: str) -> Iterator[ExportRow]:
    """The rows of a Parquet file, which is called by its name. Raises ExportError if it cannot be read."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        problem = "Parquet is read with pyarrow, which is not installed"
        raise ExportError(problem, where=name, fix=install_extra("parquet"), slug="no-parquet") from error
    number = 0
    try:
        with parquet.ParquetFile(source) as file:
            for batch in file.iter_batches(batch_size=BATCH):
                for value in _without_timestamps(pyarrow, batch).to_pylist():
                    number += 1
                    yield ExportRow(value, f"{name} [{number}]")
    except (pyarrow.ArrowException, OSError) as error:
        where = f"{name} after row {number}" if number else name
        problem = f"not a whole Parquet file: {error_text(error)}"
        raise ExportError(
            problem, where=where, fix="Export it again: it is cut off, or another kind of file."
        ) from error


def _without_timestamps(pyarrow: Any, batch: Any) -> Any:
    """A batch whose times are numbers: as objects they would lose nanoseconds, or need pandas."""
    columns = [
        column.cast(pyarrow.int64()) if pyarrow.types.is_timestamp(column.type) else column for column in batch.columns
    ]
    return pyarrow.RecordBatch.from_arrays(columns, names=batch.schema.names)


def read_mlflow_database(path: Path) -> Iterator[SpanRecord | TraceNotes]:
    """The spans of mlflow's tracking store, and what its tables say of traces. It is opened for reading alone."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
            names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
            if not names.issuperset(MLFLOW_TABLES):
                problem = "a database of SQLite, and not the tracking store of mlflow: it has no tables of spans"
                raise ExportError(problem, where=str(path), fix="Name mlflow.db, or export it.", slug="export-format")
            db.row_factory = sqlite3.Row
            for info in db.execute("SELECT * FROM trace_info ORDER BY timestamp_ms, request_id"):
                trace_id = info["request_id"]
                yield TraceNotes(trace_id, _describe(db, dict(info)))
                for row in db.execute(f"{_MLFLOW_SPANS} WHERE trace_id = ? ORDER BY start_time_unix_nano", (trace_id,)):
                    yield _read_span(row)
    except sqlite3.Error as error:
        problem = f"the database cannot be read: {error_text(error)}"
        raise ExportError(problem, where=str(path), fix="Copy it while mlflow does not write to it.") from error


def _describe(db: sqlite3.Connection, info: dict[str, Any]) -> dict[str, object]:
    """What the tables say of a trace: its session is a column of its own, or metadata, as the version has it."""
    queries = (
        "SELECT key, value FROM trace_request_metadata WHERE request_id = ?",
        "SELECT key, value FROM trace_tags WHERE request_id = ?",
    )
    metadata, tags = (dict(map(tuple, db.execute(query, (info["request_id"],)))) for query in queries)
    session = {"session.id": info["session_id"]} if info.get("session_id") else {}
    return {**describe_trace(metadata, tags), **session}


def _read_span(row: sqlite3.Row) -> SpanRecord:
    trace_id, span_id, parent_id, name, began, ended, status, content = row
    whole = table(decode_value(content))
    columns = {"span_id": span_id, "parent_span_id": parent_id, "name": name, "status": whole.get("status", status)}
    times = {"start_time_unix_nano": began, "end_time_unix_nano": ended}
    return read_span({**whole, **columns, **times}, trace_id)


MOST_PROBLEMS = 1_000
"""After so many rows none of which can be read, a file is taken to be none of an export."""
UNKNOWN_FORMAT = "export-format"
FIRST = 100
"""Of so many rows, the first that can be read says the format."""
PROTOBUF_SUFFIXES = (".pb", ".binpb", ".otlp")


def read_conversations(sources: Sequence[Source], *, format: str = "") -> Iterator[RecordedConversation]:
    """The conversations of files and folders; `-` is standard input, `format` the name of the format of all of them.

    Files of messages come as they are read. Spans of a conversation may be in several files: they come at the end.
    A row that cannot be read is a conversation of which nothing is known but its place. Raises CarobError for a file of
    which no row can be read.
    """
    with _Reader(_require_known(format)) as reader:
        for source in sources:
            is_folder = not is_address(source) and Path(source).is_dir()
            for file in find_files(source):
                try:
                    yield from map(with_metadata, reader.read(file))
                except ExportError as error:
                    if not is_folder or error.slug == UNKNOWN_FORMAT:
                        raise
                    yield unread_conversation(error.message, error.where or str(file))
        yield from map(with_metadata, reader.assemble())


def split_files(sources: Sequence[Source], format: str = "") -> tuple[list[Source], list[Source]]:
    """The files whose rows are whole conversations, each of which can be read apart, and the others, which cannot."""
    whole = {each.name for each in FORMATS if each.read_conversation is not None}
    apart: list[Source] = []
    together: list[Source] = []
    for file in (file for source in sources for file in find_files(source)):
        (apart if (format or name_format(file)) in whole else together).append(file)
    return apart, together


def read_apart(file: Source, *, format: str = "") -> Iterator[RecordedConversation]:
    """The conversations of a file whose rows are whole ones. Raises ExportError for one that has other rows too."""
    with _Reader(_require_known(format)) as reader:
        yield from map(with_metadata, reader.read(file))
        if reader.has_parts:
            problem = "some rows are conversations, and others are parts of conversations"
            fix = "Export them to files of their own, or check them with --executor processes."
            raise ExportError(problem, where=str(file), fix=fix)


def with_metadata(conversation: RecordedConversation) -> RecordedConversation:
    """The conversation, whose metadata the trace has too: rules look for it there."""
    if not conversation.metadata:
        return conversation
    trace = conversation.trace
    metadata = {**conversation.metadata, **trace.metadata}
    return structs.replace(conversation, trace=structs.replace(trace, metadata=metadata))


def _require_known(name: str) -> str:
    names = [*(format.name for format in FORMATS), *(declared.name for declared in result_formats())]
    if name and name not in names:
        problem = f"there is no format of exports {name!r} (known: {join_words(names, 'and')})"
        raise ExportError(problem, fix=did_you_mean(name, names), slug="export-format")
    return name


class _Reader:
    """The files of one call: rows that are conversations are passed on, spans are put aside by format."""

    def __init__(self, format: str) -> None:
        self._format = format
        self._spools: dict[str, SpanSpool] = {}
        self._collectors: dict[str, RowCollector] = {}

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        for spool in self._spools.values():
            spool.close()

    @property
    def has_parts(self) -> bool:
        """Whether anything was put aside."""
        return bool(self._spools or self._collectors)

    def read(self, source: Source) -> Iterator[RecordedConversation]:
        """The conversations that are rows of this file."""
        with open_file(source) as file:
            beginning = file.beginning()
            if beginning.startswith(SQLITE):
                self._spool(MLFLOW.name, read_mlflow_database(file.require_path()), file.name)
            elif beginning.startswith(PARQUET) or file.suffix == ".parquet":
                yield from self._read_rows(read_parquet(file.table_source(), file.name))
            elif file.is_text():
                yield from self._read_rows(file.rows())
            else:
                yield from self._read_protobuf(file)

    def _read_rows(self, rows: Iterable[ExportRow | ExportError]) -> Iterator[RecordedConversation]:
        format: ExportFormat | None = None
        has_read = False
        problems: list[ExportError] = []
        for row in rows:
            try:
                if isinstance(row, ExportError):
                    raise row
                format = self._format_of(row, format)
                conversation = self._read_row(format, row)
            except ExportError as error:
                problems.append(error)
            except CANNOT_READ as error:
                assert format is not None
                assert isinstance(row, ExportRow)
                problems.append(ExportError(explain(format.name, error), where=row.place, fix="Export it again."))
            else:
                has_read = True
                if conversation is not None:
                    yield conversation
            if format is not None and has_read:
                yield from self._give_up(format, problems)
                problems.clear()
            elif len(problems) > MOST_PROBLEMS:
                break
        if problems:
            raise problems[0]

    def _give_up(self, format: ExportFormat, problems: Sequence[ExportError]) -> Iterator[RecordedConversation]:
        """Rows that cannot be read: each is a conversation of its own, or makes those of its file unknown."""
        for problem in problems:
            if format.collect is None or not self._collector(format).lose(problem.where, problem.message):
                yield unread_conversation(problem.message, problem.where, format.name)

    def _read_row(self, format: ExportFormat, row: ExportRow) -> RecordedConversation | None:
        """The conversation that a row is; None if it is part of one, and was put aside."""
        if format.read_conversation is not None:
            return format.read_conversation(row)
        if format.read_spans is not None:
            self._spool(format.name, [*format.read_spans(row.value)], row.place)
        else:
            self._collector(format).add(row)
        return None

    def assemble(self) -> Iterator[RecordedConversation]:
        """The conversations of all rows that were put aside."""
        for collector in self._collectors.values():
            yield from collector.conversations()
        for format, spool in self._spools.items():
            for spooled in spool.conversations():
                conversation = assemble(spooled, format)
                if conversation is not None:
                    yield conversation

    def _format_of(self, row: ExportRow, last: ExportFormat | None) -> ExportFormat:
        """The format of a row, which is that of the rows before it in most files."""
        if last is not None and last.recognizes(row.value):
            return last
        fits = find_formats(row.value, self._format)
        if len(fits) != 1:
            raise refuse_unknown(row, fits, self._format)
        return fits[0]

    def _collector(self, format: ExportFormat) -> RowCollector:
        if format.name not in self._collectors and format.collect is not None:
            self._collectors[format.name] = format.collect()
        return self._collectors[format.name]

    def _read_protobuf(self, file: ExportFile) -> Iterator[RecordedConversation]:
        number = 0
        try:
            for number, body in enumerate(split_requests(file.stream.read()), 1):
                self._spool(OTLP.name, SpanBatch(body).records(), f"{file.name} [{number}]")
        except ValueError as error:
            if number > 1:
                yield unread_conversation(error_text(error), f"{file.name} [{number}]", OTLP.name)
                return
            problem = f"neither JSON, nor CSV, Parquet, SQLite or OTLP in protobuf: {error_text(error)}"
            fix = "See `carob help exports` for the formats."
            if file.name.endswith((".yaml", ".yml")):
                problem, fix = "YAML does not hold conversations.", f"If it is a suite, run it: carob run {file.name}"
            raise ExportError(problem, where=file.name, fix=fix) from error

    def _spool(self, name: str, items: Iterable[SpanRecord | TraceNotes], place: str) -> None:
        spool = self._spools.get(name) or self._spools.setdefault(name, SpanSpool())
        for number, item in enumerate(items, 1):
            if isinstance(item, SpanRecord) and item.unread and not item.trace_id:
                item = structs.replace(item, trace_id=f"{place} span {number}")
            spool.add(item, place)


def name_format(source: Source, own_keys: frozenset[str] = frozenset()) -> str:
    """The format of a file by its first row; the empty string if it is none that is read here.

    Raises ExportError for Parquet that cannot be read, and for a first row that is like one of an export, unless it
    has one of the `own_keys` by which the caller knows rows of its own.
    """
    with open_file(source) as file:
        beginning = file.beginning()
        if beginning.startswith(SQLITE):
            return MLFLOW.name
        if beginning.startswith(PARQUET) or file.suffix == ".parquet":
            row = next(read_parquet(file.table_source(), file.name), None)
        elif not file.is_text():
            return OTLP.name if file.suffix in PROTOBUF_SUFFIXES else ""
        else:
            try:
                row = next((row for row in islice(file.rows(), FIRST) if isinstance(row, ExportRow)), None)
            except ExportError:
                return ""
    if row is None:
        return ""
    fits = find_formats(row.value)
    if len(fits) != 1 and own_keys.isdisjoint(row.value) and (fits or _find_close(row.value)):
        raise refuse_unknown(row, fits)
    return fits[0].name if len(fits) == 1 else ""


ALIKE = 0.8
"""From so much on, one key may have been meant for another."""
KEYS_SHOWN = 12
KEY_CAP = 40


def refuse_unknown(row: ExportRow, fits: Sequence[ExportFormat], name: str = "") -> ExportError:
    """Why a row is of no format, or of several."""
    if fits:
        problem = f"its keys fit several formats of exports, {join_words([format.name for format in fits], 'and')}"
        fix = f"Name the one that it is: --format {fits[0].name}"
        return ExportError(problem, where=row.place, fix=fix, slug="export-format")
    shown = [repr(visible(str(key)[:KEY_CAP])) for key in [*row.value][:KEYS_SHOWN]]
    keys = join_words(shown, "and") if shown else "no keys"
    more = " and others" if len(row.value) > KEYS_SHOWN else ""
    problem = f"not a format of exports that Carob knows; it has {keys}{more}"
    close = _find_close(row.value, name)
    hint = (
        f"What comes closest: {close}."
        if close
        else "See `carob help exports` for the formats and how they are exported."
    )
    return ExportError(problem, where=row.place, fix=hint, slug="export-format")


def _find_close(row: Table, name: str = "") -> str:
    """The format that has most keys of a row and lacks fewest, with the key that differs; of several, each."""
    close: dict[str, tuple[float, str]] = {}
    signs = [(format.name, sign.keys) for format in FORMATS for sign in format.signs]
    signs += [(declared.name, keys) for declared in result_formats() for keys in declared.keys]
    for format, wanted in signs:
        missing = [key for key in wanted if not has_key(row, key)]
        near = {key: found[0] for key in missing if (found := get_close_matches(key, map(str, row), 1, ALIKE))}
        if name not in ("", format) or len(missing) - len(near) == len(wanted):
            continue
        lacks = [
            f"{visible(near[key])!r} in the place of {key!r}" if key in near else f"without {key}" for key in missing
        ]
        fit = len(missing) - len(near) / 2 - len(wanted) / 100
        how = join_words(lacks, "and") if lacks else "with other values"
        close[format] = min(close.get(format, (fit, how)), (fit, how))
    best = min((fit for fit, _ in close.values()), default=0.0)
    return (
        join_words([f"{format} ({how})" for format, (fit, how) in close.items() if fit == best], "and") if close else ""
    )
