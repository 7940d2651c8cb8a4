"""Checks, targets and reports of a team's own, named in carob.toml: no package is needed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cli.support import Carob, case, eval_set, journal_of, report_of, results, write

CHECKS = """\
from carob.model.verdict import CheckResult, Status

def polite(trace, words: list[str]):
    '''The answer holds one of these words.'''
    found = [word for word in words if word in trace.final_message.lower()]
    return bool(found), f"it says {', '.join(found)}" if found else "none of them"

polite.group = "tone"
polite.examples = [
    (["please"], "Yes, please.", True),
    (["please"], "No.", False),
]

def brief(trace, most: int):
    return len(trace.final_message) <= most

def unsure(trace, value):
    return None, "who knows"

def told(trace, value):
    return CheckResult("x", "y", Status.FAILED, found="told so")

def breaks(trace, value):
    raise LookupError("no such thing")

def forgets(trace, value):
    value.append(1)

def alone(trace): ...
async def later(trace, value): ...
def dated(trace, day: 'datetime.date'): ...
def strange(trace, path: 'Path'): ...
def shown(trace, value): return True
shown.examples = ["a"]
from pathlib import Path
NUMBER = 3
"""
GREET = ("-t", "python:agent.py:greet")


def project(**checks: str) -> None:
    write("checks.py", CHECKS)
    lines = [f'{name} = "{spec}"' for name, spec in checks.items()]
    write("carob.toml", "\n".join(("[checks]", *lines, "")))


def suite(**expected: Any) -> str:
    return write("s.json", eval_set(case(expected=expected)))


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_function_is_a_field_of_expected(carob: Carob, workers: str) -> None:
    project(polite="python:checks.py:polite", brief="python:checks.py:brief")
    rules = {"hard_fail": ["tone"], "soft_score": {"threshold": 0.4}}
    suite_file = suite(polite=["thanks", "prompt"], brief=3, scoring=rules)
    ran = carob("run", suite_file, *GREET, "--workers", workers)
    assert ran.statuses == {"A": "PARTIAL"}, ran
    checks = report_of()["cases"][0]["checks"]
    (passed,) = [row for row in checks["passed"] if row["name"] == "polite"]
    assert passed == {
        "name": "polite",
        "group": "tone",
        "expected": 'polite: ["thanks","prompt"]',
        "found": "it says prompt",
    }
    (failed,) = checks["failed"]
    assert (failed["name"], failed["group"], failed["found"]) == ("brief", "team", "Hello, prompt of A")


def test_it_holds_wherever_traces_are_judged(carob: Carob) -> None:
    project(polite="python:checks.py:polite")
    suite_file = suite(polite=["hello"], outcome="response_only")
    assert "1 case, 2 checks" in carob("lint", "--errors-only", suite_file).out
    assert carob("run", suite_file, *GREET, "--results-dir", "first").statuses == {"A": "PASS"}
    journal = str(journal_of("first"))
    assert carob("rescore", journal).statuses == {"A": "PASS"}
    assert carob("rescore", journal, "--suite", suite(polite=["bye"])).statuses == {"A": "FAIL"}
    assert carob("run", "--resume", journal, "--results-dir", "more").statuses == {"A": "FAIL"}
    audit = carob("audit", journal, "--min-kill", "0")
    assert "answer-emptied" in audit.out, audit
    assert carob("lint", suite_file).code == 0
    properties = json.loads(carob("lint", "--schema", "eval-set").out)["$defs"]["Expected"]["properties"]
    assert properties["polite"]["items"] == {"type": "string"}
    assert properties["polite"]["description"] == "The answer holds one of these words."


def test_another_folder_is_another_project(carob: Carob, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    project(polite="python:checks.py:polite")
    assert carob("lint", "--errors-only", suite(polite=["hello"])).code == 0
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    write("carob.toml", "")
    assert "unknown field" in carob("lint", "--errors-only", "../s.json").err


def test_an_agent_that_goes_elsewhere_takes_the_checks_along(carob: Carob) -> None:
    project(polite="python:checks.py:polite")
    write("wanderer.py", "import os\ndef ask(prompt):\n    os.chdir('/')\n    return 'hello'\n")
    here = Path.cwd()
    for workers in ("0", "1"):
        ran = carob("run", suite(polite=["hello"]), "-t", "python:wanderer.py:ask", "--workers", workers)
        assert ran.statuses == {"A": "PASS"}
        os.chdir(here)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        pytest.param("please", "s.json:1:90 cases[0].expected.polite: expected a list, found a string.", id="type"),
        pytest.param([1], "cases[0].expected.polite[0]: expected a string, found a number.", id="deep"),
    ],
)
def test_its_value_has_the_type_that_it_asks_for(carob: Carob, value: Any, line: str) -> None:
    project(polite="python:checks.py:polite")
    ran = carob("lint", "--errors-only", suite(polite=value))
    assert ran.code == 4
    assert line in ran.err


def test_a_slip_in_its_name_is_told(carob: Carob) -> None:
    project(polite="python:checks.py:polite")
    assert "unknown field. Did you mean 'polite'?" in carob("lint", "--errors-only", suite(polit=["a"])).err


@pytest.mark.parametrize(
    ("function", "status", "said"),
    [
        pytest.param("unsure", "PARTIAL", "who knows", id="cannot-tell"),
        pytest.param("told", "FAIL", "told so", id="a-result"),
        pytest.param("breaks", "ERROR", "LookupError: no such thing", id="raises"),
        pytest.param("forgets", "ERROR", "mine returned None, not True, False, a CheckResult", id="gives-nothing"),
    ],
)
def test_what_a_function_may_say(carob: Carob, function: str, status: str, said: str) -> None:
    project(mine=f"python:checks.py:{function}")
    cases = [case(name, expected={"mine": []}) for name in "AB"]
    ran = carob("run", write("s.json", eval_set(*cases)), *GREET)
    assert ran.statuses == {"A": status, "B": status}
    assert ran.out.count(said) == 2
    assert ran.out.count("expected  mine: []") == 2, "what a function does to its value stays with that call"


@pytest.mark.parametrize(
    ("name", "spec", "said"),
    [
        pytest.param("mine", "python:none.py:mine", "there is no file", id="no-file"),
        pytest.param("mine", "python:no_such_module:mine", "there is no module 'no_such_module'", id="no-module"),
        pytest.param("mine", "python:checks.py:polit", "has no 'polit'. Did you mean 'polite'?", id="no-function"),
        pytest.param(
            "mine", "checks.py:polite", "does not name any code. Write it as 'python:file.py:mine'", id="no-python"
        ),
        pytest.param("mine", "python:checks.py:NUMBER", "it is not a subclass of carob.Check", id="no-check"),
        pytest.param("mine", "python:checks.py:Path", "it is not a subclass of carob.Check", id="no-check-class"),
        pytest.param("mine", "python:checks.py:alone", "cannot be called with the trace and the value", id="signature"),
        pytest.param("mine", "python:checks.py:later", "it is async", id="async"),
        pytest.param("mine", "python:checks.py:dated", "its types cannot be read: NameError", id="no-such-type"),
        pytest.param("mine", "python:checks.py:strange", "a suite cannot contain a value of the type", id="no-json"),
        pytest.param("mine", "python:checks.py:shown", "'a' is not an example", id="no-example"),
        pytest.param("mine", "python:broken.py:f", "cannot be imported: SyntaxError", id="no-python-code"),
        pytest.param("outcome", "python:checks.py:polite", "Carob already uses that name", id="a-check-of-ours"),
        pytest.param("source_patterns", "python:checks.py:polite", "Carob already uses that name", id="a-field"),
        pytest.param("scoring", "python:checks.py:polite", "Carob already uses that name", id="no-check-but-ours"),
        pytest.param("x-mine", "python:checks.py:polite", "that is not a name for a field", id="a-note"),
        pytest.param("mine", "python:classes.py:Loud", "the check is called 'loud'. Write loud = ", id="class-name"),
        pytest.param("loud", "python:classes.py:Loud", "", id="a-class"),
    ],
)
def test_what_cannot_be_a_check_is_told_at_its_line(carob: Carob, name: str, spec: str, said: str) -> None:
    write("broken.py", "def f(:\n")
    write("classes.py", CLASS)
    project(**{name: spec})
    ran = carob("run", suite(must_say_any=["hello"]), *GREET)
    if not said:
        assert ran.code == 0
        return
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (4, "", 1)
    assert ran.err.startswith(f"carob: {Path('carob.toml').resolve()}:2: ")
    assert said in ran.err
    assert not Path("carob-results").exists()


CLASS = """\
from dataclasses import dataclass
from typing import ClassVar
from carob.checks.base import Check, CheckRequest
from carob.model.check import Field

