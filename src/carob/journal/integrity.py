"""Whether a journal still says what its run wrote: lost, doubled or edited lines are reported and never pass.

Verdicts are derived: each is held against its own checks, each record against its key, all of them against the header
and the footer. A forgery of all of these at once is not detected.
"""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from typing import Final, NotRequired, TypedDict

from msgspec import structs

from carob.journal.views import RecordToVerify, VerdictToCompare
from carob.model.cost import Spent
from carob.model.run import CaseRecord, Footer, GuardSummary, Header, Keys, Summary, content, target_identity
from carob.model.suite import Case
from carob.model.trace import OF_CASE, REMOVED, TraceError
from carob.model.verdict import CaseStatus, CheckResult, Verdict
from carob.scoring import verdicts
from carob.scoring.tally import Contribution, Tally
from carob.text.wording import pluralize

FIRST: Final = 1 << 10
_LARGEST: Final = (1 << 64) - 1
_REPEAT: Final = (1 << 32) - 1
SHOWN = 3


class SeenIds:
    """Takes the cases of a journal in suite order, those of one place together.

    A set of strings takes ten times as much. Here two ids are the same if their hashes are, all 64 bits of them.
    """

    def __init__(self) -> None:
        self._hashes = array("Q", (0,)) * FIRST
        self._count = 0
        self._last = ("", -1)

    def is_elsewhere(self, case_id: str, index: int) -> bool:
        """Whether a case with this id was at another place before."""
        if self._last == (case_id, index):
            return False
        self._last = (case_id, index)
        if self._count * 2 >= len(self._hashes):
            self._grow()
        return not self._add(hash(case_id) & _LARGEST or 1)

    def _add(self, case_hash: int) -> bool:
        """Put a hash into the first free slot from its own on; False if it is there."""
        hashes, most = self._hashes, len(self._hashes) - 1
        slot = case_hash & most
        while occupant := hashes[slot]:
            if occupant == case_hash:
                return False
            slot = (slot + 1) & most
        hashes[slot] = case_hash
        self._count += 1
        return True

    def _grow(self) -> None:
        before, self._count = self._hashes, 0
        self._hashes = array("Q", (0,)) * (2 * len(before))
        for case_hash in filter(None, before):
            self._add(case_hash)


def place_faults(header: Header, places: Sequence[int], *, ended: bool) -> list[str]:
    """What is wrong with the places of the lines of a journal; `ended`: the run says that it came to its end."""
    repeats = max(header.repeat, 1)
    distinct = places if all(position < after for position, after in pairwise(places)) else set(places)
    strange = sum(position & _REPEAT >= repeats or (position >> 32) * repeats >= header.total for position in distinct)
    return [*line_faults(header, lines=len(places), records=len(distinct), strange=strange, ended=ended)]


def line_faults(header: Header, *, lines: int, records: int, strange: int, ended: bool) -> Iterator[str]:
    """Lines that are there twice, those that the run did not have, and those of a run that ended that are lost."""
    if lines > records:
        yield f"{pluralize(lines - records, 'line')} doubled"
    if strange:
        yield f"{pluralize(strange, 'line')} of cases that the run did not have"
    may_lack = header.until or header.confirm or header.at_most is True
    if ended and records - strange < header.total and not may_lack:
        yield f"{pluralize(header.total - records + strange, 'line')} lost"


class Identity:
    """Whether each record is of the case and the place that its run had; those that are not are `edited`."""

    def __init__(self, header: Header) -> None:
        target = header.options.get("target", {})
        self._keys = None if REMOVED in str(target) else Keys(target_identity(target))
        self._ids = SeenIds()
        self.edited: dict[str, None] = {}

    def note(self, case_id: str, index: int, *, intact: bool) -> None:
        """Note that a record of this case is at this place; `intact`: all else of it is as its run wrote it."""
        if self._ids.is_elsewhere(case_id, index) or not intact:
            self.edited[case_id] = None

    def is_of_case(self, record: RecordToVerify | CaseRecord) -> bool:
        """Whether it is of the case that its run had; unknown for a case or target that lost a secret."""
        return self._keys is None or self.is_of(record.key, record.trace.cuts, content(record.case))

    def is_of(self, key: str, cuts: Container[str], case: bytes) -> bool:
        """The same of a record of which these are the key, the cuts and the content of its case."""
        return self._keys is None or not key or OF_CASE in cuts or key == self._keys.of_content(case)

    @property
    def faults(self) -> list[str]:
        if not self.edited:
            return []
        ids = ", ".join(map(repr, list(self.edited)[:SHOWN])) + (" ..." if len(self.edited) > SHOWN else "")
        return [f"{pluralize(len(self.edited), 'record')} edited ({ids})"]


