"""What an earlier run has already done: the records whose case and target are unchanged."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

import msgspec
from msgspec import Struct, structs

from karat.model.run import CaseRecord
from karat.model.verdict import CaseStatus
from karat.repeats import Tally
from karat.runs.journal import Journal


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
        self.changed: list[str] = []
        self.gone: list[str] = []

    def lines(self) -> Iterator[bytes]:
        """The lines to keep, for the new journal. What each record became is known once this is exhausted."""
        for line in self._journal.lines():
            seen = _glance(line)
            item = self._planned.get((seen.case.id, seen.repeat))
            if item is None:
                self.gone.append(seen.case.id)
            elif item.key != seen.key:
                self.changed.append(seen.case.id)
            elif seen.verdict.status not in self._redo and (item.case_id, item.repeat) not in self.kept:
                self.kept.add((item.case_id, item.repeat))
                self._tally.add(item.index, seen.verdict.status, seen.verdict.soft.value, seen.case.min_pass_rate)
                yield _placed(line, seen, item)


def _placed(line: bytes, seen: _Glance, item: Planned) -> bytes:
    if seen.index == item.index:
        return line.rstrip(b"\n")
    return msgspec.json.encode(structs.replace(_record(line), index=item.index))
