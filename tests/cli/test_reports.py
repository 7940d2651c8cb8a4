"""`--report`: further reports of a run, and what is left of the run when one of them fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.support import Carob, case, eval_set, journal_of, results, write
from packages import Installs

KNOWN = "Known: json, markdown, html, junit, github, github-summary, gitlab, csv, jsonl, broken, ids."
GREET = ("-t", "python:agent.py:greet")


class Ids:
    """A line per case."""

    extension = "txt"

    def __init__(self, run: Any, out: Any) -> None:
        self.out = out

    def case(self, record: Any) -> None:
        self.out.write(f"{record.case.id} {record.status}\n".encode())

    def end(self) -> None:
        pass


class Broken(Ids):
    def end(self) -> None:
        raise RuntimeError("no\x1b[31m way")


@pytest.fixture(autouse=True)
def installed(installs: Installs) -> None:
    installs("carob.reports", *((name.lower(), f"{__name__}:{name}") for name in ("Ids", "Broken")))


@pytest.mark.parametrize("command", ["run", "rescore"])
def test_a_further_report(carob: Carob, command: str) -> None:
    arguments = ["run", write("s.json", eval_set(case("A"), case("B", expected={"must_say_any": ["no"]}))), *GREET]
    if command == "rescore":
        carob(*arguments, "--results-dir", "first")
        arguments = ["rescore", str(journal_of("first"))]
    ran = carob(*arguments, "--report", "ids", "--report", "ids=mine.log")
    assert ran.code == 1
    (beside,) = results()[".txt"]
    assert str(beside) in ran.out
    assert "mine.log" in ran.out
    assert beside.read_text() == Path("mine.log").read_text() == "A PASS\nB FAIL\n"


@pytest.mark.parametrize("command", ["run", "rescore", "run --failed"])
@pytest.mark.parametrize("agent", ["greet", "mute"], ids=["passing", "failing"])
def test_a_report_that_fails_leaves_summary_journal_and_the_others(carob: Carob, command: str, agent: str) -> None:
    arguments = ["run", write("s.json", eval_set()), "-t", f"python:agent.py:{agent}"]
    if command != "run":
        carob(*arguments, "--results-dir", "first")
        arguments = [*command.split(), str(journal_of("first")), "--results-dir", "carob-results"]
    ran = carob(*arguments, "--report", "broken", "--report", "ids")
    assert ran.code == 3
    assert ("1 passed" if agent == "greet" else "1 failed") in ran.out
    assert str(journal_of()) in ran.out
    assert {suffix: len(paths) for suffix, paths in results().items()} == {".jsonl": 1, ".json": 1, ".md": 1, ".txt": 1}
    line = ran.err.splitlines()[-1]
    assert "report 'broken' failed: RuntimeError: no\\x1b[31m way. Fix it, or leave it out." in line
    assert line.endswith(f"carob report {journal_of()} -f broken [report]")
    later = carob("report", str(journal_of()), "-f", "broken")
    assert (later.code, later.out) == (3, "")
    assert "report 'broken' failed: RuntimeError: no\\x1b[31m way. Fix it, or leave it out. [report]" in later.err


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        pytest.param("idss", "unknown report 'idss'. Did you mean 'ids'? [unknown-report]", id="a-slip"),
        pytest.param("", f"unknown report ''. {KNOWN} [unknown-report]", id="none"),
    ],
)
def test_a_report_that_nobody_has_stops_before_anything_runs(carob: Carob, asked: str, said: str) -> None:
    ran = carob("run", write("s.json", eval_set()), *GREET, "--report", asked)
    assert (ran.code, ran.out, ran.err) == (4, "", f"carob: {said}\n")
    assert not Path("carob-results").exists()


def test_several_suites_do_not_write_over_each_others_report(carob: Carob) -> None:
    suites = [write(f"{name}.json", eval_set()) for name in "ab"]
    ran = carob("run", *suites, *GREET, "--report", "ids=mine.txt")
    assert (ran.code, ran.out) == (4, "")
    assert "several suites cannot have one report 'ids' at mine.txt. Name a folder" in ran.err
    write("carob.toml", '[reports]\nids = "mine.txt"\n')
    assert carob("run", *suites, *GREET).code == 4
    Path("carob.toml").unlink()
    assert carob("run", *suites, *GREET, "--report", "ids=mine/").code == 0
    assert len(list(Path("mine").iterdir())) == 2
    assert carob("run", *suites, *GREET, "--report", "ids").code == 0
    assert len(results()[".txt"]) == 2


def test_a_place_that_cannot_be_written(carob: Carob) -> None:
    write("file", "mine")
    ran = carob("run", write("s.json", eval_set()), *GREET, "--report", "ids=file/below")
    assert ran.code == 3
    assert "1 passed" in ran.out
    assert "file/below: cannot be written" in ran.err
