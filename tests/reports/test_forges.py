"""What other programs read of a run with every status: JUnit, GitHub's commands, GitLab's code quality."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import junitparser
import pytest
from msgspec import structs

from carob.plugins.project import Project
from carob.reports.catalog import find
from carob.reports.github import MOST_ANNOTATIONS
from carob.reports.writing import write_into

from .runs import Kept, MemoryRun, interrupted, passing, repeated
from .statuses import LINES, REASONS, in_every_way
from .workflow_commands import Command, commands

# What pytest writes as `xunit1`, which is the schema of its `xunit2` with places and properties of a test case.
ELEMENTS: dict[str, set[str]] = {
    "testsuites": set(),
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "file"},
    "testcase": {"classname", "name", "file", "line", "time"},
    "properties": set(),
    "property": {"name", "value"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
}


def written(name: str, *runs: MemoryRun) -> str:
    out = Kept()
    write_into(runs, find(name, Project()), out)
    return out.data.decode()


def junit(*runs: MemoryRun) -> list[junitparser.TestSuite]:
    text = written("junit", *runs)
    for element in ElementTree.fromstring(text).iter():
        assert set(element.attrib) <= ELEMENTS[element.tag], element.tag
    return list(junitparser.JUnitXml.fromstring(text.encode()))


def properties(case: junitparser.TestCase) -> dict[str, str]:
    return {each.name: each.value for each in case.child(junitparser.Properties)}


@pytest.fixture
def run(tmp_path: Path) -> MemoryRun:
    return in_every_way(tmp_path)


def test_junitparser_reads_every_status(run: MemoryRun) -> None:
    (suite,) = junit(run)
    assert (suite.name, suite.tests, suite.failures, suite.errors, suite.skipped) == ("s", 6, 2, 1, 2)
    assert suite.time == 3.4
    by_title = {case.name: [(type(each).__name__, each.type, each.message) for each in case.result] for case in suite}
    assert by_title == {
        "PASS": [],
        "FAIL": [("Failure", "FAIL", "a check failed; must_say_any: expected 'x', found y")],
        "PARTIAL": [("Failure", "PARTIAL", "a check could not be decided; must_say_any: expected 'x', found y")],
        "ERROR": [("Error", "ERROR", "crash: it, left: 100%")],
        "SKIP": [("Skipped", "SKIP", "no such agent yet")],
        "XFAIL": [("Skipped", "XFAIL", "known, see 12; must_say_any: expected 'x', found y")],
    }


def test_junit_has_place_scores_and_what_happened(run: MemoryRun) -> None:
    (suite,) = junit(run)
    assert {case.name: int(case._elem.attrib["line"]) for case in suite} == LINES
    assert {case._elem.attrib["file"] for case in suite} == {"evals/s.json"}
    (failed,) = [case for case in suite if case.name == "FAIL"]
    assert failed.classname == "s.github"
    assert properties(failed) == {
        "status": "FAIL",
        "soft_score": "0.5000",
        "threshold": "0.9",
        "score.formatting": "0/1",
        "tokens.input": "10",
        "tokens.output": "3",
    }
    assert failed.result[0].text.splitlines() == [
        "a check failed",
        "asked     ?",
        'called    pay(sum=5) → success: {"ok":1}',
        "called    look() → error: no table",
        "answered  y",
        "          | z",
        "failed    must_say_any (formatting)",
        "          expected  'x'",
        "          found     y",
        "          in        final_message: [y] z",
    ]


def test_junit_tells_repeats_as_one_case_each() -> None:
    (suite,) = junit(repeated())
    assert [case.name for case in suite] == ["G1", "G2_ok", "G3", "E1"]
    assert [len(case.result) for case in suite] == [1, 0, 0, 1]
    first = properties(next(iter(suite)))
    assert {name: first[name] for name in first if name.startswith("repeats.")} == {
        "repeats.runs": "3",
        "repeats.passed": "2",
        "repeats.rate": "0.6667",
        "repeats.low": "0.0943",
        "repeats.high": "0.9916",
        "repeats.flaky": "true",
    }


def test_junit_of_an_incomplete_run_is_not_green() -> None:
    (suite,) = junit(interrupted())
    assert (suite.tests, suite.errors) == (2, 1)
    *_, last = suite
    assert last.result[0].type == "incomplete"


@pytest.mark.parametrize("name", ["junit", "gitlab", "csv", "jsonl", "github"])
def test_several_runs_in_one_file(name: str, run: MemoryRun) -> None:
    other = structs.replace(run.header, suite="other.json", run_id="r2")
    both = written(name, run, MemoryRun(run.cases, run.summary, other))
    counts = {
        "junit": lambda: [suite.tests for suite in junit(run, run)],
        "gitlab": lambda: [len(json.loads(both)), len({finding["fingerprint"] for finding in json.loads(both)})],
        "csv": lambda: [len(both.splitlines()) - 1, both.count("r2,")],
        "jsonl": lambda: [len(both.splitlines()), both.count('"r2"')],
        "github": lambda: [len(commands(both)), both.count("file=other.json")],
    }
    expected = {"junit": [6, 6], "gitlab": [6, 6], "csv": [12, 6], "jsonl": [12, 6], "github": [10, 5]}
    assert counts[name]() == expected[name]


def test_githubs_runner_reads_every_status(run: MemoryRun) -> None:
    by_title = {each.properties["title"]: each for each in commands(written("github", run))}
    assert {title: each.name for title, each in by_title.items()} == {
        "FAIL FAIL": "error",
        "PARTIAL PARTIAL": "warning",
        "ERROR ERROR": "error",
        "SKIP SKIP": "notice",
        "XFAIL XFAIL": "notice",
    }
    for status, line in LINES.items():
        if status != "PASS":
            command: Command = by_title[f"{status} {status}"]
            assert (command.properties["file"], command.properties["line"]) == ("evals/s.json", str(line))
            assert command.data.splitlines()[0] == REASONS[status]
    assert "called    look() → error: no table" in by_title["FAIL FAIL"].data.splitlines()


def test_github_is_told_no_more_than_it_shows(run: MemoryRun) -> None:
    many = MemoryRun(tuple(structs.replace(run.cases[1], index=index) for index in range(25)), run.summary, run.header)
    *errors, more = commands(written("github", many))
    assert [each.name for each in errors] == ["error"] * MOST_ANNOTATIONS
    assert (more.name, more.data) == ("notice", "15 more at the level 'error' are not shown")


def test_an_incomplete_run_is_annotated() -> None:
    (command,) = commands(written("github", interrupted()))
    assert (command.name, command.properties["title"]) == ("error", "INCOMPLETE")


def test_the_job_summary_has_table_and_first_failures(run: MemoryRun) -> None:
    text = written("github-summary", run)
    assert text.startswith("## Carob: 1 passed, 1 failed, 1 partial, 1 error, 1 known to fail, 1 skipped\n")
    assert re.findall(r"^\| \S+ \| (\w+) \| (\w+) \|", text, re.MULTILINE) == [
        (status, status) for status in LINES if status != "PASS"
    ]
    assert re.findall(r"^### (.*)", text, re.MULTILINE) == ["FAIL: FAIL", "PARTIAL: PARTIAL", "ERROR: ERROR"]
    assert "\n    called    look() → error: no table\n" in text


def test_gitlab_finds_each_check_at_its_line(run: MemoryRun) -> None:
    by_title = json.loads(written("gitlab", run))
    assert [(each["check_name"], each["severity"], each["location"]) for each in by_title] == [
        ("must_say_any", "major", {"path": "evals/s.json", "lines": {"begin": 3}}),
        ("must_say_any", "minor", {"path": "evals/s.json", "lines": {"begin": 4}}),
        ("ERROR", "blocker", {"path": "evals/s.json", "lines": {"begin": 6}}),
    ]
    assert by_title[0]["description"] == "FAIL: must_say_any failed: expected 'x', found y"
    again = json.loads(written("gitlab", MemoryRun(run.cases[::-1], run.summary, run.header)))
    assert {each["fingerprint"] for each in by_title} == {each["fingerprint"] for each in again}


def test_gitlab_of_a_green_run_is_an_empty_list() -> None:
    assert json.loads(written("gitlab", passing())) == []
