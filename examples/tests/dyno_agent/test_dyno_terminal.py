"""`python -m dyno_agent` as a stranger would run it."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dyno_agent.__main__ import main

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("DYNO_", "OPENAI_")):
            monkeypatch.delenv(name)


def test_a_conversation_of_two_turns() -> None:
    command = [sys.executable, "-m", "dyno_agent", "Book a brake test for Tuesday", "vehicle 42"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=EXAMPLES, timeout=120, check=True)
    asked, booked = done.stdout.splitlines()
    assert asked == "I cannot book that yet. Which vehicle do you mean? Please give its id or VIN."
    assert booked.startswith("Allocated in requested window: vehicle 42")
    assert "[tool.auto_allocate_vehicle start]" in done.stderr


def test_turns_can_be_typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("What time is it?\n\n"))
    assert main([]) == 0
    assert capsys.readouterr().out == "It is Monday, 2026-03-02 09:00.\n"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        pytest.param("DYNO_MODEL", "x", "OPENAI_API_KEY is not set", id="no key"),
        pytest.param("DYNO_NOW", "noon", "DYNO_NOW is 'noon'", id="bad clock"),
        pytest.param("DYNO_DATABASE_URL", "mysql://x", "names 'mysql'", id="other database"),
        pytest.param("DYNO_DATABASE_URL", "postgresql://me:pw@127.0.0.1:1/x", "cannot be used", id="unreachable"),
    ],
)
def test_a_bad_setting_is_one_line_and_exit_4(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str, words: str
) -> None:
    monkeypatch.setenv(name, value)
    assert main(["hello"]) == 4
    complaint = capsys.readouterr().err
    assert len(complaint.splitlines()) == 1
    assert words in complaint
    assert "pw" not in complaint


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: python -m dyno_agent")
