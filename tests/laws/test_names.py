"""Law 17: a tool's name has one reading at all doors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import yaml

import carob
from carob.checks.budgets import MaxCalls
from carob.checks.tools.names import ToolCallsAny, ToolCallsNone, ToolsUsed
from carob.evidence.conversation_events import read_conversation
from carob.features.guard.hook_events import Installation, answer_event
from carob.features.guard.mcp import MessageGuard
from carob.features.guard.policy import load_policy
from carob.features.guard.serve import DecisionServer
from carob.model.faults import Fault
from carob.model.trace import ToolCall, Trace
from carob.proxy.faults.world import CaseWorld
from carob.rules.monitor import judge_events
from evidence.exports.sources import FILES
from features.watch.conftest import Start
from features.watch.watched import turn

READINGS: dict[str, dict[str, str]] = yaml.safe_load(Path(__file__).with_name("names.yaml").read_text("utf-8"))
SESSION = (FILES / "sessions/claude-code-session.jsonl").read_text("utf-8")
RULES = """
carob: 1
rules:
  - { id: never-pay, each: { call: pay }, at_most: 0 }
  - { id: paid-before, each: { call: ship }, needs: { before: { call: pay } } }
"""
NEVER_PAY = {"is": "broken", "same": "broken", "maybe": "unknown", "other": "not_triggered"}
PAID_BEFORE = {"is": "held", "same": "broken", "maybe": "unknown", "other": "broken"}
FORBIDDEN = {"is": "failed", "same": "failed", "maybe": "unknown", "other": "passed"}
REQUIRED = {"is": "passed", "same": "failed", "maybe": "unknown", "other": "failed"}

Names = pytest.mark.parametrize("spelled", READINGS)


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("names") / "policy.carob.yaml"
    path.write_text(RULES)
    return path


def _trace(*tools: str) -> Trace:
    calls = [ToolCall(tool, {}, success=True, message=f"m{number}") for number, tool in enumerate(tools)]
    return Trace(case_id="a", input="Pay.", tool_calls=tuple(calls), final_message="Done.")


def _session(folder: Path, spelled: str) -> Trace:
    """A session of a coding agent that calls the tool, as it is read from its file."""
    path = folder / "session.jsonl"
    path.write_text(SESSION.replace('"name": "Bash"', json.dumps({"name": spelled})[1:-1]))
    return next(carob.read_conversations(path)).trace


def _judge(policy: Path, trace: Trace) -> dict[str, str]:
    contract = load_policy(policy).contract
    events = read_conversation(trace)
    return {verdict.rule: str(verdict.outcome) for verdict in judge_events(contract, events.events, events.end)}


@Names
def test_checks(spelled: str, tmp_path: Path) -> None:
    traces = {"elsewhere": _trace(spelled), "host": _session(tmp_path, spelled)}
    for where, trace in traces.items():
        reading = READINGS[spelled][where]
        assert str(ToolCallsNone("pay").judge(trace).status) == FORBIDDEN[reading], where
        assert str(MaxCalls("pay", 0).judge(trace).status) == FORBIDDEN[reading], where
        assert str(ToolCallsAny(("pay",)).judge(trace).status) == REQUIRED[reading], where
    assert str(ToolsUsed(("pay",)).judge(_trace(spelled)).status) == REQUIRED[READINGS[spelled]["elsewhere"]]


@Names
def test_rules_offline(spelled: str, policy: Path, tmp_path: Path) -> None:
    read = READINGS[spelled]
    assert _judge(policy, _trace(spelled, "ship")) == {
        "never-pay": NEVER_PAY[read["elsewhere"]],
        "paid-before": PAID_BEFORE[read["elsewhere"]],
    }
    assert _judge(policy, _session(tmp_path, spelled))["never-pay"] == NEVER_PAY[read["host"]]


@Names
def test_check(spelled: str, policy: Path, tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": spelled, "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Pay."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"ok": true}'},
        {"role": "assistant", "content": "Done."},
    ]
    (tmp_path / "messages.jsonl").write_text(json.dumps({"messages": messages}) + "\n")
    _session(tmp_path, spelled)
    for where, name in (("elsewhere", "messages.jsonl"), ("host", "session.jsonl")):
        found = carob.check_conversations(tmp_path / name, [policy])
        [figures] = [rule.figures for rule in found.rules if rule.id == "never-pay"]
        outcomes = {name for name in ("broken", "unknown", "held") if getattr(figures, name)} or {"not_triggered"}
        assert outcomes == {NEVER_PAY[READINGS[spelled][where]]}, where


def test_watch(start: Start) -> None:
    watched = start(policy=RULES)
    for number, spelled in enumerate(READINGS):
        spans = json.dumps(turn(7 * number + 2)).replace("cancel_order", json.dumps(spelled)[1:-1])
        watched.send(*json.loads(spans))
    watched.wait()
    for number, (spelled, read) in enumerate(READINGS.items()):
        [verdicts] = watched.verdicts(f"s-{7 * number + 2}") or [{}]
        assert verdicts.get("never-pay", "not_triggered") == NEVER_PAY[read["elsewhere"]], spelled


@Names
def test_a_tool_that_may_be_excepted_is_unknown(spelled: str, tmp_path: Path) -> None:
    rule = {"id": "only-pay", "each": {"call": "*", "except": ["pay"]}, "at_most": 0}
    (tmp_path / "p.yaml").write_text(json.dumps({"carob": 1, "rules": [rule]}))
    expected = {"is": "not_triggered", "same": "broken", "maybe": "unknown", "other": "broken"}
    reading = READINGS[spelled]["elsewhere"]
    assert _judge(tmp_path / "p.yaml", _trace(spelled)) == {"only-pay": expected[reading]}
    refusal = _in_python(tmp_path / "p.yaml", spelled)
    assert bool(refusal) is (reading != "is")
    assert ("tool_names" in refusal) is (reading == "maybe")


@Names
def test_faults(spelled: str) -> None:
    read = READINGS[spelled]["elsewhere"]
    world = CaseWorld((), (Fault(hits="tool", kind="timeout", name="pay"),))
    plan, call = world.begin(spelled), ToolCall(spelled, {}, success=True)
    assert (plan.fault_index is not None) is (read in ("is", "same"))
    if plan.fault_index is None:
        assert ("tool_names" in world._why_missed(world.faults[0], [call])) is (read == "maybe")


def _in_python(policy: Path, spelled: str) -> str:
    with carob.Guard(policy).conversation(user="Pay.") as conversation:
        return conversation.allow(spelled, {}).message


def _by_serve(policy: Path, spelled: str) -> str:
    asked = {"conversation": "c", "begin": True, "user": "Pay.", "call": {"tool": spelled}}
    request = type("Request", (), {"path": "/decide", "method": "POST", "body": json.dumps(asked).encode()})()
    answer = DecisionServer(carob.Guard(policy, seam="serve"))._answer(request)[1]
    return "" if answer["allowed"] else str(answer["message"])


def _by_mcp(policy: Path, spelled: str) -> str:
    with carob.Guard(policy, seam="mcp").conversation() as conversation:
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": spelled, "arguments": {}}}
        refusal = MessageGuard(conversation).judge(call)
    return "" if refusal is None else str(refusal["result"]["content"][0]["text"])


def _by_hook(policy: Path, spelled: str) -> str:
    data = msgspec.json.encode(Installation("claude", load_policy(policy)))
    file = policy.with_name(f"{hashlib.sha256(spelled.encode()).hexdigest()}") / "guard.json"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)
    answer = ""
    for about in (
        {"hook_event_name": "SessionStart", "source": "startup"},
        {"hook_event_name": "PreToolUse", "tool_name": spelled, "tool_input": {}, "tool_use_id": "t"},
    ):
        event = json.dumps({"session_id": "s", **about}).encode()
        answer = answer_event(event, file, hashlib.sha256(data).hexdigest()).error
    return answer


@Names
@pytest.mark.parametrize(
    ("where", "ask"),
    [("elsewhere", _in_python), ("elsewhere", _by_serve), ("elsewhere", _by_mcp), ("host", _by_hook)],
)
def test_guards(spelled: str, policy: Path, where: str, ask: Callable[[Path, str], str]) -> None:
    refusal, reading = ask(policy, spelled), READINGS[spelled][where]
    assert bool(refusal) is (reading != "other")
    assert ("not known" in refusal and "tool_names" in refusal) is (reading == "maybe")


@Names
def test_a_guard_takes_only_the_tool_itself_for_evidence(spelled: str, policy: Path) -> None:
    with carob.Guard(load_policy(_alone(policy, "paid-before"))).conversation(user="Pay.") as conversation:
        conversation.report(conversation.allow(spelled, {}), {"ok": True})
        assert bool(conversation.allow("ship", {})) is (READINGS[spelled]["elsewhere"] == "is")


def _alone(policy: Path, rule: str) -> Path:
    path = policy.with_name(f"{rule}.carob.yaml")
    path.write_text("carob: 1\nrules:\n" + "".join(line + "\n" for line in RULES.splitlines() if rule in line))
    return path


@Names
def test_coverage(spelled: str, tmp_path: Path) -> None:
    trace = _session(tmp_path, spelled)
    suite = {"carob": 1, "cases": [{"id": "a", "prompt": trace.input, "expected": {"tool_calls_none": ["pay"]}}]}
    [tool] = [tool for tool in carob.coverage(suite, tmp_path / "session.jsonl").tools if tool.called == 2]
    assert bool(tool.forbidden) is (READINGS[spelled]["host"] in ("is", "same"))


@pytest.mark.parametrize("name", ["mcp__desk__pay", "mcp__desk__*"])
def test_coverage_credits_a_name_in_full_to_the_tool_of_that_server(name: str, tmp_path: Path) -> None:
    for spelled, credited in (("mcp__desk__pay", 1), ("mcp__bank__pay", 0)):
        trace = _session(tmp_path, spelled)
        suite = {"carob": 1, "cases": [{"id": "a", "prompt": trace.input, "expected": {"tool_calls_any": [name]}}]}
        tools = {tool.name: tool for tool in carob.coverage(suite, tmp_path / "session.jsonl").tools}
        assert (tools["pay"].called, tools["pay"].asserted) == (2, credited)
        assert ("mcp__desk__pay" in tools) is (name == "mcp__desk__pay" and not credited)


@pytest.mark.parametrize("name", ["mcp__desk__pay", "mcp__desk__*", "mcp__*__pay"])
def test_a_name_in_full_means_the_tool_of_that_server(name: str, tmp_path: Path) -> None:
    mine, other = _session(tmp_path, "mcp__desk__pay"), _session(tmp_path, "mcp__bank__draw")
    assert (mine.tool_calls[0].name, mine.tool_calls[0].server) == ("pay", "desk")
    assert str(ToolCallsAny((name,)).judge(mine).status) == "passed"
    assert str(ToolCallsNone(name).judge(mine).status) == "failed"
    assert str(ToolCallsNone(name).judge(other).status) == "passed"
    rules = {"carob": 1, "rules": [{"id": "never", "each": {"call": name}, "at_most": 0}]}
    (tmp_path / "p.yaml").write_text(json.dumps(rules))
    assert _judge(tmp_path / "p.yaml", mine) == {"never": "broken"}
    assert _judge(tmp_path / "p.yaml", other) == {"never": "not_triggered"}
    assert _by_hook(tmp_path / "p.yaml", "mcp__desk__pay")
    assert not _by_hook(tmp_path / "p.yaml", "mcp__bank__draw")


@pytest.mark.parametrize(
    ("meant", "status"), [("pay", "broken"), ("desk.pay", "not_triggered"), ("desk_pay", "not_triggered")]
)
def test_the_line_of_tool_names_settles_it(meant: str, status: str, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(f"{RULES}tool_names: {{desk.pay: {meant}}}\n")
    assert _judge(tmp_path / "p.yaml", _trace("desk.pay"))["never-pay"] == status
    assert bool(_in_python(tmp_path / "p.yaml", "desk.pay")) is (status == "broken")
