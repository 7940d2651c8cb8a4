"""What a draft expects of an agent, what it keeps apart, and what it never pins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import yaml

import karat
from catalogs import CATALOG
from karat.drafts.draft import DraftOptions, SuiteDraft
from karat.drafts.drafting import draft_from_traces
from karat.errors import UsageError
from karat.model.trace import ToolCall, Trace, TraceError
from karat.traces.turns import conversation

WORDING = ("must_say_any", "must_match_regex", "answer_equals", "expected_contains", "reason_contains", "answer_text")


def refund(number: int = 0, **changes: Any) -> Trace:
    """A run in which an order is looked up and paid back: ids, wording and amounts differ from run to run."""
    given = {
        "order": "A-17",
        "paid": 40.5 + number,
        "note": f"The customer wrote {number} mails about it.",
        "mode": "full",
    }
    given |= changes
    calls = (
        ToolCall(
            "get_order", {"order": given["order"]}, id=f"call_{number}a", result={"total": given["paid"]}, success=True
        ),
        ToolCall(
            "issue_refund",
            {"order": given["order"], "amount": given["paid"], "note": given["note"], "mode": given["mode"]},
            id=f"call_{number}b",
            result={"refunded": given["paid"]},
            success=True,
        ),
    )
    said = ("I refunded {} EUR.", "{} EUR have been refunded.", "Refunded: {} EUR. Anything else?")[number % 3]
    return Trace(
        case_id="refunds",
        input="Refund order A-17, please.",
        final_message=said.format(given["paid"]),
        tool_calls=calls,
    )


def drafted(traces: Sequence[Trace], **options: Any) -> SuiteDraft:
    return draft_from_traces(traces, CATALOG, DraftOptions(**options))


def expected(draft: SuiteDraft, case: int = 0) -> dict[str, Any]:
    tree = yaml.safe_load(draft.yaml)
    found: dict[str, Any] = tree.get("defaults", {}).get("expected", {}) | tree["cases"][case]["expected"]
    return found


@pytest.fixture(scope="module")
def of_refunds() -> SuiteDraft:
    return drafted([refund(number) for number in range(20)])


def test_it_reads_as_a_suite_that_is_a_draft(of_refunds: SuiteDraft) -> None:
    suite = karat.load_suite(of_refunds.yaml)
    assert suite.draft
    assert [case.id for case in suite.cases] == ["refunds"]
    assert not suite.warnings


def test_calls_and_arguments_are_asked_for_by_where_they_came_from(of_refunds: SuiteDraft) -> None:
    looked, paid = expected(of_refunds)["tool_calls"]
    assert looked["arguments"] == {"order": "A-17"}
    assert paid["arguments"] == {
        "order": "A-17",
        "amount": {"$type": "number"},
        "note": {"$type": "string"},
        "mode": "full",
    }
    assert (paid["times"], paid["success"]) == (1, True)
    assert expected(of_refunds)["tool_requires"] == {"issue_refund": ["get_order"]}
    assert expected(of_refunds)["only_effects"] == ["issue_refund"]


def test_every_line_has_its_support(of_refunds: SuiteDraft) -> None:
    assert "order: A-17  # from the prompt, 20 of 20 runs" in of_refunds.yaml
    assert "mode: full  # 20 of 20 runs" in of_refunds.yaml
    assert "# 20 of 20 runs, 16 values: from the result of get_order" in of_refunds.yaml


def test_no_wording_and_no_call_id_is_pinned(of_refunds: SuiteDraft) -> None:
    assert not expected(of_refunds).keys() & set(WORDING)
    assert "call_" not in of_refunds.yaml.replace("tool_calls", "")
    assert "mails about it" not in of_refunds.yaml


def test_it_says_what_it_notices_and_what_it_cannot_see(of_refunds: SuiteDraft) -> None:
    assert of_refunds.summary.rate_of_facts.value >= 0.9
    assert of_refunds.summary.rate.value < of_refunds.summary.rate_of_facts.value
    assert "# What this suite cannot catch:" in of_refunds.yaml
    assert any("retracted" in line for line in of_refunds.summary.unseen)


def test_a_right_run_passes_and_wrong_ones_do_not(of_refunds: SuiteDraft) -> None:
    case = karat.load_suite(of_refunds.yaml).cases[0]
    assert karat.judge(case, refund(77)).status == "PASS"
    for wrong in (
        refund(3, order="B-04"),
        refund(3, mode="half"),
        karat.Trace(case_id="refunds", input=refund().input, final_message="I refunded 43.5 EUR.", tool_calls=()),
    ):
        assert karat.judge(case, wrong).status == "FAIL"


def test_a_constant_needs_support() -> None:
    once = drafted([refund(0)])
    assert expected(once)["tool_calls"][1]["arguments"]["mode"] == {"$type": "string"}
    assert "tools_used" not in expected(once)


def test_a_held_out_trace_loosens_what_it_does_not_hold() -> None:
    runs = [refund(number) for number in range(4)] + [refund(4, mode="half")]
    draft = drafted(runs)
    assert (draft.summary.held_out, draft.summary.held_out_passed) == (1, 0)
    assert "mode" not in expected(draft)["tool_calls"][1]["arguments"]
    assert "differs" in [found.kind for found in draft.findings]
    case = karat.load_suite(draft.yaml).cases[0]
    assert [karat.judge(case, run).status for run in runs] == ["PASS"] * 5


def test_a_line_that_hardly_any_run_misses_is_kept_and_marked() -> None:
    runs = [refund(number) for number in range(99)] + [refund(99)]
    odd = karat.Trace(
        case_id="refunds", input=runs[0].input, final_message="I refunded 7,313 EUR.", tool_calls=runs[60].tool_calls
    )
    runs[60] = odd
    draft = drafted(runs)
    assert "every number rests on something in 99 of 100 runs" in draft.yaml
    assert ("number", 1) in [(found.kind, found.times) for found in draft.findings]


def test_a_conversation_becomes_turns() -> None:
    asks = Trace(case_id="talk", input="I want a refund.", final_message="Which order?", tool_calls=())
    runs = [
        conversation([asks, karat.Trace(**{**_fields(refund(number)), "case_id": "talk", "input": "A-17."})])
        for number in range(6)
    ]
    draft = drafted(runs)
    (case,) = yaml.safe_load(draft.yaml)["cases"]
    assert [turn["prompt"] for turn in case["turns"]] == ["I want a refund.", "A-17."]
    assert case["turns"][0]["expected"]["outcome"] == "needs_input"
    (paid,) = case["expected"]["tool_calls"]
    assert (paid["tool"], paid["arguments"]["order"]) == ("issue_refund", "A-17")
    read = karat.load_suite(draft.yaml).cases[0]
    assert karat.judge(read, runs[0]).status == "PASS"


def _fields(trace: Trace) -> dict[str, Any]:
    return {name: getattr(trace, name) for name in trace.__struct_fields__}


def test_a_failure_that_the_answer_hides_is_a_question() -> None:
    failed = ToolCall("book_slot", {"day": "Monday"}, success=False, error="taken")
    hides = Trace(case_id="books", input="Book Monday.", final_message="Booked for Monday.", tool_calls=(failed,))
    with pytest.raises(UsageError, match="none of the 4 traces can be a contract"):
        drafted([hides] * 4)
    draft = drafted([hides] * 4 + [refund(number) for number in range(4)])
    assert [found.kind for found in draft.findings] == ["failed"]
    assert "books" not in [case.id for case in karat.load_suite(draft.yaml).cases]


@pytest.mark.parametrize(
    ("traces", "says"),
    [
        pytest.param([], "there is no trace to draft from", id="none"),
        pytest.param(
            [Trace(case_id="a", input="Hi", tool_calls=(), error=TraceError("timeout", "no answer"))],
            r"none of the 1 trace can be a contract.*timeout: no answer",
            id="only-errors",
        ),
        pytest.param([Trace(case_id="a", final_message="Hi", tool_calls=())], "no prompt was recorded", id="no-prompt"),
    ],
)
def test_nothing_to_draft_from_is_one_clear_line(traces: list[Trace], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        drafted(traces)


def test_hostile_text_stays_a_comment() -> None:
    evil = "Hi\n- id: x\n# \x1b[31m {order} : [a, b"
    draft = drafted([Trace(case_id="a", input=evil, final_message="Hello there.", tool_calls=())] * 4)
    assert yaml.safe_load(draft.yaml)["cases"][0]["prompt"] == evil
    assert "\x1b" not in draft.yaml
