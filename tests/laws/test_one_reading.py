"""Law 17: one fact, one reading at all doors. What a call came to is read alike by checks, rules and coverage."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
import yaml

import carob
from carob.features.coverage.kinds import kind_of
from carob.features.guard.conversation import GuardedConversation
from carob.features.guard.decision import Decision
from carob.features.guard.hook_events import JOURNAL
from carob.features.guard.journal import read_guard_journal
from carob.judging.judges import prepare_judge
from carob.model.trace import Trace
from carob.plugins.project import Project
from carob.system.loopback import Connection, HttpRequest, LoopbackServer, format_reply
from features.guard.test_hook import Desk
from features.watch.conftest import Start, collector, start
from features.watch.watched import PATIENCE, PLAIN, as_request, turn
from laws.coverage import Coverage, require
from laws.samples import build_trace, judge, read_case

__all__ = ["collector", "start"]

State = Literal["succeeded", "failed", "open", "waiting", "requested", "contradicts itself"]
PARTS: Mapping[str, tuple[Any, ...]] = {
    "started": (True, False),
    "unfinished": (False, True),
    "ended_at": (None, 1001.0),
    "success": (None, True, False),
    "error": (None, "the bank is closed"),
    "result": (None, {"id": 7}),
}
COMBINATIONS = [
    {key: value for key, value in zip(PARTS, values, strict=True) if value is not None}
    for values in itertools.product(*PARTS.values())
]
RULES = {
    "paid-first": {"each": {"call": "ship"}, "needs": {"before": {"call": "pay", "success": True}}},
    "called-first": {"each": {"call": "ship"}, "needs": {"before": {"call": "pay"}}},
    "never-paid": {"each": {"call": "pay", "success": True}, "at_most": 0},
    "asked-for": {"each": {"call": "ship"}, "forbids": {"before": {"call": "pay"}}},
    "not-paid": {"each": {"call": "ship"}, "forbids": {"before": {"call": "pay", "success": True}}},
}
EXPECTED: Mapping[str, Mapping[str, Any]] = {
    "tool_calls": {"tool_calls": [{"tool": "pay", "success": True}]},
    "tool_success": {"outcome": "tool_success", "tool_calls_any": ["pay"]},
    "tool_requires": {"tool_requires": {"ship": ["pay"]}},
    "no_false_success": {"no_false_success": True},
    "only_effects": {"only_effects": []},
    "exactly": {"only_effects": "exactly", "tool_calls": [{"tool": "ship"}]},
    "wanted": {"only_effects": "exactly", "tool_calls": [{"tool": "pay"}, {"tool": "ship"}]},
    "tool_calls_any": {"tool_calls_any": ["pay"]},
    "tool_calls_none": {"tool_calls_none": ["pay"]},
    "max_calls": {"max_calls": {"pay": 0}},
}
SUCCESS, CALL, PROHIBITION = (
    ({"succeeded"}, {"failed", "requested", "waiting"}),
    ({"succeeded", "failed", "open", "waiting"}, {"requested"}),
    ({"failed", "requested"}, {"succeeded"}),
)
REQUEST: tuple[set[str], set[str]] = (
    set(),
    {"succeeded", "failed", "open", "waiting", "requested", "contradicts itself"},
)
READ_AS: Mapping[str, tuple[set[str], set[str]]] = {
    **dict.fromkeys(("tool_calls", "tool_success", "tool_requires", "no_false_success", "paid-first"), SUCCESS),
    **dict.fromkeys(("tool_calls_any", "called-first"), CALL),
    "exactly": PROHIBITION,
    **dict.fromkeys(("never-paid", "not-paid"), ({"failed", "requested", "waiting"}, {"succeeded"})),
    "wanted": ({"succeeded"}, {"failed", "requested"}),
    "only_effects": ({"failed", "requested"}, {"succeeded", "open", "waiting"}),
    **dict.fromkeys(("tool_calls_none", "max_calls", "asked-for"), REQUEST),
}
"""The states of the call in which each passes, and those in which it fails; in the others it is unknown."""
KINDS = {"succeeded": "succeeded", "failed": "failed", "open": "end unknown", "waiting": "end unknown"}
"""How coverage counts a call; one that never ran, or may not have, was only requested."""


def state_of(call: Mapping[str, Any]) -> State:
    """What a call in the short form came to, by the words of the specification."""
    if "error" in call or call.get("success") is False:
        return "failed" if call["started"] else "requested"
    has_end = call.get("success") is True or "ended_at" in call or "result" in call
    if not call["started"] or call["unfinished"]:
        return "contradicts itself" if has_end else "waiting" if call["started"] else "requested"
    return "succeeded" if has_end else "open"


def conversation(call: Mapping[str, Any]) -> dict[str, Any]:
    ship = {"name": "ship", "started_at": 1002.0, "ended_at": 1003.0, "result": {"id": 8}, "message": "m2"}
    pay = {"name": "pay", "arguments": {}, "started_at": 1000.0, "message": "m1", **call}
    return {"input": "p", "final_message": "I have paid it.", "tool_calls": [pay, ship], "ended_by": "itself"}


def ask_checks(trace: Trace) -> dict[str, str]:
    found = {}
    for name, expected in EXPECTED.items():
        checks = judge(CASES[name], trace).checks
        of_pay = [
            check for check in checks if check.name == {"tool_success": "outcome"}.get(name, next(iter(expected)))
        ]
        found[name] = str(of_pay[0].status)
    return found


def ask_rules(judge_all: Any, trace: Trace) -> dict[str, str]:
    statuses = {"held": "passed", "broken": "failed", "not_triggered": "passed", "unknown": "unknown"}
    return {verdict.rule: statuses[verdict.outcome] for verdict in judge_all.judge(trace)}


CASES = {name: read_case(expected, {"pay": ["paid"]}) for name, expected in EXPECTED.items()}


def test_every_door_reads_a_call_alike(record_property: Callable[[str, object], None]) -> None:
    judge_all = prepare_judge(
        {"carob": 1, "rules": [{"id": name, "why": "w", **rule} for name, rule in RULES.items()]}, Project()
    )
    says = "what a call came to is read alike by checks, rules and coverage"
    coverage = Coverage(17, says, checks=EXPECTED, doors=("checks", "rules", "check", "coverage"))
    for call in COMBINATIONS:
        trace, state = build_trace(conversation(call)), state_of(call)
        found = ask_checks(trace) | ask_rules(judge_all, trace)
        for name, status in found.items():
            passes, fails = READ_AS[name]
            expected = "passed" if state in passes else "failed" if state in fails else "unknown"
            coverage.try_one(status == expected, f"{name}: {call} {state}: {status}, not {expected}")
        kinds = {kind for tool, kind in kind_of(trace) if tool == "pay"}
        coverage.try_one(kinds == {KINDS.get(state, "refused")}, f"coverage: {call} {state}: {kinds}")
    require(coverage, record_property)


class Reported(NamedTuple):
    """What a program says of a call of `pay` while it runs: the state of it, and what the guard and the hook are told.

    Of the hook: the name of each event, and what it has besides.
    """

    state: State
    guard: tuple[Callable[[GuardedConversation, Decision], None], ...] | None = None
    hook: tuple[tuple[str, dict[str, Any]], ...] | None = None
    arguments: Mapping[str, Any] = {}


def report(*result: object, **about: Any) -> Callable[[GuardedConversation, Decision], None]:
    return lambda conversation, decision: conversation.report(decision, *result, **about)


def fail(conversation: GuardedConversation, decision: Decision) -> None:
    conversation.report_error(decision, "the bank is closed")


def cancel(conversation: GuardedConversation, decision: Decision) -> None:
    conversation.report_cancelled(decision)


DONE, REFUSED = {"tool_response": {"id": 7}}, {"tool_response": {"success": False, "reason": "the bank is closed"}}
REPORTED: Mapping[str, Reported] = {
    "result": Reported("succeeded", (report({"id": 7}),), (("PostToolUse", DONE),)),
    "no result": Reported("succeeded", (report(),), (("PostToolUse", {"tool_response": None}),)),
    "claim": Reported("succeeded", (report(success=True),)),
    "error": Reported("failed", (fail,), (("PostToolUseFailure", {"error": "the bank is closed"}),)),
    "sign": Reported("failed", (report({"success": False}),), (("PostToolUse", REFUSED),)),
    "denied claim": Reported("failed", (report({"id": 7}, success=False),)),
    "unclear": Reported("open", (report("Error: none"),), (("PostToolUse", {"tool_response": "Error: none"}),)),
    "under way": Reported("waiting", (), ()),
    "cancelled": Reported("requested", (cancel,)),
    "a person was asked": Reported("requested", None, (), {"amount": 1_000}),
    "cancelled, then a result": Reported("contradicts itself", (cancel, report({"id": 7}))),
    "a result, then cancelled": Reported("contradicts itself", (report({"id": 7}), cancel)),
    "a result, then an error": Reported("contradicts itself", (report({"id": 7}), fail)),
    "an error, then a result": Reported("contradicts itself", (fail, report({"id": 7}))),
    "the same twice": Reported("succeeded", (report({"id": 7}), report({"id": 7}))),
}
ASK = {"id": "ask", "mode": "ask", "each": {"call": "pay", "arguments": {"amount": 1_000}}, "at_most": 0}
LOOKS_BACK = ("paid-first", "called-first", "asked-for", "not-paid")
"""The rules about `ship`: what they say of it before it is made, and afterwards, must be the same."""


def write_rules(folder: Path, *more: Mapping[str, Any]) -> Path:
    rules = [{"id": name, "why": "w", "mode": "observe", **RULES[name]} for name in LOOKS_BACK]
    path = folder / "rules.carob.yaml"
    path.write_text(json.dumps({"carob": 1, "rules": [*rules, *more]}))
    return path


def ask_guard(folder: Path) -> dict[str, Path]:
    guard = carob.Guard(write_rules(folder), journal=folder / "guard.jsonl")
    for name, told in REPORTED.items():
        if told.guard is None:
            continue
        with guard.conversation(name, user="p") as conversation:
            decision = conversation.allow("pay", {}, call="1", message="m1")
            for tell in told.guard:
                tell(conversation, decision)
            conversation.report(conversation.allow("ship", {}, call="2", message="m2"), {"id": 8})
    guard.close()
    return {"guard": folder / "guard.jsonl"}


def ask_hook(folder: Path) -> dict[str, Path]:
    desk = Desk(folder, write_rules(folder, ASK).read_text())

    def tell(name: str, tool: str, session: str, number: int, **about: Any) -> None:
        answer = desk.tell(name, tool_name=tool, tool_use_id=f"t{number}", session_id=session, **about)
        assert answer.code == 0, answer

    for session, told in REPORTED.items():
        if told.hook is None:
            continue
        desk.tell("SessionStart", source="startup", session_id=session)
        tell("PreToolUse", "pay", session, 1, tool_input=dict(told.arguments))
        for name, about in told.hook:
            tell(name, "pay", session, 1, tool_input=dict(told.arguments), **about)
        tell("PreToolUse", "ship", session, 2, tool_input={})
        tell("PostToolUse", "ship", session, 2, tool_input={}, tool_response="shipped")
    return {"hook": desk.file.parent / JOURNAL}


@pytest.mark.parametrize("door", [ask_guard, ask_hook])
def test_guards_read_a_call_as_their_journals_are_read(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
    door: Callable[[Path], dict[str, Path]],
) -> None:
    monkeypatch.setattr("carob.features.guard.install.prove_blocking", lambda command, file: None)
    ((name, journal),) = door(tmp_path).items()
    coverage = Coverage(
        17, "what a call came to is read alike before and after", doors=(name, f"journal of the {name}")
    )
    judge_all = prepare_judge(yaml.safe_load(write_rules(tmp_path).read_text()), Project())
    after = {one.id: ask_rules(judge_all, one.trace) for one in carob.read_conversations(journal)}
    decided = [line for line in read_guard_journal(journal) if line.decision and line.decision.tool == "ship"]
    assert [line.conversation for line in decided] == list(after)
    assert len(after) >= 7
    for line in decided:
        assert line.decision is not None
        found = {reason.rule: "failed" if reason.is_broken else "unknown" for reason in line.decision.observed}
        for rule in LOOKS_BACK:
            (passes, fails), state = READ_AS[rule], REPORTED[line.conversation].state
            expected = "passed" if state in passes else "failed" if state in fails else "unknown"
            seen = (found.get(rule, "passed"), after[line.conversation][rule])
            coverage.try_one(seen == (expected, expected), f"{line.conversation}: {rule}: {seen}, not {expected}")
    require(coverage, record_property)


class Spanned(NamedTuple):
    """How the span of the call of `pay` ends, and what it came to where that is certain."""

    state: State | Literal["not all was seen"]
    result: str | None = None
    status: int = 0
    ends: bool = True
    is_answered: bool = False
    """Whether the model is given its result afterwards."""
    is_lost: bool = False


SPANNED: Mapping[str, Spanned] = {
    "result": Spanned("succeeded", '{"id": 7}'),
    "status": Spanned("succeeded", status=1, is_answered=True),
    "answered": Spanned("succeeded", is_answered=True),
    "error": Spanned("failed", status=2),
    "error and result": Spanned("failed", '{"id": 7}', status=2, is_answered=True),
    "sign": Spanned("failed", '{"success": false}', is_answered=True),
    "unclear": Spanned("open", "Error: none"),
    "nothing": Spanned("open"),
    "without an end": Spanned("not all was seen", ends=False),
    "a result without an end": Spanned("not all was seen", '{"id": 7}', ends=False),
    "lost": Spanned("not all was seen", is_lost=True, is_answered=True),
    "lost, unanswered": Spanned("not all was seen", is_lost=True),
}


def write_spans(name: str, how: Spanned, number: int) -> Iterator[dict[str, Any]]:
    """The spans of a turn that calls `pay` and then `ship`."""
    text = json.dumps(turn(PLAIN + 70 * number, session=name))
    for span in json.loads(text.replace("lookup_order", "pay").replace("cancel_order", "ship")):
        values = {pair["key"]: pair["value"] for pair in span["attributes"]}
        if (said := values.get("gen_ai.input.messages")) and not how.is_answered:
            messages = json.loads(said["stringValue"])
            left = [message for message in messages if message["role"] != "tool" or "-ship" in json.dumps(message)]
            said["stringValue"] = json.dumps(left)
        if span["name"] == "execute_tool pay":
            del values["gen_ai.tool.call.result"]
            values |= {} if how.result is None else {"gen_ai.tool.call.result": {"stringValue": how.result}}
            end = span["endTimeUnixNano"] if how.ends else 0
            attributes = [{"key": key, "value": value} for key, value in values.items()]
            span |= {"attributes": attributes, "endTimeUnixNano": end, "status": {"code": how.status}}
        if span["name"] != "execute_tool pay" or not how.is_lost:
            yield span


def test_a_watch_reads_a_call_as_a_check_of_its_spans(
    start: Start, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    watched = start(policy=write_rules(tmp_path).read_text())
    spans = [span for number, (name, how) in enumerate(SPANNED.items()) for span in write_spans(name, how, number)]
    watched.send(*spans)
    watched.wait()
    watched.wait(PATIENCE)
    (tmp_path / "spans.jsonl").write_bytes(as_request(spans))
    judge_all = prepare_judge(yaml.safe_load((tmp_path / "rules.carob.yaml").read_text()), Project())
    checked = {one.id: ask_rules(judge_all, one.trace) for one in carob.read_conversations(tmp_path / "spans.jsonl")}
    coverage = Coverage(17, "what a call came to is read alike as its spans arrive", doors=("watch", "check of spans"))
    statuses = {"held": "passed", "broken": "failed", "not_triggered": "passed", "unknown": "unknown"}
    for name, how in SPANNED.items():
        seen = {rule: statuses[outcome] for rule, outcome in watched.verdicts(name)[-1].items()}
        coverage.try_one(seen == checked[name], f"{name}: watch {seen}, check {checked[name]}")
        for rule in LOOKS_BACK if how.state != "not all was seen" else ():
            passes, fails = READ_AS[rule]
            expected = "passed" if how.state in passes else "failed" if how.state in fails else "unknown"
            coverage.try_one(seen[rule] == expected, f"{name}: {rule}: {seen[rule]}, not {expected}")
    require(coverage, record_property)


YES_FIRST = {"carob": 1, "rules": [{"id": "yes", "each": {"call": "pay"}, "needs": {"last_user": ["yes"]}}]}
PAY = {"name": "pay", "result": {"id": 1}}
SAID = {"role": "user", "content": "Yes, pay it."}


@pytest.mark.parametrize(
    ("trace", "status"),
    [
        ({"input": "Yes, pay it.", "tool_calls": [PAY]}, "passed"),
        ({"input": "Wait.", "tool_calls": [PAY]}, "failed"),
        ({"messages": [SAID], "tool_calls": [PAY]}, "passed"),
        ({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant"}, SAID], "tool_calls": [PAY]}, "passed"),
        ({"messages": [SAID, {"role": "assistant"}], "input": "No, wait.", "tool_calls": [PAY]}, "failed"),
        ({"messages": [SAID, {"role": "tool"}, {"role": "user", "content": "No"}], "tool_calls": [PAY]}, "unknown"),
        ({"turns": [{"input": "Yes, pay it.", "tool_calls": [PAY], "final_message": "Paid."}]}, "passed"),
        ({"turns": [{"input": "Wait.", "tool_calls": [PAY], "final_message": "Paid."}]}, "failed"),
        ({"tool_calls": [PAY]}, "unknown"),
        ({"messages": [{"role": "assistant", "content": "Paid."}], "tool_calls": [PAY]}, "unknown"),
    ],
)
def test_the_words_of_the_user_are_read_wherever_they_are(trace: dict[str, Any], status: str) -> None:
    answered = trace if "turns" in trace else {"final_message": "Paid.", **trace}
    (verdict,) = carob.judge_many(YES_FIRST, [answered])
    assert [str(check.status) for check in verdict.checks] == [status]


async def answer(prompt: str) -> dict[str, Any]:
    return {"final_message": "Done.", "tool_calls": []}


ASKS = {"outcome": "needs_input", "must_allow_override_actions": ["Snooze"]}


def test_doors_agree_about_an_answer_without_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    suite = carob.suite("s", [carob.case("A", "p", **{key: ASKS[key]}) | {"id": key} for key in ASKS])
    recording = tmp_path / "r.jsonl"
    forms = [{"case_id": key, "final_message": "Done.", "tool_calls": []} for key in ASKS]
    recording.write_text("".join(f"{json.dumps(form)}\n" for form in forms))

    def serve(connection: Connection, request: HttpRequest) -> bool:
        connection.send(format_reply(200, "application/json", json.dumps(forms[0]).encode()))
        return request.keeps_alive

    server = LoopbackServer(serve, "an agent")
    server.open()
    Path("carob.toml").write_text(
        f'[targets.desk]\nuse = "{server.url}/chat"\nbody = {{ q = "{{prompt}}" }}\nanswer = "$.final_message"\n'
        'tool_calls = { at = "$.tool_calls[*]", name = "$.name" }\n'
    )
    found = {
        "http": [str(record.status) for record in carob.run(suite, "desk")],
        "python": [str(record.status) for record in carob.run(suite, answer)],
        "replay": [str(record.status) for record in carob.run(suite, f"replay:{recording}")],
        "judge": [
            str(carob.judge(case, form).status) for case, form in zip(carob.load_suite(suite).cases, forms, strict=True)
        ],
    }
    server.close()
    assert list(found.values()) == [["FAIL", "FAIL"]] * 4


LIMITS = [{"ended_by": "max_turns"}, {"metadata": {"finish_reason": "length"}}, {"ended_by": "recursion limit"}]


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_cuts_a_turn_off_for_every_check(limit: dict[str, Any]) -> None:
    trace = build_trace({"input": "p", "final_message": "So I", "tool_calls": [], **limit})
    for expected in ({"outcome": "completed"}, {"ended": True}):
        assert judge(read_case(expected), trace).status == "FAIL"
    rule = {"id": "closes", "each": {"user": {"$regex": "p"}}, "needs": {"after": {"call": "close"}}}
    (verdict,) = prepare_judge({"carob": 1, "rules": [rule]}, Project()).judge(trace)
    assert verdict.outcome == "unknown"


@pytest.mark.parametrize(
    ("expected", "call", "status"),
    [
        ({"only_effects": []}, {"error": "no such order"}, "PASS"),
        ({"only_effects": []}, {"error": "timed out after 5 s"}, "PARTIAL"),
        ({"only_effects": []}, {"result": {"id": 1}}, "FAIL"),
        ({"only_effects": "exactly", "tool_calls": [{"tool": "pay"}]}, {"error": "no such order"}, "FAIL"),
        ({"only_effects": "exactly", "tool_calls": [{"tool": "pay"}]}, {"result": {"id": 1}}, "PASS"),
        ({"only_effects": "exactly", "tool_calls": [{"tool": "pay", "success": False}]}, {"error": "no"}, "PASS"),
        (
            {"only_effects": "exactly", "tool_calls": [{"tool": "find", "times": {"min": 0, "max": 1}}]},
            {"error": "no"},
            "PASS",
        ),
    ],
)
def test_an_attempt_that_changed_nothing_is_no_effect(
    expected: dict[str, Any], call: dict[str, Any], status: str
) -> None:
    trace = build_trace({"input": "p", "final_message": "Done.", "tool_calls": [{"name": "pay", **call}]})
    assert judge(read_case(expected, {"pay": []}), trace).status == status
