"""What the pages of a run show: its head, its cases, one case, two runs side by side, an audit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from msgspec import Struct, structs

from karat.analysis.audit.model import CaseAudit
from karat.analysis.audit.report import WrittenAudit, read_audit
from karat.analysis.compare.compared_cases import CachedCases
from karat.analysis.compare.comparisons import compare
from karat.analysis.compare.gates import read_gates
from karat.analysis.compare.model import COMPARED, CaseChange, Change, Flip
from karat.analysis.compare.report import ChangeSection, view_comparison
from karat.analysis.stress.report import read_stress, template_values
from karat.checks.catalog import CheckCatalog
from karat.journal.index import CaseFilter, Index, IndexedRun
from karat.model.cost import TokenPrices
from karat.model.run import CaseRecord
from karat.plugins.project import Project
from karat.reports.escaping import clip
from karat.reports.html import run_view
from karat.reports.html.calls import duration
from karat.reports.html.case_view import CaseSetting, CaseView, FileView, case_view
from karat.reports.html.files import find_own_file
from karat.reports.html.markup import difference
from karat.reports.html.run_view import (
    GroupView,
    RowView,
    RunHead,
    evidence_anchor,
    failure_words,
    row_view,
)
from karat.reports.suite_lines import SuiteLines
from karat.viewer.run_list import is_live, trouble

PAGE: Final = 100
MOST_COMPARED: Final = 60
NAMED: Final = 500
LONGEST: Final = 8_000
SIDE_BY_SIDE: Final = frozenset({*COMPARED, Change.ERRED})
"""What has an answer in both runs to the same question."""

FoundRecord = tuple[CaseRecord | None, str]
"""A record, and where its page is."""
MOST_AUDITED: Final = 200
LARGEST: Final = 64 << 20
LARGEST_STRESS: Final = 1 << 24


class OfRun:
    """Addresses within one run, from a page that is so far from `home`; what it is filtered by goes along."""

    def __init__(self, home: str, run: str, chosen: CaseFilter) -> None:
        self._at = f"{home}run/{run}"
        self.chosen = chosen
        self._query = query(chosen)
        self.before = self.after = ""
        """The pages of the neighbours of a case, if it has some."""

    @property
    def run(self) -> str:
        return f"{self._at}{self._query}"

    def case(self, index: int, repeat: int) -> str:
        return f"{self._at}/case/{index}/{repeat}{self._query}"

    def file(self, index: int, repeat: int, number: int) -> str:
        return f"{self._at}/case/{index}/{repeat}/file/{number}"

    def record(self, index: int, repeat: int) -> str:
        return f"{self._at}/case/{index}/{repeat}/record"

    def hash(self, anchor: str) -> str:
        return ""

    def group(self, group: GroupView) -> str:
        return f"{self._at}{query(CaseFilter(check=group.name, kind=group.kind))}"


def query(chosen: CaseFilter) -> str:
    chosen_fields = {name: value for name, value in structs.asdict(chosen).items() if value}
    return f"?{urlencode(chosen_fields)}" if chosen_fields else ""


def run_head(run: IndexedRun, prices: TokenPrices | None) -> RunHead:
    """The head of a run's page."""
    return run_view.run_head(run, run.scores, trouble(run), prices, live=is_live(run))


def groups(index: Index, run: IndexedRun, catalog: CheckCatalog) -> list[GroupView]:
    """What broke in a run."""
    return [
        GroupView(
            group.name,
            group.status,
            group.kind,
            group.cases,
            [(name, at, repeat, evidence_anchor(at, repeat, number)) for name, at, repeat, number in group.first],
            *failure_words(catalog, group.name, group.status, group.kind, group.expected, group.others),
        )
        for group in index.groups(run.key)
    ]


def rows(index: Index, run: IndexedRun, chosen: CaseFilter, start: int) -> tuple[list[RowView], int]:
    """A page of the table, and how many cases the filter leaves."""
    listed, total = index.cases(run.key, chosen, start, PAGE)
    records = index.records(run, [item.offset for item in listed])
    views = [
        row_view(record, item.status, _strip(index, run, item.index) if len(item.strip) > 1 else ())
        for record, item in zip(records, listed, strict=True)
    ]
    return views, total


def _strip(index: Index, run: IndexedRun, at: int) -> list[tuple[str, int]]:
    return [(status, repeat) for repeat, status in index.repeats(run.key, at)]


class CasePage(Struct, frozen=True):
    """What the page of a case is made with."""

    case: CaseView
    to: OfRun
    strip: list[tuple[str, int]]
    run: RunHead


def case_page(
    index: Index,
    run: IndexedRun,
    at: int,
    repeat: int,
    to: OfRun,
    catalog: CheckCatalog,
    prices: TokenPrices | None,
) -> CasePage | None:
    """The page of one run of a case; None if the case does not exist."""
    record = index.record(run, at, repeat)
    if record is None:
        return None
    numbers = {file: number for number, file in enumerate(record.trace.attachments.values())}

    def address(file: str) -> str | None:
        return to.file(at, repeat, numbers[file]) if find_own_file(run.path, file) else None

    setting = CaseSetting(run.header, catalog, prices, SuiteLines(run.header, catalog))
    view = case_view(record, setting, address, to.record(at, repeat))
    with_pictures = structs.replace(view, attachments=[_add_picture(file, run) for file in view.attachments])
    strip = _strip(index, run, at)
    neighbours = index.neighbours(run.key, at, to.chosen)
    to.before, to.after = ("" if index is None else to.case(index, 0) for index in neighbours)
    return CasePage(with_pictures, to, strip if len(strip) > 1 else [], run_head(run, prices))


