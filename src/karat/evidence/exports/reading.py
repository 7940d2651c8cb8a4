"""Files and folders of exports → conversations, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from karat.evidence.exports.assembly import assemble
from karat.evidence.exports.base import ExportFormat, Row, TraceNotes
from karat.evidence.exports.catalog import FORMATS
from karat.evidence.exports.files import ExportFile, find_files, open_file
from karat.evidence.exports.otlp import OTLP, split_requests
from karat.evidence.exports.recognition import recognize, refuse_unknown
from karat.evidence.exports.record import ExportError, RecordedConversation
from karat.evidence.exports.spool import Spool
from karat.evidence.spans.otlp import SpanBatch, SpanRecord
from karat.text.wording import did_you_mean, error_text, join_words

CANNOT_READ = (ValueError, KeyError, TypeError, AttributeError, OverflowError)
"""What a reader of a format raises for a row that is not as its format says."""


def read_conversations(paths: Sequence[str | Path], *, format: str = "") -> Iterator[RecordedConversation]:
    """The conversations of files and folders; `-` is standard input, `format` the name of the format of all of them.

    Files of messages come as they are read. Spans of a conversation may be in several files: they come at the end.
    Raises KaratError with the place of the first row that cannot be read; nothing is skipped in silence.
    """
    formats = _select(format)
    with _Reader(formats) as reader:
        for path in paths:
            for file_path in find_files(Path(path)):
                yield from reader.read(file_path)
        yield from reader.assemble()


def _select(name: str) -> tuple[ExportFormat, ...]:
    names = [format.name for format in FORMATS]
    if name and name not in names:
        problem = f"there is no format of exports {name!r} (known: {join_words(names, 'and')})"
        raise ExportError(problem, fix=did_you_mean(name, names), slug="export-format")
    return tuple(format for format in FORMATS if not name or format.name == name)


class _Reader:
    """The files of one call: rows that are conversations are passed on, spans are put aside by format."""

    def __init__(self, formats: tuple[ExportFormat, ...]) -> None:
        self._formats = formats
        self._spools: dict[str, Spool] = {}

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        for spool in self._spools.values():
            spool.close()

    def read(self, path: Path) -> Iterator[RecordedConversation]:
        """The conversations that are rows of this file."""
        file = open_file(path)
        with file.stream:
            if not file.is_text():
                self._read_protobuf(file)
                return
            format: ExportFormat | None = None
            for row in file.rows():
                format = self._format_of(row, format)
                if format.read_spans is not None:
                    self._add_spans(format, row)
                elif (conversation := self._read_row(format, row)) is not None:
                    yield conversation

    def assemble(self) -> Iterator[RecordedConversation]:
        """The conversations of all spans that were put aside."""
        for format, spool in self._spools.items():
            for spooled in spool.conversations():
                conversation = assemble(spooled, format)
                if conversation is not None:
                    yield conversation

    def _format_of(self, row: Row, last: ExportFormat | None) -> ExportFormat:
        """The format of a row, which is that of the rows before it in most files."""
        if last is not None and last.recognizes(row.value):
            return last
        format = recognize(row.value, self._formats)
        if format is None:
            raise refuse_unknown(row.value, self._formats, row.place)
        return format

    def _read_row(self, format: ExportFormat, row: Row) -> RecordedConversation | None:
        assert format.read_conversation is not None
        try:
            return format.read_conversation(row)
        except CANNOT_READ as error:
            raise _unreadable(format.name, error, row.place) from error

    def _add_spans(self, format: ExportFormat, row: Row) -> None:
        assert format.read_spans is not None
        try:
            items: list[SpanRecord | TraceNotes] = [*format.read_spans(row.value)]
        except CANNOT_READ as error:
            raise _unreadable(format.name, error, row.place) from error
        self._spool(format.name, items, row.place)

    def _read_protobuf(self, file: ExportFile) -> None:
        number = 0
        try:
            for number, body in enumerate(split_requests(file.stream.read()), 1):
                self._spool(OTLP.name, SpanBatch(body).records(), f"{file.name} [{number}]")
        except ValueError as error:
            problem = f"neither JSON, nor CSV, Parquet, SQLite or OTLP in protobuf: {error_text(error)}"
            raise ExportError(problem, where=file.name, fix="See docs/exports.md for the formats.") from error

    def _spool(self, name: str, items: Sequence[SpanRecord | TraceNotes], place: str) -> None:
        spool = self._spools.get(name) or self._spools.setdefault(name, Spool())
        for item in items:
            spool.add(item, place)


def _unreadable(format: str, error: Exception, place: str) -> ExportError:
    reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) and error.args else error_text(error)
    return ExportError(f"a row of {format} cannot be read: {reason}", where=place, fix="Export it again.")
