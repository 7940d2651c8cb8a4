"""What an earlier run has already done: the records whose case and target are unchanged."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct, structs

from karat.errors import JournalError
from karat.model.attachments import moved, way
from karat.model.run import CaseRecord
from karat.model.verdict import CaseStatus
from karat.repeats import Tally
from karat.runs.journal import Journal

NAMED = 10


class _Id(Struct):
    id: str
    min_pass_rate: float | None = None


class _Soft(Struct, frozen=True):
    value: float | None = None


class _Verdict(Struct):
    status: CaseStatus
    soft: _Soft = _Soft()


class _Glance(Struct):
    """As much of a record as decides whether it is kept."""

    index: int
    case: _Id
    verdict: _Verdict
    repeat: int = 0
    key: str = ""


_glance = msgspec.json.Decoder(_Glance).decode
_record = msgspec.json.Decoder(CaseRecord).decode


class Planned(Struct, frozen=True):
    """One run of one case, as it is planned now."""

    case_id: str
    repeat: int
    index: int
    key: str


class CarryOver:
    """Decides which records of a journal stand for planned items, and counts them."""

    def __init__(self, journal: Journal, planned: Sequence[Planned], redo: Container[CaseStatus], tally: Tally) -> None:
        self._journal = journal
        self._planned = {(item.case_id, item.repeat): item for item in planned}
        self._redo = redo
        self._tally = tally
        self.kept: set[tuple[str, int]] = set()
        self._changed: dict[tuple[str, int], None] = {}
        self._redone: dict[tuple[str, int], None] = {}
        self._gone: dict[tuple[str, int], None] = {}

    def lines(self, into: str) -> Iterator[bytes]:
        """The lines to keep, for the journal `into`. What each record became is known once this is exhausted."""
        along = way(self._journal.path, into)
        for line in self._journal.lines():
            seen = self._seen(line)
            place = seen.case.id, seen.repeat
            item = self._planned.get(place)
            if item is None:
                self._gone[place] = None
            elif item.key != seen.key:
                self._changed[place] = None
            elif seen.verdict.status in self._redo:
                self._redone[place] = None
            elif place not in self.kept:
                self.kept.add(place)
                self._tally.add(item.index, seen.verdict.status, seen.verdict.soft.value, seen.case.min_pass_rate)
                yield _placed(line, seen, item, along)

    def said(self, target: dict[str, Any]) -> Iterator[str]:
        """What is kept, what is run again and why, for the one who resumes."""
        if self._journal.torn:
            yield "the last line of the journal is torn and was dropped"
        yield f"kept {len(self.kept)} finished case{'s' * (len(self.kept) != 1)}"
        changed = "changed since"
        if self._journal.header.options.get("target", target) != target:
            changed = "the target's options changed since"
        new = [place for place in self._planned if place not in self.kept | self._changed.keys() | self._redone.keys()]
        for what, places in (
            (f"{changed}, run again", self._changed),
            ("run again for their status", self._redone),
            ("new or not finished, run now", new),
            ("no longer there or not selected, left out", self._gone),
        ):
            if places:
                yield f"{what}: {_named([case_id for case_id, _ in places])}"

    def _seen(self, line: bytes) -> _Glance:
        try:
            return _glance(line)
        except msgspec.DecodeError as error:
            raise JournalError(f"a record cannot be read: {error}.", where=self._journal.path) from error


def _named(ids: Sequence[str]) -> str:
    """Some of the ids, each once; those of a journal may hold anything."""
    each = list(dict.fromkeys(ids))
    more = f" and {len(each) - NAMED} more" if len(each) > NAMED else ""
    return ", ".join(json.dumps(name)[1:-1] for name in each[:NAMED]) + more


def _placed(line: bytes, seen: _Glance, item: Planned, along: str) -> bytes:
    if seen.index == item.index and not along:
        return line.rstrip(b"\n")
    record = _record(line)
    return msgspec.json.encode(structs.replace(record, index=item.index, trace=moved(record.trace, along)))
