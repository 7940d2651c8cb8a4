"""GitLab's code quality report: a finding for each check that did not hold, at the line of its case in the suite."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import ClassVar, Final, NamedTuple

from karat.journal.views import RunView
from karat.model.run import CaseRecord
from karat.model.verdict import CaseStatus
from karat.reports.artifacts import BinaryWriter
from karat.reports.encoding import encode
from karat.reports.escaping import terminal
from karat.reports.facts import facts, incomplete, reasons
from karat.reports.places import SuitePlace, suite_place
from karat.reports.repeated import Together, sum_repeats

DESCRIPTION: Final = 500
_SEVERITIES: Final = {CaseStatus.ERROR: "blocker", CaseStatus.FAIL: "major", CaseStatus.PARTIAL: "minor"}


class Shortcoming(NamedTuple):
    """One thing to fix: the check by its place in the suite, and what is wrong, in words."""

    check: str
    words: str


class GitlabReport:
    """A list of findings, whose fingerprints are the same from run to run: a merge request shows which are new."""

    extension: ClassVar = "gitlab.json"

    def __init__(self, run: RunView, out: BinaryWriter) -> None:
        self._out = out
        self._before = b"[\n"
        self._written: set[str] = set()
        self._begin(run)

    def _begin(self, run: RunView) -> None:
        self._place: SuitePlace = suite_place(run)
        self._together = Together(self._case)
        if lacks := incomplete(run):
            self._find("", Shortcoming("run", lacks), "blocker")

    def add_run(self, run: RunView) -> None:
        """Go on with another run."""
        self._together.end()
        self._begin(run)

    def case(self, record: CaseRecord) -> None:
        self._together.add(record)

    def end(self) -> None:
        self._together.end()
        self._out.write(b"\n]\n" if self._written else b"[]\n")

    def _case(self, runs: list[CaseRecord]) -> None:
        total = sum_repeats(runs)
        if severity := _SEVERITIES.get(total.status):
            for shortcoming in _shortcomings(total.shown):
                self._find(total.shown.case.id, shortcoming, severity)

    def _find(self, case_id: str, found: Shortcoming, severity: str) -> None:
        identity = "\0".join((self._place.file, case_id, found.check)).encode(errors="surrogatepass")
        fingerprint = hashlib.sha256(identity).hexdigest()
        if fingerprint in self._written:
            return
        self._written.add(fingerprint)
        about = f"{case_id}: {found.words}" if case_id else found.words
        finding = {
            "description": terminal(about, DESCRIPTION),
            "check_name": terminal(found.check, DESCRIPTION),
            "fingerprint": fingerprint,
            "severity": severity,
            "location": {
                "path": terminal(self._place.file),
                "lines": {"begin": self._place.lines.get(case_id, 1)},
            },
        }
        self._out.write(self._before + encode(finding))
        self._before = b",\n"


def _shortcomings(record: CaseRecord) -> Iterator[Shortcoming]:
    """The checks that did not hold; where none was judged, why the case came out as it did."""
    known = facts(record)
    for label, result in (*known.failed, *known.unknown, *known.unjudged):
        found = f", found {result.found}" if result.found else ""
        yield Shortcoming(label, f"{label} {result.status}: expected {result.expected}{found}")
    if not any(known):
        yield Shortcoming(str(record.status), "; ".join(reasons(record)) or str(record.status))
