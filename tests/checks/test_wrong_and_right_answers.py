"""No wrong answer passes, by rule, and no right one is refused."""

from __future__ import annotations

import pytest

from carob.api import judge
from carob.model.suite import Case
from carob.model.verdict import CaseStatus, Status, Verdict
from catalogs import CATALOG
from checks.answers import RIGHT, WRONG, Answer


def verdict(answer: Answer) -> Verdict:
    """How the answer is judged by what is expected of it."""
    asked = [asked.spec for asked in CATALOG.read(answer.expected)]
    judged = [spec for spec in asked if (spec.name == "outcome") is ("outcome" in answer.expected)]
    return judge(
        Case(id="example", prompt="p", checks=tuple(s for s in judged if s.name != "tools_used")), answer.trace
    )


def assert_evidence_stands_in(text: str, judged: Verdict) -> None:
    for check in judged.checks:
        if check.at and check.at.channel == "final_message":
            assert check.at.start is not None
            assert check.at.end is not None
            assert 0 <= check.at.start < check.at.end <= len(text)


def named(answers: list[Answer]) -> list[object]:
    return [pytest.param(answer, id=f"{answer.rule}-{number}") for number, answer in enumerate(answers)]


@pytest.mark.parametrize("answer", named(WRONG))
def test_wrong(answer: Answer) -> None:
    judged = verdict(answer)
    assert judged.status in (CaseStatus.FAIL, CaseStatus.PARTIAL), (answer.trace.final_message, judged.checks)
    if answer.rule.endswith("is unknown"):
        assert {check.status for check in judged.checks} == {Status.UNKNOWN}
    assert_evidence_stands_in(answer.trace.final_message, judged)


@pytest.mark.parametrize("answer", named(RIGHT))
def test_right(answer: Answer) -> None:
    judged = verdict(answer)
    assert judged.status is CaseStatus.PASS, (answer.trace.final_message, judged.checks)
    assert_evidence_stands_in(answer.trace.final_message, judged)


def test_there_are_enough_of_both() -> None:
    assert len(WRONG) >= 120
    assert len(RIGHT) >= 80
