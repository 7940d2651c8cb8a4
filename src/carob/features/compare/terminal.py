"""Comparisons, baselines and histories in a terminal: words first, then gates, then the cases worth a look."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import msgspec

from carob.features.compare import report
from carob.features.compare.model import CaseChange, CaseHistory, Comparison, History, RunExcerpt, RunPoint
from carob.reports.escaping import terminal
from carob.terminal.formats import show_as
from carob.terminal.screen import BOLD, GREEN, RED, YELLOW, paint, show
from carob.text.wording import dollars, pluralize

if TYPE_CHECKING:
    from carob.features.compare.references import BaselineFile

LISTED: Final = 20
IN_FULL: Final = 5
LINE: Final = 240
NAME: Final = 60
HISTORY_NAME: Final = 48
HISTORY_LINE: Final = 200
SLOWEST: Final = 3
LEGEND: Final = "P passed, F failed, ~ flaky, E error, s skipped, - absent; the newest run is last"
_COLOURS: Final = {"better": GREEN, "worse": RED, "": ""}
_GATES: Final = {"met": GREEN, "BROKEN": RED, "UNDECIDED": YELLOW}


def show_comparisons(comparisons: Sequence[Comparison], form: str, output: Path | None) -> None:
    """Print comparisons in this format; or write that into a file, and print the words."""
    writers = {"json": report.comparison_json, "markdown": report.comparison_markdown, "html": report.comparison_page}
    forms = {name: partial(write, *comparisons) for name, write in writers.items()}
    show_as(form, output, forms, lambda colour: comparison_lines(comparisons, colour))


def comparison_lines(comparisons: Sequence[Comparison], colour: bool) -> Iterator[str]:
    """Comparisons in words, each of several under the name of its suite, and how many of these failed."""
    for comparison in comparisons:
        if len(comparisons) > 1:
            yield paint(terminal(report.heading(comparison), LINE), BOLD, colour)
        yield from _lines(comparison, colour)
        if len(comparisons) > 1:
            yield ""
    if len(comparisons) != 1:
        yield report.summarize(comparisons)


def _lines(comparison: Comparison, colour: bool) -> Iterator[str]:
    view = report.view_comparison(comparison)
    yield from (paint(terminal(line, LINE), BOLD + YELLOW, colour) for line in view.preamble)
    yield paint(view.headline, BOLD + _COLOURS[comparison.overall.sure], colour)
    if view.uncompared:
        yield f"  {view.uncompared}"
    for verdict, says in view.gates:
        yield f"gate {paint(verdict, _GATES[verdict], colour)}: {terminal(says, LINE)}"
    yield from (f"note: {terminal(note, LINE)}" for note in view.notes)
    yield from (f"  {figure}" for figure in view.figures)
    for _, title, total, cases in view.sections:
        yield f"{title}: {total}"
        yield from _cases(cases)
    if view.groups:
        yield "By category and tag"
        yield from (f"  {terminal(scope, NAME)}: {words}" for scope, words in view.groups[:LISTED])
    yield from (f"  {terminal(side, LINE)}" for side in view.sides)


def _cases(cases: list[CaseChange]) -> Iterator[str]:
    for number, case in enumerate(cases[:LISTED]):
        rate = f"{case.base} before, {case.new} now" if case.base and case.new else case.base or case.new
        yield f"  {terminal(case.id, NAME)}  {rate}"
        for flip in case.flips if number < IN_FULL else ():
            evidence = f": {flip.found}" if flip.found else ""
            yield f"      {terminal(flip.check, NAME)} {flip.before}, then {flip.after}{terminal(evidence, LINE)}"
        if number < IN_FULL and case.flips and (case.base_excerpt or case.new_excerpt):
            yield f"      before  {_format_excerpt(case.base_excerpt)}"
            yield f"      now     {_format_excerpt(case.new_excerpt)}"
    if len(cases) > LISTED:
        yield f"  and {len(cases) - LISTED} more"


def _format_excerpt(excerpt: RunExcerpt | None) -> str:
    if excerpt is None:
        return "not kept"
    calls = f"; called {', '.join(excerpt.calls)}" if excerpt.calls else "; called nothing"
    return terminal(f"{excerpt.answer!r}", LINE) + terminal(calls, LINE)


def show_set_baseline(baseline: BaselineFile) -> None:
    """Print what a new baseline holds, and where it is."""
    run = baseline.header.run
    erred = f", {pluralize(run.errors, 'run')} ended in an error" if run.errors else ""
    click.echo(f"{pluralize(run.cases, 'case')} kept{erred}\n  {terminal(str(baseline.path))}")


def show_baseline(baseline: BaselineFile) -> None:
    """Print which run a baseline is, and the cases that did not pass."""
    run = baseline.header.run
    click.echo(terminal(report.describe_side("baseline", run)))
    red = [result for result in baseline if result.passed < result.judged or result.errors]
    for result in red[:LISTED]:
        lacks = f": {', '.join(result.lacks)}" if result.lacks else ""
        click.echo(f"  {terminal(result.id, NAME)}  {result}{terminal(lacks, HISTORY_LINE)}")
    if len(red) > LISTED:
        click.echo(f"  and {len(red) - LISTED} more")
    click.echo(f"{run.cases - len(red)} of {run.cases} cases passed each time")


def show_history(history: History, form: str) -> None:
    """Print a history in this format, a line for each case."""
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(history), indent=1).decode())
    else:
        show(sys.stdout, "".join(f"{line}\n" for line in _history_lines(history)))


def _history_lines(history: History) -> Iterator[str]:
    flaky = sum(case.is_flaky for case in history.cases)
    cases = f"{pluralize(len(history.cases), 'case')}, {flaky} flaky"
    against = f" against {terminal(history.target, HISTORY_LINE)}" if history.target else ""
    yield f"{pluralize(len(history.runs), 'run')} of {terminal(history.suite, HISTORY_LINE)}{against}, {cases}"
    width = min(max((len(case.id) for case in history.cases), default=0), HISTORY_NAME)
    for case in history.cases:
        yield f"  {terminal(case.id, HISTORY_NAME):<{width}}  {case.strip}{_remarks(case)}"
    yield f"  {LEGEND}"
    yield from _extremes("slowest", [(case.id, case.seconds, case.seconds_ratio) for case in history.cases])
    yield from _extremes("most expensive", [(case.id, case.cost, case.cost_ratio) for case in history.cases])
    yield from (f"  {run.figures}  {_describe_run(run)}" for run in history.runs)
    if history.left_out:
        runs = pluralize(history.left_out, "run")
        targets = [name for name in history.other_targets if name != history.target]
        option = f"; --target {terminal(', '.join(targets), HISTORY_LINE)}" if targets else ""
        yield f"  not shown: {runs} of this suite against another target or with other settings{option}"
    yield from (f"  not read: {terminal(why, HISTORY_LINE)}" for why in history.unreadable)


def _remarks(case: CaseHistory) -> str:
    parts = []
    if case.broke is not None:
        parts.append(f"broke first in {_describe_run(case.broke)}")
    if case.flake is not None:
        flake = case.flake
        parts.append(f"FLAKY: fails {flake.value:.0%} of its runs ({flake.low:.0%} to {flake.high:.0%})")
    if "quarantine" in case.tags:
        parts.append("in quarantine")
    return "  " + "; ".join(parts) if parts else ""


def _describe_run(run: RunPoint) -> str:
    commit = f", commit {run.commit[:10]}{' with changes' if run.dirty else ''}" if run.commit else ""
    version = f", version {terminal(run.version, HISTORY_NAME)}" if run.version else ""
    return f"{terminal(run.path, HISTORY_LINE)} ({run.started_at[:19]}{commit}{version})"


def _extremes(title: str, values: list[tuple[str, float | None, float | None]]) -> Iterator[str]:
    """The cases that took most, each with how much that is of what it took at first."""
    for case_id, value, ratio in sorted(values, key=lambda entry: -(entry[1] or 0))[:SLOWEST]:
        if value:
            amount = f"{value:.2f} s" if title == "slowest" else dollars(value)
            times = f", {ratio:.1f} times the first" if ratio else ""
            yield f"  {title}: {terminal(case_id, HISTORY_NAME)} {amount}{times}"
