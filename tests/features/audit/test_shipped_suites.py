"""The shipped suites are proved: lint finds nothing, no control passes, wrong traces are noticed, right ones pass."""

from __future__ import annotations

from pathlib import Path

import pytest

import carob
from carob.features.audit.case_audit import mutants
from carob.features.audit.model import AuditReport
from carob.features.audit.operators.base import Subject
from carob.features.audit.operators.catalog import OPERATORS
from carob.features.audit.run_audit import audit
from carob.features.lint.linter import lint
from carob.features.lint.target import target_info
from carob.journal.reader import Journal
from carob.scoring import verdicts
from carob.suites.documents.source import read_bytes
from carob.suites.reading import locate_suite
from catalogs import CATALOG
from recordings import CANVAS, DYNO, ROOT, Recorded, shipped

LEAST = 0.95
SHIPPED = [*((suite, "dyno") for suite in DYNO), *((suite, "canvas") for suite in CANVAS)]


def complaints(report: AuditReport) -> list[str]:
    """Everything that a shipped suite must not have, in words."""
    complaints_found = [f"{entry.case_id} did not pass: {entry.reason}" for entry in report.set_aside]
    complaints_found += report.summary.unmet(LEAST)
    for case in report.cases:
        complaints_found += [f"{case.case_id} passes with an agent that {control}" for control in case.controls]
        complaints_found += [f"{case.case_id}: {b.check} minds {b.equivalent}: {b.expected}" for b in case.brittle]
    return complaints_found


def unnamed(journal: Journal, report: AuditReport) -> list[str]:
    """Checks of which the audit says one thing, and removing them another: no kill lost and not named, or both."""
    names = []
    for record, audited in zip(journal.records(), report.cases, strict=True):
        case, subject = record.case, Subject(record.case, record.trace)
        made = [mutant.trace for operator in OPERATORS for mutant in mutants(operator, subject)]
        judged = [[verdicts.run_check(check, trace) for check in CATALOG.checks(case.checks)] for trace in made]
        kills = sum(_killed(results, case) for results in judged)
        assert kills == sum(killed for killed, _ in (*audited.operators.values(), *audited.apart.values()))
        for index, spec in enumerate(case.checks):
            left = sum(_killed([*results[:index], *results[index + 1 :]], case) for results in judged)
            implied = spec.name == "outcome" and case.outcome == "response_only"
            if (left == kills) is not (spec.path in audited.redundant) and not implied:
                names.append(f"{case.id} {spec.path}")
    return names


def _killed(results: list[carob.CheckResult], case: carob.Case) -> bool:
    return verdicts.verdict(tuple(results), case.scoring).status is not carob.CaseStatus.PASS


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize(("suite", "target"), SHIPPED, ids=[Path(suite).stem for suite, _ in SHIPPED])
def test_lint_is_clean(suite: str, target: str) -> None:
    surroundings = target_info(shipped(target))
    problems = lint(locate_suite(read_bytes(suite), suite, CATALOG), CATALOG, surroundings)
    assert [str(problem) for problem in problems] == []


@pytest.mark.thorough
@pytest.mark.parametrize("suite", [*CANVAS, *DYNO], ids=lambda suite: Path(suite).stem)
def test_the_audit_proves_it(suite: str, recorded: Recorded) -> None:
    journal = recorded(suite)
    assert complaints(audit(journal)) == []


@pytest.mark.parametrize(
    "suite", [DYNO[1], *(pytest.param(suite, marks=pytest.mark.thorough) for suite in (*CANVAS, DYNO[0]))]
)
def test_what_the_audit_calls_redundant_is(suite: str, recorded: Recorded) -> None:
    journal = recorded(suite)
    assert unnamed(journal, audit(journal)) == []
