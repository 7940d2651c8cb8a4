"""A new journal made of the records of another, judged anew: piece by piece, on one processor or on several."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol

import msgspec
from msgspec import Struct, structs

from karat.journal.integrity import Ending, Identity
from karat.journal.parallel import map_in_processes
from karat.journal.reader import Journal
from karat.journal.writer import JournalWriter, encode
from karat.model.attachments import moved, way
from karat.model.run import CaseRecord, Footer, Header, Summary
from karat.model.verdict import CaseStatus, Shortfall
from karat.repeats import Tally
from karat.traces.redact import Redactor

PIECE = 250
"""Records that are judged and written together: what fails here is made again, not resumed."""


class Judge(Protocol):
    """How recorded cases are judged again; `by_suite`: by one that may have cases of which none was recorded."""

    by_suite: ClassVar[bool]

    def judged(self, record: CaseRecord) -> CaseRecord | None: ...

    def missing(self, seen: Container[tuple[str, int]]) -> Iterator[CaseRecord]: ...


class Counts(Struct, frozen=True, array_like=True, gc=False):
    """What a record counts for in the summary of its run."""

    index: int
    status: CaseStatus
    soft: float | None
    min_pass_rate: float | None
    shortfall: Shortfall


class Note(Struct, frozen=True, array_like=True, gc=False):
    """What has to be known of a record beside its new line; without `counts` it has none."""

    case_id: str
    index: int
    repeat: int
    own: bool
    counts: Counts | None


class Piece(NamedTuple):
    """The new lines of some records, and what has to be known of each."""

    lines: bytes
    notes: list[Note]


_encode_notes = msgspec.msgpack.Encoder().encode
_decode_notes = msgspec.msgpack.Decoder(list[Note]).decode


def _pack(piece: Piece) -> Sequence[bytes]:
    return piece.lines, _encode_notes(piece.notes)


def _unpack(sent: Sequence[bytes]) -> Piece:
    lines, notes = sent
    return Piece(lines, _decode_notes(notes))


class Rewriting:
    """One journal on its way into another. `dropped` are the ids of records that the new one does not take over."""

    def __init__(
        self, journal: Journal, judge: Judge, header: Header, into: Path, *, redactor: Redactor | None = None
    ) -> None:
        self._journal = journal
        self._judge = judge
        self._header = header
        self._into = into
        self._redactor = redactor
        self._along = way(journal.path, str(into))
        self._tally = Tally(header.repeat, header.until)
        self._seen: set[tuple[str, int]] = set()
        self.identity = Identity(journal.header)
        self.dropped: dict[str, None] = {}

    def write(self, *, ending: Callable[[], Ending], now: Callable[[], datetime], workers: int = 1) -> Summary:
        """Write it whole, or not at all; `ending` is asked how it ends once all records were seen."""
        try:
            with JournalWriter(str(self._into)) as journal:
                journal.write(encode(self._header))
                count = -(-len(self._journal) // PIECE)
                for made in map_in_processes(self._piece, count, workers, _pack, _unpack):
                    if lines := self._noted(made):
                        journal.write(lines)
                for record in self._judge.missing(self._seen):
                    self._count(_counts(record))
                    journal.write(self._line(record))
                summary = self._tally.summary(**ending())
                journal.write(encode(Footer(finished_at=now().isoformat(timespec="milliseconds"), summary=summary)))
                return summary
        except BaseException:
            self._into.unlink(missing_ok=True)
            raise

    def _piece(self, number: int) -> Piece:
        """Judge some records. It looks at nothing that another piece changes."""
        lines, notes = [], []
        for record in self._journal.records(number * PIECE, PIECE):
            judged = self._judge.judged(record)
            counts = _counts(judged) if judged else None
            notes.append(Note(record.case.id, record.index, record.repeat, self.identity.is_of_case(record), counts))
            if judged is not None:
                lines.append(self._line(judged))
        return Piece(b"\n".join(lines), notes)

    def _line(self, record: CaseRecord) -> bytes:
        if self._along:
            record = structs.replace(record, trace=moved(record.trace, self._along))
        line = encode(record)
        if self._redactor is not None and self._redactor.finds(line):
            line = encode(self._redactor.record(record))
        return line

    def _noted(self, piece: Piece) -> bytes:
        for note in piece.notes:
            self.identity.note(note.case_id, note.index, own=note.own)
            if self._judge.by_suite:
                self._seen.add((note.case_id, note.repeat))
            if note.counts is None:
                self.dropped[note.case_id] = None
            else:
                self._count(note.counts)
        return piece.lines

    def _count(self, counts: Counts) -> None:
        self._tally.add(counts.index, counts.status, counts.soft, counts.min_pass_rate, counts.shortfall)


def _counts(record: CaseRecord) -> Counts:
    verdict = record.verdict
    return Counts(record.index, verdict.status, verdict.soft.value, record.case.min_pass_rate, verdict.shortfall)