class Derived:
    """The summary that the records of a journal add up to, and whether they hold together."""

    def __init__(self, header: Header) -> None:
        self._tally = Tally.of(header)
        self.identity = Identity(header)

    def add(self, record: RecordToVerify) -> None:
        """Note a record, by the verdict that its checks add up to."""
        verdict = derive_verdict(record)
        intact = agrees(verdict, record.verdict) and self.identity.is_of_case(record)
        self.count(record.index, record.case, verdict, record.trace.spent, intact=intact)

    def count(self, index: int, case: Case, verdict: Verdict, spent: Spent, *, intact: bool) -> None:
        """Note a record of this verdict; `intact`: it is the one that its run wrote."""
        self.identity.note(case.id, index, intact=intact)
        self._tally.add(index, Contribution.of(case, verdict, spent))

    def summary(self, faults: Sequence[str], footer: Footer | None) -> Summary:
        """What the run came to; where the journal was changed, it is incomplete, whatever its footer says."""
        problems = [*faults, *self.identity.faults]
        if footer and not footer.summary.incomplete and (lacking := self._tally.lacking):
            problems.append(f"runs of {pluralize(lacking, 'case')} lost")
        if footer and not problems and figures(self._tally.summary()) != figures(footer.summary):
            problems.append("the footer's counts do not match")
        return structs.replace(self._tally.summary(), **ending(problems, footer))


class Ending(TypedDict):
    """How a run came to its end."""

    incomplete: str
    interrupted: bool
    broken: bool
    misconfigured: bool
    guard: NotRequired[GuardSummary]
    """What only the run itself knew: how cases came out without its guard."""


ENDED = Ending(incomplete="", interrupted=False, broken=False, misconfigured=False)


def ending(faults: Sequence[str], footer: Footer | None) -> Ending:
    """How a run ended, by its footer and by what is wrong with its journal."""
    summary = footer.summary if footer else Summary(incomplete="the run did not end", interrupted=True)
    end: Ending = {
        "incomplete": f"the journal was changed: {', '.join(faults)}" if faults else summary.incomplete,
        "interrupted": summary.interrupted,
        "broken": summary.broken,
        "misconfigured": summary.misconfigured,
    }
    if summary.guard is not None:
        end["guard"] = summary.guard
    return end


def derive_verdict(record: RecordToVerify | CaseRecord) -> Verdict:
    """The verdict that the checks of a record add up to; an ERROR where some are missing."""
    return verdict_of(record.case, record.verdict.checks, record.trace.error)


def verdict_of(case: Case, results: tuple[CheckResult, ...], error: TraceError | None) -> Verdict:
    """The same of a record whose parts were read apart."""
    if error is None and not _complete(case, results):
        return Verdict(CaseStatus.ERROR, results, reason="checks are missing from the record")
    return verdicts.case_verdict(case, results, error)


def _complete(case: Case, results: Sequence[CheckResult]) -> bool:
    if not case.turns:
        return len(results) == len(case.checks)
    return [result.turn for result in results] == [turn for turn, _ in case.all_checks]


def agrees(verdict: Verdict, recorded: Verdict | VerdictToCompare) -> bool:
    """Whether status and groups are the same. Scores are not compared: default weights may change with Carob."""
    return verdict.status is recorded.status and (not recorded.groups or verdict.groups == recorded.groups)


def figures(summary: Summary) -> tuple[int, ...]:
    """How many cases came out how, and over repeats, in how many runs."""
    counts = summary.passed, summary.failed, summary.partial, summary.error, summary.skipped, summary.xfailed
    return (*counts, summary.runs)
