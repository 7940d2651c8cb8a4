"""`carob demo`: red, fixed, green, and audited; each step is what the command really gives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from carob.cli.main import run
from carob.features.demo import cli


def test_the_bug_is_found_fixed_and_the_suite_is_made_whole(capfd: pytest.CaptureFixture[str]) -> None:
    before = Path.cwd()
    assert run(["demo"]) == 0
    shown = capfd.readouterr()
    assert shown.err == ""
    steps = (
        "2 passed, 1 failed",
        r"\+    if not refund",
        "3 passed",
        r"\+      tools_used: \[",
        r"(\d+) of \1 wrong answers are noticed: 100%",
        "Your agent next: carob init",
    )
    places = [found.start() for step in steps if (found := re.search(step, shown.out))]
    assert (len(places), places) == (len(steps), sorted(places))
    assert Path.cwd() == before


def test_a_story_that_does_not_come_true_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "FIX", "")
    assert run(["demo"]) == 3
    assert "`carob run desk.carob.yaml` ended with 1, not 0." in capfd.readouterr().err
