"""What a format of exports is: by which keys it is known, and what reads one of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from carob.evidence.exports.record import RecordedConversation
from carob.evidence.spans.otlp import Attributes, SpanRecord
from carob.text.wording import error_text

Table = Mapping[str, Any]
CANNOT_READ = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""What a reader of a format raises for a row that is not as its format says."""


def explain(format: str, error: Exception) -> str:
    """Why a row of a format cannot be read."""
    is_key = isinstance(error, KeyError) and error.args
    return f"a row of {format} cannot be read: {f'{error.args[0]!r} is missing' if is_key else error_text(error)}"


class TableRow(dict[str, Any]):
    """A row of a table, which may have several columns of one name."""

    columns: Sequence[str] = ()
    cells: Sequence[str] = ()


class TraceNotes(NamedTuple):
    """What an export says of a trace apart from its spans, by the names of attributes: whose it is, its session."""

    trace_id: str
    attributes: Attributes


class ExportRow(NamedTuple):
    """One row of a file: a line, an element of a list, a row of a table."""

    value: Table
    place: str
    """The file and the line or number, as an error names it."""


class KeySign(NamedTuple):
    """The keys by which a row is known to be of a format. A key with dots is a path, or the name of a column."""

    keys: tuple[str, ...]
    accepts: Callable[[Table], bool] = lambda row: True


class RowCollector(Protocol):
    """What puts rows together that are parts of conversations and no spans."""

    def add(self, row: ExportRow) -> None: ...

    def lose(self, place: str, why: str) -> bool:
        """A row here could not be read; whether the conversation that has lost it is known, and is unknown now."""
        return False

    def conversations(self) -> Iterator[RecordedConversation]: ...


ReadSpans = Callable[[Table], Iterable[SpanRecord | TraceNotes]]
ReadConversation = Callable[[ExportRow], RecordedConversation | None]


class ExportFormat(Struct, frozen=True, kw_only=True):
    """One format. Its rows are spans, from which conversations are assembled, or conversations, or parts of them.

    What reads a row raises ValueError, KeyError or TypeError for one that it cannot read.
    """

    name: str
    signs: tuple[KeySign, ...]
    read_spans: ReadSpans | None = None
    read_conversation: ReadConversation | None = None
    collect: Callable[[], RowCollector] | None = None

    def recognizes(self, row: Table) -> bool:
        for sign in self.signs:
            for key in sign.keys:
                if key not in row and not has_key(row, key):
                    break
            else:
                if sign.accepts(row):
                    return True
        return False


def has_key(row: Table, key: str) -> bool:
    """Whether a row has a column of this name, or a value at this path; with `*` at its end, one that begins so."""
    if key.endswith("*"):
        return any(name.startswith(key[:-1]) for name in row)
    if key in row:
        return True
    value: object = row
    for step in key.split("."):
        if not isinstance(value, Mapping) or step not in value:
            return False
        value = value[step]
    return True
