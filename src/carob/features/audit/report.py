"""The rows of an audit, which a terminal draws too, and the audit as JSON, which is read again, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec
from msgspec import Raw, Struct

from carob.features.audit.model import (
    AuditReport,
    AuditSummary,
    CaseAudit,
    Holding,
    Rate,
    Survivor,
    UnauditedCase,
    format_rate,
)
from carob.reports.artifacts import BinaryWriter
from carob.reports.escaping import CELL_LIMIT, encode, markdown_cell
from carob.text.wording import pluralize

T = TypeVar("T")
RATE_DIGITS = 4
CASES: Final = 1000
LINES: Final = 500
EXCERPT: Final = 400


TITLES: Final = {
    "unaudited": "Not audited: these cases did not pass",
    "controls": "Controls that pass: agents that do not do the work",
    "undetectable": "What this suite cannot catch; not in the kill rate",
    "brittle": "Brittle: right answers that these checks fail",
    "redundant": "Redundant: you can remove any one of these checks without losing a kill",
}
"""The lists of an audit."""


class AuditSection(NamedTuple):
    """Cases with what is said of each, under a title."""

    title: str
    rows: list[tuple[str, str]]
    total: int

    @property
    def more(self) -> int:
        """How many have no row."""
        return self.total - len(self.rows)


class AuditRows:
    """What is shown of an audit, whatever draws it: all cases of a small one, of a large one those with survivors.

    Whatever the journal's size, no more is kept than is shown: cases, lines of a section, survivors of a case, and
    names in a line.
    """

    def __init__(self, most_cases: int, most_lines: int, most_survivors: int, most_names: int) -> None:
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
        self._list(self._texts["undetectable"], entry, [self._names(unseen)] if unseen else [])
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

    @property
    def left_out(self) -> int:
        return self._counted - len(self.cases)

    def sections(self, summary: AuditSummary) -> dict[str, AuditSection]:
        """What is listed next to the matrix and the survivors, by the names of `TITLES`."""
        totals = {
            "unaudited": summary.set_aside,
            "controls": summary.controls,
            "undetectable": summary.blind,
            "brittle": summary.brittle,
            "redundant": len(self._texts["redundant"]) + summary.redundant - self._redundant_checks,
        }
        return {name: AuditSection(title, self._texts[name], totals[name]) for name, title in TITLES.items()}


MARKS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
"""A letter for the matrix for each operator that was tried."""


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
    return f"Kill rate {value}: {figures.killed} of {figures.tried} mutants killed (95% interval {interval})"


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
        self._rows = AuditRows(CASES, LINES, LINES, LINES)

    def case(self, entry: CaseAudit | UnauditedCase) -> None:
        self._rows.add(entry)

    def end(self, summary: AuditSummary) -> None:
        for line in self._lines(summary):
            self._out.write(f"{line}\n".encode())

    def _lines(self, summary: AuditSummary) -> Iterator[str]:
        rows, sections = self._rows, self._rows.sections(summary)
        yield "# Audit\n"
        yield f"**{verdict(summary, self._min_kill)}**\n"
        yield f"- Eval file: {markdown_cell(summary.suite)}"
        yield f"- Target: {markdown_cell(summary.target)}"
        yield f"- Journal: {markdown_cell(summary.journal)}"
        yield f"- Seed: {summary.seed}"
        yield f"- Cases: {summary.audited} audited, {summary.set_aside} not audited"
        yield from (f"- {line}" for line in (headline(summary), *remarks(summary)))
        if summary.rate.tried:
            yield from self._matrix(summary)
        yield from _list_lines(sections["unaudited"])
        yield from _list_lines(sections["controls"])
        if summary.survivors:
            yield "\n## Survivors: wrong answers that the suite would pass\n"
            remedies = [(remedy.field, remedy.survivors, remedy.cases) for remedy in summary.remedies]
            yield from _table("Field | Survivors that it would catch | In cases", remedies)
            yield ""
            survivors = [(case, s.operator, s.change, s.evidence, s.hint) for case, s in rows.survivors]
            yield from _table("Case | Operator | Change | Seen | Fix", survivors)
            yield from _more(summary.survivors - len(rows.survivors))
        if any(operator.unseen for operator in summary.apart):
            yield f"\n## {sections['undetectable'].title}\n"
            header = "Operator | What it makes wrong | Unseen in cases | Tried on cases | What would help"
            yield from _table(header, [(o.operator, o.about, o.unseen, o.cases, o.help) for o in summary.apart])
            yield ""
            yield from _list_lines(sections["undetectable"]._replace(title=""))
        if rows.holdings:
            yield "\n## Which check catches what\n"
            yield "Without a check, the mutants that only it catches would pass.\n"
            holdings = [(case, h.check, h.kills, len(h.alone), "; ".join(h.alone)) for case, h in rows.holdings]
            yield from _table("Case | Check | Catches | Only it | Which", holdings)
            yield from _more(rows.holdings_left_out)
        yield from _list_lines(sections["brittle"])
        yield from _list_lines(sections["redundant"])

    def _matrix(self, summary: AuditSummary) -> Iterator[str]:
        operators = list(zip(MARKS, summary.operators, strict=False))
        yield "\n## Operators\n"
        header = " | Operator | What it makes wrong | Killed | Rate | 95% interval"
        yield from _table(header, [(mark, o.name, o.about, *rate_cells(o.rate)) for mark, o in operators])
        yield "\n## Cases\n"
        yield "Survivors of each operator; 0: all killed, empty: nothing to change.\n"
        cases = []
        for case in self._rows.cases:
            counts = [case.operators.get(operator.name, (0, 0)) for _, operator in operators]
            survivors = [str(tried - killed) if tried else "" for killed, tried in counts]
            cases.append((case.case_id, *rate_cells(case.rate), *survivors))
        header = " | ".join(["Case | Killed | Rate | 95% interval", *(mark for mark, _ in operators)])
        yield from _table(header, cases, CELL_LIMIT)
        if self._rows.left_out:
            yield f"\n{pluralize(self._rows.left_out, 'more case')}: see the JSON next to this file."


def _table(header: str, rows: Iterable[Sequence[object]], limit: int = EXCERPT) -> Iterator[str]:
    yield f"| {header} |".replace("|  |", "| |")
    yield f"|{'---|' * (header.count('|') + 1)}"
    for row in rows:
        yield f"| {' | '.join(markdown_cell(str(cell), limit) for cell in row)} |"


def _list_lines(section: AuditSection) -> Iterator[str]:
    if section.rows and section.title:
        yield f"\n## {section.title}\n"
    for name, text in section.rows:
        yield f"- {markdown_cell(name)}: {markdown_cell(text, EXCERPT)}"
    yield from _more(section.more) if section.rows else ()


def _more(count: int) -> Iterator[str]:
    if count > 0:
        yield f"\n{count} more: see the JSON next to this file."