@dataclass(frozen=True, slots=True)
class Loud(Check):
    name: ClassVar = "loud"
    group: ClassVar = "tone"
    fields: ClassVar = (Field("loud", bool, "The answer is in capitals."),)

    @classmethod
    def read(cls, expected):
        if expected.get("loud"):
            yield CheckRequest({}, ("loud",))

    description = "capitals"

    def judge(self, trace):
        return self.passed() if trace.final_message.isupper() else self.failed(trace.final_message)
"""


def test_it_tells_itself_that_nothing_can_fail_it(carob: Carob) -> None:
    write("loud.py", f"{CLASS}\n    why_always_passes = 'every answer is loud.'\n")
    write("carob.toml", '[checks]\nloud = "python:loud.py:Loud"\n')
    ran = carob("lint", suite(loud=True, must_say_any=["hello"]))
    assert "cases[0].expected.loud: every answer is loud. [vacuous-bound]" in ran.out, ran


@pytest.mark.parametrize("text", ["checks = 3\n", "[checks]\nmine = 3\n", "[checks.mine]\nuse = 'a'\n"])
def test_a_table_of_another_shape(carob: Carob, text: str) -> None:
    write("carob.toml", text)
    ran = carob("lint", "--errors-only", suite(must_say_any=["hello"]))
    assert (ran.code, len(ran.err.splitlines())) == (4, 1)
    assert "carob.toml" in ran.err
    assert "Write it as" in ran.err


def test_its_examples_are_proved(carob: Carob) -> None:
    before = int(carob("audit", "--self").out.split()[0])
    project(polite="python:checks.py:polite")
    ran = carob("audit", "--self")
    assert (ran.code, int(ran.out.split()[0])) == (0, before + 3)
    write("checks.py", CHECKS.replace('"No.", False', '"No.", True'))
    Path("checks.py").rename("others.py")
    write("carob.toml", '[checks]\npolite = "python:others.py:polite"\n')
    ran = carob("audit", "--self")
    assert ran.code == 1
    assert "polite example 2: expected passed, found failed" in ran.err
    assert "polite shows how it can come out: expected passed, failed, found passed" in ran.err


REPORTS = """\
class Ids:
    extension = "txt"

    def __init__(self, run, out):
        self.out = out

    def case(self, record):
        self.out.write(f"{record.case.id}\\n".encode())

    def end(self):
        pass

