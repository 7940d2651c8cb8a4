"""Read a journal: streamed, in suite order, with a torn last line recognised and dropped."""

from __future__ import annotations

import os
import re
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from carob.checks.catalog import CheckCatalog, catalog_for
from carob.errors import JournalError
from carob.journal.integrity import Derived, place_faults
from carob.journal.views import (
    LineKind,
    RecordPlace,
    RecordSummary,
    RecordToVerify,
    pack_summaries,
    unpack_summaries,
)
from carob.model.cost import TokenPrices
from carob.model.run import FORMAT, CaseRecord, Footer, Header, Summary
from carob.model.verdict import CaseStatus
from carob.plugins.project import Project, find_project, token_prices
from carob.text.wording import find_nearest

Decoded = TypeVar("Decoded")

read_record = msgspec.json.Decoder(CaseRecord).decode
_header = msgspec.json.Decoder(Header).decode
read_footer = msgspec.json.Decoder(Footer).decode
read_kind = msgspec.json.Decoder(LineKind).decode
_read_place = msgspec.json.Decoder(RecordPlace).decode
_summary = msgspec.json.Decoder(RecordSummary).decode
_to_verify = msgspec.json.Decoder(RecordToVerify).decode

CASE = b'{"kind":"case"'
WRITTEN = re.compile(rb'\{"kind":"case","index":([0-9]+)(?:,"repeat":([0-9]+))?,')
"""How a line of a case begins that this program wrote."""
BUFFER = 1 << 18
LONGEST_HEADER = 1 << 24
PIECE = 500
"""Records that one of several processes summarizes at a time."""
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError)


def _unpack(packed: Sequence[bytes]) -> list[RecordSummary]:
    return unpack_summaries(packed[0])


