"""The rows of a coverage report, which a terminal and a page draw too, and the report as JSON, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from carob.checks.effects.outcome import Outcome
from carob.features.coverage.model import Coverage, CoveredShare, Gap, JudgedCoverage, ToolCoverage, UnlikeKind
from carob.reports.escaping import encode, markdown_cell
from carob.reports.sections import ReportSection, html_sections, markdown_sections
from carob.text.wording import pluralize

NEVER: Final = "-"
UNSEEN: Final = "?"


def coverage_sections(coverage: Coverage) -> list[ReportSection]:
    """Everything that is shown, whatever draws it: the two lists to act on first. Empty tables are left out."""
    has_runs = bool(coverage.runs)
    sections = [
        _gap_section("Called, but never asserted", coverage.unasserted),
        _gap_section("Offered, but never called", coverage.uncalled),
        ReportSection(
            "What users do that no case resembles",
            ("tools, and how they came out", "conversations", "such as"),
            [
                (_kind_words(kind), f"{kind.conversations} of {coverage.against}", kind.example)
                for kind in coverage.unlike
            ],
            _unlike_words(coverage),
            is_marked=True,
            has_code=True,
        ),
        ReportSection(
            "Not observed, so not covered",
            ("what", "why", "how to see it"),
            [(entry.what, entry.why, entry.fix) for entry in coverage.unobserved],
        ),
        ReportSection(
            "Tools",
            ("tool", "offered", "called", "succeeded", "failed", "refused", "asserted", "decided", "forbidden"),
            [_tool_row(tool, has_runs) for tool in coverage.tools],
            "asserted, forbidden: in so many cases; decided: of the cases that assert it, those that a run decided",
        ),
        ReportSection(
            "Arguments",
            ("argument", "expected in cases", "values that were seen", "never seen"),
            _argument_rows(coverage),
        ),
        ReportSection(
            "Effects",
            ("effect", "done", "not done", "claimed"),
            [(e.name, *_counts(has_runs, e.done, e.not_done, e.claimed)) for e in coverage.effects],
            "not done: a call that failed or was refused; claimed: answers that say it was done",
        ),
        ReportSection(
            "Rules",
            ("rule", "cases", "held", "broken", "not triggered", "unknown"),
            [
                (r.name, str(r.cases), *_counts(has_runs, r.passed, r.failed, r.not_triggered, r.unknown))
                for r in coverage.rules
            ],
        ),
        ReportSection(
            "Faults",
            ("fault", "cases", "calls hit"),
            [(fault.name, str(fault.cases), *_counts(has_runs, fault.landed)) for fault in coverage.faults],
            _untried_words(coverage),
        ),
        _judged_section("Expected keys", "key", coverage.keys, has_runs),
        _judged_section("Outcomes", Outcome.name, coverage.outcomes, has_runs),
    ]
    return [section for section in sections if section.rows or (section.title == "Faults" and section.note)]


def _kind_words(kind: UnlikeKind) -> str:
    return ", ".join(kind.tools) or "no tool was called"


def _unlike_words(coverage: Coverage) -> str:
    count = sum(kind.conversations for kind in coverage.unlike)
    more = f", and {pluralize(coverage.more_unlike, 'kind')} without a row" if coverage.more_unlike else ""
    return f"{count} of {coverage.against} conversations, in {pluralize(len(coverage.unlike), 'kind')}{more}"


def headline(coverage: Coverage) -> str:
    """`Asserted: 8 of 10 tools (0.80). Values of arguments: 12 of 30 classes seen`."""
    tools, classes = coverage.asserted, coverage.classes
    asserted = f"Asserted: {_share(tools, 'tool')}" if tools.whole else "Asserted: no tool is known"
    return f"{asserted}. Values of arguments: {_share(classes, 'class', 'classes')}" if classes.whole else asserted


def basis(coverage: Coverage) -> str:
    """What was looked at."""
    looked = f"{pluralize(coverage.cases, 'case')}, {pluralize(coverage.conversations, 'recorded conversation')}"
    return f"{looked}, {coverage.others} of them of no case of the suite" if coverage.others else looked


def verdict(coverage: Coverage, min_asserted: float | None) -> str:
    """Whether the gate is met; nothing without one."""
    if min_asserted is None:
        return ""
    unmet = coverage.unmet(min_asserted)
    return f"NOT MET: {unmet}" if unmet else f"MET: at least {min_asserted:g} of the tools are asserted"


def coverage_json(coverage: Coverage, min_asserted: float | None = None) -> bytes:
    unmet = coverage.unmet(min_asserted)
    shares = {
        name: {"value": round(share.value, 4) if share.whole else None, "part": share.part, "whole": share.whole}
        for name, share in (("asserted", coverage.asserted), ("classes", coverage.classes))
    }
    gate = {} if min_asserted is None else {"gate": {"min_asserted": min_asserted, "met": not unmet, "unmet": unmet}}
    return encode({**shares, **gate, **msgspec.to_builtins(coverage)}) + b"\n"


def coverage_markdown(coverage: Coverage, min_asserted: float | None = None) -> bytes:
    return "".join(f"{line}\n" for line in _markdown_lines(coverage, min_asserted)).encode("utf-8", "backslashreplace")


def coverage_html(coverage: Coverage, min_asserted: float | None = None) -> bytes:
    """The tables in one file that needs no network."""
    return html_sections(
        "coverage_page.html",
        coverage_sections(coverage),
        title=f"Coverage of {coverage.suite}",
        coverage=coverage,
        basis=basis(coverage),
        headline=headline(coverage),
        verdict=verdict(coverage, min_asserted),
        is_unmet=bool(coverage.unmet(min_asserted)),
    )


def _markdown_lines(coverage: Coverage, min_asserted: float | None) -> Iterator[str]:
    yield f"# Coverage of {markdown_cell(coverage.suite)}\n"
    if gate := verdict(coverage, min_asserted):
        yield f"**{gate}**\n"
    yield f"{headline(coverage)}\n"
    yield basis(coverage)
    yield from markdown_sections(coverage_sections(coverage))


def _untried_words(coverage: Coverage) -> str:
    """`never tried: of a tool: error, empty; of a model: hang`."""
    kinds: dict[str, list[str]] = {}
    for name in coverage.untried_faults:
        kind, _, hits = name.partition(" of a ")
        kinds.setdefault(hits, []).append(kind)
    listed = "; ".join(f"of a {hits}: {', '.join(names)}" for hits, names in kinds.items())
    return f"never tried, {listed}" if listed else ""


def _gap_section(title: str, gaps: Sequence[Gap]) -> ReportSection:
    rows = [(gap.tool, gap.seen, gap.where, gap.line) for gap in gaps]
    return ReportSection(
        title, ("tool", "seen", "add to", "line to add to `expected`"), rows, is_marked=True, has_code=True
    )


def _judged_section(title: str, what: str, rows: Sequence[JudgedCoverage], has_runs: bool) -> ReportSection:
    lines = [(r.name, str(r.cases), *_counts(has_runs, r.passed, r.failed, r.unknown)) for r in rows]
    return ReportSection(title, (what, "cases", "passed", "failed", "not decided"), lines)


def _tool_row(tool: ToolCoverage, has_runs: bool) -> tuple[str, ...]:
    offered = {True: "yes", False: "no", None: UNSEEN}[tool.offered]
    seen = _counts(has_runs, tool.called, tool.succeeded, tool.failed, tool.refused)
    asserted = f"{tool.asserted} (+{tool.alternative} or another)" if tool.alternative else str(tool.asserted)
    return tool.name, offered, *seen, asserted, *_counts(has_runs, tool.judged), str(tool.forbidden)


def _argument_rows(coverage: Coverage) -> list[tuple[str, ...]]:
    return [
        (
            f"{tool.name}: {argument.name}",
            str(argument.asserted),
            ", ".join(f"{entry.name} ({entry.calls})" for entry in argument.classes if entry.calls) or NEVER,
            ", ".join(argument.missed) or NEVER,
        )
        for tool in coverage.tools
        for argument in tool.arguments
    ]


def _counts(has_runs: bool, *counts: int) -> tuple[str, ...]:
    """Figures of runs, where there are any."""
    return tuple(str(count) if has_runs else UNSEEN for count in counts)


def _share(share: CoveredShare, noun: str, plural: str = "") -> str:
    """With two digits, cut and not rounded: what is under a bound must not look as if it met it."""
    nouns = noun if share.whole == 1 else plural or f"{noun}s"
    return f"{share.part} of {share.whole} {nouns} ({int(share.value * 100 + 1e-9) / 100:.2f})"
