"""Verdicts of Carob next to published ones: what is compared, and the class of each difference."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from benchmarks.published import bfcl, bfcl_turns, peers, tau2

TASK = {
    "id": "t1",
    "user_scenario": {"instructions": "Cancel 7."},
    "evaluation_criteria": {"actions": [{"action_id": "1", "name": "cancel", "arguments": {"id": 7}}]},
}


def _run(order: int, rewarded: bool, ended: bool = True) -> dict[str, Any]:
    messages = [
        {"role": "user", "content": "Cancel 7."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "name": "cancel", "arguments": {"id": order}}],
        },
        {"role": "tool", "id": "c", "content": "ok"},
        {"role": "assistant", "content": "Done."},
    ]
    return {
        "task_id": "t1",
        "messages": messages,
        "termination_reason": "user_stop" if ended else "max_steps",
        "reward_info": {"reward_breakdown": {"DB": float(rewarded)}},
    }


def test_simulations_of_tau2_are_held_against_the_parts_of_their_reward(tmp_path: Path) -> None:
    runs = [_run(7, True), _run(8, False), _run(8, True), _run(7, False), _run(7, True, ended=False)]
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"tasks": [TASK], "simulations": runs}), encoding="utf-8")
    found = [*tau2.judge_file(path)]
    assert [one.status for one in found] == ["PASS", "FAIL", "FAIL", "PASS", "FAIL"]
    assert [one.agrees for one in found] == [True, True, False, False, True]
    assert [one.kind for one in found[2:4]] == [tau2.SAME_STATE, tau2.OTHER_STATE]


def _judged(category: str, status: str, valid: bool, error: str = "", published: bool = True) -> bfcl.Judged:
    return bfcl.Judged("m-FC", category, f"{category}_0", [], status, "", valid, "", error, published)


@pytest.mark.parametrize(
    ("judged", "kind"),
    [
        (_judged("simple_python", "PASS", False, "inner type <class 'float'>"), bfcl.WHOLE_FLOAT),
        (_judged("simple_javascript", "FAIL", True), bfcl.SOURCE),
        (_judged("simple_python", "FAIL", True), bfcl.UNEXPLAINED),
        (_judged("simple_python", "PASS", False, "another value"), bfcl.UNEXPLAINED),
    ],
)
def test_a_difference_of_bfcl_has_a_class_only_if_it_is_a_known_one(judged: bfcl.Judged, kind: str) -> None:
    assert not judged.agrees
    assert judged.kind == kind


def test_answers_made_from_gold_differ_in_one_thing() -> None:
    gold = [["mv(a='x')", "ls(a=True)"], [], ["cat(f='y')"]]
    made = [bfcl_turns.change_gold(gold, Random(seed)) for seed in range(200)]
    assert {change for change, _ in made} == set(bfcl_turns.CHANGES)
    assert all(turns == gold for change, turns in made if change == "same")
    assert all(turns != gold for change, turns in made if change in ("drop", "value", "again", "read"))


@pytest.mark.parametrize("peer", peers.PEERS, ids=lambda peer: peer.name)
def test_examples_for_other_tools_have_a_row_and_a_trace_each(peer: peers.Peer) -> None:
    chance = Random(1)
    made = [peer.make(chance, number) for number in range(50)]
    assert len({one.trace["case_id"] for one in made}) == 50
    assert all(one.trace["case_id"] in (one.row.get("id"), one.row.get("name")) for one in made)
