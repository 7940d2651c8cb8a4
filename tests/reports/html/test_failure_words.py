"""What broke, in words that somebody understands who has not written the suite."""

from __future__ import annotations

import pytest

import karat
from karat.checks.catalog import BUILT_IN, catalog_for
from karat.model.verdict import CaseStatus, Status
from karat.plugins.project import Project
from karat.reports.html.run_view import RunTally, failure_words

CATALOG = catalog_for(Project())


@pytest.mark.parametrize(
    ("expected", "answer", "words"),
    [
        ({"asks_for": ["order number"]}, "Thanks. Okay, done.", ("Did not ask for 'order number'", "")),
        ({"must_say_any": ["refund", "credit"]}, "Nothing was done.", ("Did not say 'refund' or 'credit'", "")),
        ({"must_not_say": ["as an AI"]}, "As an AI I cannot.", ("Said 'as an AI'", "")),
        ({"must_match_regex": ["[0-9]+"]}, "Nothing was done.", ("The answer has no match of /[0-9]+/", "")),
        ({"min_words": 20}, "Nothing was done.", ("Fewer than 20 words", "found # words")),
        ({"max_words": 2}, "Nothing was done.", ("More than 2 words", "found # words")),
        ({"tool_calls_any": ["pay"]}, "Nothing was done.", ("Did not call 'pay'", "found no tool call")),
        ({"answer_equals": "Yes."}, "Nothing was done.", ("The answer is not 'Yes.'", "")),
    ],
)  # fmt: skip
def test_groups_say_what_went_wrong(
    expected: dict[str, object], answer: str, words: tuple[str, str], tmp_path: object
) -> None:
    suite = {"karat": 1, "cases": [{"id": "a", "prompt": "x", "expected": expected}]}
    result = karat.run(suite, lambda prompt: {"final_message": answer, "tool_calls": []}, results_dir=tmp_path)  # type: ignore[arg-type]
    tally = RunTally(CATALOG)
    for record in result.journal.records():
        tally.add([record], record.status)
    (group,) = tally.groups()
    assert (group.title, group.found) == words


def test_other_statuses_and_unknown_checks_have_words_too() -> None:
    said = failure_words(CATALOG, "no_such_check", Status.FAILED, "in final message", "politeness", 0)
    assert said == ("Expected politeness", "")
    said = failure_words(CATALOG, "no_such_check", Status.UNKNOWN, "the page moved on", "politeness", 0)
    assert said == ("Not known: politeness", "the page moved on")
    said = failure_words(CATALOG, "no_such_check", Status.FAILED, "found rude", "politeness", 3)
    assert said == ("Expected politeness or the like", "4 different expectations; found found rude")
    assert failure_words(CATALOG, "agent", Status.ERROR, "model is down", "", 0) == ("Agent error", "model is down")


def test_every_check_says_something_of_each_failure() -> None:
    """The words hold what was expected, negated or not."""
    for cls in BUILT_IN.values():
        assert cls.describe_failure("not: 'x'") == "expected not: 'x'"
        start, _ = cls.failure
        assert cls.describe_failure(f"{start}'x'").endswith("'x'")


def test_known_failures_and_skipped_cases_are_not_what_broke(tmp_path: object) -> None:
    says = {"must_say_any": ["yes"]}
    cases = [
        {"id": "known", "prompt": "x", "xfail": "a bug", "expected": says},
        {"id": "later", "prompt": "x", "skip": "not yet", "expected": says},
    ]
    result = karat.run({"karat": 1, "cases": cases}, lambda prompt: "no", results_dir=tmp_path)  # type: ignore[arg-type]
    tally = RunTally(CATALOG)
    for record in result.journal.records():
        tally.add([record], record.status)
    assert tally.groups() == []
    assert tally.choices().statuses == {CaseStatus.SKIP: 1, CaseStatus.XFAIL: 1}
