"""A run that GitHub carries out: annotations where the job prints them, and the summary of the job."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.support import Carob, case, eval_set, journal_of, write
from reports.workflow_commands import commands

HOSTILE = "::add-mask::x\n##[error]forged\n::stop-commands::y"
LOUD = f"""\
def answer(prompt):
    if "B" in prompt:
        raise ValueError({HOSTILE!r})
    return {HOSTILE!r}
"""
RUN = ("run", "s.json", "-t", "python:loud.py:answer")


@pytest.fixture(autouse=True)
def job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    write("s.json", eval_set(case("A"), case("B")))
    write("loud.py", LOUD)


@pytest.mark.parametrize("verbosity", [(), ("-q",), ("-vv",)], ids=["normal", "quiet", "whole"])
def test_what_the_job_prints_gives_our_commands_alone(carob: Carob, verbosity: tuple[str, ...]) -> None:
    ran = carob(*RUN, *verbosity)
    assert ran.code == 1
    shown_commands = [
        (each.name, each.properties["title"], each.properties["line"]) for each in commands(ran.out + ran.err)
    ]
    assert shown_commands == [("error", "FAIL A", "1"), ("error", "ERROR B", "1")]


def test_each_run_adds_to_the_summary_of_the_job(carob: Carob) -> None:
    write("summary.md", "# before\n")
    carob(*RUN)
    carob("rescore", str(journal_of()), "--results-dir", "again")
    text = Path("summary.md").read_text()
    assert text.startswith("# before\n## Carob: ")
    assert text.count("## Carob: ") == 2


def test_a_summary_that_cannot_be_written(carob: Carob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "none/summary.md")
    ran = carob(*RUN)
    assert ran.code == 3
    line = "none/summary.md: cannot be written: No such file or directory. Set GITHUB_STEP_SUMMARY to another file."
    assert ran.err == f"carob: {line} [artifact]\n"
    assert len(commands(ran.out)) == 2


def test_elsewhere_nothing_is_annotated(carob: Carob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert commands(carob(*RUN).out) == []
    assert not Path("summary.md").exists()
