"""Small suites, their traces, and journals of them that Carob recorded itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import carob
from carob.features.audit.case_audit import mutants
from carob.features.audit.model import AuditReport, CaseAudit
from carob.features.audit.operators.base import Mutant, Operator, Subject
from carob.features.audit.run_audit import audit
from carob.journal.reader import Journal
from carob.model.suite import Case, Suite
from carob.model.trace import Trace
from carob.suites import loads
from catalogs import CATALOG

Answer = str | dict[str, Any]

QUIET = {"tool_calls_none": ["zzz"]}
"""An expectation that no mutant but those of forbidden tools concerns."""


def suite_of(*cases: Mapping[str, Any], version: str = "0.3") -> Suite:
    return loads(json.dumps({"version": version, "cases": list(cases)}).encode(), "suite.json", CATALOG)


def golden_of(*cases: Mapping[str, Any]) -> Suite:
    return loads(json.dumps(list(cases)).encode(), "golden.json", CATALOG)


def case(expected: Mapping[str, Any], case_id: str = "A", prompt: str = "What is up?") -> dict[str, Any]:
    return {"id": case_id, "prompt": prompt, "expected": dict(expected)}


def recorded(suite: Suite, answers: Mapping[str, Answer], folder: Path, **options: Any) -> Journal:
    """A journal of a real run: a Python agent that gives each case its answer."""

    def agent(prompt: str, case: Case) -> Answer:
        return answers[case.id]

    return carob.run(suite, agent, results_dir=folder, **options).journal


def audited(
    expected: Mapping[str, Any], answer: Answer, folder: Path, *, prompt: str = "What is up?", others: bool = True
) -> CaseAudit:
    """The audit of one case, beside another that asks and answers something else."""
    cases, answers = [case(expected, prompt=prompt)], {"A": answer}
    if others:
        cases.append(case({"must_say_any": ["kettle"]}, "B", "Where is it?"))
        answers["B"] = {"final_message": "The kettle boils.", "tool_calls": [], "telemetry": [], "page": ""}
    report = audit(recorded(suite_of(*cases), answers, folder))
    assert not report.set_aside, report.set_aside
    return report.cases[0]


def bare_case(expected: Mapping[str, Any], *, implied: bool = True, prompt: str = "?") -> Case:
    """A case as suites make it; without `implied`, that an answer is wanted is not judged unless it is asked for."""
    specs = [parsed.spec for parsed in CATALOG.read(expected)]
    if not implied and "outcome" not in expected:
        specs = [spec for spec in specs if spec.name != "outcome"]
    return Case(id="example", prompt=prompt, outcome=expected.get("outcome", "response_only"), checks=tuple(specs))


def made(operator: Operator, trace: Trace, expected: Mapping[str, Any] = QUIET, seed: int = 0) -> list[Mutant]:
    """What an operator makes of a trace."""
    return mutants(operator, Subject(bare_case(expected), trace, seed))


def survivors(report: AuditReport | CaseAudit) -> set[str]:
    """The operators of which a mutant survived."""
    cases = report.cases if isinstance(report, AuditReport) else (report,)
    return {survivor.operator for entry in cases for survivor in entry.survivors}
