"""Why a case did not pass, line by line: the reason, what happened, and each check with what it expected and found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from karat.model.run import CaseRecord
from karat.model.verdict import Status
from karat.reports.escaping import evidence, terminal
from karat.reports.facts import Judged, facts, log, reasons
from karat.reports.transcript import transcript

LINE: Final = 300
NAME: Final = 60
CHECKS: Final = 30
_GUTTER: Final = "| "
"""Before each line of another's text, so that it is not taken for one of ours."""

Paint = Callable[[Status, str], str]


def without_colour(status: Status, word: str) -> str:
    return word


def why_not_passed(record: CaseRecord, paint: Paint = without_colour, *, whole: bool = False) -> Iterator[str]:
    """Inert lines without indent. `paint` colours the status of a check; `whole`: nothing is left out."""
    for reason in reasons(record):
        yield terminal(reason, None if whole else LINE)
    for said in log(record):
        yield f"{_GUTTER}{said}"
    width = len(f"answered {len(record.trace.turns) or ''}".rstrip())
    for what, lines in transcript(record, whole=whole):
        yield f"{what:<{width}}  {lines[0]}"
        yield from (f"{' ' * (width + 2)}{_GUTTER}{line}" for line in lines[1:])
    known = facts(record)
    checks = [*known.failed, *known.unknown, *known.unjudged]
    for check in checks if whole else checks[:CHECKS]:
        first, *more = _check_lines(record, check, None if whole else LINE)
        yield f"{paint(check.result.status, f'{check.result.status.value:<{width}}')}  {first}"
        yield from (f"{' ' * (width + 2)}{line}" for line in more)
    if not whole and len(checks) > CHECKS:
        yield f"and {len(checks) - CHECKS} more checks"


def _check_lines(record: CaseRecord, check: Judged, limit: int | None) -> Iterator[str]:
    """Which check it is, what was expected, what was found and where."""
    label, result = check
    yield f"{terminal(label, limit)} ({terminal(result.group, NAME)})"
    yield f"expected  {terminal(result.expected, limit)}"
    if result.found:
        yield f"found     {terminal(result.found, limit)}"
    around = "" if result.at is None else evidence(record.trace.of_turn(result.turn), result.at)
    if result.at is not None and around not in ("", result.found):
        yield f"in        {terminal(result.at.channel, NAME)}: {around}"


def headline(record: CaseRecord) -> str:
    """One inert line that says why: the reason, and the first check that did not hold."""
    return terminal("; ".join([*reasons(record), *_first_check(record)]), LINE)


def first_reason(record: CaseRecord) -> str:
    """The first check that did not hold, in one inert line; where checks do not say it, the reason."""
    return terminal("; ".join(_first_check(record) or reasons(record)), LINE)


def _first_check(record: CaseRecord) -> list[str]:
    known = facts(record)
    return [
        f"{label}: expected {result.expected}" + (f", found {result.found}" if result.found else "")
        for label, result in (*known.failed, *known.unknown)[:1]
    ]
