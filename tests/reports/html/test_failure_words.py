"""What broke, in words that somebody understands who has not written the suite."""

from __future__ import annotations

from pathlib import Path

import carob
from carob.checks.catalog import OWN, catalog_for
from carob.journal.index import FailureGroup
from carob.model.verdict import OWN_RULE, SHARED_RULE, CaseStatus, Status
from carob.plugins.project import Project
from carob.reports.html.run_view import RunTally, failure_words

CATALOG = catalog_for(Project())


FAILURES: list[tuple[dict[str, object], str, tuple[str, str]]] = [
    ({"asks_for": ["order number"]}, "Thanks. Okay, done.", ("Did not ask for 'order number'", "")),
    ({"must_say_any": ["refund", "credit"]}, "Nothing was done.", ("Did not say 'refund' or 'credit'", "")),
    ({"must_not_say": ["as an AI"]}, "As an AI I cannot.", ("Said 'as an AI'", "")),
    ({"must_match_regex": ["[0-9]+"]}, "Nothing was done.", ("The answer has no match of /[0-9]+/", "")),
    ({"min_words": 20}, "Nothing was done.", ("Fewer than 20 words", "found 3 words")),
    ({"max_words": 2}, "Nothing was done.", ("More than 2 words", "found 3 words")),
    ({"tool_calls_any": ["pay"]}, "Nothing was done.", ("Did not call 'pay'", "found no tool call")),
    ({"answer_equals": "Yes."}, "Nothing was done.", ("The answer is not 'Yes.'", "")),
]  # fmt: skip


def test_groups_say_what_went_wrong(tmp_path: Path) -> None:
    cases = [{"id": str(n), "prompt": str(n), "expected": expected} for n, (expected, _, _) in enumerate(FAILURES)]
    answers = [{"final_message": answer, "tool_calls": []} for _, answer, _ in FAILURES]
    for record, (_, _, words) in zip(records_of(cases, answers, tmp_path), FAILURES, strict=True):
        tally = RunTally()
        tally.add([record], record.status)
        (group,) = tally.groups()
        assert failure_words(group, CATALOG) == words


def records_of(cases: list[dict[str, object]], answers: list[object], folder: Path) -> list[carob.CaseRecord]:
    suite = {"carob": 1, "cases": cases}
    return list(carob.run(suite, lambda prompt: answers[int(prompt)], results_dir=folder).journal.records())


def test_other_statuses_and_unknown_checks_have_words_too() -> None:
    said = failure_words(
        FailureGroup("no_such_check", Status.FAILED, "in final message", 1, (), ("politeness",), 0), CATALOG
    )
    assert said == ("Expected politeness", "")
    said = failure_words(
        FailureGroup("no_such_check", Status.UNKNOWN, "the page moved on", 1, (), ("politeness",), 0), CATALOG
    )
    assert said == ("Not known: politeness", "the page moved on")
    said = failure_words(
        FailureGroup("no_such_check", Status.FAILED, "found rude", 4, (), ("politeness", "tact"), 3, "rude to 4"),
        CATALOG,
    )
    assert said == ("Expected politeness; Expected tact; and 3 more", "found such as rude to 4")
    assert failure_words(FailureGroup("agent", Status.ERROR, "model is down", 1, (), ("",), 0), CATALOG) == (
        "Agent error",
        "model is down",
    )


def test_every_check_says_something_of_each_failure() -> None:
    """The words hold what was expected, negated or not."""
    for name, cls in OWN.items():
        opening = "broke the rule" if name in (OWN_RULE, SHARED_RULE) else "expected"
        assert cls.describe_failure("not: 'x'") == f"{opening} not: 'x'"
        start, _ = cls.failure
        assert cls.describe_failure(f"{start}'x'").endswith("'x'")


def test_known_failures_and_skipped_cases_are_not_what_broke(tmp_path: Path) -> None:
    says = {"must_say_any": ["yes"]}
    cases: list[dict[str, object]] = [
        {"id": "known", "prompt": "0", "xfail": "a bug", "expected": says},
        {"id": "later", "prompt": "0", "skip": "not yet", "expected": says},
    ]
    tally = RunTally()
    for record in records_of(cases, ["no"], tmp_path):
        tally.add([record], record.status)
    assert tally.groups() == []
    assert tally.choices().statuses == {CaseStatus.SKIP: 1, CaseStatus.XFAIL: 1}


def test_a_group_of_several_expectations_names_them_and_claims_no_more(tmp_path: Path) -> None:
    forbidden = ["as an AI", "password", "secret", "PIN", "password"]
    cases: list[dict[str, object]] = [
        {"id": str(n), "prompt": str(n), "expected": {"must_not_say": [text]}} for n, text in enumerate(forbidden)
    ]
    tally = RunTally()
    for record in records_of(cases, [f"It is {text}." for text in forbidden], tmp_path):
        tally.add([record], record.status)
    (group,) = tally.groups()
    assert failure_words(group, CATALOG) == ("Said 'password'; Said 'as an AI'; Said 'secret'; and 1 more", "")
