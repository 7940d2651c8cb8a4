"""Criteria that were decided in a run and come out otherwise when it is judged again, and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from carob.model.run import CaseRecord
from carob.model.verdict import CheckResult

_NAMES = re.compile(r", by (?P<names>.+)")


def changed_verdicts(before: Iterable[CaseRecord], after: Iterable[CaseRecord]) -> str:
    """`2 verdicts changed: label of ana removed`; empty where none did."""
    old = {(record.case.id, record.repeat): list(_find_decided(record)) for record in before}
    whys: Counter[str] = Counter()
    for record in after:
        now = {
            (check.reading.criterion, check.reading.evidence): check for check in record.verdict.checks if check.reading
        }
        for key, check in old.get((record.case.id, record.repeat), ()):
            other = now.get(key)
            if other is not None and other.status is not check.status:
                whys[_why(check, other)] += 1
    total = whys.total()
    noun = "verdict" if total == 1 else "verdicts"
    return f"{total} {noun} changed: {'; '.join(whys)}" if total else ""


def _find_decided(record: CaseRecord) -> Iterator[tuple[tuple[str, str], CheckResult]]:
    for check in record.verdict.checks:
        if check.reading is not None and check.reading.by:
            yield (check.reading.criterion, check.reading.evidence), check


def _why(check: CheckResult, other: CheckResult) -> str:
    assert check.reading is not None
    if check.reading.by == "judge":
        return "the judge decides no more" if other.reading and other.reading.by != "person" else f"now {other.found}"
    before, now = _people(check), _people(other)
    if gone := [name for name in before if name not in now]:
        return f"label of {', '.join(gone)} removed"
    return f"now {other.found}"


def _people(check: CheckResult) -> list[str]:
    """Who decided it, by what it says."""
    if check.reading is None or not check.reading.by:
        return re.findall(r"(?:^|, )([A-Za-z0-9._-]{1,40}): (?:met|not met|cannot tell)", check.found)
    found = _NAMES.search(check.found)
    return re.split(r", | and ", found["names"]) if found else []
