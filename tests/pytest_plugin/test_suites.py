"""Suites as tests: what is collected, what is selected, what is reported."""

from __future__ import annotations

import tempfile
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

import carob

if TYPE_CHECKING:
    from pytest_plugin.conftest import Desk

HELLO = "hello: tags: [smoke], category: talk, prompt: Hello there, expected: { must_say_any: [hello] }"
REFUND = "refund: prompt: a refund please, expected: { tool_calls: [{ tool: issue_refund }] }"
WRONG = "wrong: prompt: a refund, expected: { tool_calls_none: [issue_refund], must_say_any: [sorry, cannot] }"
BROKEN = "broken: prompt: boom, expected: { must_say_any: [x] }"
UNKNOWN = "unknown: prompt: hi, expected: { tool_calls_none: [delete], must_say_any: [hi] }"
LATER = "later: prompt: hi, skip: not yet, expected: { must_say_any: [hi] }"
BUG = "bug: prompt: hi, xfail: issue 12, expected: { must_say_any: [xyz] }"
FIXED = "fixed: prompt: hi, xfail: issue 13, expected: { must_say_any: [hi] }"
EVERY = (HELLO, REFUND, WRONG, BROKEN, UNKNOWN, LATER, BUG, FIXED)
STATUSES = {
    "hello": "PASS",
    "refund": "PASS",
    "wrong": "FAIL",
    "broken": "ERROR",
    "unknown": "PARTIAL",
    "later": "SKIP",
    "bug": "XFAIL",
}
PARTLY = (
    "partly: prompt: hi, scoring: { soft_score: { threshold: 0.1 } }, "
    "expected: { must_say_any: [xyz], must_not_say: [abc], tools_used: [] }"
)


def test_every_outcome(desk: Desk) -> None:
    desk.suite(*EVERY)
    result = desk.run("--junitxml=junit.xml", "-v")
    assert result.parseoutcomes() == {"passed": 2, "failed": 3, "errors": 1, "skipped": 1, "xfailed": 1}
    assert desk.statuses() == {**STATUSES, "fixed": "FAIL"}
    shown = [
        "desk.carob.yaml::unknown UNKNOWN*",
        "*ERROR at call of broken*",
        "agent: RuntimeError: the agent broke",
        "*_ wrong _*",
        "asked     a refund",
        'called    issue_refund(order="A-17") * success: {"status":"paid"}',
        "answered  I have issued the refund.",
        "failed    tool_calls_none[[]0[]] (tool_hygiene)",
        "          expected  no call to 'issue_refund'",
        "failed    must_say_any (formatting)",
        "*- carob -*",
        "desk.carob.yaml: 2 passed, 2 failed, 1 partial (1 unknown), 1 error, 1 known to fail, 1 skipped",
        "  carob-results/desk.carob-*.jsonl",
        "FAILED desk.carob.yaml::wrong - FAIL: tool_calls_none[[]0[]]: expected no call*",
        "UNKNOWN desk.carob.yaml::unknown - UNKNOWN: tool_calls_none*",
        "ERROR desk.carob.yaml::broken - ERROR: agent: RuntimeError*",
    ]
    result.stdout.fnmatch_lines(shown)
    suite = next(ElementTree.parse(desk.path / "junit.xml").iter("testsuite"))
    tests = [*suite.iter("testcase")]
    assert [test.get("name") for test in tests if test.find("error") is not None] == ["broken"]
    assert {test.get("name") for test in tests if test.find("failure") is not None} == {"wrong", "unknown", "fixed"}
    assert (suite.get("errors"), suite.get("failures")) == ("1", "3")
    found = {test.get("name"): {one.get("name"): one.get("value") for one in test.iter("property")} for test in tests}
    assert {name: known["carob.status"] for name, known in found.items()} == {
        **STATUSES,
        "fixed": "FAIL",
        "unknown": "UNKNOWN",
    }


def test_journal_is_that_of_a_run(desk: Desk) -> None:
    """Every reader of journals takes it: it can be judged again, compared, and holds the same verdicts as a run."""
    suite = desk.suite(*EVERY)
    desk.run()
    journal = desk.journal()
    assert (journal.header.suite, journal.header.total, journal.faults) == ("desk.carob.yaml", 8, ())
    assert carob.Journal(journal.file).summary == journal.footer.summary  # type: ignore[union-attr]  # it has ended
    again = carob.rescore(journal.file)
    assert {record.case.id: str(record.status) for record in again} == desk.statuses()
    import agent  # type: ignore[import-not-found]  # that of the project

    ran = carob.run(suite, agent.reply)
    assert {record.case.id: record.key for record in ran} == {record.case.id: record.key for record in again}
    assert carob.compare_runs(journal.file, ran.journal.file).counts == {
        "stayed green": 2,
        "stayed red": 3,
        "erred": 1,
        "set apart": 2,
    }


