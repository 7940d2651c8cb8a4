"""Faults of files, processes, clocks and hosts that a guard was not written for: none opens the door, each says why."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.features.guard.approvals import ask_framework
from carob.features.guard.conversation import GuardedConversation
from carob.features.guard.hook import run_hook
from carob.features.guard.hook_events import HookAnswer, answer_event
from carob.features.guard.hook_protocol import BLOCK, LARGEST_EVENT, OK
from carob.features.guard.journal import GuardHeader, GuardJournal
from carob.features.guard.policy import load_policy
from carob.features.guard.serve import DecisionServer
from carob.features.guard.store import GuardStore
from features.guard.policies import BIG, DESK, write_policy
from features.guard.test_hook import SESSION, Desk

PAY = {"tool_name": "pay_invoice", "tool_input": {"id": "A"}, "tool_use_id": "t9"}


def _replace(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


def _link_to_other_rules(desk: Desk) -> None:
    other = desk.folder / "other.carob.yaml"
    other.write_text("carob: 1\nrules: []\n")
    _replace(desk.policy, lambda path: path.symlink_to(other))


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

    def test_without_a_fault_it_is_legal(self, desk: Desk) -> None:
        assert desk.tell("PreToolUse", **PAY) == HookAnswer()

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            pytest.param(_link_to_other_rules, "not those that were installed", id="rules-are-a-link"),
            pytest.param(lambda desk: _replace(desk.policy, os.mkfifo), "not a plain file", id="rules-are-a-pipe"),
            pytest.param(
                lambda desk: _replace(desk.policy, lambda path: path.symlink_to("/dev/zero")),
                "not a plain file", id="rules-never-end",
            ),
            pytest.param(lambda desk: _replace(desk.policy, Path.mkdir), "cannot be read", id="rules-are-a-folder"),
            pytest.param(lambda desk: _replace(desk.file, os.mkfifo), "not a plain file", id="installation-is-a-pipe"),
            pytest.param(
                lambda desk: _replace(desk.file.parent / "store.sqlite", os.mkfifo), "store", id="store-is-a-pipe"
            ),
            pytest.param(
                lambda desk: _replace(desk.file.parent / "decisions.jsonl", os.mkfifo),
                "No such device", id="journal-is-a-pipe-nobody-reads",
            ),
            pytest.param(
                lambda desk: (desk.file.parent / "store.sqlite").chmod(0o666), "others may read", id="store-is-open"
            ),
        ],
    )  # fmt: skip
    def test_its_files_are_something_else(self, desk: Desk, change: Callable[[Desk], object], why: str) -> None:
        change(desk)
        began = time.monotonic()
        answer = desk.tell("PreToolUse", **PAY)
        assert answer.code == BLOCK
        assert why in answer.error
        assert time.monotonic() - began < 4, "it is refused, and not waited for"

    @pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
    def test_its_rules_may_not_be_read(self, desk: Desk) -> None:
        desk.policy.chmod(0)
        assert "cannot be read" in desk.tell("PreToolUse", **PAY).error

    @pytest.mark.parametrize(
        "event",
        [
            json.dumps({"hook_event_name": "PreToolUse", **SESSION, **PAY}).encode()[:-5],
            b'{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"pay_invoice","tool_input":{"id":"\xff"}}',
            b'{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"pay_invoice","tool_input":["A"]}',
            b'{"hook_event_name":"pretooluse","session_id":"s","tool_name":"pay_invoice","tool_input":{"id":"A"}}',
            b'{"hook_event_name":"PreToolUse","session_id":["s"],"tool_name":"pay_invoice"}',
            b'{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"pay_invoice","tool_input":NaN}',
            b'{"hook_event_name":"PreToolUse","session_id":"other","tool_name":"pay_invoice","tool_input":{"id":"A"}}',
        ],
        ids=["truncated", "no-utf-8", "a-list", "unknown-event", "a-list-for-session", "no-json", "other-session"],
    )
    def test_an_event_is_not_as_it_should_be(self, desk: Desk, event: bytes) -> None:
        answer = answer_event(event, desk.file, desk.pin)
        assert answer.code == BLOCK
        assert answer.error

    def test_an_event_is_huge(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        data = io.BytesIO(b" " * (LARGEST_EVENT + 2))
        monkeypatch.setattr(sys, "stdin", type("Input", (), {"buffer": data, "isatty": lambda _: False})())
        assert run_hook([str(desk.file), desk.pin]) == BLOCK
        assert "too large to be judged" in capsys.readouterr().err

    def test_two_hooks_decide_about_one_session_at_once(self, desk: Desk) -> None:
        answers: list[HookAnswer] = []
        calls = [
            threading.Thread(target=lambda n=n: answers.append(desk.call("pay_invoice", f"p{n}", id="A")))
            for n in range(4)
        ]
        for call in calls:
            call.start()
        for call in calls:
            call.join()
        assert sorted(answer.code for answer in answers) == [OK, BLOCK, BLOCK, BLOCK]
        assert all("paid-once" in answer.error for answer in answers if answer.code)


AFTER = """
carob: 1
tool_names: { Bash: shell }
rules:
  - { id: clean, each: { call: pay_invoice }, forbids: { before: { call: fetch_page } } }
  - { id: no-shell, each: { call: shell }, at_most: 0 }