class Broken(Ids):
    def end(self):
        raise OSError("no")

def function(run, out): ...
"""


@pytest.mark.parametrize(
    ("entry", "files"),
    [
        pytest.param('ids = "python:reports.py:Ids"', {".txt": 1}, id="own"),
        pytest.param('ids = { use = "python:reports.py:Ids", path = "out/ids.log" }', {}, id="own-with-a-place"),
        pytest.param('json = "out/all.json"', {}, id="ours-at-another-place"),
        pytest.param("json = true", {}, id="ours"),
    ],
)
def test_reports_of_the_project_are_written_for_every_run(carob: Carob, entry: str, files: dict[str, int]) -> None:
    write("reports.py", REPORTS)
    write("carob.toml", f"[reports]\n{entry}\n")
    ran = carob("run", suite(must_say_any=["hello"]), *GREET)
    assert ran.code == 0, ran
    counts = {suffix: len(paths) for suffix, paths in results().items()}
    assert counts == {".jsonl": 1, ".json": 1, ".md": 1} | files
    if "out/" in entry:
        (place,) = Path("out").iterdir()
        assert f"out/{place.name}" in ran.out
        assert place.read_text() == "A\n" or json.loads(place.read_text())["summary"]["pass"] == 1


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        pytest.param('ids = "python:reports.py:Nothing"', "has no 'Nothing'", id="no-class"),
        pytest.param('ids = "python:reports.py:function"', "is not a report", id="no-report"),
        pytest.param('json = "python:reports.py:Ids"', "there is already a report called 'json'", id="a-name-of-ours"),
        pytest.param("pdf = true", "unknown report 'pdf'", id="unknown"),
        pytest.param("ids = 3", "the report is a number. Write true, the path", id="a-number"),
        pytest.param("json = false", "the report is false", id="false"),
        pytest.param('ids = { uses = "x" }', "unknown key 'uses'. Did you mean 'use'?", id="unknown-key"),
    ],
)
def test_a_report_that_cannot_be_had_is_told_before_anything_runs(carob: Carob, entry: str, said: str) -> None:
    write("reports.py", REPORTS)
    write("carob.toml", f"[reports]\n{entry}\n")
    ran = carob("run", suite(must_say_any=["hello"]), *GREET)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (4, "", 1)
    assert "carob.toml" in ran.err
    assert said in ran.err
    assert not Path("carob-results").exists()


def test_a_report_of_the_project_that_fails(carob: Carob) -> None:
    write("reports.py", REPORTS)
    write("carob.toml", '[reports]\nbroken = "python:reports.py:Broken"\n')
    ran = carob("run", suite(must_say_any=["hello"]), *GREET)
    assert ran.code == 3
    assert "1 passed" in ran.out
    assert "report 'broken' failed: OSError: no." in ran.err


TARGET = """\
from carob.model.trace import Trace

