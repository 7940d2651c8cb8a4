"""A comparison as Markdown, for a pull request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karat.model.comparison import CaseChange, Change, Comparison
from karat.reports.compare.words import (
    SECTIONS,
    apart,
    gate_lines,
    headline,
    of_measure,
    p_value,
    percent,
    points,
    side,
)
from karat.reports.inert import markdown_cell

LISTED: Final = 50
LINE: Final = 400


def comparison_markdown(found: Comparison) -> bytes:
    """The words, the gates, the cases that changed, the rates."""
    return "".join(f"{line}\n" for line in _lines(found)).encode()


def _lines(found: Comparison) -> Iterator[str]:
    yield f"**{headline(found)}**"
    if others := apart(found):
        yield f"\n{others}"
    yield from _gates(found)
    if found.notes:
        yield ""
        yield from (f"- {markdown_cell(note, LINE)}" for note in found.notes)
    for change, title in SECTIONS:
        cases = [case for case in found.changes if case.change is change]
        if cases:
            yield from _cases(f"{title}: {found.count(change)}", cases, opened=change is Change.BROKE)
    yield from _rates(found)
    yield ""
    yield from (f"- {markdown_cell(side(name, run), LINE)}" for name, run in (("base", found.base), ("new", found.new)))


def _gates(found: Comparison) -> Iterator[str]:
    if found.gates:
        yield "\n| Gate | Verdict |\n|---|---|"
        yield from (f"| {markdown_cell(says, LINE)} | {verdict} |" for verdict, says in gate_lines(found))


def _cases(title: str, cases: list[CaseChange], *, opened: bool) -> Iterator[str]:
    yield f"\n<details{' open' * opened}><summary>{title}</summary>\n"
    yield "| Case | Before | Now | Expectations that flipped |\n|---|---|---|---|"
    for case in cases[:LISTED]:
        flips = "; ".join(
            f"{flip.check} {flip.before}, then {flip.after}" + (f": {flip.found}" if flip.found else "")
            for flip in case.flips
        )
        yield f"| {markdown_cell(case.id)} | {case.base} | {case.new} | {markdown_cell(flips, LINE)} |"
    if len(cases) > LISTED:
        yield f"\nand {len(cases) - LISTED} more"
    yield "\n</details>"


def _rates(found: Comparison) -> Iterator[str]:
    yield "\n| Cases | | Pass rate before | Now | Difference in points | p |\n|---|---|---|---|---|---|"
    for group in (found.overall, *found.groups[:LISTED]):
        change = group.difference
        moved = f"{points(change.value)} ({points(change.low)} to {points(change.high)})"
        sure = f", {group.sure}" if group.sure else ""
        cells = (
            markdown_cell(group.scope or "all"),
            str(group.cases),
            percent(group.base),
            percent(group.new),
            moved,
            p_value(group.p) + sure,
        )
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield from (f"- {of_measure(measure)}" for measure in found.measures)