"""


class TestWhatRulesLookBackAt:
    """A call that may be made, and that another one is refused after."""

    def test_its_arguments_cannot_be_kept(self, tmp_path: Path) -> None:
        c = GuardedConversation(load_policy(write_policy(tmp_path, AFTER)), "c")
        assert c.allow("pay_invoice", {"id": "A"})
        c.report(c.allow("fetch_page", {"address": "x" * 2_000_000}), "a page")
        assert "clean" in c.allow("pay_invoice", {"id": "A"}).message

    def test_it_cannot_be_kept(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        guard = carob.Guard(write_policy(tmp_path, AFTER), store=tmp_path / "s.sqlite")
        c = guard.open("c", is_new=True)
        with monkeypatch.context() as patched:
            patched.setattr(guard._store, "append", None)
            assert c.allow("fetch_page")
        assert "an earlier call could not be kept" in c.allow("pay_invoice", {"id": "A"}).message
        guard.close()

    def test_a_hook_cannot_keep_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("carob.features.guard.install.prove_blocking", lambda command, file: None)
        desk = Desk(tmp_path, AFTER)
        desk.tell("SessionStart", source="startup")
        assert desk.call("pay_invoice", "t1") == HookAnswer()
        with monkeypatch.context() as patched:
            patched.setattr(GuardStore, "append", None)
            answer = desk.call("fetch_page", "t2")
        assert answer.code == BLOCK, "the next hook is another process, which would not know of it"
        assert "could not be kept" in answer.error
        assert desk.call("fetch_page", "t3", address="x" * 2_000_000) == HookAnswer()
        assert "clean" in desk.call("pay_invoice", "t4").error

    def test_a_hook_knows_tools_by_the_names_that_rules_give_them(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("carob.features.guard.install.prove_blocking", lambda command, file: None)
        desk = Desk(tmp_path, AFTER)
        desk.tell("SessionStart", source="startup")
        for tool in ("Bash", "mcp__desk__Bash", "shell"):
            assert "no-shell" in desk.call(tool, command="ls").error


class TestInProcess:
    def legal(self, tmp_path: Path, **about: Any) -> GuardedConversation:
        c = GuardedConversation(load_policy(write_policy(tmp_path)), "c", **about)
        c.user("Yes.")
        c.report(c.allow("get_invoice", {"id": "A"}), {"total": 80})
        return c

    def test_the_clock_goes_back_between_approval_and_call(self, tmp_path: Path) -> None:
        clock = [1_000.0]
        c = GuardedConversation(load_policy(write_policy(tmp_path, BIG)), "c", clock=lambda: clock[0])
        yes = type("Given", (), {"is_given": True, "ask": None})()
        assert not ask_framework(c, "pay_invoice", {"amount": 500}, "t1")
        clock[0] = 10.0
        refused = ask_framework(c, "pay_invoice", {"amount": 500}, "t1", yes)
        assert "the guard had not asked about" in refused.message
        clock[0] = 5_000.0
        assert not ask_framework(c, "pay_invoice", {"amount": 500}, "t1", yes), "an approval is good for an hour"

    def test_arguments_cannot_be_read(self, tmp_path: Path) -> None:
        class Wild(dict[str, Any]):
            def items(self) -> Any:
                raise RuntimeError("not now")

            def __iter__(self) -> Iterator[str]:
                raise RuntimeError("not now")

        c = self.legal(tmp_path)
        assert not c.allow("pay_invoice", Wild(other=1))
        assert c.allow("pay_invoice", {"id": "A"}), "and nothing else is broken"

    def test_the_one_who_is_asked_gives_no_plain_yes(self, tmp_path: Path) -> None:
        for answer in (1, "yes", [True], None):
            c = GuardedConversation(load_policy(write_policy(tmp_path, BIG)), "c", ask=lambda _, answer=answer: answer)
            assert not c.ask("pay_invoice", {"amount": 500})

    def test_the_disk_of_the_store_is_full(self, tmp_path: Path) -> None:
        guard = carob.Guard(write_policy(tmp_path), store=tmp_path / "s.sqlite")
        c = guard.open("c", is_new=True)
        c.user("Yes.")
        c.report(c.allow("get_invoice", {"id": "A"}), {"total": 80})
        assert guard._store is not None
        guard._store._run("PRAGMA max_page_count = 1")
        c.user("x" * 60_000)
        refused = c.allow("pay_invoice", {"id": "A"})
        assert "full" in refused.message
        guard.close()

    def test_a_store_is_used_after_a_fork(self, tmp_path: Path) -> None:
        policy = write_policy(tmp_path, DESK)
        done = subprocess.run(
            [sys.executable, "-c", FORKED, str(policy), str(tmp_path / "s.sqlite")], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert sorted(done.stdout.split()) == ["allow", "block", "block"]

    def test_a_journal_that_fails_later_refuses_from_then_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        journal = GuardJournal(tmp_path / "d.jsonl", GuardHeader(1, "p", ()))
        c = self.legal(tmp_path, journal=journal)
        with monkeypatch.context() as full:
            full.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
            assert "No space left" in c.allow("pay_invoice", {"id": "A"}).message
        journal.close()


FORKED = """
import os, sys
import carob
guard = carob.Guard(sys.argv[1], store=sys.argv[2])
c = guard.open("c", is_new=True)
c.user("Yes.")
c.report(c.allow("get_invoice", {"id": "A"}), {"total": 80})
children = []
for _ in range(3):
    if not (child := os.fork()):
        os.write(1, (guard.open("c").allow("pay_invoice", {"id": "A"}).verdict + " ").encode())
        os._exit(0)
    children.append(child)
