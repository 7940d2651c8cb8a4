"""Turns that approve, deny or edit the calls that wait for approval, as a suite spells them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.errors import SuiteError
from carob.model.suite import TurnDecision
from carob.suites.decisions import NO_WORDS, SILENT, TOO_EARLY, spell_turn

ASK = {"prompt": "Pay."}


def read(folder: Path, *turns: dict[str, Any], **case: Any) -> carob.Case:
    expected = [{**turn, "expected": {"outcome": "completed"}} for turn in turns]
    (folder / "s.json").write_text(json.dumps({"carob": 1, "cases": [{"id": "a", "turns": expected, **case}]}))
    return carob.load_suite(folder / "s.json").cases[0]


@pytest.mark.parametrize(
    ("turn", "decision", "words"),
    [
        ({"approve": "pay"}, TurnDecision(("pay",)), "approve: pay"),
        ({"approve": ["pay", "b*"]}, TurnDecision(("pay", "b*")), "approve: pay, b*"),
        ({"deny": "pay"}, TurnDecision(deny={"pay": ""}), "deny: pay"),
        ({"deny": ["pay"], "approve": "*"}, TurnDecision(("*",), {"pay": ""}), "approve: *; deny: pay"),
        ({"deny": {"pay": "too dear"}}, TurnDecision(deny={"pay": "too dear"}), "deny: pay (too dear)"),
        ({"edit": {"pay": {"to": "Bo"}}}, TurnDecision(edit={"pay": {"to": "Bo"}}), 'edit: pay {"to":"Bo"}'),
    ],
)
def test_what_a_turn_decides(turn: dict[str, Any], decision: TurnDecision, words: str, tmp_path: Path) -> None:
    case = read(tmp_path, ASK, turn)
    assert (case.turns[1].decision, case.turns[1].prompt) == (decision, words)
    assert read(tmp_path, ASK, spell_turn(case.turns[1])).turns[1].decision == decision


def test_words_decide_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, ASK, {"prompt": "approve: pay"}).turns[1].decision is None


def test_a_decision_may_come_first_after_a_setup(tmp_path: Path) -> None:
    assert read(tmp_path, {"approve": "*"}, setup_prompts=["Pay."]).turns[0].decision == TurnDecision(("*",))


def test_values_of_a_table_fill_what_is_edited(tmp_path: Path) -> None:
    case = read(tmp_path, ASK, {"edit": {"pay": {"amount": "{n}"}}}, vars={"n": 50})
    assert case.turns[1].decision == TurnDecision(edit={"pay": {"amount": 50}})


@pytest.mark.parametrize(
    ("turns", "problem"),
    [
        ([{"approve": "pay"}], f"turns[0]: {TOO_EARLY} [no-effect]"),
        ([ASK, {"prompt": "No.", "deny": "pay"}], f"turns[1].prompt: {NO_WORDS} [duplicate-field]"),
        ([ASK, {}], f"turns[1]: {SILENT} [missing-field]"),
        (
            [ASK, {"approve": ["pay"], "edit": {"pay": {"to": "Bo"}}}],
            "turns[1].edit: 'pay' is in 'approve' too. Keep one. [duplicate-field]",
        ),
        ([ASK, {"approve": True}], "turns[1].approve: expected a string or a list, found true. [wrong-type]"),
        (
            [ASK, {"edit": {"pay": {}}}],
            "turns[1].edit.pay: an empty object expects nothing. Say what is expected, or leave the field out. "
            "[empty-expectation]",
        ),
        ([ASK, {"aprove": "pay"}], "turns[1].aprove: unknown field. Did you mean 'approve'? [unknown-field]"),
    ],
)
def test_what_can_be_wrong(turns: list[dict[str, Any]], problem: str, tmp_path: Path) -> None:
    with pytest.raises(SuiteError) as error:
        read(tmp_path, *turns)
    assert [f"{one.path.removeprefix('cases[0].')}: {one.message} [{one.slug}]" for one in error.value.problems] == [
        problem
    ]
