"""The journal of a guard as a source: `check`, `draft`, `replay:` and `view` read the conversations that it guarded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import carob as library
from carob.evidence.conversation_events import read_conversation
from carob.evidence.exports.guard_journal import NO_BEGINNING
from carob.evidence.exports.reading import read_conversations
from carob.evidence.exports.record import RecordedConversation
from carob.features.guard.conversation import GuardedConversation
from carob.features.guard.journal import GuardHeader, GuardJournal
from carob.features.guard.policy import load_policy
from carob.journal.append_log import LogLimits
from carob.model.trace import SECRETS_REMOVED
from carob.rules.monitor import judge_events
from cli.support import Ran
from features.guard.policies import BIG, DESK, write_policy

WATCHED = DESK.replace("    each:", "    mode: observe\n    each:")


def read(path: Path) -> list[RecordedConversation]:
    return list(read_conversations([path]))


def guard_in(folder: Path, text: str = DESK, **about: Any) -> library.Guard:
    return library.Guard(write_policy(folder, text), journal=folder / "decisions.jsonl", **about)


def write_desk(folder: Path, *, unasked: bool = False, looks: bool = True) -> Path:
    """One conversation in which a payment is refused, and one is made."""
    guard = guard_in(folder)
    with guard.conversation("c-1", user="Yes, pay A.") as c:
        c.allow("pay_invoice", {"id": "A"})
        if looks:
            c.report(c.allow("get_invoice", {"id": "A"}), {"total": 80})
        c.report(c.allow("pay_invoice", {"id": "A"}), "paid")
        c.says("Paid.")
        if unasked:
            c.report("t-9", "paid", call=("pay_invoice", {"id": "B"}))
    guard.close()
    return folder / "decisions.jsonl"


def test_a_conversation_is_what_the_guard_saw(tmp_path: Path) -> None:
    [conversation] = read(write_desk(tmp_path))
    trace = conversation.trace
    assert (conversation.id, conversation.format, trace.input, trace.final_message) == (
        "c-1",
        "carob-guard",
        "Yes, pay A.",
        "Paid.",
    )
    assert [(call.name, call.called, call.refused, call.success) for call in trace.tool_calls] == [
        ("pay_invoice", False, True, None),
        ("get_invoice", True, False, True),
        ("pay_invoice", True, False, True),
    ]
    [refused] = trace.metadata["guard"]["refused"]
    assert (refused["tool"], refused["rule"]) == ("pay_invoice", "look-first")
    assert not conversation.unguarded


Steps = list[tuple[str, str]]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["user", "says", "get", "pay", "get fails", "pay fails", "pay hangs", "cancel"]),
        st.sampled_from(["Yes.", "No.", "A", "B"]),
    ),
    max_size=12,
)


@pytest.mark.parametrize("text", [WATCHED, DESK])
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(STEPS)
def test_judged_again_it_comes_out_as_the_guard_knew_it(tmp_path: Path, text: str, steps: Steps) -> None:
    policy = load_policy(write_policy(tmp_path, text))
    path = tmp_path / "decisions.jsonl"
    path.unlink(missing_ok=True)
    journal = GuardJournal(path, GuardHeader(1, "p", ()), secrets={})
    c = GuardedConversation(policy, "c", journal=journal)
    c.user("Hello.")
    for kind, value in steps:
        if kind in ("user", "says"):
            getattr(c, kind)(value)
            continue
        decision = c.allow("get_invoice" if kind.startswith("get") else "pay_invoice", {"id": value})
        if not decision:
            continue
        if kind == "cancel":
            c.report_cancelled(decision)
        elif kind.endswith("fails"):
            c.report_error(decision, "no")
        elif not kind.endswith("hangs"):
            c.report(decision, {"total": 80})
    journal.close()
    [conversation] = read(path)
    events = read_conversation(conversation.trace)
    again = {verdict.rule: verdict.outcome for verdict in judge_events(policy.contract, events.events, events.end)}
    c._monitor.finish(events.end)
    assert again == {verdict.rule: verdict.outcome for verdict in c._monitor.verdicts()}


def test_check_judges_it_and_says_that_a_guard_was_passed_by(tmp_path: Path, carob: Callable[..., Ran]) -> None:
    write_desk(tmp_path)
    checked = carob("check", "decisions.jsonl", "--rules", "policy.carob.yaml")
    assert checked.code == 0, checked.out
    assert "paid-once             1" in checked.out
    (tmp_path / "decisions.jsonl").unlink()
    write_desk(tmp_path, unasked=True)
    checked = carob("check", "decisions.jsonl", "--rules", "policy.carob.yaml", "-o", "kept.jsonl", "-o", "r.json")
    assert checked.code == 1
    assert "THE GUARD WAS PASSED BY in 1 conversation: a call ran that it was not asked about" in checked.out
    assert "first pay_invoice in c-1" in checked.out
    assert "no earlier get_invoice that succeeded with id" in checked.out, "the call counts, although nobody asked"
    assert json.loads(Path("r.json").read_text())["unguarded"] == 1


def test_a_refused_call_that_ended_passed_the_guard_by(tmp_path: Path) -> None:
    guard = guard_in(tmp_path)
    with guard.conversation("c", user="Yes.") as c:
        c.report(c.allow("pay_invoice", {"id": "A"}), "paid")
    [conversation] = read(tmp_path / "decisions.jsonl")
    assert conversation.unguarded == ("pay_invoice",)
    assert conversation.trace.possible_calls[0].text == "pay_invoice"


def test_passing_a_guard_by_fails_a_check_that_judged_nothing(tmp_path: Path, carob: Callable[..., Ran]) -> None:
    guard = guard_in(tmp_path)
    with guard.conversation("c") as c:
        c.report("made up", "paid")
    guard.close()
    other = "carob: 1\nrules:\n  - { id: other, each: { call: close_desk }, at_most: 1 }\n"
    write_policy(tmp_path, other, "other.carob.yaml")
    checked = carob("check", "decisions.jsonl", "--rules", "other.carob.yaml")
    assert checked.code == 1
    assert "a call of which the tool is not known in c" in checked.out


def test_draft_and_replay_read_it(tmp_path: Path, carob: Callable[..., Ran]) -> None:
    write_desk(tmp_path)
    assert "pay_invoice" in carob("draft", "decisions.jsonl").out
    case = {"id": "c-1", "prompt": "Yes, pay A.", "expected": {"tool_calls_any": ["get_invoice"]}}
    Path("suite.json").write_text(json.dumps({"carob": 1, "cases": [case]}))
    ran = carob("run", "suite.json", "--target", "replay:decisions.jsonl")
    assert ran.code == 0, ran.out + ran.err


def test_the_viewer_shows_it(tmp_path: Path) -> None:
    write_desk(tmp_path, unasked=True)
    viewer = library.open_viewer(tmp_path / "decisions.jsonl", port=0)
    try:
        assert viewer.files is not None
        [file] = Path(viewer.files.name).glob("*.jsonl")
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        [record] = [line for line in lines if "verdict" in line]
        assert record["verdict"]["status"] == "ERROR"
        assert "the guard was not asked about it" in record["verdict"]["reason"]
        [failed] = record["verdict"]["checks"]
        assert failed["expected"] == "look-first holds"
        assert "no earlier get_invoice" in failed["found"]
    finally:
        viewer.close()
    assert not Path(viewer.files.name).exists()


def test_files_that_were_replaced_are_read_with_their_folder(tmp_path: Path) -> None:
    policy = load_policy(write_policy(tmp_path))
    folder = tmp_path / "journal"
    folder.mkdir()
    journal = GuardJournal(folder / "d.jsonl", GuardHeader(1, "p", ()), limits=LogLimits(4_000, 16_000))
    c = GuardedConversation(policy, "c", journal=journal)
    for number in range(150):
        c.user(f"{number} {'x' * 100}")
    assert len(list(folder.iterdir())) == 4
    [whole] = read(folder)
    assert whole.trace.turns[0].unobserved["tools"] == NO_BEGINNING, "the oldest lines are gone"
    assert whole.trace.turns[1].input.count("x" * 100) > 20
    [latest] = read(folder / "d.jsonl")
    assert latest.trace.turns[1].input in whole.trace.turns[1].input


def test_an_id_that_begins_again_is_another_conversation(tmp_path: Path) -> None:
    for _ in range(2):
        write_desk(tmp_path)
    assert [len(conversation.trace.tool_calls) for conversation in read(tmp_path / "decisions.jsonl")] == [3, 3]


def test_what_is_not_in_the_journal_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANK_API_KEY", "sk-live-1234567890")
    guard = guard_in(tmp_path)
    with guard.conversation("large") as c:
        c.report(c.allow("get_invoice", {"id": "A"}), "x" * 100_000)
    with guard.conversation("secret", user="Pay with sk-live-1234567890.") as c:
        c.report(c.allow("get_invoice", {"id": "A"}), {})
    guard.open("late").user("Yes.")
    large, secret, late = read(tmp_path / "decisions.jsonl")
    assert "result" in large.trace.tool_calls[0].unobserved
    assert large.trace.unobserved["input"]
    assert secret.trace.cuts["case"].why == SECRETS_REMOVED
    assert "was not seen" in (late.trace.turns or (late.trace,))[0].unobserved["tools"]


def test_approvals_and_denials_are_observed_where_there_were_some(tmp_path: Path) -> None:
    guard = guard_in(tmp_path, BIG, ask=lambda decision: decision.arguments["amount"] < 1_000)
    with guard.conversation("c", user="Pay.") as c:
        c.report(c.ask("pay_invoice", {"amount": 500}), "paid")
        c.ask("pay_invoice", {"amount": 5_000})
    guard.close()
    [conversation] = read(tmp_path / "decisions.jsonl")
    kinds = [(one["kind"], one["arguments"]["amount"]) for one in conversation.trace.metadata["approvals"]]
    assert kinds == [("asks_approval", 500), ("approved", 500), ("asks_approval", 5_000), ("denied", 5_000)]
    [paid] = conversation.trace.tool_calls
    assert paid.arguments == {"amount": 500}


@pytest.mark.parametrize(
    "line",
    [
        '{"at":1,"conversation":"c","event":{"kind":"no such","index":0}}',
        '{"at":1,"conversation":"c","event":{"kind":"user"}}',
        '{"at":1,"conversation":"c","event":7}',
    ],
)
def test_a_line_that_no_guard_wrote_is_unknown_with_its_place(tmp_path: Path, line: str) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(f'{{"carob_guard":1,"policy":"p","rules":[]}}\n{line}\n')
    [unread] = read(path)
    assert "carob-guard" in unread.unread
    assert unread.source == f"{path}:2"


def test_a_hostile_line_breaks_nothing(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    event = {"kind": "result", "index": 10**9, "call": "\u202e", "result": [[[]]], "doubt": "\x1b[2J"}
    lines: list[dict[str, Any]] = [
        {"carob_guard": 1, "policy": "p", "rules": []},
        {"at": 1e308, "conversation": "", "event": event, "decision": {"verdict": 7, "reasons": "none"}},
        {"at": -1, "conversation": "", "event": None, "decision": {"verdict": "block", "tool": ["x"]}},
        {"at": 0, "conversation": "\x1b[2J", "decision": {}},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [conversation.unguarded for conversation in read(path)] == [(), ()]
