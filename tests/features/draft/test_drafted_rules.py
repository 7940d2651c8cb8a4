"""Rules are drafted from what half of the conversations show, and only those that the other half keeps as well."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import structs

import carob
from carob.cli.main import run as command_line
from carob.features.draft.rules import draft_rules
from carob.model.trace import ToolCall, Trace

EFFECTS = {"pay": ("paid",)}


def call(message: int, tool: str, result: object = None, **arguments: object) -> ToolCall:
    return ToolCall(tool, arguments, result=result or {"ok": True}, success=True, message=str(message))


def pay_after_lookup(order: str, *, prompt: str = "Yes, please.", look: bool = True, twice: str = "") -> Trace:
    """An order is looked up, then paid with the account that it shows."""
    iban = f"DE-{order}"
    calls = [call(1, "find", {"iban": iban}, order=order)] if look else []
    calls.append(call(2, "pay", order=order, iban=iban))
    if twice:
        calls += [
            call(3, "find", {"iban": f"DE-{twice}"}, order=twice),
            call(4, "pay", order=twice, iban=f"DE-{twice}"),
        ]
    calls.append(call(5, "goodbye"))
    return Trace(case_id=order, input=prompt, final_message="Paid.", ended_by="itself", tool_calls=tuple(calls))


SOUND = [pay_after_lookup(f"A-{n}", twice=f"B-{n}") for n in range(12)]


def rules_of(traces: Sequence[Trace]) -> Mapping[str, Any]:
    return {rule["id"]: rule for rule in yaml.safe_load(draft_rules(traces, EFFECTS).yaml)["rules"]}


def test_rules_of_every_kind_are_found() -> None:
    rules = rules_of(SOUND)
    assert rules["find-before-pay-by-order"]["needs"] == {
        "before": {"call": "find", "success": True, "arguments": {"order": {"$same": "order"}}}
    }
    assert rules["pay-once-for-each-order"]["at_most"] == 1
    assert rules["nothing-after-goodbye"]["forbids"] == {"after": {"call": "*"}}
    assert rules["agreed-to-pay"]["needs"] == {"last_user": ["@yes"]}
    assert rules["iban-of-pay"]["values_from"] == {"each.arguments.iban": ["find"]}


@pytest.mark.parametrize(
    ("trace", "rule"),
    [
        (pay_after_lookup("X-9", look=False), "find-before-pay-by-order"),
        (pay_after_lookup("X-9", twice="X-9"), "pay-once-for-each-order"),
        (pay_after_lookup("X-9", prompt="What is due?"), "agreed-to-pay"),
        (pay_after_lookup("X-9", look=False), "iban-of-pay"),
    ],
)
@pytest.mark.parametrize("place", [4, 5], ids=["learned from", "checked"])
def test_a_conversation_that_breaks_a_rule_makes_a_question_of_it(trace: Trace, rule: str, place: int) -> None:
    """In either half: one exception in so many is a bug, or shows that it is no rule."""
    traces = [*SOUND, *SOUND]
    draft = draft_rules([*traces[:place], trace, *traces[place:]], EFFECTS)
    assert rule not in {drafted.rule["id"] for drafted in draft.rules}
    assert rule in {drafted.rule["id"] for drafted in draft.questions}
    assert f"#   - id: {rule}" in draft.yaml


def test_what_could_not_have_been_broken_is_no_rule() -> None:
    """One payment in each conversation does not show that an order is paid once."""
    assert "pay-once-for-each-order" not in rules_of([pay_after_lookup(f"A-{n}") for n in range(12)])


@pytest.mark.parametrize("name", ["@SUM(1)", "@effects", "*", "", "\u200b"])
def test_a_tool_that_no_rule_can_name_is_left_out(name: str) -> None:
    odd = [structs.replace(run, tool_calls=(*run.tool_calls, call(6, name, order=run.case_id))) for run in SOUND]
    assert "pay-once-for-each-order" in rules_of(odd)


def test_the_drafted_file_is_a_contract_that_its_conversations_keep(tmp_path: Path) -> None:
    path = tmp_path / "policy.carob.yaml"
    path.write_text(draft_rules(SOUND, EFFECTS).yaml)
    suite = {"carob": 1, "rules": [str(path)], "cases": [{"id": "A-1", "prompt": "Yes, please."}]}
    (case,) = carob.load_suite(suite).cases
    assert carob.judge(case, SOUND[1]).status == "PASS"
    assert carob.judge(case, pay_after_lookup("A-1", look=False)).status == "FAIL"


def test_the_command_writes_a_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = tmp_path / "runs.jsonl"
    lines = [
        {"case_id": trace.case_id, "input": trace.input, "final_message": "Paid.",
         "tool_calls": [{"name": c.name, "arguments": c.arguments, "result": c.result, "success": True,
                         "message": c.message} for c in trace.tool_calls]}
        for trace in SOUND
    ]  # fmt: skip
    recording.write_text("".join(json.dumps(line) + "\n" for line in lines))
    path = tmp_path / "policy.carob.yaml"
    assert command_line(["draft", "--rules", str(recording), "-o", str(path)]) == 0
    assert "rules that all of 12 conversations keep" in capsys.readouterr().err
    assert command_line(["lint", "--errors-only", str(path)]) == 0


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--rules"], "there is nothing to draft from."),
        (["--rules", "--target", "python:x.py:y"], "--rules needs recorded conversations"),
    ],
)
def test_what_rules_cannot_be_drafted_from_is_refused(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line(["draft", *arguments]) == 4
    assert why in capsys.readouterr().err


def test_no_rule_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = tmp_path / "runs.jsonl"
    line = {"input": "hi", "final_message": "Hello.", "tool_calls": []}
    recording.write_text("".join(json.dumps({"case_id": f"c{n}", **line}) + "\n" for n in range(8)))
    path = tmp_path / "policy.carob.yaml"
    assert command_line(["draft", "--rules", str(recording), "-o", str(path)]) == 4
    assert "no rule was found that 8 conversations keep" in capsys.readouterr().err
    assert not path.exists()


def test_too_few_conversations_are_refused() -> None:
    with pytest.raises(carob.UsageError, match="at least 6 are needed, found 3"):
        draft_rules(SOUND[:3], EFFECTS)
