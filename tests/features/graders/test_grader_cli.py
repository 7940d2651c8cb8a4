"""`carob audit --grader` on the command line: every kind of grader that needs no package of others, and bad input."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import carob as carob_library
from cli.support import Carob

SUITE = """\
carob: 1
cases:
  - id: c0
    prompt: Cancel A1 (0).
    expected:
      tool_calls: [{ tool: cancel_order, arguments: { order: A1 }, success: true }]
      must_say_any: [cancelled]
  - id: c1
    prompt: Cancel A1 (1).
    expected: { tools_used: [get_order, cancel_order], must_not_say: [sorry], must_say_any: [is cancelled] }
"""
COMMAND = """\
results=$(tr ',' '\\n' | grep -c '"role":"tool"')
echo thinking
[ "$results" = 2 ] && echo '{"passed": true}' || echo false
"""
TEST = """\
import pytest


@pytest.fixture
def least():
    return 2


def test_calls(trace, messages, least):
    assert len(trace.tool_calls) >= least


def test_breaks(trace):
    raise KeyError("nothing of the kind")
"""


def first_of(recording: str) -> str:
    """A recording of the first conversation alone."""
    path = Path(recording).with_name("one.jsonl")
    path.write_text(Path(recording).read_text().splitlines()[0] + "\n")
    return str(path)


def report(folder: Path) -> dict[str, object]:
    (path,) = folder.glob("*.grader-audit.json")
    found: dict[str, object] = json.loads(path.read_bytes())
    return found


def test_suite_has_the_same_figures_as_its_own_audit(carob: Carob, recording: str) -> None:
    Path("suite.carob.yaml").write_text(SUITE)
    assert carob("run", "suite.carob.yaml", "--target", f"replay:{recording}", "--results-dir", "runs").code == 0
    (journal,) = Path("runs").glob("*Z.jsonl")
    audit = carob_library.audit(journal)
    assert carob("audit", "--grader", "carob:suite.carob.yaml", str(journal), "--results-dir", "out").code == 0
    rows = {row["name"]: row for row in report(Path("out"))["operators"]}  # type: ignore[attr-defined]
    assert audit.summary.rate.tried > 60
    for operator in audit.summary.operators:
        row = rows[operator.name]
        tried = row["caught"]["tried"] + row["uncertain"]
        killed = row["caught"]["killed"] + row["uncertain_refused"]
        assert (killed, tried) == (operator.rate.killed, operator.rate.tried), operator.name


def test_suite_without_the_case_of_a_trace_audits_nothing_of_it(carob: Carob, recording: str) -> None:
    Path("suite.carob.yaml").write_text(SUITE)
    ran = carob("audit", "--grader", "carob:suite.carob.yaml", recording, "--results-dir", "out")
    assert ran.code == 0
    assert "2 traces audited, 4 not" in ran.out
    assert "the suite has no case 'c5'" in ran.out


def test_command_gets_json_and_its_last_line_counts(carob: Carob, recording: str) -> None:
    Path("judge.sh").write_text(COMMAND)
    ran = carob("audit", "--grader", "command:sh judge.sh", first_of(recording), "--results-dir", "out")
    assert (ran.code, ran.err) == (0, "")
    assert "1 trace audited" in ran.out
    rows = {row["name"]: row["caught"] for row in report(Path("out"))["operators"]}  # type: ignore[attr-defined]
    assert rows["tool-doubled"]["killed"] == rows["tool-doubled"]["tried"] == 1
    assert rows["answer-emptied"]["killed"] == 0


@pytest.mark.parametrize(
    ("code", "words"),
    [
        pytest.param("import sys; sys.exit('no licence')", "it ended with exit status 1: no licence", id="fails"),
        pytest.param("print('yes')", "its last line is not JSON", id="no-json"),
        pytest.param("pass", "it returned None", id="silent"),
        pytest.param("import time; time.sleep(60)", "no verdict within 0.5 s", id="hangs"),
    ],
)
def test_command_without_a_verdict_is_an_error(carob: Carob, recording: str, code: str, words: str) -> None:
    Path("judge.py").write_text(code)
    ran = carob("audit", "--grader", f"command:{sys.executable} judge.py", first_of(recording), "--timeout", "0.5")
    assert ran.code == 5
    assert words in ran.out


def test_test_of_pytest_judges_traces(carob: Carob, recording: str) -> None:
    Path("test_agent.py").write_text(TEST)
    ran = carob("audit", "--grader", "pytest:test_agent.py::test_calls", first_of(recording), "--results-dir", "out")
    assert (ran.code, ran.err) == (0, "")
    rows = {row["name"]: row["caught"] for row in report(Path("out"))["operators"]}  # type: ignore[attr-defined]
    assert rows["tool-dropped"]["killed"] == rows["tool-dropped"]["tried"] == 1
    assert rows["tool-doubled"]["killed"] == 0
    broken = carob("audit", "--grader", "pytest:test_agent.py::test_breaks", first_of(recording))
    assert broken.code == 5
    assert "KeyError in call of the test: 'nothing of the kind'" in broken.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--grader", "judge.py:is_right", "{}"], "Write python:judge.py:is_right"),
        (["--grader", "pyton:judge.py:is_right", "{}"], "Did you mean 'python'?"),
        (["--grader", "python:judge.py:is_right", "{}"], "there is no file"),
        (["--grader", "python:math:nothing", "{}"], "math has no 'nothing'"),
        (["--grader", "python:math:hypot2", "nowhere.jsonl"], "nowhere.jsonl: no such file or folder. Check the path."),
        (["--grader", "python:{judges}:takes_two", "{}"], "takes 'first' and 'second', which Carob does not know"),
        (["--grader", "command:./nowhere", "{}"], "there is no program './nowhere'"),
        (["--grader", "command: ", "{}"], "names no grader"),
        (["--grader", "deepeval:ExactMatchMetric", "{}"], "Install it next to Carob: pip install deepeval"),
        (["--grader", "inspect:includes", "{}"], "Install it next to Carob: pip install inspect-ai"),
        (["--grader", "pytest:nowhere.py::test_it", "{}"], "names no test"),
        (["--grader", "python:{judges}:honest", "{}", "--min-caught", "call=0.9"], "Did you mean 'calls'?"),
        (["--grader", "python:{judges}:honest", "{}", "--min-caught", "90%"], "'90%' is not a share"),
        (["--grader", "python:{judges}:honest", "{}", "--verdicts", "{}"], "not a file of verdicts"),
        (["--grader", "python:{judges}:honest", "{}", "--reviews", "{}"], "not a review"),
        (["--grader", "python:{judges}:honest", "{}", "--reviews", "no.jsonl"], "it cannot be read"),
        (["{}", "{}"], "not a journal"),
        (["{}", "--min-caught", "0.9"], "--min-caught: it can only be given for a grader"),
        (["{}", "--asks", "3"], "--asks: it can only be given for a grader"),
        (["--grader", "python:{judges}:honest", "{}", "--min-kill", "0.9"], "--min-kill: a grader has none of it"),
        (["--grader", "python:{judges}:honest", "{}", "--suite", "x.yaml"], "--suite: a grader has none of it"),
    ],
)
def test_mistakes_are_one_line_that_says_how_to_fix_them(
    carob: Carob, recording: str, arguments: list[str], words: str
) -> None:
    judges = Path(__file__).with_name("judges.py")
    filled = [part.replace("{judges}", str(judges)).replace("{}", recording) for part in arguments]
    ran = carob("audit", *filled)
    assert (ran.code, ran.out) == (4, "")
    assert words in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_a_second_report_keeps_the_first(carob: Carob, recording: str) -> None:
    for _ in range(2):
        spec = f"python:{Path(__file__).with_name('judges.py')}:always_yes"
        assert carob("audit", "--grader", spec, recording, "--results-dir", "out", "--asks", "1").code == 0
    assert len(list(Path("out").iterdir())) == 6
