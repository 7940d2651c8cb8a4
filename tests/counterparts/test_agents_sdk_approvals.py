"""Approvals of the OpenAI Agents SDK, live: what is asked, what a turn decides, what then runs, and handoffs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from counterparts.environments import ROOT, python_with

HERE = Path(__file__).parent / "approvals"
RULES = [
    {
        "id": "approved-is-executed",
        "each": {"call": "pay", "success": True, "arguments": {"$as": "shown"}},
        "needs": {"before": {"approved": "pay", "arguments": {"$same": "shown"}}},
    },
    {"id": "one-handoff", "each": {"handoff": "transfer_to_clerk"}, "at_most": 1},
]
BLUE, RED = {"room": "Blue"}, {"room": "Red"}
HELD, UNTESTED = "passed", "not_triggered"


def converse(folder: Path, agent: str, decision: dict[str, Any]) -> dict[str, Any]:
    """The record of a case in which the desk asks, and one turn decides."""
    python = python_with("ways-openai-agents", "--editable", str(ROOT), "openai-agents==0.24.0")
    decided = {**decision, "expected": {"outcome": "completed"}}
    suite = {"carob": 1, "rules": RULES, "cases": [{"id": "a", "turns": [{"prompt": "Pay both"}, decided]}]}
    (folder / "suite.json").write_text(json.dumps(suite))
    (folder / "carob.toml").write_text(
        f'[targets.desk]\nuse = "python:paying_desk:{agent}"\npython_path = ["{HERE}"]\n'
    )
    command = [python.with_name("carob"), "run", "suite.json", "-t", "desk", "--results-dir", "runs"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    journals = [*(folder / "runs").glob("suite-*Z.jsonl")]
    assert len(journals) == 1, done.stdout + done.stderr
    records = [json.loads(line) for line in journals[0].read_text().splitlines()]
    return next(record for record in records if "verdict" in record)


def event(kind: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "tool": "pay", "arguments": arguments}


@pytest.mark.parametrize("agent", ["answer", "answer_in_a_thread"])
@pytest.mark.parametrize(
    ("decision", "kind", "ran", "rules"),
    [
        ({"approve": "pay"}, "approved", ["pay", "pay", "transfer_to_clerk"], [HELD, HELD]),
        ({"deny": {"pay": "too dear"}}, "denied", ["transfer_to_clerk"], [UNTESTED, HELD]),
    ],
)
def test_what_is_asked_and_decided(
    agent: str, decision: dict[str, Any], kind: str, ran: list[str], rules: list[str], tmp_path: Path
) -> None:
    record = converse(tmp_path, agent, decision)
    first, second = record["trace"]["turns"]
    requested = [(call["name"], call.get("started", True)) for call in first["tool_calls"]]
    assert requested == [("look", True), ("pay", False), ("pay", False)]
    assert len({call["message"] for call in first["tool_calls"]}) == 1
    assert first["metadata"]["approvals"] == [event("asks_approval", BLUE), event("asks_approval", RED)]
    assert second["metadata"]["approvals"] == [event(kind, BLUE), event(kind, RED)]
    assert [call["name"] for call in second["tool_calls"]] == ran
    assert [call.get("kind", "tool") for call in second["tool_calls"]][-1] == "handoff"
    assert second["final_message"] == "The clerk is here."
    assert second["tokens"] == {"input": 14, "output": 6}
    judged = [check["status"] for check in record["verdict"]["checks"] if check["name"] in ("rule", "shared_rule")]
    assert judged == rules


@pytest.mark.parametrize(
    ("agent", "decision", "message"),
    [
        ("answer", {"edit": {"pay": BLUE}}, "turn 2: the OpenAI Agents SDK cannot run a call with other arguments"),
        ("answer", {"approve": "look"}, "turn 2: no call of 'look' waits for approval. What waits: pay"),
        ("answer_in_words", {"approve": "pay"}, "turn 2: the turn decides (approve: pay), and nothing waits for it"),
    ],
)
def test_what_fits_nothing_that_waits_is_an_error(
    agent: str, decision: dict[str, Any], message: str, tmp_path: Path
) -> None:
    error = converse(tmp_path, agent, decision)["trace"]["error"]
    assert (error["kind"], error["message"][: len(message)]) == ("not-asked", message)
