"""`carob coverage --against`: the kinds of recorded conversations that no case resembles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import carob as library
from cli.support import Carob, write
from features.coverage.desk import ANSWERS, SUITE, answer, call, record

LIKE = answer("Yes.", call("get_order", order=1), call("issue_refund", order=1))
FAILED = answer("No.", call("get_order", order=1), call("issue_refund", success=False, order=1))
CANCELLED = answer("Cancelled.", call("cancel_order", order=3))
TWICE = answer("Yes, yes.", call("get_order", order=2), call("issue_refund", order=2), call("issue_refund", order=4))
REQUIRED = answer("Refunded.", call("issue_refund", order=5))
TALK = answer("Good morning.")


def recording(*answers: dict[str, Any]) -> str:
    lines = [{"case_id": f"p{number}", "input": f"Do {number}.", **each} for number, each in enumerate(answers)]
    Path("production.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return "production.jsonl"


def test_kinds_are_sets_of_tools_with_how_they_came_out(carob: Carob) -> None:
    journal = record(carob, SUITE, ANSWERS)
    against = recording(LIKE, CANCELLED, FAILED, CANCELLED, TWICE, TALK)
    coverage = library.coverage("suite.json", journal, against=against)
    assert coverage.against == 6
    assert [(kind.tools, kind.conversations, kind.example) for kind in coverage.unlike] == [
        (("cancel_order",), 2, "p1"),
        ((), 1, "p5"),
        (("get_order", "issue_refund (failed)"), 1, "p2"),
    ]


def test_without_a_run_a_case_is_like_the_calls_that_it_requires(carob: Carob) -> None:
    write("suite.json", SUITE)
    failed = answer("No.", call("issue_refund", success=False, order=5))
    coverage = library.coverage("suite.json", against=recording(REQUIRED, LIKE, failed))
    assert [kind.example for kind in coverage.unlike] == ["p1", "p2"]


def test_calls_that_were_not_observed_are_of_no_kind(carob: Carob) -> None:
    write("suite.json", SUITE)
    coverage = library.coverage("suite.json", against=recording({"final_message": "Hm."}))
    assert (coverage.against, coverage.unlike) == (1, ())


def test_draft_makes_cases_of_what_no_case_resembles(carob: Carob) -> None:
    journal = record(carob, SUITE, ANSWERS)
    against = recording(LIKE, CANCELLED, *[FAILED] * 5)
    ran = carob("coverage", "suite.json", journal, "--against", against, "--unlike", "unlike.jsonl")
    assert ran.code == 0
    assert "6 of 7 conversations, in 2 kinds" in ran.out
    assert "get_order, issue_refund (failed)  5 of 7         p2" in ran.out
    written = [json.loads(line)["trace"]["case_id"] for line in Path("unlike.jsonl").read_text().splitlines()]
    assert written == ["p2", "p3", "p4", "p1"]  # up to three of each kind
    drafted = carob("draft", "unlike.jsonl", "-o", "more.carob.yaml")
    assert drafted.code == 0
    assert library.load_suite("more.carob.yaml").cases


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(
            ["suite.json", "suite.json"], "it is a suite (carob-1), not a run. Run it first", id="suite-as-run"
        ),
        pytest.param(
            ["suite.json", "--against", "suite.json"], "it is a suite (carob-1), not a run", id="suite-against"
        ),
        pytest.param(["suite.json", "--unlike", "x.jsonl"], "Name recorded conversations with --against", id="nothing"),
    ],
)
def test_mistakes_say_how_to_fix_them(carob: Carob, arguments: list[str], words: str) -> None:
    write("suite.json", SUITE)
    ran = carob("coverage", *arguments)
    assert ran.code == 4
    assert words in ran.err
    assert not Path("x.jsonl").exists()
