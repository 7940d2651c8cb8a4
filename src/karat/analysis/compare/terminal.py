"""Comparisons, baselines and histories in a terminal: words first, then gates, then the cases worth a look."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

import click
import msgspec

from karat.analysis.compare.history_model import CaseHistory, History, RunPoint
from karat.analysis.compare.model import CaseChange, Comparison, RunExcerpt
from karat.analysis.compare.report import (
    SECTIONS,
    describe_uncompared,
    gate_lines,
    heading,
    headline,
    of_group,
    of_measure,
    preamble,
    rates,
    side,
    summarize,
)
from karat.reports.artifacts import open_atomic
from karat.reports.escaping import terminal
from karat.terminal.screen import BOLD, GREEN, PLAIN, RED, YELLOW, show, wants_colour
from karat.text.wording import dollars, pluralize

if TYPE_CHECKING:
    from karat.analysis.compare.baseline import BaselineFile

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


def show_comparisons(found: Sequence[Comparison], form: str, output: Path | None) -> None:
    """Print comparisons in this format; or write that into a file, and print the words."""
    if output is not None:
        with open_atomic(output, replace=True) as out:
            out.write(_format_as(found, form))
    elif form != "terminal":
        click.echo(_format_as(found, form).decode(), nl=False)
        return
    write_comparisons(found, sys.stdout, colour=wants_colour(sys.stdout, os.environ))


def _format_as(found: Sequence[Comparison], form: str) -> bytes:
    from karat.analysis.compare.report import comparison_json, comparison_markdown, comparison_page

    if form == "terminal":
        out = StringIO()
        write_comparisons(found, out)
        return out.getvalue().encode()
    return {"json": comparison_json, "markdown": comparison_markdown, "html": comparison_page}[form](*found)


def write_comparisons(found: Sequence[Comparison], out: TextIO, *, colour: bool = False) -> None:
    """Write comparisons in words, each of several under the name of its suite, and how many of these failed."""
    for one in found if len(found) > 1 else ():
        show(out, f"{BOLD if colour else ''}{terminal(heading(one), LINE)}{PLAIN if colour else ''}\n")
        write_comparison(one, out, colour=colour)
        show(out, "\n")
    if len(found) == 1:
        write_comparison(found[0], out, colour=colour)
    else:
        show(out, f"{summarize(found)}\n")


def write_comparison(found: Comparison, out: TextIO, *, colour: bool = False) -> None:
    """Write a comparison in words."""
    show(out, "".join(f"{line}\n" for line in _lines(found, colour)))


def _lines(found: Comparison, colour: bool) -> Iterator[str]:
    for line in preamble(found):
        yield f"{BOLD}{YELLOW}{terminal(line, LINE)}{PLAIN}" if colour else terminal(line, LINE)
    paint = f"{BOLD}{_COLOURS[found.overall.sure]}" if colour else ""
    yield f"{paint}{headline(found)}{PLAIN if colour else ''}"
    if others := describe_uncompared(found):
        yield f"  {others}"
    for verdict, says in gate_lines(found):
        word = f"{_GATES[verdict]}{verdict}{PLAIN}" if colour else verdict
        yield f"gate {word}: {terminal(says, LINE)}"
    for note in found.notes:
        yield f"note: {terminal(note, LINE)}"
    yield f"  {rates(found.overall)}"
    yield from (f"  {of_measure(measure)}" for measure in found.measures)
    for change, title in SECTIONS:
        cases = [case for case in found.changes if case.change is change]
        if cases:
            yield f"{title}: {found.count(change)}"
            yield from _cases(cases)
    if found.groups:
        yield "By category and tag"
        yield from (f"  {terminal(group.scope, NAME)}: {of_group(group)}" for group in found.groups[:LISTED])
    yield f"  {terminal(side('base', found.base), LINE)}"
    yield f"  {terminal(side('new', found.new), LINE)}"


def _cases(cases: list[CaseChange]) -> Iterator[str]:
    for number, case in enumerate(cases[:LISTED]):
        rate = f"{case.base} before, {case.new} now" if case.base and case.new else case.base or case.new
        yield f"  {terminal(case.id, NAME)}  {rate}"
        if number < IN_FULL:
            yield from _in_full(case)
    if len(cases) > LISTED:
        yield f"  and {len(cases) - LISTED} more"


def _in_full(case: CaseChange) -> Iterator[str]:
    for flip in case.flips:
        found = f": {flip.found}" if flip.found else ""
        yield f"      {terminal(flip.check, NAME)} {flip.before}, then {flip.after}{terminal(found, LINE)}"
    if case.flips and (case.base_seen or case.new_seen):
        yield from (
            f"      {name:<6}  {line}"
            for name, line in (("before", _format_excerpt(case.base_seen)), ("now", _format_excerpt(case.new_seen)))
        )


def _format_excerpt(seen: RunExcerpt | None) -> str:
    if seen is None:
        return "not kept"
    calls = f"; called {', '.join(seen.calls)}" if seen.calls else "; called nothing"
    return terminal(f"{seen.answer!r}", LINE) + terminal(calls, LINE)


def show_set_baseline(kept: BaselineFile) -> None:
    """Print what a new baseline holds, and where it is."""
    run = kept.header.run
    erred = f", {pluralize(run.errors, 'run')} ended in an error" if run.errors else ""
    click.echo(f"{pluralize(run.cases, 'case')} kept{erred}\n  {terminal(str(kept.path))}")


def show_baseline(kept: BaselineFile) -> None:
    """Print which run a baseline is, and the cases that did not pass."""
    run = kept.header.run
    click.echo(terminal(side("baseline", run)))
    red = [result for result in kept if result.passed < result.judged or result.errors]
    for result in red[:LISTED]:
        lacks = f": {', '.join(result.lacks)}" if result.lacks else ""
        click.echo(f"  {terminal(result.id, 60)}  {result}{terminal(lacks, 200)}")
    if len(red) > LISTED:
        click.echo(f"  and {len(red) - LISTED} more")
    click.echo(f"{run.cases - len(red)} of {run.cases} cases passed each time")


def show_history(found: History, form: str) -> None:
    """Print a history in this format."""
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1).decode())
    else:
        write_history(found, sys.stdout)


def write_history(found: History, out: TextIO) -> None:
    """Write a history, a line for each case."""
    show(out, "".join(f"{line}\n" for line in _history_lines(found)))


def _history_lines(found: History) -> Iterator[str]:
    flaky = sum(case.is_flaky for case in found.cases)
    cases = f"{pluralize(len(found.cases), 'case')}, {flaky} flaky"
    against = f" against {terminal(found.target, HISTORY_LINE)}" if found.target else ""
    yield f"{pluralize(len(found.runs), 'run')} of {terminal(found.suite, HISTORY_LINE)}{against}, {cases}"
    width = min(max((len(case.id) for case in found.cases), default=0), HISTORY_NAME)
    for case in found.cases:
        yield f"  {terminal(case.id, HISTORY_NAME):<{width}}  {case.strip}{_story(case)}"
    yield f"  {LEGEND}"
    yield from _slowest(found)
    yield from (f"  {run.figures}  {_at(run)}" for run in found.runs)
    if found.left_out:
        yield f"  {_describe_left_out(found)}"
    yield from (f"  not read: {terminal(why, HISTORY_LINE)}" for why in found.unreadable)


def _describe_left_out(found: History) -> str:
    """Runs of the suite that this history does not mix in, and how to see them."""
    runs = f"not shown: {pluralize(found.left_out, 'run')} of this suite against another target or with other settings"
    others = [name for name in found.other_targets if name != found.target]
    return runs + (f"; --target {terminal(', '.join(others), HISTORY_LINE)}" if others else "")


def _story(case: CaseHistory) -> str:
    parts = []
    if case.broke is not None:
        parts.append(f"broke first in {_at(case.broke)}")
    if case.flake is not None:
        flake = case.flake
        parts.append(f"FLAKY: fails {flake.value:.0%} of its runs ({flake.low:.0%} to {flake.high:.0%})")
    if "quarantine" in case.tags:
        parts.append("in quarantine")
    return "  " + "; ".join(parts) if parts else ""


def _at(run: RunPoint) -> str:
    commit = f", commit {run.commit[:10]}{' with changes' if run.dirty else ''}" if run.commit else ""
    version = f", version {terminal(run.version, HISTORY_NAME)}" if run.version else ""
    return f"{terminal(run.path, HISTORY_LINE)} ({run.started_at[:19]}{commit}{version})"


def _slowest(found: History) -> Iterator[str]:
    slow = sorted((case for case in found.cases if case.seconds), key=lambda case: -(case.seconds or 0))[:SLOWEST]
    for case in slow:
        ratio = f", {case.seconds_ratio:.1f} times the first" if case.seconds_ratio else ""
        yield f"  slowest: {terminal(case.id, HISTORY_NAME)} {case.seconds:.2f} s{ratio}"
    dear = sorted((case for case in found.cases if case.cost), key=lambda case: -(case.cost or 0))[:SLOWEST]
    for case in dear:
        ratio = f", {case.cost_ratio:.1f} times the first" if case.cost_ratio else ""
        yield f"  most expensive: {terminal(case.id, HISTORY_NAME)} {dollars(case.cost or 0)}{ratio}"
