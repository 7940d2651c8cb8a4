"""GitLab's code quality report: a finding for each check that did not hold, at the line of its case in the suite."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import ClassVar, Final

from carob.journal.views import RunView
from carob.model.run import CaseRecord
from carob.model.verdict import CaseStatus
from carob.reports.artifacts import BinaryWriter
from carob.reports.base import SeveralRunsReport
from carob.reports.case_details import expectation
from carob.reports.case_facts import CaseOutcome, check_facts, reasons
from carob.reports.escaping import encode, terminal
from carob.reports.run_facts import incomplete
from carob.reports.suite_lines import suite_place

DESCRIPTION: Final = 500
_SEVERITIES: Final = {CaseStatus.ERROR: "blocker", CaseStatus.FAIL: "major", CaseStatus.PARTIAL: "minor"}


class GitlabReport(SeveralRunsReport):
    """A list of findings, whose fingerprints are the same from run to run: a merge request shows which are new."""

    extension: ClassVar = "gitlab.json"

    def __init__(self, run: RunView, out: BinaryWriter) -> None:
        self._before = b"[\n"
        self._fingerprints: set[str] = set()
        super().__init__(run, out)

    def _begin_run(self, run: RunView) -> None:
        self._place = suite_place(run)
        if missing := incomplete(run):
            self._write_finding("", "run", missing, "blocker")

    def _end_file(self) -> None:
        self._out.write(b"\n]\n" if self._fingerprints else b"[]\n")

    def _write_case(self, outcome: CaseOutcome) -> None:
        if severity := _SEVERITIES.get(outcome.status):
            for check, message in _findings(outcome.shown):
                self._write_finding(outcome.shown.case.id, check, message, severity)

    def _write_finding(self, case_id: str, check: str, message: str, severity: str) -> None:
        identity = "\0".join((self._place.file, case_id, check)).encode(errors="surrogatepass")
        fingerprint = hashlib.sha256(identity).hexdigest()
        if fingerprint in self._fingerprints:
            return
        self._fingerprints.add(fingerprint)
        finding = {
            "description": terminal(f"{case_id}: {message}" if case_id else message, DESCRIPTION),
            "check_name": terminal(check, DESCRIPTION),
            "fingerprint": fingerprint,
            "severity": severity,
            "location": {
                "path": terminal(self._place.file),
                "lines": {"begin": self._place.lines.get(case_id, 1)},
            },
        }
        self._out.write(self._before + encode(finding))
        self._before = b",\n"


def _findings(record: CaseRecord) -> Iterator[tuple[str, str]]:
    """The checks that did not hold, and what is wrong; where none was judged, why the case came out as it did."""
    checks = check_facts(record).all
    for label, result in checks:
        yield label, f"{label} {result.status}: {expectation(result)}"
    if not checks:
        yield str(record.status), "; ".join(reasons(record)) or str(record.status)
