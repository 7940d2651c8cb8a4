"""Proofs that this installation judges as it should: each check's examples, and the paths of the scoring."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from carob.checks.base import Check, modify
from carob.checks.catalog import CheckCatalog
from carob.model.suite import Scoring
from carob.model.verdict import CaseStatus, CheckResult, Group, Status
from carob.scoring import verdicts


class Proof(NamedTuple):
    """One thing that must hold."""

    what: str
    expected: str
    found: str

    @property
    def holds(self) -> bool:
        return self.expected == self.found


def proofs(catalog: CheckCatalog) -> Iterator[Proof]:
    for cls in catalog.classes.values():
        yield from prove_check(cls)
    yield from _statuses()


def prove_check(cls: type[Check]) -> Iterator[Proof]:
    """The examples of a check, and that they show how it can come out."""
    for number, example in enumerate(cls.examples, 1):
        raw = msgspec.json.encode(example.args)
        result = verdicts.run_check(modify(msgspec.json.decode(raw, type=cls), raw), example.trace)
        yield Proof(f"{cls.name} example {number}", example.status, result.status)
    statuses = {example.status for example in cls.examples}
    required = [status for status in Status if status in cls.shows]
    shown = ", ".join(status for status in required if status in statuses)
    yield Proof(f"{cls.name} shows how it can come out", ", ".join(required), shown)


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
        ("pt", Scoring(), CaseStatus.PASS),
        ("t", Scoring(), CaseStatus.PARTIAL),
    )
    letters = dict(zip("pfuent", Status, strict=True))
    for spelled, rules, status in table:
        results = tuple(CheckResult("proof", Group.FORMATTING, letters[letter]) for letter in spelled)
        yield Proof(f"scoring of {spelled or 'nothing'!r} by {rules}", status, verdicts.verdict(results, rules).status)
