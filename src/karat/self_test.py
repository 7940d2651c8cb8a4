"""Proofs that this installation judges as it should: each check's examples, and the paths of the scoring."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from karat.checks.catalog import CheckCatalog
from karat.model.check import CheckSpec
from karat.model.suite import Scoring
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
            (check,) = catalog.checks((spec,))
            result = verdicts.run_check(check, example.trace)
            yield Proof(f"{cls.name} example {number + 1}", example.status, result.status)


def _both_ways(catalog: CheckCatalog) -> Iterator[Proof]:
    for cls in catalog.classes.values():
        seen = {example.status for example in cls.examples}
        wanted = [status for status in Status if status in cls.shows]
        found = ", ".join(status for status in wanted if status in seen)
        yield Proof(f"{cls.name} shows how it can come out", ", ".join(wanted), found)


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
