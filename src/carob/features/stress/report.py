"""The rows of a stress run, which a terminal draws too, and the run as JSON, which is read again, and as a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec
from msgspec import Struct

from carob.features.stress.model import CellResult, CellStatus, StressReport, worst_status
from carob.reports.escaping import encode
from carob.reports.html.pages import assets, report_policy, template
from carob.text.wording import pluralize

MARKS: Final = {
    CellStatus.HELD: "held",
    CellStatus.BROKE: "BROKE",
    CellStatus.UNKNOWN: "unknown",
    CellStatus.NOT_REACHED: "not reached",
}
CLASSES: Final = {
    CellStatus.HELD: "full",
    CellStatus.BROKE: "none",
    CellStatus.UNKNOWN: "some",
    CellStatus.NOT_REACHED: "fine",
}
Link = Callable[[CellResult], str]


class WrittenStress(Struct, frozen=True):
    """The file: the verdict first, for who reads no further."""

    verdict: str
    exit_code: int
    counts: dict[str, int]
    report: StressReport


def stress_verdict(report: StressReport) -> str:
    """One line on all cells."""
    counts = {status: report.count(status) for status in CellStatus}
    if not report.cells:
        return "nothing was tried"
    if counts[CellStatus.BROKE]:
        verdict = f"broke in {counts[CellStatus.BROKE]} of {pluralize(len(report.cells), 'cell')}"
    elif counts[CellStatus.NOT_REACHED] == len(report.cells):
        return "not proved: no fault was reached"
    else:
        verdict = f"held in {counts[CellStatus.HELD]} of {pluralize(len(report.cells), 'cell')}"
    doubtful = (CellStatus.UNKNOWN, CellStatus.NOT_REACHED)
    untried = sum(len(kinds.faults) for kinds in report.not_tried)
    more = [f"{pluralize(untried, 'kind')} of faults not tried"] if untried else []
    return ", ".join([verdict, *(f"{counts[status]} {status}" for status in doubtful if counts[status]), *more])


def stress_json(report: StressReport) -> bytes:
    counts = {status.value: report.count(status) for status in CellStatus}
    return encode(WrittenStress(stress_verdict(report), int(report.exit_code), counts, report))


def read_stress(data: bytes) -> StressReport:
    """The report that a file holds. Raises msgspec.DecodeError for one that holds none."""
    return msgspec.json.decode(data, type=WrittenStress).report


def stress_html(report: StressReport, page: str) -> bytes:
    """The table in one file that needs no network. `page`: the report with the cases, next to it."""
    rendered = template("stress_page.html").render(
        title=f"Stress of {report.suite}",
        style=assets().style,
        policy=report_policy(),
        **template_values(report, lambda cell: f"{quote(page)}#c{cell.index}r0"),
    )
    return rendered.encode("utf-8", "backslashreplace")


class StressRow(NamedTuple):
    """One fault: what it does, and for each tool or model its cells, one for each case, with their worst status."""

    fault: str
    about: str
    cells: list[tuple[tuple[CellResult, ...], CellStatus | None]]


def stress_rows(report: StressReport) -> list[StressRow]:
    """The table, whatever draws it. Faults are its rows: there are more of them than tools, and pages are high."""
    about = {cell.fault: cell.about for cell in report.cells}
    groups = {fault: [report.at(name, fault) for name in report.names] for fault in report.faults}
    return [
        StressRow(fault, about[fault], [(cells, worst_status(cells)) for cells in row]) for fault, row in groups.items()
    ]


class Cause(NamedTuple):
    """What could not be decided in several cells, for one reason."""

    rule: str
    found: str
    cells: tuple[CellResult, ...]


def causes_of_doubt(report: StressReport) -> list[Cause]:
    """What could not be decided, by cause: the same rule, and the same found but for the name of the tool."""
    groups: dict[tuple[str, str], list[tuple[str, CellResult]]] = {}
    for cell in report.cells:
        for finding in cell.findings if cell.status is CellStatus.UNKNOWN else ():
            if finding.status is CellStatus.UNKNOWN:
                key = finding.rule, finding.found.replace(cell.name, "…")
                groups.setdefault(key, []).append((finding.found, cell))
    causes = [
        Cause(rule, found if len({one for one, _ in group}) > 1 else group[0][0], tuple(cell for _, cell in group))
        for (rule, found), group in groups.items()
    ]
    return sorted(causes, key=lambda cause: -len(cause.cells))


def unmet_cells(report: StressReport) -> list[CellResult]:
    """The cells that broke, then those that could not be decided."""
    statuses = (CellStatus.BROKE, CellStatus.UNKNOWN)
    return [cell for status in statuses for cell in report.cells if cell.status is status]


def template_values(report: StressReport, link: Link) -> dict[str, object]:
    """What the template of the table needs."""
    return {
        "report": report,
        "verdict": stress_verdict(report),
        "rows": stress_rows(report),
        "shown": unmet_cells(report),
        "causes": [cause for cause in causes_of_doubt(report) if len(cause.cells) > 1],
        "marks": MARKS,
        "classes": CLASSES,
        "link": link,
    }
