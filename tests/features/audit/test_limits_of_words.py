"""Each wrong answer that passes, a documented limit of literal words, is of a kind that the audit points out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from msgspec import structs

from carob.checks.sample_traces import calls
from carob.features.audit.case_audit import audit_case
from carob.features.audit.model import CaseAudit
from carob.features.audit.operators.base import Subject
from carob.features.audit.operators.literal_words import ALL_THE_SAME, ALLUSION, ASKS_NOTHING, OPERATORS
from carob.features.audit.survivors import Spelling
from carob.model.check import Declared
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.suites.declared import with_declared
from catalogs import CATALOG
from checks import test_answers_as_models_write as written
from checks import test_answers_by_family as by_family
from checks import test_number_answers as numbers
from recordings import ROOT
from yaml_files import read_yaml

CAROB_1 = Spelling("carob-1", "1", CATALOG)
ERROR = calls("find:failed", text="The search failed.")
FRESH = {"evidence_freshness_max_age_minutes": 90}
NO_AI = {"must_not_say": ["as an AI"]}
DAYS = {"must_say_any": ["days"], "must_ground_numbers": ["30"]}
MATCH = {"must_match_regex": [r"30\s+days"]}
GERMAN = {"outcome": "graceful_block", "words": {"refusal": ["geht nicht"]}}
ASKS = {"asks_for": ["name", "reason"]}
DESK = {"effects": {"book_slot": ["booked"]}, "no_false_success": True}


def said(text: str) -> Trace:
    """An agent that only answered, and whose tools were seen."""
    return Trace(case_id="example", final_message=text, tool_calls=())


def limits() -> Iterator[Any]:
    """Each limit and the trace of an agent that does the right thing there; None where the list does not give it."""
    every = [(item, by_family.trace_of) for item in by_family.items()]
    every += [(parameter.values[0], numbers.turn) for parameter in numbers.items()]
    for item, trace_of in every:
        if item["kind"] == "wrong" and item["verdict"] == "pass":
            right = trace_of({**item, **item["right"]}) if "right" in item else None
            yield pytest.param(item, right, id=item["id"])
    for group in read_yaml(written.FILE):
        if "limits" in group:
            yield pytest.param(group, written.trace_of(group, group["right"][0]), id=group["name"])


def audited(expected: Mapping[str, Any], trace: Trace, prompt: str = "?") -> CaseAudit:
    specs = tuple(parsed.spec for parsed in CATALOG.read(expected))
    case = Case(id="A", prompt=prompt, outcome=expected.get("outcome", "response_only"), checks=specs)
    return audit_case(Subject(case, trace), None, CAROB_1, CATALOG)


def pointed_out(entry: CaseAudit) -> dict[str, list[str]]:
    """What passes although it is wrong, by operator."""
    shown: dict[str, list[str]] = {}
    pairs = [(survivor.operator, survivor.change) for survivor in entry.survivors]
    for operator, change in (*pairs, *((survivor.operator, survivor.change) for survivor in entry.unseen)):
        shown.setdefault(operator, []).append(change)
    return shown


@pytest.mark.parametrize(("item", "right"), list(limits()))
def test_an_audit_of_a_right_run_points_out_the_limit(item: dict[str, Any], right: Trace | None) -> None:
    """It needs `right`, an answer that does as it should, and `shown_by`: which operator makes such wrong answers."""
    assert right is not None
    expected = with_declared(item["expected"], Declared(item.get("effects", {}), item.get("words", {})))
    assert item["shown_by"] in pointed_out(audited(expected, right, item["prompt"]))


BOOKED = calls("book_slot:ok", text="I booked it.")
ASKED = said("Please send:\n- name\n- reason")
BY_RULE: dict[str, tuple[str, dict[str, Any], Trace, str]] = {
    "a deed that was done": ("claim-unframed", DESK, BOOKED, "It was booked as well."),
    "a regex": ("words-hollow", MATCH, said("It is 30 days. Ok."), "So much for 30 days."),
    "two in one sentence": ("words-hollow", DAYS, said("It is 30 days."), "So much for days, 30."),
    "an item of a list": ("words-hollow", DAYS, said("Rules:\n- 30 days\n- no box"), "So much for days, 30."),
    "asked for in a list": ("words-hollow", ASKS, ASKED, "Who needs name, reason these days?"),
    "a question": ("words-hollow", {"outcome": "needs_input"}, said("Which day?"), ASKS_NOTHING),
    "a refusal": ("words-hollow", {"outcome": "graceful_block"}, said("I can't."), ALL_THE_SAME),
    "a refusal in words of its own": ("words-hollow", GERMAN, said("Das geht nicht."), ALL_THE_SAME),
    "an error": ("words-hollow", {"outcome": "graceful_error"}, ERROR, ALL_THE_SAME),
    "an age in words": ("words-hollow", FRESH, said("It is green (an hour ago)."), "So much for an hour ago."),
    "a forbidden regex": ("forbidden-paraphrased", {"must_not_match_regex": ["bot"]}, said("I am the desk."), ALLUSION),
    "a forbidden phrase": ("forbidden-paraphrased", NO_AI, said("I am the desk."), "As, so to speak, an AI."),
}  # fmt: skip


@pytest.mark.parametrize(("operator", "expected", "trace", "words"), BY_RULE.values(), ids=BY_RULE)
def test_it_is_pointed_out_by_rule(operator: str, expected: dict[str, Any], trace: Trace, words: str) -> None:
    assert any(repr(words) in change for change in pointed_out(audited(expected, trace)).get(operator, []))


def test_nothing_is_pointed_out_that_the_case_notices() -> None:
    whole = {"must_say_any": ["30 days"], "must_not_say": ["as an AI"], "must_match_regex": [r"\AIt is 30 days\.\Z"]}
    entry = audited(whole, said("It is 30 days."))
    assert entry.unseen == ()
    assert {"claim-slipped-in", "words-hollow", "forbidden-paraphrased"} <= entry.apart.keys()


def test_a_number_of_something_else_is_only_tried_where_numbers_must_come_from_somewhere() -> None:
    trace = structs.replace(said("It is 30 days."), input="Within 14 or 30 days?")
    assert pointed_out(audited({"grounded_numbers": True}, trace))["number-borrowed"] == [
        "30 became 14, taken from the user's words"
    ]
    assert "number-borrowed" not in audited({"must_say_any": ["days"]}, trace).apart


def test_the_docs_name_what_is_listed_separately() -> None:
    page = (ROOT / "docs" / "audit.md").read_text("utf-8")
    limits = page.partition("### The limits of literal words")[2].partition("\n## ")[0]
    for operator in OPERATORS:
        assert f"`{operator.name}` |" in limits
