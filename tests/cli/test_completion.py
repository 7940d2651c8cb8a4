"""What a Tab offers: the words of the shell's own protocol, in this process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from carob.cli.main import COMPLETE, run

CASES = [
    {"id": name, "prompt": "x", "expected": {"must_say_any": ["ok"]}} for name in ("refund-1", "refund-2", "hours")
]


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("desk.json").write_text(json.dumps({"version": "0.3", "cases": CASES}))
    Path("package.json").write_text("{}")
    Path("carob.toml").write_text('[targets.staging]\nuse = "python:a:b"\n[targets.prod]\nuse = "python:a:b"\n')
    Path("carob-results").mkdir()
    Path("carob-results/desk-1.jsonl").write_text("")


def offered(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What bash is told for a line whose last word is not finished."""
    monkeypatch.setenv(COMPLETE, "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
    assert run([]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return [word.partition(",")[2] for word in said.out.splitlines()]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("carob ru", ["run"]),
        ("carob ini", ["init"]),
        ("carob init --e", ["--example"]),
        ("carob run ", ["desk.json"]),
        ("carob run desk.json --cases ref", ["refund-1", "refund-2"]),
        ("carob run desk.json --cases hours,ref", ["hours,refund-1", "hours,refund-2"]),
        ("carob run desk.json -t ", ["prod", "staging"]),
        ("carob run desk.json --baseline @last-", ["@last-green", "@last-5"]),
        ("carob compare @ba", ["@baseline"]),
        ("carob compare @last carob-results/", ["carob-results/desk-1.jsonl"]),
        ("carob rescore ", ["@last", "@last-green", "@last-5", "@baseline", "carob-results/desk-1.jsonl"]),
        ("carob compare --save @last-g", ["@last-green"]),
        ("carob run gone.json --cases x", ["x"]),
    ],
)
def test_a_tab_offers(
    line: str, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert offered(line, monkeypatch, capsys) == words


def test_the_script_for_a_shell_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(COMPLETE, "zsh_source")
    assert run([]) == 0
    assert "#compdef carob" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "hint"),
    [("inti", "init"), ("rnu", "run"), ("valdate", ""), ("comparee", "compare"), ("lin", "lint"), ("xyz", "")],
)
def test_a_slip_of_a_finger_is_told_from_another_word(
    typed: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([typed]) == 4
    said = capsys.readouterr().err
    assert (f"Did you mean {hint!r}?" in said) if hint else ("Did you mean" not in said)
