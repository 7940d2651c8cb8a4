"""Calls of one's own: an assignment that is no greedy one, counts, and what a failure shows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carob.api import judge
from carob.checks.tools.patterns import assign
from carob.errors import SuiteError
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import CheckResult, Status
from carob.suites import loads
from catalogs import CATALOG


def results(entries: list[dict[str, Any]], *calls: ToolCall, **more: Any) -> list[CheckResult]:
    suite = {"carob": 1, "cases": [{"id": "A", "prompt": "p", "expected": {"tool_calls": entries}}]}
    (case,) = loads(json.dumps(suite).encode(), "s.json", CATALOG).cases
    verdict = judge(case, Trace(case_id="A", final_message="Done.", tool_calls=calls, **more)).checks
    return [check for check in verdict if check.name == "tool_calls"]


def call(tool: str = "t", **arguments: Any) -> ToolCall:
    return ToolCall(tool, arguments, success=True)


P, F, U = Status.PASSED, Status.FAILED, Status.UNKNOWN


@pytest.mark.parametrize(
    ("entries", "calls", "statuses"),
    [
        pytest.param([{}, {"arguments": {"x": 1}}], [call(x=1), call(x=2)], [P, P], id="the-first-gives-way"),
        pytest.param([{"arguments": {"x": 1}}, {}], [call(x=1), call(x=2)], [P, P], id="either-order"),
        pytest.param([{}, {"arguments": {"x": 1}}], [call(x=1)], [P, F], id="one-call-for-two"),
        pytest.param([{}, {}], [call()], [P, F], id="twice-the-same"),
        pytest.param([{"times": 2}, {"arguments": {"x": 1}}], [call(x=1), call(), call()], [P, P], id="two-and-one"),
        pytest.param([{"times": 2}, {"arguments": {"x": 1}}], [call(x=1), call()], [P, F], id="two-or-one"),
        pytest.param([{"arguments": {"x": 1}, "times": 1}], [call(x=1), call(x=1)], [F], id="once-is-not-twice"),
        pytest.param([{"arguments": {"x": 1}, "times": 1}], [call(x=1), call(x=2)], [P], id="others-do-not-count"),
        pytest.param([{"times": {"min": 2, "max": 3}}], [call()], [F], id="too-few"),
        pytest.param([{"times": {"min": 2, "max": 3}}], [call(), call(), call()], [P], id="enough"),
        pytest.param([{"times": {"min": 2, "max": 3}}], [call()] * 4, [F], id="too-many"),
        pytest.param([{"tool": "t*"}, {}], [call()], [P, F], id="a-pattern-shares-no-call"),
        pytest.param([{"tool": "t*"}, {}], [call(), call("tt")], [P, P], id="a-pattern-gives-way"),
        pytest.param([{"any_of": [{"tool": "t"}, {"tool": "s"}]}], [call("s")], [P], id="either-tool"),
        pytest.param(
            [{"any_of": [{"tool": "t", "arguments": {"x": 1}}, {"tool": "s"}]}], [call(x=2)], [F], id="neither-call"
        ),
        pytest.param(
            [{"any_of": [{"tool": "t"}, {"tool": "s"}]}, {}, {"tool": "s"}],
            [call(), call("s")],
            [P, P, F],
            id="two-calls-for-three-of-different-tools",
        ),
        pytest.param(
            [{"any_of": [{"tool": "t"}, {"tool": "s"}], "never": True}], [call("s")], [F], id="neither-may-be-called"
        ),
        pytest.param([{"arguments": {"x": 1}, "last": True}], [call(x=2), call(x=1)], [P], id="the-last"),
        pytest.param([{"arguments": {"x": 1}, "last": True}], [call(x=1), call(x=2)], [F], id="not-the-last"),
        pytest.param([{"arguments": {"x": 1}, "last": True}], [call("s", x=1)], [F], id="no-last"),
        pytest.param(
            [{"arguments": {"x": 1}, "last": {"y": 1}}], [call(x=1, y=1), call(x=2, y=2)], [P], id="the-last-of-these"
        ),
        pytest.param(
            [{"arguments": {"x": 1}, "last": True, "success": True}],
            [call(x=1), ToolCall("t", {"x": 2}, success=False)],
            [P],
            id="the-last-that-succeeded",
        ),
        pytest.param(
            [{"arguments": {"x": 1}, "last": True, "success": True}],
            [call(x=1), ToolCall("t", {"x": 2})],
            [U],
            id="the-last-may-be-another",
        ),
        pytest.param([{}, {"arguments": {"x": 1}, "last": True}], [call(x=1)], [P, P], id="the-last-takes-no-call"),
        pytest.param([{}, {"arguments": {"x": 9}, "never": True}], [call(x=1)], [P, P], id="never-takes-no-call"),
        pytest.param([{}, {"arguments": {"x": 1}, "never": True}], [call(x=1)], [P, F], id="never-is-broken"),
        pytest.param([{"arguments": {"x": 1}, "never": True}], [ToolCall("t")], [U], id="never-seen"),
        pytest.param([{"result": {"a": 1}}], [ToolCall("t", error="no")], [F], id="an-error-has-no-result"),
        pytest.param([{"result": {"a": 1}, "times": 1}], [call(), call()], [U], id="results-nobody-saw"),
    ],
)
def test_each_entry_needs_calls_of_its_own(
    entries: list[dict[str, Any]], calls: list[ToolCall], statuses: list[Status]
) -> None:
    named = [entry if "any_of" in entry else {"tool": "t", **entry} for entry in entries]
    assert [result.status for result in results(named, *calls)] == statuses


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        pytest.param({"success": True}, "give either 'tool' or 'any_of'", id="no-tool"),
        pytest.param({"tool": "t", "any_of": [{"tool": "t"}, {"tool": "s"}]}, "give either 'tool' or", id="both"),
        pytest.param(
            {"any_of": [{"tool": "t"}, {"tool": "s"}], "arguments": {"x": 1}},
            "'arguments' is of one call",
            id="outside",
        ),
        pytest.param({"tool": "t", "last": True}, "it holds of every last call", id="any-last"),
        pytest.param({"tool": "t", "last": True, "success": True, "times": 2}, "'last' speaks of one call", id="twice"),
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(entry: dict[str, Any], problem: str) -> None:
    with pytest.raises(SuiteError, match=problem):
        results([entry])


def test_a_failure_shows_the_nearest_call_argument_by_argument() -> None:
    wanted = {"order": "A-17", "amount": {"$lte": 50}, "note": {"$absent": True}}
    far, near = call("pay", order="B-4", amount=99, note=""), call("pay", order="A-17", amount=80, note="late")
    (result,) = results([{"tool": "pay", "arguments": wanted, "success": True}], call("find"), far, near)
    assert result.status is F
    assert result.found == (
        'nearest is call 3, pay (success) with {"order":"A-17","amount":80,"note":"late"}: '
        'amount: expected at most 50, found 80; note: expected nothing, found "late"'
    )


@pytest.mark.parametrize(
    ("entry", "made", "message"),
    [
        ({"result": {"status": "paid"}}, ToolCall("pay", {}, success=True, result='{"status": "held"}'), "result.stat"),
        ({"error": {"$contains": "limit"}}, ToolCall("pay", {}, error="no such card"), "error: expected something"),
        ({"success": False}, call("pay"), "expected a failure, found a success"),
        ({}, ToolCall("pay", started=False, unfinished=True), "one that was requested but never ran"),
        ({"arguments": {"$eq": {}}}, call("pay", a=1), "expected {}, found"),
    ],
)
def test_what_differs_is_reported(entry: dict[str, Any], made: ToolCall, message: str) -> None:
    (result,) = results([{"tool": "pay", **entry}], made)
    assert result.status is F
    assert message in result.found


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"arguments": {"a": {"$lessthan": 5}}},
            "cases[0].expected.tool_calls[0].arguments.a.$lessthan: unknown matcher",
        ),
        ({"result": [{"$in": []}]}, "tool_calls[0].result[0].$in: $in takes a list that is not empty."),
        ({"times": {"min": 3, "max": 2}}, "tool_calls[0].times: min 3 is greater than max 2."),
        ({"times": {"min": 0}}, "any number of calls passes."),
        ({"times": 0}, "tool_calls[0].times: must be at least 1, found 0."),
        ({"times": 2, "never": True}, "'times' has no effect next to 'never'."),
        ({"arguments": {}}, "an empty object expects nothing."),
    ],
)
def test_an_entry_that_makes_no_sense_is_reported_at_its_place(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(SuiteError) as refused:
        results([{"tool": "t", **entry}])
    assert message in str(refused.value)


@settings(max_examples=60)
@given(st.lists(st.lists(st.integers(0, 5), max_size=4, unique=True), max_size=7))
def test_an_assignment_serves_as_many_as_can_be_served(fits: list[list[int]]) -> None:
    from scipy.sparse import csr_matrix  # takes a second to load, and no other test needs it
    from scipy.sparse.csgraph import maximum_bipartite_matching

    given_ = assign(fits)
    served = [candidate for candidate in given_ if candidate is not None]
    assert len(served) == len(set(served))
    assert all(candidate in fits[slot] for slot, candidate in enumerate(given_) if candidate is not None)
    table = csr_matrix([[int(candidate in row) for candidate in range(6)] for row in fits] or [[0] * 6])
    assert len(served) == int((maximum_bipartite_matching(table, perm_type="column") >= 0).sum())
