"""What the renderings of an audit share: how figures read, and how much of them is shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karat.model.audit import AuditSummary, CaseAudit, Holding, Rate, SetAside, Survivor, shown_rate
from karat.text.wording import counted


class Shown:
    """What a report shows of an audit: all cases of a small one, of a large one those with something to mend.

    Whatever the journal's size, no more is kept than is shown. Of each case there are at most `most_survivors`.
    """

    def __init__(self, most_cases: int, most_lines: int, most_survivors: int) -> None:
        self._most_cases = most_cases
        self._most_lines = most_lines
        self._most_survivors = most_survivors
        self._all: list[CaseAudit] = []
        self._faulty: list[CaseAudit] = []
        self._counted = 0
        self.survivors: list[tuple[str, Survivor]] = []
        self.unseen: list[tuple[str, tuple[str, ...]]] = []
        self.brittle: list[tuple[str, str]] = []
        self.controls: list[tuple[str, str]] = []
        self.redundant: list[tuple[str, tuple[str, ...]]] = []
        self.holdings: list[tuple[str, Holding]] = []
        self.holdings_left_out = 0
        self.set_aside: list[SetAside] = []

    def add(self, entry: CaseAudit | SetAside) -> None:
        room = self._most_lines
        if isinstance(entry, SetAside):
            self.set_aside += [entry][: room - len(self.set_aside)]
            return
        self._counted += 1
        if self._counted <= self._most_cases:
            self._all.append(entry)
        if entry.survivors and len(self._faulty) < self._most_cases:
            self._faulty.append(entry)
        self.controls += [(entry.case_id, name) for name in entry.controls][: room - len(self.controls)]
        survivors = entry.survivors[: self._most_survivors]
        self.survivors += [(entry.case_id, survivor) for survivor in survivors][: room - len(self.survivors)]
        unseen = tuple(dict.fromkeys(found.operator for found in entry.unseen))
        if unseen and len(self.unseen) < room:
            self.unseen.append((entry.case_id, unseen))
        brittle = [
            (entry.case_id, f"{b.check} minds {b.equivalent}, it wants {b.expected}: {b.hint}") for b in entry.brittle
        ]
        holdings = [(entry.case_id, held) for held in entry.holdings if held.kills]
        kept = holdings[: room - len(self.holdings)]
        self.holdings += kept
        self.holdings_left_out += len(holdings) - len(kept)
        self.brittle += brittle[: room - len(self.brittle)]
        if entry.redundant and len(self.redundant) < room:
            self.redundant.append((entry.case_id, entry.redundant))

    @property
    def cases(self) -> list[CaseAudit]:
        """The rows of the matrix."""
        return self._all if self._counted <= self._most_cases else self._faulty

    @property
    def left_out(self) -> int:
        return self._counted - len(self.cases)


MARKS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def marked(summary: AuditSummary) -> Iterator[tuple[str, str]]:
    """A letter for the matrix and the name of each operator that was tried."""
    for number, operator in enumerate(summary.operators):
        yield MARKS[number % len(MARKS)], operator.name


def rate(found: Rate) -> str:
    """`0.87`, or a dash where nothing was tried."""
    return shown_rate(found) if found.tried else "-"


def interval(found: Rate) -> str:
    return f"{found.low:.2f} to {found.high:.2f}"


def headline(summary: AuditSummary) -> str:
    """The kill rate of the suite in one sentence."""
    found = summary.rate
    if not found.tried:
        return "Kill rate: nothing was tried"
    return f"Kill rate {rate(found)}: {found.killed} of {found.tried} mutants killed (95% interval {interval(found)})"


def remarks(summary: AuditSummary) -> Iterator[str]:
    """What the kill rate does not say."""
    if summary.partial:
        yield (
            f"{counted(summary.partial, 'kill')} left the case PARTIAL: "
            "a run that is told to let such a case pass would not notice"
        )
    if summary.undecided:
        yield f"{counted(summary.undecided, 'mutant')} could not be judged, a check broke: not counted"


def verdict(summary: AuditSummary, min_kill: float) -> str:
    """Whether the suite is proved, and if not why."""
    unmet = summary.unmet(min_kill)
    if unmet:
        return f"NOT PROVED: {'; '.join(unmet)}"
    return f"PROVED: the kill rate {rate(summary.rate)} is at least {min_kill:g}, and no control passes"