def _add_picture(file: FileView, run: IndexedRun) -> FileView:
    own_file = find_own_file(run.path, file.file) if file.link else None
    return structs.replace(file, source=file.link) if own_file and own_file.is_picture else file


class PairView(Struct, frozen=True):
    """One case in both runs; the differences are HTML."""

    id: str
    before: str
    after: str
    base_link: str
    new_link: str
    answer: str
    calls: str
    took: str
    flips: tuple[Flip, ...]


class ChangeView(Struct, frozen=True):
    """The cases that went one way: some of them side by side, or named where there is nothing to put side by side."""

    title: str
    count: int
    pairs: list[PairView]
    names: list[str]


class SideBySide(Struct, frozen=True):
    """What a comparison found, in the words and figures of `karat compare`."""

    headline: str
    apart: str
    sure: str
    gates: list[tuple[str, str]]
    notes: tuple[str, ...]
    figures: list[str]
    changes: list[ChangeView]


def compare_page(index: Index, base: IndexedRun, new: IndexedRun, project: Project, home: str) -> SideBySide:
    """Compare one run with another by the gates and the confidence of this project."""
    older, newer = (CachedCases(Path(run.path), index, project) for run in (base, new))
    comparison = compare(older, newer, read_gates(project, {}, None))
    view = view_comparison(comparison)
    return SideBySide(
        headline=view.headline,
        apart=view.uncompared,
        sure=comparison.overall.sure,
        gates=view.gates,
        notes=(*view.preamble, *view.notes),
        figures=[
            f"before: {comparison.base.figures}",
            f"after: {comparison.new.figures}",
            *view.figures,
            *(f"{scope}: {words}" for scope, words in view.groups[:NAMED]),
        ],
        changes=list(_change_views(index, base, new, view.sections, home)),
    )


def _change_views(
    index: Index, base: IndexedRun, new: IndexedRun, sections: Sequence[ChangeSection], home: str
) -> Iterator[ChangeView]:
    paired = {section.change: section.cases[:MOST_COMPARED] for section in sections if section.change in SIDE_BY_SIDE}
    names = [case.id for cases in paired.values() for case in cases]
    places = [(run, index.places(run.key, names)) for run in (base, new)]
    for change, title, total, cases in sections:
        pairs = [
            _pair_view(case, *(_find_record(index, *numbers, case.id, home) for numbers in places))
            for case in paired.get(change, ())
        ]
        yield ChangeView(title, total, pairs, [] if pairs else [case.id for case in cases[:NAMED]])


def _find_record(
    index: Index, run: IndexedRun, places: Mapping[str, tuple[int, int]], name: str, home: str
) -> FoundRecord:
    numbers = places.get(name)
    link = OfRun(home, run.key, CaseFilter()).case(*numbers) if numbers else ""
    return index.record(run, *numbers) if numbers else None, link


def _pair_view(case: CaseChange, base: FoundRecord, new: FoundRecord) -> PairView:
    (old, base_link), (now, new_link) = base, new
    return PairView(
        id=case.id,
        before=case.base,
        after=case.new,
        base_link=base_link,
        new_link=new_link,
        answer=difference(_answer(old), _answer(now)),
        calls=difference(_calls(old), _calls(now)),
        took=f"{_format_duration(old)} → {_format_duration(now)}",
        flips=case.flips,
    )


def _answer(record: CaseRecord | None) -> str:
    return clip(record.trace.final_message, LONGEST) if record else ""


def _calls(record: CaseRecord | None) -> str:
    """The calls as lines, each with its arguments."""
    calls = record.trace.tool_calls if record else ()
    lines = [f"{call} {json.dumps(call.arguments, ensure_ascii=False, default=str)}" for call in calls]
    return clip("\n".join(lines), LONGEST)


def _format_duration(record: CaseRecord | None) -> str:
    return duration(record.duration_ms) if record else "–"


class AuditPage(Struct, frozen=True):
    """An audit, or why there is none to show."""

    found: WrittenAudit | None
    why: str
    shown: tuple[CaseAudit, ...]
    left_out: int


def audit_page(run: IndexedRun) -> AuditPage:
    """The latest audit next to a journal."""
    stem = Path(run.path).stem
    names = sorted(path.name for path in Path(run.path).parent.glob(f"{_literal(stem)}.audit*.json"))
    file = find_own_file(run.path, names[-1]) if names else None
    if file is None or file.size > LARGEST:
        return AuditPage(None, "This run has not been audited yet.", (), 0)
    try:
        audit = read_audit(file.path.read_bytes())
    except (msgspec.DecodeError, UnicodeDecodeError, OSError):
        return AuditPage(None, f"{file.path.name} cannot be read.", (), 0)
    cases = audit.report.cases
    return AuditPage(audit, "", cases[:MOST_AUDITED], max(len(cases) - MOST_AUDITED, 0))


def stress_page(run: IndexedRun, home: str) -> dict[str, Any]:
    """What the template needs: the report next to a journal, or why there is none to show."""
    name = f"{Path(run.path).stem}.stress.json"
    file = find_own_file(run.path, name)
    if file is None or file.size > LARGEST_STRESS:
        return {"report": None, "why": "This is not a stress run."}
    try:
        report = read_stress(file.path.read_bytes())
    except (msgspec.DecodeError, UnicodeDecodeError, OSError):
        return {"report": None, "why": f"{name} cannot be read."}
    return {"why": "", **template_values(report, lambda cell: f"{home}run/{run.key}/case/{cell.index}/0")}


def _literal(stem: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in stem)
