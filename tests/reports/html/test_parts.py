"""Small parts of pages: how a call ended, when it ran, what kind a picture is, and what a guard did."""

from __future__ import annotations

from pathlib import Path

import pytest

from carob.model.run import GuardSummary, Summary
from carob.model.trace import ToolCall
from carob.reports.html.calls import outcome, timeline
from carob.reports.html.pages import find_own_file
from carob.reports.run_facts import guard_words


@pytest.mark.parametrize(
    ("call", "colour"),
    [
        (ToolCall("a", {}, started=False), "unknown"),
        (ToolCall("a", error="late"), "failed"),
        (ToolCall("a", success=True), "passed"),
        (ToolCall("a", success=False), "failed"),
        (ToolCall("a"), "unknown"),
    ],
)
def test_the_colour_of_a_call_is_how_it_ended(call: ToolCall, colour: str) -> None:
    assert outcome(call)[0] == colour


def test_a_call_without_a_time_has_no_bar() -> None:
    calls = [ToolCall("a", started_at=1.0, ended_at=2.0), ToolCall("b"), ToolCall("c", started_at=2.0)]
    bars = timeline(calls)
    assert [bar is None for bar in bars] == [False, True, False]
    assert timeline([ToolCall("a"), ToolCall("b")]) == [None, None]


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", "application/octet-stream"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
    ],
)
def test_the_kind_of_a_picture_is_what_it_begins_with(head: bytes, kind: str, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "shot").write_bytes(head)
    file = find_own_file(str(tmp_path / "run.jsonl"), "files/shot")
    assert file is not None
    assert file.type == kind


def test_what_a_guard_did_is_said_as_far_as_it_was_compared() -> None:
    refused = GuardSummary(calls=2, cases=1, by_rule={"pay by look-first": 2})
    alone = guard_words(Summary(guard=refused))
    compared = guard_words(Summary(guard=GuardSummary(calls=2, cases=1, by_rule={"pay by a": 2}, compared=1)))
    assert guard_words(Summary()) == []
    assert "with --baseline" in alone[-1]
    assert not any("with --baseline" in line for line in compared)