class Journal:
    """One journal on disk. Opening it reads every line once and keeps only the place of each record.

    Of several records of the same run of a case, the last is read, and `faults` names them. Who has just written
    the journal knows its summary; for everyone else it is derived. It is read in a `project`, by default that of the
    folder in which it is opened. `file`: where it is, if `path` is relative to another folder.
    """

    def __init__(
        self,
        path: str | Path,
        summary: Summary | None = None,
        *,
        project: Project | None = None,
        file: str | Path | None = None,
    ) -> None:
        self.path = str(path)
        self.file = os.path.abspath(path if file is None else file)
        """Where it is, whatever the current folder is by now."""
        self._project = project
        self._folder = os.getcwd() if project is None else project.folder
        self.header: Header
        self.footer: Footer | None = None
        self.torn = False
        self._known = summary
        self._after_end = 0
        self._offsets = array("Q")
        self._places = array("Q")
        self.statuses: list[CaseStatus] = []
        """How the cases came out, in suite order; nothing until all of them were read."""
        self._scan()
        self._put_in_order()

    @cached_property
    def project(self) -> Project:
        """The project in which it is read, found when it is first needed."""
        return self._project or find_project(self._folder)

    @property
    def catalog(self) -> CheckCatalog:
        """The checks of the project."""
        return catalog_for(self.project)

    @property
    def prices(self) -> TokenPrices | None:
        """What tokens cost by the configuration of the project, as it is now."""
        return token_prices(self.project)

    @property
    def finished_at(self) -> str:
        return self.footer.finished_at if self.footer else ""

    @cached_property
    def faults(self) -> tuple[str, ...]:
        """Which lines are there that should not be, and which are not: doubled, strange, lost, after the end."""
        ended = self.footer is not None and not self.footer.summary.incomplete
        faults = place_faults(self.header, self._places, ended=ended)
        if self._after_end or (self.footer and self.torn):
            faults.append("lines after the footer")
        return tuple(faults)

    @cached_property
    def summary(self) -> Summary:
        """What the records add up to, each held against its own checks, and all against header and footer."""
        if self._known is not None:
            return self._known
        derived = Derived(self.header)
        for line in self.lines():
            derived.add(self.decode(line, _to_verify))
        return derived.summary(self.faults, self.footer)

    def __len__(self) -> int:
        return len(self._offsets)

    def lines(self, first: int = 0, count: int | None = None) -> Iterator[bytes]:
        """The raw line of every record, or of `count` from the `first`: in suite order, repeats of a case together."""
        return self._lines_at(self._offsets[first : None if count is None else first + count])

    def _lines_at(self, offsets: Iterable[int]) -> Iterator[bytes]:
        with self._open() as file:
            position = -1
            for offset in offsets:
                if offset != position:
                    file.seek(offset)
                line = file.readline()
                position = offset + len(line)
                yield line

    def records(self, first: int = 0, count: int | None = None) -> Iterator[CaseRecord]:
        """Every record, or `count` from the `first`: in suite order, repeats of a case together."""
        statuses = []
        for line in self.lines(first, count):
            record = self.decode(line, read_record)
            statuses.append(record.verdict.status)
            yield record
        if len(statuses) == len(self):
            self.statuses = statuses

    def summaries(self, workers: int = 1) -> Iterator[RecordSummary]:
        """How every case came out, in suite order."""
        from carob.journal.parallel import map_in_processes

        statuses = []
        count = -(-len(self) // PIECE)
        for piece in map_in_processes(self._summarize, count, workers, lambda piece: [pack_summaries(piece)], _unpack):
            for summary in piece:
                statuses.append(summary.verdict.status)
                yield summary
        self.statuses = statuses

    def _summarize(self, number: int) -> list[RecordSummary]:
        return [self.decode(line, _summary) for line in self.lines(number * PIECE, PIECE)]

    def of_status(self, *statuses: CaseStatus) -> Iterator[CaseRecord]:
        """The records of cases that came out so, in suite order; the others are not read again."""
        if not self.statuses:
            deque(self.summaries(), maxlen=0)
        offsets = (offset for offset, status in zip(self._offsets, self.statuses, strict=True) if status in statuses)
        for line in self._lines_at(offsets):
            yield self.decode(line, read_record)

    def is_doubled(self, index: int, repeat: int) -> bool:
        """Whether several lines record this run of a case, so that none can be trusted."""
        return (index << 32 | repeat) in self._doubled

    @cached_property
    def _doubled(self) -> frozenset[int]:
        return frozenset(position for position, count in Counter(self._places).items() if count > 1)

    def _put_in_order(self) -> None:
        places = self._places
        if any(places[i - 1] >= places[i] for i in range(1, len(places))):
            last = dict(zip(places, self._offsets, strict=True))
            self._offsets = array("Q", (last[position] for position in sorted(last)))

    def _open(self) -> BinaryIO:
        try:
            return open(self.file, "rb", BUFFER)
        except OSError as error:
            raise unreadable(error, self.path) from error

    def decode(self, line: bytes, decode: Callable[[bytes], Decoded]) -> Decoded:
        """A line as much as somebody needs of it."""
        try:
            return decode(line)
        except UNREADABLE as error:
            raise JournalError(f"a record cannot be read: {error}.", where=self.path) from error

    def _scan(self) -> None:
        with self._open() as file:
            line = file.readline()
            self.header = read_header(line, self.path)
            offset, number = len(line), 1
            try:
                for line in file:
                    number += 1
                    if not line.endswith(b"\n"):
                        self.torn = True
                        break
                    if not self._take(line, offset):
                        where = f"{self.path}:{number}"
                        raise JournalError("this line is neither a case nor a footer.", where=where)
                    offset += len(line)
            except UNREADABLE as error:
                where, fix = f"{self.path}:{number}", "The file was changed."
                raise JournalError(f"this line cannot be read: {error}.", where=where, fix=fix) from error

    def _locate(self, line: bytes) -> int:
        """Where a record belongs. A line is read to its end for it, unless it was written just now."""
        if self._known is not None and (match := WRITTEN.match(line)):
            return int(match[1]) << 32 | int(match[2] or 0)
        record = _read_place(line)
        return record.index << 32 | record.repeat

    def _take(self, line: bytes, offset: int) -> bool:
        """Note what a line holds; False if it may not follow the header."""
        if self.footer is not None:
            self._after_end += 1
        if line.startswith(CASE) or (kind := read_kind(line).kind) == "case":
            self._places.append(self._locate(line))
            self._offsets.append(offset)
        elif kind == "footer":
            self.footer = read_footer(line)
        else:
            return False
        return True


def header_of(path: str | Path) -> Header:
    """What a journal says of its run, without reading further."""
    try:
        with open(path, "rb") as file:
            return read_header(file.readline(LONGEST_HEADER), str(path))
    except OSError as error:
        raise unreadable(error, str(path)) from error


_NAME = re.compile(r"-\d{8}T\d{6}Z.*\.jsonl\Z")
"""What `carob run` calls a journal."""


def unreadable(error: OSError, path: str) -> JournalError:
    """The error for a journal that cannot be opened."""
    fix = ""
    if isinstance(error, IsADirectoryError):
        fix = "Name a journal in it, a .jsonl file."
    elif isinstance(error, FileNotFoundError):
        folder = os.path.dirname(path) or "."
        there = [name for name in os.listdir(folder) if _NAME.search(name)] if os.path.isdir(folder) else []
        near = find_nearest(os.path.basename(path), there) or max(there, default="")
        fix = (
            f"Did you mean {os.path.join(os.path.dirname(path), near)!r}?"
            if near
            else "A run writes one: carob run SUITE"
        )
    return JournalError(f"it cannot be read: {error.strerror}.", where=path, fix=fix)


def read_header(line: bytes, path: str) -> Header:
    """The header that a journal begins with."""
    if not line:
        fix = "Its run was ended before it began: run the suite again."
        raise JournalError("the journal is empty.", where=path, fix=fix)
    try:
        kind = read_kind(line)
    except UNREADABLE as error:
        fix = "A journal is the .jsonl file that `carob run` writes."
        raise JournalError("not a journal.", where=path, fix=fix) from error
    if kind.kind != "header":
        raise JournalError("not a journal: the first line is not a header.", where=path)
    if kind.format > FORMAT:
        fix = "Use a newer Carob."
        raise JournalError(f"the journal has format {kind.format}; this Carob reads {FORMAT}.", where=path, fix=fix)
    try:
        return _header(line)
    except UNREADABLE as error:
        raise JournalError(f"its header cannot be read: {error}.", where=path) from error
