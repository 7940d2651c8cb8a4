"""A comparison in a terminal: words first, then gates, then the cases worth a look."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TextIO

from karat.model.comparison import CaseChange, Comparison, Seen
from karat.reports.compare.words import SECTIONS, apart, gate_lines, headline, of_group, of_measure, rates, side
from karat.reports.inert import terminal
from karat.reports.terminal import show

LISTED: Final = 20
IN_FULL: Final = 5
LINE: Final = 240
NAME: Final = 60
_RED, _GREEN, _YELLOW, _BOLD, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1m", "\x1b[0m"
_COLOURS: Final = {"better": _GREEN, "worse": _RED, "": ""}
_GATES: Final = {"met": _GREEN, "BROKEN": _RED, "UNDECIDED": _YELLOW}


def show_comparison(found: Comparison, out: TextIO, *, colour: bool = False) -> None:
    """Print a comparison."""
    show(out, "".join(f"{line}\n" for line in _lines(found, colour)))


def _lines(found: Comparison, colour: bool) -> Iterator[str]:
    paint = f"{_BOLD}{_COLOURS[found.overall.sure]}" if colour else ""
    yield f"{paint}{headline(found)}{_PLAIN if colour else ''}"
    if others := apart(found):
        yield f"  {others}"
    for verdict, says in gate_lines(found):
        word = f"{_GATES[verdict]}{verdict}{_PLAIN}" if colour else verdict
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
            for name, line in (("before", _seen(case.base_seen)), ("now", _seen(case.new_seen)))
        )


def _seen(seen: Seen | None) -> str:
    if seen is None:
        return "not kept"
    calls = f"; called {', '.join(seen.calls)}" if seen.calls else "; called nothing"
    return terminal(f"{seen.answer!r}", LINE) + terminal(calls, LINE)