@pytest.mark.parametrize(
    ("args", "names"),
    [
        pytest.param(["-k", "refund or wrong"], ["refund", "wrong"], id="keyword"),
        pytest.param(["-k", "talk"], ["hello"], id="category"),
        pytest.param(["-m", "smoke"], ["hello"], id="tag"),
        pytest.param(["-m", "not smoke"], ["refund", "wrong"], id="not-a-tag"),
        pytest.param(["desk.carob.yaml::wrong"], ["wrong"], id="node-id"),
    ],
)
def test_selection(desk: Desk, args: list[str], names: list[str]) -> None:
    desk.suite(HELLO, REFUND, WRONG)
    result = desk.run("--strict-markers", *args)
    assert list(desk.statuses()) == names
    assert desk.journal().header.total == len(names)
    assert desk.journal().summary.incomplete == ""
    assert result.ret == ("wrong" in names)


def test_only_what_failed_last(desk: Desk) -> None:
    desk.suite(HELLO, REFUND, WRONG)
    desk.run("--carob-record", "first")
    desk.run("--lf", "--carob-record", "second")
    assert list(desk.statuses("second")) == ["wrong"]
    desk.suite(HELLO, WRONG, REFUND)
    desk.run("--sw", "--carob-record", "third")
    assert desk.journal("third").summary.incomplete.startswith("Test failed, continuing from this test next run")


def test_stop_at_first_failure_gives_no_rate(desk: Desk) -> None:
    desk.suite(HELLO, WRONG, REFUND, BROKEN)
    result = desk.run("-x")
    result.stdout.fnmatch_lines(["desk.carob.yaml: INCOMPLETE: 2 of 4 cases finished (stopping after 1 failures)"])
    assert result.ret == 1
    assert desk.journal().summary.exit_code() != 0


def test_collecting_reads_the_suite_alone(desk: Desk) -> None:
    desk.write("agent.py", "raise SystemExit('loaded')")
    desk.write("conftest.py", "")
    desk.write("carob.toml", 'target = "python:agent:reply"\n')
    desk.suite(HELLO, REFUND)
    result = desk.run("--collect-only", "-q")
    result.stdout.fnmatch_lines(["desk.carob.yaml::hello", "desk.carob.yaml::refund"])
    assert not (desk.path / "carob-results").exists()


def test_location_is_the_line_of_the_case(desk: Desk) -> None:
    desk.suite(HELLO, WRONG)
    result = desk.run("--tb=line")
    result.stdout.fnmatch_lines(["*desk.carob.yaml:4: FAIL: tool_calls_none*"])


@pytest.mark.parametrize(
    "case_id",
    ["a::b", "a[1]", "über-länge", "日本語", "with space", "a/b", "gate", "%3A", "x'y", "test.py::x"],
)
def test_odd_case_ids(desk: Desk, case_id: str) -> None:
    desk.suite(f'"{case_id}": prompt: hi, expected: {{ must_say_any: [hi] }}')
    listed = [line for line in desk.run("--collect-only", "-q").outlines if "carob.yaml::" in line]
    result = desk.run(listed[0])
    assert result.parseoutcomes() == {"passed": 1}
    assert desk.statuses() == {case_id: "PASS"}


def test_windows_line_ends(desk: Desk) -> None:
    suite = desk.suite(HELLO, WRONG)
    suite.write_bytes(suite.read_bytes().replace(b"\n", b"\r\n"))
    desk.run("--tb=line").stdout.fnmatch_lines(["*desk.carob.yaml:4: FAIL*"])


def test_two_suites_of_one_name(desk: Desk) -> None:
    for folder in ("one", "two"):
        desk.suite(HELLO, name=f"{folder}/desk.carob.yaml")
    result = desk.run()
    assert result.parseoutcomes() == {"passed": 2}
    found = {carob.Journal(path).header.suite for path in (desk.path / "carob-results").glob("*.jsonl")}
    assert found == {"one/desk.carob.yaml", "two/desk.carob.yaml"}


