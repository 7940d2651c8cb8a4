"""Eval sets of ADK, new and old, with the criteria next to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from carob.errors import SuiteError
from carob.model.suite import Case, Suite
from carob.model.trace import ToolCall, Trace
from carob.scoring.verdicts import case_results
from carob.suites.reading import convert, read_suite
from catalogs import CATALOG


def content(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "parts": [{"text": text}]}


def invocation(prompt: str, answer: str | None = "Done.", *tools: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    uses = [{"name": name, "args": args} for name, args in tools]
    turn: dict[str, Any] = {"user_content": content(prompt), "intermediate_data": {"tool_uses": uses}}
    return turn | ({} if answer is None else {"final_response": content(answer, "model")})


def eval_set(*turns: dict[str, Any], **case: object) -> dict[str, Any]:
    return {"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": [*turns], **case}]}


def read(folder: Path, tree: object, criteria: object = None, name: str = "x.evalset.json") -> Suite:
    if criteria is not None:
        (folder / "test_config.json").write_text(json.dumps({"criteria": criteria}))
    return read_suite(json.dumps(tree).encode(), str(folder / name), CATALOG)


def checks(case: Case) -> list[tuple[int | None, str, Any]]:
    return [(turn, spec.name, msgspec.json.decode(spec.args)) for turn, spec in case.all_checks]


BOOK = ("book", {"day": "Mon"})


def test_default_criteria_are_those_of_adk(tmp_path):
    (case,) = read(tmp_path, eval_set(invocation("Book", "It is booked.", BOOK))).cases
    assert (case.id, case.prompt) == ("c", "Book")
    assert checks(case) == [
        (None, "trajectory", {"calls": [{"tool": "book", "arguments": {"$eq": {"day": "Mon"}}}], "match": "ordered"}),
        (None, "response_match", {"texts": ["It is booked."], "threshold": 0.8}),
    ]


def test_camel_case_and_events_read_the_same(tmp_path):
    snake = eval_set(invocation("Book", "Done.", BOOK), session_input={"state": {"a": 1}}, final_session_state={"b": 2})
    event = {"author": "x", "content": {"parts": [{"functionCall": {"name": "book", "args": {"day": "Mon"}}}]}}
    turn = {
        "userContent": content("Book"),
        "finalResponse": content("Done.", "model"),
        "intermediateData": {"invocationEvents": [event]},
    }
    case = {"evalId": "c", "conversation": [turn], "sessionInput": {"state": {"a": 1}}, "finalSessionState": {"b": 2}}
    first, second = read(tmp_path, snake).cases[0], read(tmp_path, {"evalCases": [case]}).cases[0]
    assert first == second
    assert first.metadata == {"session_state": {"a": 1}}
    assert checks(first)[-1][1:] == ("state", {"path": '$["b"]', "value": {"$eq": 2}})


def test_a_list_of_turns_is_one_conversation(tmp_path):
    tool = {"tool_name": "book", "tool_input": {"day": "Mon"}}
    tree = [
        {"query": "Hi", "expected_tool_use": [], "reference": "Hello."},
        {"query": "Book", "expected_tool_use": [tool], "reference": "Done."},
    ]
    (case,) = read(tmp_path, tree, name="talk.test.json").cases
    assert (case.id, [turn.prompt for turn in case.turns]) == ("talk", ["Hi", "Book"])
    assert [name for _, name, _ in checks(case)] == ["trajectory", "trajectory", "response_match"]
    several = [{"name": "one", "data": tree, "initial_state": {"state": {"a": 1}}}]
    (case,) = read(tmp_path, several).cases
    assert (case.id, case.metadata) == ("one", {"session_state": {"a": 1}})


def test_metrics_that_need_a_model_are_counted_apart(tmp_path):
    criteria = {"tool_trajectory_avg_score": 1.0, "safety_v1": 0.8, "rubric_based_final_response_quality_v1": {}}
    (case,) = read(tmp_path, eval_set(invocation("Book", "Done.", BOOK)), criteria).cases
    assert [name for _, name, _ in checks(case)] == ["trajectory", "unjudged", "unjudged"]


@pytest.mark.parametrize(
    ("tree", "criteria", "message"),
    [
        (eval_set({"user_content": content("Hi")}), None, "nothing is expected"),
        (eval_set(), None, "no conversation"),
        ({"eval_cases": []}, None, "no cases"),
        ({"eval_cases": [3]}, None, "expected an object, found a number"),
        (eval_set(invocation("", "Done.", BOOK)), None, "has no text"),
        (eval_set(invocation("Hi")), {"tool_trajectory_avg_score": 7.0}, "expected a threshold"),
        (
            eval_set(invocation("Hi")),
            {"tool_trajectory_avg_score": {"threshold": 1, "match_type": "SOME"}},
            "unknown match type",
        ),
    ],
)
def test_a_set_that_proves_nothing_is_refused(tmp_path, tree, criteria, message):
    with pytest.raises(SuiteError) as refused:
        read(tmp_path, tree, criteria)
    assert any(message in one.message for one in refused.value.problems)


def trace(*turns: tuple[str, list[tuple[str, dict[str, Any]]]]) -> Trace:
    made = [
        Trace(
            case_id="c",
            final_message=text,
            tool_calls=tuple(ToolCall(name, args, result=1, success=True) for name, args in tools),
        )
        for text, tools in turns
    ]
    return made[0] if len(made) == 1 else Trace(case_id="c", turns=tuple(made), final_message=made[-1].final_message)


FIND = ("find", {})
CRITERIA = [{"threshold": t, "match_type": m} for t in (1.0, 0.5) for m in ("EXACT", "IN_ORDER", "ANY_ORDER")]
TURNS = (invocation("Find", "Found.", FIND, BOOK), invocation("Book", "Booked it.", BOOK))
DEEDS = {
    "as-expected": ([FIND, BOOK], [BOOK], (True,) * 6),
    "one-more": ([FIND, BOOK, FIND], [BOOK], (False, True, True, True, True, True)),
    "other-order": ([BOOK, FIND], [BOOK], (False, False, True, True, True, True)),
    "nothing": ([], [], (False,) * 6),
}


@pytest.mark.parametrize("name", DEEDS)
def test_trajectories_count_as_in_adk_before_and_after_conversion(tmp_path, name):
    first, second, expected = DEEDS[name]
    seen = trace(("Found.", first), ("Booked it.", second))
    for criterion, holds in zip(CRITERIA, expected, strict=True):
        tree = eval_set(*TURNS)
        case = read(tmp_path, tree, {"tool_trajectory_avg_score": criterion}).cases[0]
        made = convert(json.dumps(tree).encode(), str(tmp_path / "x.evalset.json"), CATALOG)
        again = read_suite(made.text.encode(), "s.yaml", CATALOG).cases[0]
        for one in (case, again):
            results = [found for found in case_results(one, seen, CATALOG) if found.name != "outcome"]
            assert all(found.status == "passed" for found in results) is holds, (criterion, results)


@pytest.mark.parametrize(("answer", "status"), [("Booked it for you.", "passed"), ("No idea.", "failed")])
def test_answers_are_compared_word_by_word(tmp_path, answer, status):
    case = read(tmp_path, eval_set(TURNS[1]), {"response_match_score": 0.6}).cases[0]
    assert [one.status for one in case_results(case, trace((answer, [])), CATALOG)] == [status]
