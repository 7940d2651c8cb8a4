"""The journal of a guard: what it holds, what it leaves out, how it is bounded and read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import carob as library
from carob.errors import JournalError
from carob.features.guard.journal import GuardHeader, GuardJournal, read_guard_journal
from carob.journal.append_log import LogLimits, list_files
from carob.rules.events import ConversationEvent
from cli.support import Ran
from features.guard.policies import DESK, write_policy

SECRET = "sk-live-1234567890"


def write_session(folder: Path, *, unasked: bool = False) -> Path:
    path = folder / "decisions.jsonl"
    guard = library.Guard(write_policy(folder, DESK), journal=path)
    with guard.conversation("c", user="Yes.") as c:
        c.allow("pay_invoice", {"id": "A"})
        c.report(c.allow("get_invoice", {"id": "A"}), {"total": 80})
        c.report(c.allow("pay_invoice", {"id": "A"}), "paid")
        if unasked:
            c.report("a call of its own", "paid")
    guard.close()
    return path


def test_decisions_are_shown(tmp_path: Path, carob: Callable[..., Ran]) -> None:
    shown = carob("guard", "log", str(write_session(tmp_path)))
    assert shown.code == 0
    assert "c  blocked  pay_invoice  look-first: Look an invoice up" in shown.out
    assert "3 decisions, 1 refused" in shown.out
    assert "c  allowed  get_invoice" in carob("guard", "log", "decisions.jsonl", "--all").out


def test_a_call_that_ran_without_a_decision_is_an_error(tmp_path: Path, carob: Callable[..., Ran]) -> None:
    shown = carob("guard", "log", str(write_session(tmp_path, unasked=True)))
    assert shown.code == 1
    assert "NOT ASKED" in shown.err


def test_it_is_for_its_user_alone_and_has_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANK_API_KEY", SECRET)
    path = tmp_path / "decisions.jsonl"
    guard = library.Guard(write_policy(tmp_path), journal=path)
    with guard.conversation(user=f"Pay with {SECRET}") as c:
        c.allow("pay_invoice", {"id": SECRET})
        c.report(c.allow("get_invoice", {"header": "Authorization: Bearer abcdef0123456789"}), "x" * 100_000)
    text = path.read_text()
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    assert SECRET not in text
    assert "abcdef0123456789" not in text
    assert len(text) < 10_000


def test_files_replace_each_other(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    journal = GuardJournal(path, GuardHeader(1, "p", ()), limits=LogLimits(size=2_000, total=8_000))
    for number in range(200):
        journal.write("c", ConversationEvent(kind="user", index=number, text="x" * 100))
    files = list_files(path)
    assert len(files) == 4
    assert all(file.stat().st_size <= 2_200 for file in files)
    indexes = [line.event.index for line in read_guard_journal(path) if line.event is not None]
    assert indexes == list(range(indexes[0], 200)), "read in order, the oldest file first"


@pytest.mark.parametrize("text", ["", "{}\n", "not json\n", '{"carob_guard":1,"policy":"","rules":[]}\n{"at":"x"}\n'])
def test_what_is_no_journal_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(text)
    if text:
        with pytest.raises(JournalError, match="not a line of a guard's journal"):
            list(read_guard_journal(path))
    with pytest.raises(JournalError, match="cannot be read"):
        list(read_guard_journal(tmp_path / "none.jsonl"))


def test_a_decision_is_an_event_of_the_current_span(tmp_path: Path) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("t").start_as_current_span("turn"):
        write_session(tmp_path)
    [span] = exporter.get_finished_spans()
    first = span.events[0]
    assert first.name == "carob.features.guard.decision"
    assert dict(first.attributes or {}) == {
        "carob.features.guard.verdict": "block",
        "gen_ai.tool.name": "pay_invoice",
        "carob.features.guard.rule": "look-first",
    }
