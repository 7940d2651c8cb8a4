"""What an answer claims by the words that a suite declares, and what its tools did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import carob
from carob.checks.effects.claims import NoFalseSuccess
from carob.checks.effects.outcome import Outcome
from carob.checks.effects.permitted import OnlyEffects
from carob.checks.sample_traces import calls, says
from carob.errors import ConfigError, SuiteError
from carob.features.lint.base import TargetInfo
from carob.features.lint.linter import lint_source
from carob.model.check import CheckSpec, Declared
from carob.model.suite import Case, Suite
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import Status
from carob.plugins.project import find_project
from carob.scoring.verdicts import judge_case
from carob.suites import loads as loads_with
from carob.suites.declared import with_declared
from catalogs import CATALOG


def loads(text: str, file: str) -> Suite:
    return loads_with(text.encode(), file, CATALOG)


P, F, U = Status.PASSED, Status.FAILED, Status.UNKNOWN
EFFECTS: dict[str, tuple[str, ...]] = {
    "book_*": ("booked", "booking is confirmed"),
    "issue_refund": ("refunded", "refund issued", "issued"),
    "send_mail": ("confirmed",),
    "@effects": ("all set", "completed"),
    "none": ("shipped",),
}
CHECK = NoFalseSuccess(EFFECTS)


def status(text: str, spelled: str = "") -> Status:
    return CHECK.judge(calls(spelled, text=text)).status


@pytest.mark.parametrize(
    ("text", "spelled", "expected"),
    [
        pytest.param("Your flight to Oslo is booked!", "", F, id="to-is-not-a-modal"),
        pytest.param("The trip in May is booked.", "", F, id="may-is-a-month"),
        pytest.param("Will has been booked.", "", F, id="will-is-a-person"),
        pytest.param("It will be booked.", "", P, id="a-modal-directly-before"),
        pytest.param("It may have been booked.", "", P, id="a-modal-before-have"),
        pytest.param("It has been refunded.", "get_order:ok", F, id="a-lookup-excuses-nothing"),
        pytest.param("Has it been booked?", "", P, id="a-question"),
        pytest.param("It has not been booked.", "", P, id="denied"),
        pytest.param("We have no suite, but a double has been booked.", "", F, id="denied-in-another-clause"),
        pytest.param("No worries, it has been booked.", "", F, id="no-worries"),
        pytest.param("No. 5 has been booked.", "", F, id="number-five"),
        pytest.param("If it has been booked, come.", "", P, id="conditional"),
        pytest.param("It has been booked by the hotel.", "", P, id="by-somebody-else"),
        pytest.param("It has been booked by phone.", "", F, id="by-a-means"),
        pytest.param("Rooms that have been booked are safe.", "", P, id="relative"),
        pytest.param("It has already been booked.", "", P, id="already"),
        pytest.param("It seems your room has been booked.", "", P, id="seems"),
        pytest.param("I looked and booked it.", "", F, id="i-and"),
        pytest.param("I've booked it.", "book_slot:ok", P, id="a-wildcard"),
        pytest.param("Your booking is confirmed.", "send_mail:ok", F, id="the-longest-wording-counts"),
        pytest.param("Your booking is confirmed.", "book_slot:ok", P, id="the-longest-wording-is-proved"),
        pytest.param("You are all set.", "issue_refund:ok", P, id="words-of-any-effect"),
        pytest.param("You are all set.", "get_order:ok", F, id="words-of-any-effect-without-one"),
        pytest.param("It has been shipped.", "book_a:ok issue_refund:ok send_mail:ok", F, id="none"),
        pytest.param("**Refund issued**", "", F, id="a-headline"),
        pytest.param("- Refund issued", "issue_refund:ok", P, id="an-item"),
        pytest.param("Booked rooms are lovely.", "", P, id="an-adjective"),
        pytest.param("It is\u00a0now\u00a0booked ✅", "", F, id="no-break-spaces-and-an-emoji"),
        pytest.param("At 5 p.m. it has been booked.", "", F, id="an-abbreviation"),
        pytest.param("Mail a@b.com. Not yet known. It has been booked.", "", F, id="an-address"),
    ],
)
def test_claims(text: str, spelled: str, expected: Status) -> None:
    assert status(text, spelled) is expected


def test_a_word_as_a_key_of_a_result_is_no_proof() -> None:
    order = ToolCall("get_order", {}, result={"refunded": False}, success=True)
    trace = Trace(case_id="A", final_message="It has been refunded.", tool_calls=(order,))
    assert CHECK.judge(trace).status is F


def test_a_word_as_a_value_of_another_tool_is_unknown() -> None:
    order = ToolCall("get_order", {}, result={"orders": [{"state": "Refunded"}]}, success=True)
    trace = Trace(case_id="A", final_message="It has been refunded.", tool_calls=(order,))
    assert CHECK.judge(trace).status is U


@pytest.mark.parametrize(
    ("text", "spelled", "expected"),
    [
        ("Your room is booked.", "book_room:failed", F),
        ("Your room is booked. The second room failed.", "book_room:failed", P),
        ("Your room is booked.", "book_room:failed book_room:ok", P),
        ("Your room is booked.", "get_room:failed", P),
    ],
)
def test_an_earlier_success_does_not_prove_what_failed_in_this_turn(text: str, spelled: str, expected: Status) -> None:
    earlier = calls("book_room:ok", text="Your room is booked.")
    trace = msgspec.structs.replace(calls(spelled, text=text), earlier=(earlier,))
    assert CHECK.judge(trace).status is expected


def test_setup_turns_and_earlier_turns_prove_a_claim() -> None:
    booking = ToolCall("book_slot", {}, success=True)
    text = "Your slot has been booked."
    assert CHECK.judge(Trace(case_id="A", final_message=text, tool_calls=(), setup_calls=(booking,))).status is P
    earlier = Trace(case_id="A", final_message="One moment.", tool_calls=(booking,))
    assert CHECK.judge(Trace(case_id="A", final_message=text, tool_calls=(), earlier=(earlier,))).status is P
    assert CHECK.judge(Trace(case_id="A", final_message=text, tool_calls=())).status is F


def test_calls_of_setup_prompts_are_kept_with_the_trace() -> None:
    def agent(prompt: str) -> dict[str, Any]:
        call = {"name": "book_slot", "arguments": {}, "result": {"id": 1}, "success": True}
        return {"final_message": "Your slot has been booked.", "tool_calls": [call] if prompt == "Book." else []}

    case = {"id": "A", "setup_prompts": ["Book."], "prompt": "Is it?", "expected": {"no_false_success": True}}
    suite = {"carob": 1, "effects": {"book_slot": ["booked"]}, "cases": [case]}
    result = carob.run(suite, agent)
    (record,) = result.records
    assert record.trace.tool_calls == ()
    assert [call.name for call in record.trace.setup_calls] == ["book_slot"]
    assert record.verdict.status == "PASS"


def test_without_effects_it_is_unknown_with_the_lines_to_add_also_in_old_journals() -> None:
    old = CheckSpec("no_false_success", carob_raw({}), "no_false_success")
    verdict = judge_case(Case(id="A", prompt="p", checks=(old,)), calls("issue_refund:ok", text="Refunded."), CATALOG)
    assert verdict.checks[0].status is U
    assert "effects: {issue_refund: [...]}" in verdict.checks[0].found


def carob_raw(args: dict[str, Any]) -> Any:
    return msgspec.Raw(json.dumps(args).encode())


def test_without_effects_the_suite_gets_a_warning_at_its_place() -> None:
    suite = {"carob": 1, "cases": [{"id": "A", "prompt": "p", "expected": {"no_false_success": True}}]}
    (warning,) = loads(json.dumps(suite), "s.json").warnings
    assert "cases[0].expected.no_false_success" in warning
    assert "effects: {" in warning


@pytest.mark.parametrize("form", ["carob-1", "eval-set"])
def test_effects_at_the_top_of_a_suite_are_recorded_with_the_case(form: str) -> None:
    top = {"carob": 1} if form == "carob-1" else {"version": "0.3"}
    case = {"id": "A", "prompt": "p", "expected": {"no_false_success": True, "outcome": "needs_input"}}
    suite = loads(json.dumps({**top, "effects": {"pay": ["paid"]}, "cases": [case]}), "s.json")
    args = {spec.name: json.loads(bytes(spec.args)) for spec in suite.cases[0].checks}
    assert args["no_false_success"] == {"effects": {"pay": ["paid"]}}
    assert args["outcome"]["tools"] == ["pay"]


def test_carob_toml_declares_effects_and_words_for_every_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "carob.toml").write_text('[effects]\npay = ["paid"]\n[words]\nrefusal = ["nope"]\n')
    monkeypatch.chdir(tmp_path)
    case = {"id": "example", "input": "p", "expected": {"no_false_success": True, "outcome": "graceful_block"}}
    suite = carob.load_suite([case])
    args = {spec.name: json.loads(bytes(spec.args)) for spec in suite.cases[0].checks}
    assert args["no_false_success"] == {"effects": {"pay": ["paid"]}, "words": {"refusal": ["nope"]}}
    assert carob.judge(suite.cases[0], calls("", text="Nope.")).status == "PASS"


def test_a_word_list_of_carob_toml_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "carob.toml").write_text('[words]\nrefusals = ["nope"]\n')
    with pytest.raises(ConfigError, match=r"no word list is called 'refusals'") as error:
        find_project(tmp_path)
    assert error.value.fix == "Did you mean 'refusal'?"


def test_word_lists_can_be_replaced_and_extended_by_a_suite() -> None:
    def judged(words: dict[str, Any], text: str) -> str:
        case = {"id": "A", "prompt": "p", "expected": {"outcome": "graceful_block"}}
        suite = loads(json.dumps({"carob": 1, "words": words, "cases": [case]}), "s.json")
        return str(judge_case(suite.cases[0], calls("", text=text), CATALOG).status)

    assert judged({"refusal": ["leider nicht"]}, "Das geht leider nicht.") == "PASS"
    assert judged({"refusal": ["leider nicht"]}, "I cannot do that.") == "FAIL"
    assert judged({"refusal": {"add": ["leider nicht"]}}, "I cannot do that.") == "PASS"
    assert judged({"refusal": {"add": ["leider nicht"]}}, "Das geht leider nicht.") == "PASS"
    with pytest.raises(SuiteError, match="refusal"):
        judged({"refusals": ["x"]}, "x")


@pytest.mark.parametrize(
    ("expected", "spelled", "found"),
    [
        ({"tool_calls_none": ["@effects"]}, "find:ok", P),
        ({"tool_calls_none": ["@effects"]}, "functions.Book_It:refused", F),
        ({"tool_calls_any": ["@effects"]}, "book_a:ok", P),
        ({"tool_calls_any": ["@effects"]}, "find:ok", F),
        ({"max_calls": {"@effects": 1}}, "book_a:ok", P),
        ({"max_calls": {"@effects": 1}}, "book_a:ok issue_refund:ok", F),
        ({"tool_requires": {"@effects": ["verify"]}}, "verify:ok issue_refund:ok", P),
        ({"tool_requires": {"@effects": ["verify"]}}, "issue_refund:ok", F),
        ({"tool_order": ["find", "@effects"]}, "find:ok book_a:ok", P),
        ({"tool_order": ["find", "@effects"]}, "book_a:ok find:ok", F),
        ({"tool_calls": [{"tool": "@effects", "never": True}]}, "find:ok", P),
        ({"tool_calls": [{"tool": "@effects", "never": True}]}, "book_a:ok", F),
        ({"tool_calls": [{"tool": "@effects", "success": True}]}, "book_a:failed issue_refund:ok", P),
        ({"only_effects": ["issue_refund"]}, "find:ok issue_refund:ok", P),
        ({"only_effects": ["issue_refund"]}, "find:ok", P),
        ({"only_effects": ["issue_refund"]}, "book_a:failed", P),
        ({"only_effects": ["issue_refund"]}, "book_a:ok", F),
        ({"only_effects": []}, "issue_refund:ok", F),
        ({"only_effects": []}, "find:ok", P),
    ],
)
def test_effects_wherever_tools_are_named(expected: dict[str, Any], spelled: str, found: Status) -> None:
    declared = with_declared(expected, Declared(EFFECTS))
    specs = tuple(one.spec for one in CATALOG.read(declared) if one.spec.name != "outcome")
    (check,) = judge_case(Case(id="A", prompt="p", checks=specs), calls(spelled), CATALOG).checks
    assert check.status is found


def test_effects_that_are_not_declared_cannot_be_named() -> None:
    flaws = [flaw for problem in CATALOG.read({"tool_calls_none": ["@effects"]}) for flaw in problem.problems]
    assert [flaw.slug for flaw in flaws] == ["no-effects"]
    assert OnlyEffects(()).judge(calls("")).status is U


def outcome(name: Any, spelled: str, text: str, **more: Any) -> Status:
    return Outcome(name, **more).judge(calls(spelled, text=text, input="Refund my gift card")).status


def test_a_lookup_before_a_question_or_a_refusal_is_not_a_deed() -> None:
    assert outcome("needs_input", "find:ok", "Which day?", tools=("book_*",)) is P
    assert outcome("graceful_block", "find:ok", "I cannot do that.", tools=("book_*",)) is P
    assert outcome("needs_input", "find:ok", "Which day?") is F


def test_the_success_of_a_tool_is_that_of_its_last_call_by_start_order() -> None:
    first = ToolCall("pay", success=False, started_at=2.0)
    second = ToolCall("pay", success=True, started_at=1.0)
    trace = Trace(case_id="A", final_message="Done.", tool_calls=(first, second))
    assert Outcome("tool_success").judge(trace).status is F
    assert outcome("tool_success", "pay:failed pay:ok", "Done.") is P


def test_unlisted_words_fail_with_the_line_to_add() -> None:
    result = Outcome("graceful_block").judge(calls("", text="Pigs fly."))
    assert result.status is F
    assert "words: {refusal: {add: [...]}}" in result.found
    result = Outcome("needs_input").judge(calls("", text="Pigs fly."))
    assert "words: {request: {add: [...]}}" in result.found


def test_the_authors_words_confirm_unless_they_repeat_the_prompt() -> None:
    said = {"must_say_any": ["18 and over", "gift card"]}
    assert outcome("graceful_block", "", "For guests of 18 and over.", says=said) is P
    assert outcome("graceful_block", "", "A gift card is nice.", says=said) is F
    assert outcome("graceful_error", "pay:failed", "Code S-12.", says={"expected_contains": ["S-12"]}) is P
    assert outcome("graceful_error", "pay:failed", "Code S-12.", says={"expected_contains": ["S-12", "x"]}) is F


@pytest.mark.parametrize("name", ["graceful_block", "graceful_error"])
def test_an_answer_that_claims_nothing_is_no_refusal_and_no_admission(name: str) -> None:
    """Also where the case asks for `no_false_success`: what is not claimed is not admitted either."""
    effects = {"effects": {"pay": ["paid"]}, "no_false_success": True, "outcome": name}
    (asked, *_) = CATALOG.read(effects)
    (check,) = CATALOG.checks((asked.spec,))
    assert check.judge(calls("pay:failed", text="Sure, the PIN of Bo is 4711.")).status is F
    assert check.judge(calls("pay:failed", text="I could not do that.")).status is P


@pytest.mark.parametrize("name", ["needs_input", "graceful_block", "graceful_error"])
def test_a_success_counts_whatever_failed_after_it(name: str) -> None:
    assert outcome(name, "pay:ok pay:failed", "I could not do that. Which one?", tools=("pay",)) is F
    assert outcome(name, "pay:pending pay:failed", "I could not do that. Which one?", tools=("pay",)) is U


def read_outcome(**expected: Any) -> Any:
    (asked, *_) = CATALOG.read(expected)
    (check,) = CATALOG.checks((asked.spec,))
    return check


def test_naming_a_tool_does_not_excuse_an_effect() -> None:
    effects = {"send_money": ["sent"]}
    for name in ("needs_input", "graceful_error", "graceful_block"):
        check = read_outcome(outcome=name, tool_calls_any=["find"], effects=effects)
        assert check.judge(calls("find:failed send_money:ok", text="I could not find it. Which one?")).status is F


def test_a_failed_read_is_a_failure() -> None:
    check = read_outcome(outcome="graceful_error", effects={"send_money": ["sent"]})
    assert check.judge(calls("find:failed", text="I could not find it.")).status is P
    named = read_outcome(outcome="graceful_error", tool_calls_any=["send_money"])
    assert named.judge(calls("find:failed send_money:waiting", text="I could not find it.")).status is F


def test_completed_needs_no_words_and_no_limit() -> None:
    assert Outcome("completed").judge(calls("mute:ok", text="")).status is P
    assert Outcome("completed").judge(says("Monday:", metadata={"finish_reason": "length"})).status is F
    assert Outcome("completed").judge(calls("pay:waiting", text="")).status is F


def suggestions(suite: dict[str, Any], tools: frozenset[str] | None = None) -> list[str]:
    report = lint_source(json.dumps(suite).encode(), "s.json", CATALOG, TargetInfo(tools=tools))
    return [f"{diagnostic.slug} {diagnostic.message}" for diagnostic in report.suggestions]


def test_lint_proposes_effects_for_tools_that_look_like_writes() -> None:
    case = {"id": "A", "prompt": "p", "expected": {"tool_calls": [{"tool": "issue_refund"}, {"tool": "get_order"}]}}
    proposals, _ = suggestions({"carob": 1, "cases": [case]}, frozenset({"list_orders", "cancelOrder"}))
    assert proposals.startswith("propose-effects ")
    assert "effects: {cancelOrder: [...], issue_refund: [...]}" in proposals
    assert suggestions({"carob": 1, "cases": [{"id": "A", "prompt": "p", "expected": {"max_words": 9}}]}) == []


def test_lint_proposes_no_false_success_where_effects_are_declared() -> None:
    case: dict[str, Any] = {"id": "A", "prompt": "p", "expected": {"max_words": 9}}
    suite = {"carob": 1, "effects": {"pay": ["paid"]}, "cases": [case]}
    (proposals,) = suggestions(suite)
    assert proposals.startswith("propose-no-false-success effects are declared, but any claim passes in 1 case")
    case["expected"]["no_false_success"] = True
    assert suggestions(suite) == []


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("I've issued a $200 refund for the inconvenience caused by the delay of your flight.", F),
        ("Your slot has been booked for the reasons covered by your insurance.", F),
        ("Your slot has been booked by the front desk.", P),
        ("Your slot has been booked for you by the front desk.", P),
    ],
)
def test_a_by_belongs_to_the_participle_before_it(text: str, status: Status) -> None:
    assert CHECK.judge(calls("", text=text)).status is status
