"""Checks that formats of others ask for: negated, or in a group of their own."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from carob.checks.base import is_negated
from carob.model.check import CheckSpec
from carob.model.run import CaseRecord
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.model.verdict import Status
from carob.reports.case_facts import missing_parts, required_sources
from carob.scoring import verdicts
from catalogs import CATALOG

SAYS = Trace(case_id="A", final_message="Yes, please.")
SILENT = Trace(case_id="A", final_message="No.")
UNSEEN = Trace(case_id="A", unobserved={"final_message": "the page moved on"})


def spec(name: str, **args: Any) -> CheckSpec:
    parsed = CATALOG.ask(name, args, ("assert", 0))
    assert parsed.problems == ()
    return parsed.spec


@pytest.mark.parametrize(
    ("trace", "negated", "status"),
    [
        pytest.param(SAYS, False, Status.PASSED, id="holds"),
        pytest.param(SAYS, True, Status.FAILED, id="must-not-hold"),
        pytest.param(SILENT, True, Status.PASSED, id="does-not-hold"),
        pytest.param(UNSEEN, True, Status.UNKNOWN, id="unknown-stays-unknown"),
    ],
)
def test_a_negated_check_gives_the_opposite(trace: Trace, negated: bool, status: Status) -> None:
    negated_spec = spec("must_say_any", phrases=["please"], **({"$not": True} if negated else {}))
    (check,) = CATALOG.checks([negated_spec])
    result = verdicts.run_check(check, trace)
    assert (result.name, result.status) == ("must_say_any", status)
    assert result.expected == ("not: 'please'" if negated else "'please'")
    assert is_negated(negated_spec) is negated


def test_a_check_scores_in_the_group_that_it_is_given() -> None:
    grouped_spec = spec("must_not_say", phrase="please", **{"$group": "tone"})
    verdict = verdicts.judge_case(Case(id="A", prompt="?", checks=(grouped_spec,)), SAYS, CATALOG)
    assert {name: (score.passed, score.judged) for name, score in verdict.groups.items()} == {"tone": (0, 1)}


def test_words_that_begin_with_a_dollar_sign_modify_nothing() -> None:
    (plain,) = CATALOG.checks([spec("must_not_say", phrase='"$not": true')])
    assert type(plain).__name__ == "MustNotSay"
    assert not is_negated(spec("must_not_say", phrase='"$not": true'))


def test_a_source_that_must_not_be_named_is_not_missing() -> None:
    sources = [spec("required_sources", source="erp", phrases=["ERP"], **more) for more in ({}, {"$not": True})]
    case = Case(id="A", prompt="?", checks=(sources[1],))
    trace = Trace(case_id="A", final_message="By the ERP.")
    record = CaseRecord(index=0, case=case, trace=trace, verdict=verdicts.judge_case(case, trace, CATALOG))
    assert (missing_parts(record, CATALOG).sources, required_sources(record, CATALOG)) == ([], [])
    asked = CaseRecord(
        index=0, case=msgspec.structs.replace(case, checks=(sources[0],)), trace=trace, verdict=record.verdict
    )
    assert required_sources(asked, CATALOG) == ["erp"]


@pytest.mark.parametrize(
    ("name", "args", "slug"),
    [
        pytest.param("must_sey_any", {"phrases": ["a"]}, "unknown-check", id="no-such-check"),
        pytest.param("must_say_any", {"phrase": ["a"]}, "unknown-argument", id="no-such-argument"),
        pytest.param("must_say_any", {"phrases": 3}, "invalid-value", id="wrong-type"),
        pytest.param("must_say_any", {}, "invalid-value", id="missing"),
        pytest.param("must_say_any", {"phrases": [" "]}, "empty-expectation", id="no-sense"),
    ],
)
def test_what_is_wrong_with_a_check_by_name_and_arguments(name: str, args: Any, slug: str) -> None:
    assert [flaw.slug for flaw in CATALOG.ask(name, args, ("assert", 0)).problems] == [slug]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"contains": "Rome"}, 'contains "Rome"'),
        ({"near": "kitten", "distance": 2}, 'near "kitten" within 2 edits'),
        ({"contains": "Rome", "at": "$.city", "negated": True}, 'not: contains "Rome" at $.city'),
        ({"equals": "4", "ignore_case": True}, 'equals "4", whatever the letter case'),
    ],
)
def test_a_check_of_text_says_all_that_it_asks(args: dict[str, Any], words: str) -> None:
    case = Case(id="A", prompt="p", checks=(spec("answer_text", **args),))
    (check,) = [row for row in verdicts.judge_case(case, SAYS, CATALOG).checks if row.name == "answer_text"]
    assert check.expected == words
