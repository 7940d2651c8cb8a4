"""Reading a journal: streamed, in suite order, with a torn last line recognised and dropped."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import cached_property
from io import BufferedReader
from pathlib import Path

import msgspec

from karat.errors import JournalError
from karat.model.run import FORMAT, CaseRecord, Footer, Header, Summary
from karat.repeats import Tally

_record = msgspec.json.Decoder(CaseRecord).decode
_header = msgspec.json.Decoder(Header).decode
_footer = msgspec.json.Decoder(Footer).decode


class _Kind(msgspec.Struct):
    kind: str
    format: int = FORMAT


class _Place(msgspec.Struct):
    """The two fields that say where a record belongs, read without decoding the rest."""

    index: int
    repeat: int = 0


_kind = msgspec.json.Decoder(_Kind).decode
_place = msgspec.json.Decoder(_Place).decode

CASE = b'{"kind":"case"'
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError)


class Journal:
    """One journal on disk. Opening it reads every line once and keeps only where each record stands."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self.header: Header
        self.footer: Footer | None = None
        self.torn = False
        self._offsets = array("Q")
        self._places = array("Q")
        self._scan()

    @property
    def finished_at(self) -> str:
        return self.footer.finished_at if self.footer else ""

    @cached_property
    def summary(self) -> Summary:
        """The summary as written, or for a run that was killed, what its records add up to."""
        if self.footer:
            return self.footer.summary
        tally = Tally(self.header.repeat)
        for record in self.records():
            tally.add_record(record)
        return tally.summary(incomplete="the run did not end", interrupted=True)

    def __len__(self) -> int:
        return len(self._offsets)

    def lines(self) -> Iterator[bytes]:
        """The raw line of every record, in suite order, repeats of a case together."""
        with self._open() as file:
            for offset in self._in_order():
                file.seek(offset)
                yield file.readline()

    def records(self) -> Iterator[CaseRecord]:
        """Every record, in suite order, repeats of a case together."""
        for line in self.lines():
            yield self._decoded(line)

    def _in_order(self) -> Iterator[int]:
        places = self._places
        if all(places[i - 1] < places[i] for i in range(1, len(places))):
            return iter(self._offsets)
        return (self._offsets[i] for i in sorted(range(len(places)), key=places.__getitem__))

    def _open(self) -> BufferedReader:
        try:
            return open(self.path, "rb")
        except OSError as error:
            raise JournalError(f"it cannot be read: {error.strerror}.", where=self.path) from error

    def _decoded(self, line: bytes) -> CaseRecord:
        try:
            return _record(line)
        except _UNREADABLE as error:
            raise JournalError(f"a record cannot be read: {error}.", where=self.path) from error

    def _scan(self) -> None:
        with self._open() as file:
            first = file.readline()
            self.header = self._read_header(first)
            offset = len(first)
            for number, line in enumerate(file, start=2):
                if not line.endswith(b"\n"):
                    self.torn = True
                    break
                self._take(line, offset, number)
                offset += len(line)

    def _take(self, line: bytes, offset: int, number: int) -> None:
        where = f"{self.path}:{number}"
        try:
            if line.startswith(CASE) or (kind := _kind(line).kind) == "case":
                place = _place(line)
                self._offsets.append(offset)
                self._places.append(place.index << 32 | place.repeat)
            elif kind == "footer":
                self.footer = _footer(line)
            else:
                raise JournalError("this line is neither a case nor a footer.", where=where)
        except _UNREADABLE as error:
            raise JournalError(
                f"this line cannot be read: {error}.", where=where, fix="The file was changed."
            ) from error

    def _read_header(self, line: bytes) -> Header:
        if not line:
            raise JournalError("the journal is empty.", where=self.path)
        try:
            kind = _kind(line)
        except _UNREADABLE as error:
            fix = "A journal is the .jsonl file that `karat run` leaves."
            raise JournalError("this is no journal.", where=self.path, fix=fix) from error
        if kind.kind != "header":
            raise JournalError("this is no journal: it does not begin with a header.", where=self.path)
        if kind.format > FORMAT:
            fix = "Use a newer Karat."
            raise JournalError(
                f"the journal has format {kind.format}; this Karat reads {FORMAT}.", where=self.path, fix=fix
            )
        try:
            return _header(line)
        except _UNREADABLE as error:
            raise JournalError(f"its header cannot be read: {error}.", where=self.path) from error
