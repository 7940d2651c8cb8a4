"""What an earlier run has already done: the records whose case and target are unchanged."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec
from msgspec import Struct, structs

from karat.errors import JournalError
from karat.journal.reader import Journal
from karat.model.attachments import moved, way
from karat.model.run import CaseRecord
from karat.model.verdict import CaseStatus
from karat.repeats import Tally, case_status

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
    """Decides which records of a journal stand for planned items, and counts them.

    Whether a case is run again for its status is decided over all its repeats, and then all of them are: who ran only
    those again that failed would make a flaky case a good one.
    """

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
        read = ((line, self._seen(line)) for line in self._journal.lines())
        for _, runs in groupby(read, key=lambda run: run[1].case.id):
            current = [run for run in runs if self._is_current(run[1])]
            statuses = Counter(seen.verdict.status for _, seen in current)
            again = case_status(statuses, current[0][1].case.min_pass_rate) in self._redo if current else False
            for line, seen in current:
                place = seen.case.id, seen.repeat
                if again:
                    self._redone[place] = None
                elif place not in self.kept:
                    item = self._planned[place]
                    self.kept.add(place)
                    self._tally.add(item.index, seen.verdict.status, seen.verdict.soft.value, seen.case.min_pass_rate)
                    yield _placed(line, seen, item, along)

    def _is_current(self, seen: _Glance) -> bool:
        place = seen.case.id, seen.repeat
        item = self._planned.get(place)
        if item is None:
            self._gone[place] = None
        elif item.key != seen.key:
            self._changed[place] = None
        return item is not None and item.key == seen.key

    def said(self, target: dict[str, Any]) -> Iterator[str]:
        """What is kept, what is run again and why, for the one who resumes."""
        if self._journal.torn:
            yield "the last line of the journal is torn and was dropped"
        what = "run" if self._journal.header.repeat > 1 else "case"
        yield f"kept {len(self.kept)} finished {what}{'s' * (len(self.kept) != 1)}"
        changed = "changed since"
        if same_target(self._journal.header.options.get("target", target)) != same_target(target):
            changed = "the target's options changed since"
        new = [place for place in self._planned if place not in self.kept | self._changed.keys() | self._redone.keys()]
        for what, places in (
            (f"{changed}, run again", self._changed),
            ("run again for their status", self._redone),
            ("new or not finished, run now", new),
            ("no longer there or not selected, left out", self._gone),
        ):
            if places:
                yield f"{what}: {named([case_id for case_id, _ in places])}"

    def _seen(self, line: bytes) -> _Glance:
        try:
            return _glance(line)
        except msgspec.DecodeError as error:
            raise JournalError(f"a record cannot be read: {error}.", where=self._journal.path) from error


def same_target(identity: Mapping[str, Any]) -> dict[str, Any]:
    """What makes a target the same one: all that identifies it but its name, which may change."""
    return {key: value for key, value in identity.items() if key != "name"}


def named(ids: Sequence[str]) -> str:
    """Some of the ids, each once; those of a journal may hold anything."""
    each = list(dict.fromkeys(ids))
    more = f" and {len(each) - NAMED} more" if len(each) > NAMED else ""
    return ", ".join(json.dumps(name)[1:-1] for name in each[:NAMED]) + more


def _placed(line: bytes, seen: _Glance, item: Planned, along: str) -> bytes:
    if seen.index == item.index and not along:
        return line.rstrip(b"\n")
    record = _record(line)
    return msgspec.json.encode(structs.replace(record, index=item.index, trace=moved(record.trace, along)))
