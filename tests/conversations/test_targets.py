"""Conversations through every kind of target: turns, replies, a turn that breaks, and what is kept of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

import carob
from carob.model.run import CaseRecord
from carob.model.verdict import CaseStatus, Status
from carob.reports.case_facts import reasons

from . import desk

HERE = Path(__file__).parent
ASKS = {"outcome": "needs_input", "asks_for": ["order number"], "tool_calls_none": ["issue_refund"]}
PAYS = {"tool_calls": [{"tool": "issue_refund", "arguments": {"order": "A-17"}, "success": True}]}
TARGETS = {
    "function": desk.remembers,
    "python": f"python:{HERE / 'desk.py'}:remembers",
    "without-conversation": f"python:{HERE / 'desk.py'}:forgets",
    "command": f"command:{sys.executable} {HERE / 'desk.py'}",
    "langgraph": f"langgraph:{HERE / 'desk.py'}:graph",
}


def turns(*said: str, **rest: Any) -> dict[str, Any]:
    """A case in which the user says these; the first answer asks, the others pay."""
    listed = [{"prompt": text, "expected": ASKS if text == said[0] else {}} for text in said]
    return {"id": "refund", "turns": listed, "expected": PAYS, **rest}


def ran(case: dict[str, Any], target: Any, **rest: Any) -> CaseRecord:
    result = carob.run({"carob": 1, "cases": [case]}, target, **rest)
    return next(result.journal.records())


def said(record: CaseRecord) -> list[tuple[str, str]]:
    return [(turn.input, turn.final_message) for turn in record.trace.turns]


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_turns_are_played_and_judged_one_by_one(target: Any) -> None:
    case = turns("I want my money back.", "It is order A-17.")
    record = ran(case, target)
    assert record.status is CaseStatus.PASS
    assert [turn for turn, _ in said(record)] == ["I want my money back.", "It is order A-17."]
    assert [len(turn.tool_calls) for turn in record.trace.turns] == [0, 3]
    assert [check.turn for check in record.verdict.checks] == [1, 1, 1, 2, None]
    wrong = ran(turns("It is order A-17.", "I want my money back."), target)
    assert wrong.status is CaseStatus.FAIL
    failed = [(check.turn, check.name) for check in wrong.verdict.checks if check.status is Status.FAILED]
    assert failed == [(1, "outcome"), (1, "tool_calls_none"), (1, "asks_for")]


@pytest.mark.parametrize("target", [TARGETS["python"], TARGETS["command"], TARGETS["langgraph"]], ids=str)
def test_a_turn_that_breaks_ends_the_case_and_those_before_stay_judged(target: str) -> None:
    record = ran(turns("I want my money back.", "Now crash.", "It is order A-17."), target)
    assert record.status is CaseStatus.ERROR
    assert record.verdict.reason.startswith("agent: turn 2: ")
    assert [(check.turn, check.status) for check in record.verdict.checks] == [(1, Status.PASSED)] * 3
    assert [turn.error is None for turn in record.trace.turns] == [True, False]


def test_setup_prompts_come_before_a_conversation() -> None:
    case = {
        **turns("Hello.", "Thanks."),
        "setup_prompts": ["It is order A-17."],
        "expected": {"tool_calls_none": ["x"]},
    }
    case["turns"][0]["expected"] = {"must_say_any": ["on its way"]}
    for target in (TARGETS["python"], TARGETS["command"], TARGETS["langgraph"]):
        record = ran(case, target)
        assert (record.status, len(record.trace.turns)) == (CaseStatus.PASS, 2)


STUBBORN = {
    "id": "stubborn",
    "prompt": "I want my money back.",
    "replies": [
        {"asks_for": ["order number"], "say": "It is order A-17."},
        {"asks_for": ["reason", "why"], "say": "It broke."},
    ],
    "max_turns": 6,
    "expected": PAYS,
}


def test_a_scripted_user_answers_what_is_asked() -> None:
    record = ran(STUBBORN, desk.thorough)
    assert record.status is CaseStatus.PASS
    assert [prompt for prompt, _ in said(record)] == ["I want my money back.", "It is order A-17.", "It broke."]
    assert record.trace.metadata["scripted_user"] == {
        "ended": "after 3 turns, because no reply covers what the last answer asks for"
    }


def test_a_reply_that_without_a_prompt_is_reported() -> None:
    record = ran(STUBBORN, desk.remembers)
    assert (record.status, len(record.trace.turns)) == (CaseStatus.PASS, 2)
    assert record.trace.metadata["scripted_user"]["never_asked_for"] == [["reason", "why"]]


def test_a_scripted_user_ends_at_last() -> None:
    record = ran(STUBBORN, desk.endless)
    assert record.status is CaseStatus.PARTIAL  # nobody saw the calls of an agent that gives text alone
    assert len(record.trace.turns) == 6
    assert record.trace.metadata["scripted_user"]["ended"] == "after 6 turns, the most that it may have"
    assert [*reasons(record)][-1] == "the scripted user stopped after 6 turns, the most that it may have"
    assert len(ran({**STUBBORN, "max_turns": 1}, desk.endless).trace.turns) == 1


def test_several_replies_to_one_thing_are_said_in_order_and_two_things_at_once() -> None:
    heard: list[str] = []

    def agent(prompt: str) -> str:
        heard.append(prompt)
        if len(heard) < 4:
            return "What is your order number?"
        return "Please tell me the order number and the reason." if len(heard) == 4 else "Done."

    replies = [{"asks_for": ["order number"], "say": say} for say in ("X-99.", "A-17.")]
    ran({**STUBBORN, "replies": [*replies, {"asks_for": ["reason"], "say": "It broke."}]}, agent)
    assert heard == ["I want my money back.", "X-99.", "A-17.", "A-17.", "A-17. It broke."]


def recorded(record: CaseRecord, file: Path) -> Path:
    """The conversation in the short form."""
    forms = []
    for turn in record.trace.turns:
        calls = [{"name": c.name, "arguments": c.arguments, "success": c.success} for c in turn.tool_calls]
        forms.append({"input": turn.input, "final_message": turn.final_message, "tool_calls": calls})
    file.write_text(json.dumps({"case_id": record.case.id, "turns": forms}) + "\n")
    return file


@pytest.mark.parametrize(
    "case", [turns("I want my money back.", "It is order A-17."), STUBBORN], ids=["turns", "replies"]
)
def test_a_conversation_is_replayed(case: dict[str, Any], tmp_path: Path) -> None:
    result = carob.run({"carob": 1, "cases": [case]}, desk.remembers, results_dir=tmp_path)
    (record,) = result.journal.records()
    for file in (Path(result.journal.path), recorded(record, tmp_path / "short.jsonl")):
        again = ran(case, f"replay:{file}")
        assert again.status is CaseStatus.PASS
        assert said(again) == said(record)
        other = json.loads(json.dumps(case).replace("A-17", "B-04").replace("money", "cash"))
        assert ran(other, f"replay:{file}").verdict.reason.startswith("not-recorded: turn 1: ")


@pytest.mark.parametrize(
    ("case", "why"),
    [
        pytest.param(turns("I want my money back."), "the recording goes on after turn 1", id="fewer"),
        pytest.param(
            turns("I want my money back.", "It is order A-17.", "Thanks."),
            "turn 3: the recording has 2 turns",
            id="more",
        ),
        pytest.param(
            {"id": "refund", "prompt": "I want my money back.", "expected": PAYS},
            "the trace is of a conversation, and the case has one prompt",
            id="one-prompt",
        ),
    ],
)
def test_another_conversation_than_the_recorded(case: dict[str, Any], why: str, tmp_path: Path) -> None:
    record = ran(turns("I want my money back.", "It is order A-17."), desk.remembers)
    again = ran(case, f"replay:{recorded(record, tmp_path / 'short.jsonl')}")
    assert again.status is CaseStatus.ERROR
    assert why in again.verdict.reason


@pytest.mark.parametrize(
    ("said", "why"),
    [
        pytest.param("leave", "agent: turn 2: the command ended before it answered", id="ends-early"),
        pytest.param("twice", "bad-answer: the command wrote more lines with `final_message` than it got", id="twice"),
    ],
)
def test_a_program_that_does_not_keep_to_the_turns(said: str, why: str) -> None:
    record = ran(turns("I want my money back.", said), TARGETS["command"])
    assert record.status is CaseStatus.ERROR
    assert record.verdict.reason.startswith(why)


def test_a_target_that_plays_one_turn_alone_is_an_error() -> None:
    class Once:
        limits = carob.Limits()
        options: ClassVar[dict[str, Any]] = {"use": "once"}

        async def open(self) -> None: ...

        async def run(self, case: carob.Case, context: carob.RunContext) -> carob.Trace:
            return carob.Trace(case_id=case.id, input=case.prompt, final_message="What is your order number?")

        async def close(self) -> None: ...

    record = ran(turns("I want my money back.", "It is order A-17."), Once())
    assert record.verdict.reason.startswith("no-conversation: the target answered only one prompt")


def test_a_conversation_is_judged_again_without_the_agent() -> None:
    asked = turns("I want my money back.", "It is order A-17.")
    result = carob.run({"carob": 1, "cases": [asked]}, desk.remembers)
    assert carob.rescore(result.journal).ok
    asked["turns"][1]["expected"] = {"must_say_any": ["$43"]}
    stricter = carob.rescore(result.journal, {"carob": 1, "cases": [asked]})
    (record,) = stricter.journal.records()
    assert (record.status, record.verdict.checks[-2].turn) == (CaseStatus.FAIL, 2)
    asked["turns"][1]["prompt"] = "It is order B-04."
    other = carob.rescore(result.journal, {"carob": 1, "cases": [asked]})
    assert next(other.journal.records()).verdict.reason.startswith("not-recorded")


def test_a_turn_that_takes_too_long_keeps_those_before() -> None:
    import asyncio

    async def agent(prompt: str) -> str:
        await asyncio.sleep(600 if "A-17" in prompt else 0)
        return "What is your order number?"

    case = {**turns("I want my money back.", "It is order A-17."), "expected": {"must_say_any": ["x"]}}
    record = ran(case, agent, timeout=0.5)
    assert record.verdict.reason.startswith("timeout: the case took longer")
    assert [turn.final_message for turn in record.trace.turns] == ["What is your order number?", ""]
    assert [check.turn for check in record.verdict.checks] == [1, 1, 1]
