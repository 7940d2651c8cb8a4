"""Proofs that this installation judges as it should: each check's examples, and the paths of the scoring."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from karat.checks.catalog import CheckCatalog
from karat.checks.unjudged import Unjudged
from karat.model.suite import Case, CheckSpec, Scoring
from karat.model.verdict import CaseStatus, CheckResult, Group, Status
from karat.scoring import verdicts


class Proof(NamedTuple):
    """One thing that must hold."""

    what: str
    expected: str
    found: str

    @property
    def holds(self) -> bool:
        return self.expected == self.found


def proofs(catalog: CheckCatalog) -> Iterator[Proof]:
    yield from _examples(catalog)
    yield from _both_ways(catalog)
    yield from _statuses()


def _examples(catalog: CheckCatalog) -> Iterator[Proof]:
    for cls in catalog.classes.values():
        for number, example in enumerate(cls.examples):
            spec = CheckSpec(cls.name, msgspec.Raw(msgspec.json.encode(example.args)))
            (check,) = catalog.compile(Case(id="example", prompt="?", checks=(spec,)))
            result = verdicts.run_check(check, example.trace)
            yield Proof(f"{cls.name} example {number + 1}", example.status, result.status)


def _both_ways(catalog: CheckCatalog) -> Iterator[Proof]:
    for cls in catalog.classes.values():
        if cls is Unjudged:  # what it says is that nothing judges it
            continue
        seen = {example.status for example in cls.examples}
        found = ", ".join(s for s in (Status.PASSED, Status.FAILED) if s in seen)
        yield Proof(f"{cls.name} shows that it can pass and fail", "passed, failed", found)


def _statuses() -> Iterator[Proof]:
    hard, soft = Scoring(hard_fail=(Group.FORMATTING,)), Scoring(threshold=0.5)
    table = (
        ("p", Scoring(), CaseStatus.PASS),
        ("pf", Scoring(), CaseStatus.FAIL),
        ("pu", Scoring(), CaseStatus.PARTIAL),
        ("pf", hard, CaseStatus.FAIL),
        ("pf", soft, CaseStatus.PARTIAL),
        ("pff", soft, CaseStatus.FAIL),
        ("pe", soft, CaseStatus.ERROR),
        ("pn", Scoring(), CaseStatus.PARTIAL),
        ("pn", Scoring(allow_unjudged=True), CaseStatus.PASS),
        ("n", Scoring(allow_unjudged=True), CaseStatus.PARTIAL),
        ("fn", Scoring(), CaseStatus.FAIL),
        ("", Scoring(), CaseStatus.ERROR),
    )
    letters = {"p": Status.PASSED, "f": Status.FAILED, "u": Status.UNKNOWN, "e": Status.ERROR, "n": Status.UNJUDGED}
    for spelled, rules, status in table:
        results = tuple(CheckResult("proof", Group.FORMATTING, letters[letter]) for letter in spelled)
        yield Proof(f"scoring of {spelled or 'nothing'!r} by {rules}", status, verdicts.verdict(results, rules).status)
