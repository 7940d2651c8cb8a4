"""Thirty things that go wrong around a guard: none opens the door, and each says why."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.features.guard.conversation import MOST_EVENTS, GuardedConversation
from carob.features.guard.decision import Decision
from carob.features.guard.hook_events import PROBE, answer_event
from carob.features.guard.hook_protocol import BLOCK
from carob.features.guard.policy import load_policy
from features.guard.policies import BIG, DESK, write_policy
from features.guard.test_hook import Desk

PAY = {"tool_name": "pay_invoice", "tool_input": {"id": "A"}, "tool_use_id": "t"}


class Legal:
    """A conversation in which a payment is legal, until something goes wrong."""

    def __init__(self, folder: Path, text: str = DESK, **about: Any) -> None:
        self.folder = folder
        self.policy = write_policy(folder, text)
        self.clock = [1_000.0]
        clock = lambda: self.clock[0]  # noqa: E731
        self.conversation = GuardedConversation(load_policy(self.policy), "c", clock=clock, **about)
        self.conversation.user("Yes, pay it.")
        self.conversation.report(self.conversation.allow("get_invoice", {"id": "A"}), {"total": 80})

    def pay(self, **arguments: Any) -> Decision:
        return self.conversation.allow("pay_invoice", {"id": "A", **arguments})


def test_without_a_fault_it_is_legal(tmp_path: Path) -> None:
    assert Legal(tmp_path).pay()


def _monitor_raises(legal: Legal) -> Decision:
    legal.conversation._monitor.preview = None  # type: ignore[assignment, method-assign]
    return legal.pay()


def _event_is_lost(legal: Legal) -> Decision:
    legal.conversation._monitor.feed = None  # type: ignore[assignment, method-assign]
    legal.conversation.user("No, stop.")
    return legal.pay()


def _conversation_is_over(legal: Legal) -> Decision:
    legal.conversation.end()
    return legal.pay()


def _conversation_is_too_long(legal: Legal) -> Decision:
    legal.conversation._monitor.last_index = MOST_EVENTS
    return legal.pay()


def _arguments_are_too_large(legal: Legal) -> Decision:
    return legal.pay(note="x" * 2_000_000)


def _arguments_hold_themselves(legal: Legal) -> Decision:
    endless: list[Any] = []
    endless.append(endless)
    return legal.conversation.allow("pay_invoice", {"id": endless})


def _arguments_have_no_id(legal: Legal) -> Decision:
    return legal.conversation.allow("pay_invoice", {})


def _name_is_disguised(legal: Legal) -> Decision:
    legal.conversation.user("no")
    return legal.conversation.allow("Pay_Invoi\u200bce", {"id": "A"})


def _two_calls_at_once(legal: Legal) -> Decision:
    made: list[Decision] = []
    threads = [threading.Thread(target=lambda: made.append(legal.pay())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(map(bool, made)) == 1
    return next(decision for decision in made if not decision)


def _result_is_reported_twice_and_late(legal: Legal) -> Decision:
    paid = legal.pay()
    legal.conversation.report_error(paid, "late")
    legal.conversation.report(paid, "paid")
    again = legal.pay()
    legal.conversation.report(again, "paid")
    return legal.pay()


def _result_is_too_large(legal: Legal) -> Decision:
    looked = legal.conversation.allow("get_invoice", {"id": "B"})
    legal.conversation.report(looked, {"error": "x" * 1_000_000})
    return legal.conversation.allow("pay_invoice", {"id": "B"})


def _journal_is_full(legal: Legal) -> Decision:
    class Full:
        def write(self, *_: object) -> None:
            raise OSError(28, "No space left on device")

    legal.conversation._journal = Full()
    return legal.pay()


def _words_are_too_long(legal: Legal) -> Decision:
    legal.conversation.user("Yes." + " " * 100_000 + "But do not pay.")
    return legal.pay()


def _consent_was_withdrawn(legal: Legal) -> Decision:
    legal.conversation.user("Wait, don't pay.")
    return legal.pay()


IN_PROCESS: list[tuple[str, Callable[[Legal], Decision], str]] = [
    ("monitor-raises", _monitor_raises, "the guard failed"),
    ("event-is-lost", _event_is_lost, "could not be kept"),
    ("conversation-is-over", _conversation_is_over, "is over"),
    ("conversation-is-too-long", _conversation_is_too_long, "more than 20,000 events"),
    ("arguments-too-large", _arguments_are_too_large, "more than 1,048,576 bytes"),
    ("arguments-endless", _arguments_hold_themselves, "look-first"),
    ("arguments-missing", _arguments_have_no_id, "has no arguments.id"),
    ("name-disguised", _name_is_disguised, "wait for a yes"),
    ("two-at-once", _two_calls_at_once, "has not ended"),
    ("results-twice", _result_is_reported_twice_and_late, "the reports contradict each other"),
    ("result-too-large", _result_is_too_large, "no earlier get_invoice"),
    ("journal-full", _journal_is_full, "No space left"),
    ("words-too-long", _words_are_too_long, "more than 65,536 characters"),
    ("consent-withdrawn", _consent_was_withdrawn, "wait for a yes"),
]


@pytest.mark.parametrize(("fault", "why"), [pytest.param(fault, why, id=name) for name, fault, why in IN_PROCESS])
def test_a_fault_in_the_process_refuses_the_call(tmp_path: Path, fault: Callable[[Legal], Decision], why: str) -> None:
    refused = fault(Legal(tmp_path))
    assert not refused
    assert why in refused.message


def test_a_clock_that_went_back_makes_conditions_on_time_unknown(tmp_path: Path) -> None:
    pytest.importorskip("cel_expr_python", reason="conditions in CEL need the extra cel")
    rule = "\n  - { id: early, each: { call: pay_invoice }, where: each.time < '1970-01-01T00:20:00' }\n"
    legal = Legal(tmp_path, DESK.rstrip() + rule)
    assert legal.pay(), "in time"
    legal = Legal(tmp_path, DESK.rstrip() + rule)
    legal.clock[0] = 2_000.0
    legal.conversation.user("Yes!")
    legal.clock[0] = 100.0
    refused = legal.pay()
    assert (refused.rule, refused.reasons[0].is_broken) == ("early", False)


def test_an_approval_with_other_arguments_or_late_or_twice_is_none(tmp_path: Path) -> None:
    guard = carob.Guard(write_policy(tmp_path, BIG))
    with guard.conversation() as c:
        asked = c.allow("pay_invoice", {"amount": 500})
        assert not c.allow("pay_invoice", {"amount": 501}, approval=asked.approval)
        assert not c.allow("pay_invoice", {"amount": 500}, approval=asked.approval), "it was spent"
        assert not c.allow("pay_invoice", {"amount": 500}, approval="made up")


class TestStore:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Path:
        return tmp_path / "store.sqlite"

    def legal(self, tmp_path: Path, store: Path) -> GuardedConversation:
        c = carob.Guard(write_policy(tmp_path), store=store).open("c", is_new=True)
        c.user("Yes.")
        c.report(c.allow("get_invoice", {"id": "A"}), {"total": 80})
        return c

    def test_locked(self, tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("carob.features.guard.store.BUSY_SECONDS", 0.05)
        c = self.legal(tmp_path, store)
        other = sqlite3.connect(store, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert "database is locked" in c.allow("pay_invoice", {"id": "A"}).message
        other.execute("ROLLBACK")
        assert c.allow("pay_invoice", {"id": "A"}), "what was refused for a lock is allowed once it is gone"

    def test_destroyed(self, tmp_path: Path, store: Path) -> None:
        self.legal(tmp_path, store)
        store.write_bytes(b"not a database" * 100)
        with pytest.raises(carob.CarobError, match="the store cannot be used"):
            carob.Guard(write_policy(tmp_path), store=store)

    def test_emptied(self, tmp_path: Path, store: Path) -> None:
        self.legal(tmp_path, store)
        store.unlink()
        again = carob.Guard(write_policy(tmp_path), store=store).open("c")
        assert "was not seen" in again.allow("pay_invoice", {"id": "A"}).message

    def test_readable_by_others(self, tmp_path: Path, store: Path) -> None:
        self.legal(tmp_path, store)
        store.chmod(0o644)
        with pytest.raises(carob.CarobError, match="others may read"):
            carob.Guard(write_policy(tmp_path), store=store)

    def test_killed_between_deciding_and_keeping(self, tmp_path: Path, store: Path) -> None:
        c = self.legal(tmp_path, store)
        c._journal = type("Killed", (), {"write": lambda *_: (_ for _ in ()).throw(OSError("gone"))})()
        assert not c.allow("pay_invoice", {"id": "A"})
        c._journal = None
        assert c.allow("pay_invoice", {"id": "A"}), "a refused call was not counted as made"


class TestHook:
    @pytest.fixture
    def desk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
        monkeypatch.setattr("carob.features.guard.install.prove_blocking", lambda command, file: None)
        desk = Desk(tmp_path)
        desk.tell("SessionStart", source="startup")
        desk.tell("UserPromptSubmit", prompt="Yes.")
        desk.call("get_invoice", "t2", id="A")
        desk.end("get_invoice", {"total": 80}, "t2", id="A")
        return desk

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            pytest.param(lambda desk: desk.policy.unlink(), "the rules cannot be read", id="rules-removed"),
            pytest.param(lambda desk: desk.policy.write_text("carob: 1\n"), "not those that were", id="rules-edited"),
            pytest.param(lambda desk: desk.policy.write_text(DESK[:90]), "not those that were", id="rules-torn"),
            pytest.param(lambda desk: desk.file.unlink(), "cannot be read", id="installation-removed"),
            pytest.param(lambda desk: desk.file.write_text("{}"), "not those that were", id="installation-edited"),
            pytest.param(
                lambda desk: (desk.file.parent / "store.sqlite").write_bytes(b"x" * 4096), "store", id="store-destroyed"
            ),
            pytest.param(
                lambda desk: (desk.file.parent / "store.sqlite").unlink(), "was not seen", id="store-removed"
            ),
            pytest.param(
                lambda desk: ((desk.file.parent / "decisions.jsonl").unlink(),
                              (desk.file.parent / "decisions.jsonl").mkdir()),
                "directory", id="journal-not-writable",
            ),
        ],
    )  # fmt: skip
    def test_its_files(self, desk: Desk, change: Callable[[Desk], object], why: str) -> None:
        change(desk)
        answer = desk.tell("PreToolUse", **PAY)
        assert answer.code == BLOCK
        assert why in answer.error

    @pytest.mark.parametrize(
        "event",
        [b"", b"null", b"[]", b"{}", b'{"hook_event_name":"PreToolUse"}', b"\xff\xfe",
         b'{"hook_event_name":"PreToolUse","session_id":""}', b'{"hook_event_name":"Other","session_id":"s"}',
         b'{"hook_event_name":"PreToolUse","session_id":"s","tool_name":7}', b"[" * 100_000],
    )  # fmt: skip
    def test_what_it_is_told(self, desk: Desk, event: bytes) -> None:
        answer = answer_event(event, desk.file, desk.pin)
        assert answer.code == BLOCK
        assert answer.error

    def test_the_agent_reaches_for_its_files(self, desk: Desk) -> None:
        for tool, file in (("Write", ".claude/settings.json"), ("Bash", str(desk.file)), ("Edit", str(desk.policy))):
            assert "belongs to the guard" in desk.call(tool, path=f"/x/{file}").error or desk.call(tool, path=file).code
            assert desk.call(tool, path=file).code == BLOCK
        assert desk.call("Read", path=str(desk.policy)).code == 0

    def test_python_is_missing_or_the_module_or_the_shell_is_poor(self, desk: Desk) -> None:
        probe = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": PROBE, "tool_input": {}}
        command = desk.installed.command
        python = command.split()[0]
        for broken in (
            command.replace(python, "/gone/python"),
            command.replace("carob.features.guard.hook", "carob.gone"),
        ):
            assert desk.shell(probe, broken).returncode == BLOCK
        env = {"PATH": ""}
        done = subprocess.run(
            ["/bin/sh", "-c", command], input=json.dumps(probe).encode(), capture_output=True, env=env
        )
        assert done.returncode == BLOCK

    def test_it_gives_no_answer_in_time(self, desk: Desk) -> None:
        command = desk.installed.command.replace("-m carob.features.guard.hook", f"-c {_SLOW!r}".replace("'", '"'))
        process = subprocess.Popen(
            ["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        start = time.monotonic()
        assert process.stderr is not None
        assert b"no decision in time" in process.stderr.read()
        assert process.wait() == BLOCK
        assert time.monotonic() - start < 8
        process.communicate()

    def test_it_cannot_write_anywhere(self, desk: Desk) -> None:
        if os.geteuid() == 0:
            (desk.file.parent / "store.sqlite").unlink()
            (desk.file.parent / "store.sqlite").symlink_to("/dev/full")
        else:
            desk.file.parent.chmod(0o500)
        assert desk.tell("PreToolUse", **PAY).code == BLOCK


_SLOW = "import sys; import carob.features.guard.hook as h; h.DEADLINE = 0.2; sys.exit(h.run_hook(sys.argv[1:]))"
