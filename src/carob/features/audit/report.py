"""The tables of an audit, which a terminal draws too, and the audit as JSON, which is read again, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec
from msgspec import Raw, Struct

from carob.features.audit.model import (
    AuditReport,
    AuditSummary,
    CaseAudit,
    Holding,
    OperatorAudit,
    Rate,
    Survivor,
    UnauditedCase,
    format_rate,
)
from carob.reports.artifacts import BinaryWriter
from carob.reports.escaping import encode, markdown_cell
from carob.reports.sections import MARKDOWN_ROWS, ReportSection, markdown_sections
from carob.scoring.intervals import EXACT
from carob.text.wording import pluralize

T = TypeVar("T")
RATE_DIGITS = 4
LINES: Final = 500
NARROW: Final = {"": " ", "0": "."}
INTERVAL: Final = f"95% {EXACT}"
"""The title of a column of intervals."""
MARKS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
"""A letter for the matrix for each operator that was tried."""
TITLES: Final = {
    "unaudited": "Not audited: these cases did not pass",
    "controls": "Controls that pass: agents that do not do the work",
    "by_case": "What this suite cannot catch, by case",
    "brittle": "Brittle: right answers that these checks fail",
    "redundant": "Redundant: you can remove any one of these checks without losing a kill",
}
"""The lists of an audit."""


class AuditRows:
    """What is shown of an audit, whatever draws it: all cases of a small one, of a large one those with survivors.

    Whatever the journal's size, no more is kept than is shown: cases, lines of a section, survivors of a case, and
    names in a line. `is_narrow`: the survivors of all operators are in one column, a sign for each.
    """

    def __init__(
        self, most_cases: int, most_lines: int, most_survivors: int, most_names: int, *, is_narrow: bool = False
    ) -> None:
        self._is_narrow = is_narrow
        self._most_cases = most_cases
        self._most_lines = most_lines
        self._most_survivors = most_survivors
        self._most_names = most_names
        self._all: list[CaseAudit] = []
        self._faulty: list[CaseAudit] = []
        self._counted = 0
        self.survivors: list[tuple[str, Survivor]] = []
        self.holdings: list[tuple[str, Holding]] = []
        self.holdings_left_out = 0
        self._texts: dict[str, list[tuple[str, str]]] = {name: [] for name in TITLES}
        self._redundant_checks = 0

    def add(self, entry: CaseAudit | UnauditedCase) -> None:
        if isinstance(entry, UnauditedCase):
            self._list(self._texts["unaudited"], entry, [", ".join(filter(None, (entry.status, entry.reason)))])
            return
        self._counted += 1
        if self._counted <= self._most_cases:
            self._all.append(entry)
        if entry.survivors and len(self._faulty) < self._most_cases:
            self._faulty.append(entry)
        self._list(self.survivors, entry, entry.survivors[: self._most_survivors])
        self._list(self._texts["controls"], entry, [f"passes with an agent that {name}" for name in entry.controls])
        brittle = [f"{b.check} rejects {b.equivalent}, it expects {b.expected}: {b.hint}" for b in entry.brittle]
        self._list(self._texts["brittle"], entry, brittle)
        unseen = list(dict.fromkeys(mutant.operator for mutant in entry.unseen))
        self._list(self._texts["by_case"], entry, [self._names(unseen)] if unseen else [])
        if entry.redundant and not self._list(self._texts["redundant"], entry, [self._names(entry.redundant)]):
            self._redundant_checks += len(entry.redundant)
        holdings = [holding for holding in entry.holdings if holding.kills]
        self.holdings_left_out += self._list(self.holdings, entry, holdings)

    def _list(self, rows: list[tuple[str, T]], entry: CaseAudit | UnauditedCase, items: Sequence[T]) -> int:
        """Add as many rows as there is room for; how many there is none for."""
        fitting = items[: self._most_lines - len(rows)]
        rows += [(entry.case_id, item) for item in fitting]
        return len(items) - len(fitting)

    def _names(self, names: Sequence[str]) -> str:
        more = len(names) - self._most_names
        return ", ".join(names[: self._most_names]) + (f" and {more} more" if more > 0 else "")

    @property
    def cases(self) -> list[CaseAudit]:
        """The rows of the matrix."""
        return self._all if self._counted <= self._most_cases else self._faulty

    def sections(self, summary: AuditSummary) -> list[ReportSection]:
        """Everything that is shown, whatever draws it; empty tables are left out."""
        operators = list(zip(MARKS, summary.operators if summary.rate.tried else (), strict=False))
        redundant = len(self._texts["redundant"]) + summary.redundant - self._redundant_checks
        sections = [
            self._make_section("unaudited", "why", summary.set_aside),
            self._make_section("controls", "which", summary.controls)._replace(is_marked=True),
            ReportSection(
                "Add these first: the fields that would catch the most wrong answers",
                ("field", "survivors that it would catch", "in cases"),
                [(remedy.field, str(remedy.survivors), str(remedy.cases)) for remedy in summary.remedies],
            ),
            ReportSection(
                "Operators", ("", "operator", "killed", "rate", INTERVAL, "what it makes wrong"),
                [(mark, o.name, *rate_cells(o.rate), o.about) for mark, o in operators],
                terminal_rows=len(MARKS),
            ),
            self._matrix(operators),
            ReportSection(
                "Survivors: wrong answers that the suite would pass", ("case", "operator", "change", "seen", "fix"),
                [(case, s.operator, s.change, s.evidence, s.hint) for case, s in self.survivors],
                is_marked=True, below=2, total=summary.survivors,
            ),
            ReportSection(
                "What this suite cannot catch; not in the kill rate",
                ("operator", "unseen in cases", "tried on cases", "what it makes wrong", "helps"),
                [(o.operator, str(o.unseen), str(o.cases), o.about, o.help) for o in summary.apart if o.unseen],
                below=1,
            ),
            self._make_section("by_case", "operators", summary.blind),
            ReportSection(
                "Which check catches what", ("case", "check", "catches", "only it", "which"),
                [(case, h.check, str(h.kills), str(len(h.alone)), "; ".join(h.alone)) for case, h in self.holdings],
                "Without a check, the mutants that only it catches would pass.",
                terminal_rows=0, total=len(self.holdings) + self.holdings_left_out,
            ),
            self._make_section("brittle", "what is rejected", summary.brittle),
            self._make_section("redundant", "checks", redundant),
        ]  # fmt: skip
        return [section for section in sections if section.rows]

    def _make_section(self, name: str, what: str, total: int) -> ReportSection:
        return ReportSection(TITLES[name], ("case", what), self._texts[name], total=total)

    def _matrix(self, operators: Sequence[tuple[str, OperatorAudit]]) -> ReportSection:
        """The cases, each with the survivors of each operator."""
        marks, zero, rest = [mark for mark, _ in operators], "0", "empty: nothing to change"
        rows = [(case.case_id, *rate_cells(case.rate), *_survivors(case, operators)) for case in self.cases]
        if self._is_narrow:
            marks, zero, rest = [" ".join(marks)], ".", f"+: more than 9, {rest}"
            rows = [
                (*row[:4], " ".join("+" if len(cell) > 1 else NARROW.get(cell, cell) for cell in row[4:]))
                for row in rows
            ]
        return ReportSection(
            "Cases", ("case", "killed", "rate", INTERVAL, *marks), rows if operators else [],
            f"Survivors of each operator; {zero}: all killed, {rest}.", total=self._counted,
        )  # fmt: skip


def _survivors(case: CaseAudit, operators: Sequence[tuple[str, OperatorAudit]]) -> Iterator[str]:
    for _, operator in operators:
        killed, tried = case.operators.get(operator.name, (0, 0))
        yield str(tried - killed) if tried else ""


def rate(figures: Rate) -> str:
    """`0.87`, or a dash where nothing was tried."""
    return format_rate(figures) if figures.tried else "-"


def rate_cells(figures: Rate) -> tuple[str, str, str]:
    """How many were killed, the rate, and its interval."""
    return f"{figures.killed}/{figures.tried}", rate(figures), f"{figures.low:.2f} to {figures.high:.2f}"


def headline(summary: AuditSummary) -> str:
    """The kill rate of the suite in one sentence."""
    figures = summary.rate
    if not figures.tried:
        return "Kill rate: nothing was tried"
    _, value, interval = rate_cells(figures)
    killed = f"{figures.killed} of {figures.tried} mutants killed"
    return f"Kill rate {value}: {killed} (95% {figures.method} interval {interval})"


def remarks(summary: AuditSummary) -> Iterator[str]:
    """What the kill rate does not say."""
    if summary.partial:
        yield (
            f"{pluralize(summary.partial, 'kill')} left the case PARTIAL:"
            " a run that accepts such a case would not notice"
        )
    if summary.undecided:
        yield f"{pluralize(summary.undecided, 'mutant')} could not be judged because a check broke: not counted"


def verdict(summary: AuditSummary, min_kill: float) -> str:
    """Whether the suite is proved, and if not why."""
    unmet = summary.unmet(min_kill)
    if unmet:
        return f"NOT PROVED: {'; '.join(unmet)}"
    return f"PROVED: the kill rate {rate(summary.rate)} is at least {min_kill:g}, and no control passes"


class AuditJson:
    """Written as the audit goes on; the figures come last because they are known last."""

    def __init__(self, out: BinaryWriter, min_kill: float) -> None:
        self._out = out
        self._min_kill = min_kill
        self._before = b"\n"
        out.write(b'{\n "cases": [')

    def case(self, entry: CaseAudit | UnauditedCase) -> None:
        self._out.write(self._before + encode(_row(entry)))
        self._before = b",\n"

    def end(self, summary: AuditSummary) -> None:
        operators = [{"name": o.name, "about": o.about, "rate": _rate(o.rate)} for o in summary.operators]
        row = {**msgspec.to_builtins(summary), "rate": _rate(summary.rate), "operators": operators}
        unmet = summary.unmet(self._min_kill)
        verdict = {"min_kill": self._min_kill, "met": not unmet, "unmet": unmet}
        self._out.write(b'\n],\n "summary": %s,\n "verdict": %s\n}\n' % (encode(row), encode(verdict)))


def _row(entry: CaseAudit | UnauditedCase) -> dict[str, object]:
    if isinstance(entry, UnauditedCase):
        return {"id": entry.case_id, "audited": False, "status": entry.status, "reason": entry.reason}
    row = msgspec.to_builtins(entry)
    del row["case_id"]
    for name in ("operators", "apart"):
        row[name] = {operator: {"killed": killed, "tried": tried} for operator, (killed, tried) in row[name].items()}
    return {"id": entry.case_id, "audited": True, **row, "rate": _rate(entry.rate), "checks": entry.holdings}


def _rate(rate: Rate) -> dict[str, object]:
    value = round(rate.value, RATE_DIGITS) if rate.tried else None
    return {"value": value, "killed": rate.killed, "tried": rate.tried, "low": rate.low, "high": rate.high}


class AuditVerdict(Struct, frozen=True):
    """Whether the suite is proved, and why not."""

    min_kill: float
    met: bool
    unmet: tuple[str, ...]


class WrittenAudit(NamedTuple):
    """An audit as its file holds it."""

    report: AuditReport
    verdict: AuditVerdict


class _File(Struct):
    cases: list[Raw]
    summary: AuditSummary
    verdict: AuditVerdict


class _Count(Struct):
    killed: int
    tried: int


class _Row(Struct):
    """What a row spells otherwise than `CaseAudit` and `UnauditedCase` do."""

    id: str
    audited: bool
    operators: dict[str, _Count] = {}
    apart: dict[str, _Count] = {}
    checks: tuple[Holding, ...] = ()


def read_audit(data: bytes) -> WrittenAudit:
    """Read such a file. Raises DecodeError for any other."""
    file = msgspec.json.decode(data, type=_File)
    entries = [_entry(row) for row in file.cases]
    cases = tuple(entry for entry in entries if isinstance(entry, CaseAudit))
    set_aside = tuple(entry for entry in entries if isinstance(entry, UnauditedCase))
    return WrittenAudit(AuditReport(summary=file.summary, cases=cases, set_aside=set_aside), file.verdict)


def _entry(data: Raw) -> CaseAudit | UnauditedCase:
    row = msgspec.json.decode(data, type=_Row)
    fields = {**msgspec.json.decode(data), "case_id": row.id}
    if not row.audited:
        return msgspec.convert(fields, UnauditedCase)
    fields["operators"] = {name: (count.killed, count.tried) for name, count in row.operators.items()}
    fields["apart"] = {name: (count.killed, count.tried) for name, count in row.apart.items()}
    fields["checks"] = [holding.check for holding in row.checks]
    return msgspec.convert(fields, CaseAudit)


class AuditMarkdown:
    """Keeps what is to be shown, and writes it once the figures are known."""

    def __init__(self, out: BinaryWriter, min_kill: float) -> None:
        self._out = out
        self._min_kill = min_kill
        self._rows = AuditRows(MARKDOWN_ROWS, LINES, LINES, LINES)

    def case(self, entry: CaseAudit | UnauditedCase) -> None:
        self._rows.add(entry)

    def end(self, summary: AuditSummary) -> None:
        for line in self._lines(summary):
            self._out.write(f"{line}\n".encode())

    def _lines(self, summary: AuditSummary) -> Iterator[str]:
        yield "# Audit\n"
        yield f"**{verdict(summary, self._min_kill)}**\n"
        yield f"- Eval file: {markdown_cell(summary.suite)}"
        yield f"- Target: {markdown_cell(summary.target)}"
        yield f"- Journal: {markdown_cell(summary.journal)}"
        yield f"- Seed: {summary.seed}"
        yield f"- Cases: {summary.audited} audited, {summary.set_aside} not audited"
        yield from (f"- {line}" for line in (headline(summary), *remarks(summary)))
        yield from markdown_sections(self._rows.sections(summary))