class Agent:
    limits = None
    options = {}

    def __init__(self, config):
        self.greeting = config.options["greeting"]

    async def open(self):
        if self.greeting == "never":
            raise RuntimeError("not today")

    async def run(self, case, context):
        return Trace(case_id=case.id, input=case.prompt, final_message=f"{self.greeting}, {case.prompt}")

    async def close(self):
        open("closed", "w").close()

class Half:
    def __init__(self, config): ...
    async def run(self, case, context): ...
"""


@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.parametrize(
    ("name", "greeting", "said"),
    [
        pytest.param("Agent", "hello", "", id="runs"),
        pytest.param("Agent", "never", "it cannot be opened: RuntimeError: not today.", id="does-not-open"),
        pytest.param("Half", "hello", "not a target: it has no `async def open` and `async def close`.", id="is-none"),
    ],
)
def test_a_class_is_a_target(carob: Carob, workers: str, name: str, greeting: str, said: str) -> None:
    write("target.py", TARGET)
    options = f'options = {{ greeting = "{greeting}" }}'
    write("carob.toml", f'[targets.mine]\nuse = "python:target.py:{name}"\n{options}\n')
    ran = carob("run", suite(must_say_any=["hello"]), "-t", "mine", "--workers", workers)
    if said:
        assert (ran.code, len(ran.err.splitlines())) == (4, 1)
        assert said in ran.err
    else:
        assert ran.statuses == {"A": "PASS"}
        assert Path("closed").exists()