for child in children:
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_server_that_dies_after_deciding_has_counted_the_call(tmp_path: Path) -> None:
    """Who got no answer asks again, and the call that may have been made is not made twice."""
    policy, store = write_policy(tmp_path), tmp_path / "s.sqlite"

    def decide(server: DecisionServer, **asked: Any) -> Any:
        body = json.dumps({"conversation": "c", **asked}).encode()
        request = type("Request", (), {"path": "/decide", "method": "POST", "body": body})()
        return server._answer(request)[1]

    first = DecisionServer(carob.Guard(policy, store=store, seam="serve"))
    looked = decide(first, begin=True, user="Yes.", call={"tool": "get_invoice", "arguments": {"id": "A"}})
    decide(first, results=[{"call": looked["call"], "result": {"total": 80}}])
    assert decide(first, call={"tool": "pay_invoice", "arguments": {"id": "A"}})["allowed"]
    second = DecisionServer(carob.Guard(policy, store=store, seam="serve"))
    again = decide(second, call={"tool": "pay_invoice", "arguments": {"id": "A"}})
    assert not again["allowed"]
    assert "has not ended" in again["message"]


def test_a_store_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    store = GuardStore(path)
    store._run("DROP TABLE conversations")
    store._run("CREATE TABLE conversations (other TEXT)")
    store.close()
    guard = carob.Guard(write_policy(tmp_path), store=path)
    with pytest.raises(Exception, match="no such column"):
        guard.open("c")