def test_json_suites_and_named_ones(desk: Desk) -> None:
    golden = '[{"id": "g", "input": "hi", "expected_contains": ["hi"], "must_not_contain": ["bye"]}]'
    desk.write(".evals/golden.json", golden)
    desk.write("more/other.json", golden.replace('"g"', '"h"'))
    desk.write(
        "desk.carob.json", '{"carob": 1, "cases": [{"id": "j", "prompt": "hi", "expected": {"must_say_any": ["hi"]}}]}'
    )
    desk.write("tests/test_plain.py", "def test_plain(): pass")
    desk.write("pytest.ini", "[pytest]\ntestpaths = tests more\ncarob_suites =\n  .evals/*.json\n  more/other.json\n")
    result = desk.run("-v")
    assert sorted(line.split(" ")[0] for line in result.outlines if "PASSED" in line) == [
        ".evals/golden.json::g",
        "more/other.json::h",
        "tests/test_plain.py::test_plain",
    ]
    assert desk.run("desk.carob.json").parseoutcomes() == {"passed": 1}


def test_tag_that_pytest_gives_a_meaning_is_only_a_keyword(desk: Desk) -> None:
    desk.suite(HELLO.replace("smoke", "skip, 'a:b', usefixtures"))
    assert desk.run("-k", "skip").parseoutcomes() == {"passed": 1}
    assert desk.run("-m", "a:b").parseoutcomes() == {"passed": 1}


def test_broken_suite_is_an_error_at_its_line(desk: Desk) -> None:
    desk.suite(HELLO, "bad: prompt: hi, expected: { must_sya_any: [x] }", "bad: prompt: hi, expected: {}")
    result = desk.run()
    result.stdout.fnmatch_lines(
        [
            "desk.carob.yaml:4:* cases[[]1[]].expected.must_sya_any: unknown field. Did you mean 'must_say_any'?*",
            "desk.carob.yaml:5:*duplicate*",
            "ERROR desk.carob.yaml - desk.carob.yaml:4:*",
        ]
    )
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "Traceback" not in str(result.stdout)


