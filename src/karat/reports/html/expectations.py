"""What a case asks for, line by line, with the verdict of each check: from the suite, else from the journal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from karat.model.run import CaseRecord
from karat.reports.escaping import clip
from karat.reports.html.calls import json_words
from karat.reports.html.marks import escape_text
from karat.reports.html.suite_lines import CaseSource
from karat.reports.html.views import CheckView, ExpectationLine, ExpectationsView

MOST_LINES: Final = 400
LONGEST: Final = 1_500


def expectations_view(
    record: CaseRecord, checks: Mapping[int, CheckView], suite: str, found: CaseSource | None
) -> ExpectationsView:
    """The expectations of a record. `checks`: those that the page shows, by their number in the verdict."""
    if found is None:
        return ExpectationsView("", [], list(_recorded_lines(record, checks, checks)))
    by_line: dict[int, list[CheckView]] = defaultdict(list)
    elsewhere: list[int] = []
    asked = record.case.all_checks
    for number, check in checks.items():
        turn, spec = asked[number] if number < len(asked) else (None, None)
        line = found.checks.get((turn, spec.path)) if spec else None
        if line is None:
            elsewhere.append(number)
        else:
            by_line[line].append(check)
    lines = [
        ExpectationLine(line, escape_text(text), by_line.pop(line, []))
        for line, text in enumerate(found.lines[:MOST_LINES], found.first)
    ]
    elsewhere += [check.number for late in by_line.values() for check in late]
    left_out = max(len(found.lines) - MOST_LINES, 0)
    return ExpectationsView(suite, lines, list(_recorded_lines(record, checks, sorted(elsewhere))), left_out)


def _recorded_lines(
    record: CaseRecord, checks: Mapping[int, CheckView], numbers: Sequence[int] | Mapping[int, CheckView]
) -> Iterator[ExpectationLine]:
    """Checks as the journal holds them: their path and their arguments."""
    asked = record.case.all_checks
    for number in numbers:
        check = checks[number]
        turn, spec = asked[number] if number < len(asked) else (None, None)
        given = (
            json_words(msgspec.json.decode(spec.args))
            if spec and spec.name == record.verdict.checks[number].name
            else ""
        )
        name = check.label if turn is None else f"turn {turn}: {check.label}"
        text = f"{name}: {clip(given, LONGEST)}" if given else name
        yield ExpectationLine(None, escape_text(text), [check])
