"""What nobody saw is no proof of anything: each of these answers looks like a pass, and none of them is one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from carob.api import judge
from carob.errors import SuiteError
from carob.model.trace import TextLoss, ToolCall, Trace
from carob.model.verdict import Status
from carob.suites import loads
from catalogs import CATALOG


def status(trace: Trace, name: str, **expected: Any) -> Status:
    """How the check of this name comes out."""
    suite = {"version": "0.3", "cases": [{"id": "A", "prompt": "p", "expected": expected}]}
    (case,) = loads(json.dumps(suite).encode(), "s.json", CATALOG).cases
    return next(check.status for check in judge(case, trace).checks if check.name == name)


def trace(text: str = "Done.", *calls: ToolCall, **more: Any) -> Trace:
    return Trace(case_id="A", final_message=text, tool_calls=calls, **more)


OPEN = ToolCall("issue_refund")
SAID_NOTHING = ToolCall("issue_refund", result={"status": "ok"})
WAITING = ToolCall("issue_refund", unfinished=True)
CUT = {"tools": TextLoss("secrets were taken out")}


@pytest.mark.parametrize(
    ("seen", "outcome", "expected"),
    [
        pytest.param(trace("I may not do that.", OPEN), "graceful_block", Status.UNKNOWN, id="block-no-result"),
        pytest.param(trace("I may not.", SAID_NOTHING), "graceful_block", Status.UNKNOWN, id="block-says-nothing"),
        pytest.param(trace("I may not do that.", WAITING), "graceful_block", Status.PASSED, id="block-never-ran"),
        pytest.param(trace("Which one?", OPEN), "needs_input", Status.UNKNOWN, id="question-no-result"),
        pytest.param(trace("Shall I refund it?", WAITING), "needs_input", Status.PASSED, id="question-waiting"),
        pytest.param(trace("Done.", OPEN), "needs_input", Status.FAILED, id="no-question"),
        pytest.param(
            trace("Pick one below.", unobserved={"page": "not captured"}), "needs_input", Status.UNKNOWN, id="no-page"
        ),
        pytest.param(
            trace("Pick one", cuts={"final_message": TextLoss("a part")}),
            "needs_input",
            Status.UNKNOWN,
            id="cut-message",
        ),
        pytest.param(
            trace("Sorry.", ToolCall("a", success=False), ToolCall("a")), "graceful_error", Status.UNKNOWN, id="again"
        ),
        pytest.param(trace("\u200b"), "response_only", Status.FAILED, id="invisible"),
        pytest.param(trace("\ufeff\u200d"), "response_only", Status.FAILED, id="marks"),
        pytest.param(trace("\x00"), "response_only", Status.FAILED, id="nul"),
        pytest.param(trace("\u2800\u3164"), "response_only", Status.FAILED, id="blank-letters"),
        pytest.param(trace("Hi", cuts=CUT), "graceful_block", Status.UNKNOWN, id="tools-lost-a-secret"),
    ],
)
def test_outcome(seen: Trace, outcome: str, expected: Status) -> None:
    assert status(seen, "outcome", outcome=outcome) is expected


@pytest.mark.parametrize(
    "text",
    [
        *("Which one?", "请问您的订单号？", "ما هو رقم الطلب؟", "Which one?!", "Which one?🙂", "Which one?<br>"),
        *("`Which one?`", "…which one?…", "Which (the red?) one."),
    ],
)
def test_a_question(text: str) -> None:
    assert status(trace(text), "outcome", outcome="needs_input") is Status.PASSED


@pytest.mark.parametrize("text", ["See https://example.org/?q=1&r=2 for it.", "Done: /list?page=2", "a?b"])
def test_no_question(text: str) -> None:
    assert status(trace(text), "outcome", outcome="needs_input") is Status.FAILED


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tool_calls_none", {"tool_calls_none": ["x"]}),
        ("tool_calls_any", {"tool_calls_any": ["x"]}),
        ("tool_calls", {"tool_calls": [{"tool": "x"}]}),
        ("tools_used", {"tools_used": ["y"]}),
    ],
)
def test_tools_that_lost_a_secret(name: str, expected: dict[str, Any]) -> None:
    assert status(trace("Hi", ToolCall("[removed]"), cuts=CUT), name, **expected) is Status.UNKNOWN


def test_arguments_that_were_too_large_to_keep() -> None:
    seen = trace("Hi", ToolCall("book"), cuts={"tool_results": TextLoss("only a part")})
    assert status(seen, "tool_calls", tool_calls=[{"tool": "book", "arguments": {"v": 42}}]) is Status.UNKNOWN
    assert status(seen, "tool_calls", tool_calls=[{"tool": "book"}]) is Status.PASSED
    assert status(seen, "tool_calls", tool_calls=[{"tool": "drop", "arguments": {"v": 42}}]) is Status.FAILED


@pytest.mark.parametrize(
    ("page", "before", "sentence", "expected"),
    [
        ("- main:\n  - article: New tile", "- main", "No new component is added.", Status.FAILED),
        ("- main:\n  - region:\n    - list", "- main", "No new component is added.", Status.FAILED),
        (
            "- main:\n  - article: 2 min ago",
            "- main:\n  - article: 1 min ago",
            "No new component is added.",
            Status.PASSED,
        ),
    ],
)
def test_components_without_a_name(page: str, before: str, sentence: str, expected: Status) -> None:
    assert status(trace("Hi", page=page, page_before=before), "ui", ui=[sentence]) is expected


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("Levers\n- roll back\n- pa", "required_levers", {"required_levers": 2}),
        (
            "Today's mission: fix checkout, because the metric",
            "claim_evidence_alignment",
            {"claim_evidence_alignment": True},
        ),
        ("See example.org?", "outcome", {"outcome": "needs_input"}),
        ("12", "must_ground_numbers", {"must_ground_numbers": [12]}),
    ],
)
def test_a_match_where_the_message_was_cut(text: str, name: str, expected: dict[str, Any]) -> None:
    assert status(trace(text), name, **expected) is Status.PASSED
    assert status(trace(text, cuts={"final_message": TextLoss("a part")}), name, **expected) is Status.UNKNOWN


def test_a_page_before_that_is_not_whole() -> None:
    seen = trace("Hi", page='- heading "Alerts"', page_before="- main", cuts={"page_before": TextLoss("a part")})
    assert status(seen, "ui", ui=["The panel title becomes Alerts"]) is Status.UNKNOWN


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ('- button "Snooze"', Status.PASSED),
        ('- button "Snooze until noon"', Status.PASSED),
        ('- button "Unsnoozed"', Status.FAILED),
        ('- button "Snooze" [disabled]', Status.FAILED),
        ('- button "Snoozed mail"', Status.FAILED),
    ],
)
def test_an_action_on_offer(page: str, expected: Status) -> None:
    result = status(trace("Hi", page=page), "must_allow_override_actions", must_allow_override_actions=["Snooze"])
    assert result is expected


@pytest.mark.parametrize(
    "expected",
    [
        {"ui": [{"name_contains": " "}]},
        {"ui": [{"name": "\u200b"}]},
        {"ui": [{"role": "button", "visible": False, "min": 2}]},
        {"tool_calls_none": [" "]},
        {"tool_calls_any": ["x", " "]},
        {"tool_calls": [{"tool": " "}]},
    ],
)
def test_an_expectation_that_nothing_can_fail(expected: dict[str, Any]) -> None:
    with pytest.raises(SuiteError):
        status(trace(), "outcome", **expected)