def test_missing_target_names_the_option(desk: Desk) -> None:
    desk.write("conftest.py", "")
    desk.suite(HELLO)
    result = desk.run()
    result.stdout.fnmatch_lines(["no-target: no target was given. Give --carob-target python:module:function,*"])
    assert desk.statuses() == {"hello": "ERROR"}


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("--carob-repeat=0", "`repeat` must be at least 1, not 0"),
        ("--carob-repeat=often", "--carob-repeat: 'often' is not a number"),
        ("--carob-timeout=-1", "`timeout` must be over 0, not -1"),
        ("--carob-retries=x", "--carob-retries: 'x' is not a number"),
    ],
)
def test_wrong_option_ends_before_collection(desk: Desk, option: str, why: str) -> None:
    desk.suite(HELLO)
    result = desk.run(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert why in str(result.stderr)


def test_options_of_the_configuration(desk: Desk) -> None:
    desk.write("conftest.py", "")
    ini = "[pytest]\ncarob_target = python:agent:reply\ncarob_repeat = 2\ncarob_record = kept\ncarob_timeout = 20\n"
    desk.write("pytest.ini", ini)
    desk.suite(HELLO)
    assert desk.run().parseoutcomes() == {"passed": 1}
    header = desk.journal("kept").header
    assert (header.target, header.repeat, header.total) == ("python:agent:reply", 2, 2)
    assert header.options["timeout"] == 20


def test_no_journal_is_kept_if_none_is_wanted(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.suite(HELLO)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    result = desk.run("--carob-record=no")
    result.stdout.fnmatch_lines(["desk.carob.yaml: 1 passed"])
    assert not list(desk.path.rglob("*.jsonl"))
    assert list(scratch.glob("carob-*")) == []


@pytest.mark.parametrize(
    ("case", "config", "outcomes"),
    [
        (PARTLY, "", {"failed": 1}),
        (PARTLY, "allow_partial = true", {"passed": 1}),
        (PARTLY, "allow_unknown = true", {"failed": 1}),
        (UNKNOWN, "allow_partial = true", {"failed": 1}),
        (UNKNOWN, "allow_unknown = true", {"passed": 1}),
    ],
)
def test_partial_fails_unless_allowed(desk: Desk, case: str, config: str, outcomes: dict[str, int]) -> None:
    agent = 'def reply(prompt, conversation): conversation.state; return {"final_message": prompt, "tool_calls": []}'
    if case == PARTLY:
        desk.write("agent.py", agent)
    desk.write("carob.toml", config)
    desk.suite(case)
    assert desk.run().parseoutcomes() == outcomes


def test_without_the_mark_of_what_is_known_to_fail(desk: Desk) -> None:
    desk.suite(BUG, FIXED)
    assert desk.run("--runxfail").parseoutcomes() == {"passed": 1, "failed": 1}


def test_session_of_skipped_cases_is_not_green(desk: Desk) -> None:
    desk.suite(LATER)
    assert desk.run().ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert desk.run("-k", "nothing").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    desk.write("test_plain.py", "def test_plain(): pass")
    assert desk.run().ret == 0


FLAKY = """
COUNT = []
def reply(prompt):
    COUNT.append(prompt)
    return "yes" if len(COUNT) != 2 else "no"
"""


@pytest.mark.parametrize(
    ("rate", "outcomes"), [("", {"failed": 1}), ("min_pass_rate: 0.6, ", {"passed": 1})], ids=["always", "rate"]
)
def test_repeats_of_a_case_are_one_test(desk: Desk, rate: str, outcomes: dict[str, int]) -> None:
    desk.write("agent.py", FLAKY)
    desk.suite(f"flaky: prompt: hi, expected: {{ {rate}must_say_any: ['yes'] }}")
    result = desk.run("--carob-repeat=3")
    assert result.parseoutcomes() == outcomes
    journal = desk.journal()
    assert ([str(one.status) for one in journal.records()], journal.faults) == (["PASS", "FAIL", "PASS"], ())
    if not rate:
        result.stdout.fnmatch_lines(["FAIL     flaky*2 of 3 passed*", "*run 2: FAIL"])


def test_repeats_until_decided(desk: Desk) -> None:
    desk.suite(HELLO)
    assert desk.run("--carob-repeat=auto").parseoutcomes() == {"passed": 1}
    summary = desk.journal().summary
    assert (summary.undecided, summary.incomplete) == (0, "")
    assert 5 < summary.runs < 50


def test_rerun_counts_as_a_repeat(desk: Desk) -> None:
    """A test that is run again has two runs: the second does not hide the first."""
    desk.write("agent.py", FLAKY.replace("!= 2", "!= 1"))
    desk.suite("flaky: prompt: hi, expected: { must_say_any: ['yes'] }", HELLO.replace("hello]", "'yes']"))
    again = """
    from _pytest.runner import runtestprotocol
    def pytest_runtest_protocol(item, nextitem):
        for _ in range(2):
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
            for report in reports:
                item.ihook.pytest_runtest_logreport(report=report)
            if not any(report.failed for report in reports):
                break
        return True
    """
    desk.write("conftest.py", (desk.path / "conftest.py").read_text() + "\n" + dedent(again))
    assert desk.run().parseoutcomes() == {"failed": 2, "passed": 1}
    journal = desk.journal()
    assert [(one.case.id, one.repeat, str(one.status)) for one in journal.records()] == [
        ("flaky", 0, "FAIL"),
        ("flaky", 1, "PASS"),
        ("hello", 0, "PASS"),
    ]
    assert (journal.faults, carob.Journal(journal.file).summary.incomplete) == ((), "")
    assert (journal.summary.passed, journal.summary.failed, journal.summary.flaky) == (1, 1, 1)
    assert carob.rescore(journal.file).summary.failed == 1


def test_fixtures_hold_for_cases(desk: Desk) -> None:
    fixtures = """
    @pytest.fixture(autouse=True)
    def noted(request):
        with open("noted", "a") as file:
            file.write(request.node.name + "\\n")
        if request.node.name == "wrong":
            raise OSError("no desk")
        if request.node.name == "later":
            pytest.skip("not on Sundays")
    """
    desk.write("conftest.py", (desk.path / "conftest.py").read_text() + dedent(fixtures))
    desk.suite(HELLO, WRONG, "later: prompt: hi, expected: { must_say_any: [hi] }")
    assert desk.run().parseoutcomes() == {"passed": 1, "errors": 1, "skipped": 1}
    assert (desk.path / "noted").read_text() == "hello\nwrong\nlater\n"
    assert desk.statuses() == {"hello": "PASS", "wrong": "ERROR", "later": "SKIP"}
    errors = [one.trace.error for one in desk.journal().records() if one.case.id == "wrong"]
    assert [error.message for error in errors if error] == ["pytest ended it: OSError: no desk"]
