"""What the front door takes for a suite, a selection and a target, what it hands back, and how a run goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.golden import DecisionValidator, ExecutionContext, QAValidator

SUITE: dict[str, Any] = {
    "version": "0.3",
    "cases": [
        {"id": "A", "category": "talk", "prompt": "say hello", "expected": {"must_say_any": ["hello"]}},
        {"id": "B", "category": "talk", "prompt": "say hello", "expected": {"must_say_any": ["hello"]}},
        {"id": "C", "category": "tools", "prompt": "wave", "expected": {"tool_calls_any": ["wave"]}},
    ],
}
GOLDEN = [{"id": "Q", "input": "say hello", "expected_contains": ["hello"]}]
YAML = "version: '0.3'\ncases:\n  - id: A\n    prompt: say hello\n    expected: {must_say_any: [hello]}\n"


def agent(prompt: str) -> dict[str, object]:
    return {"final_message": f"hello: {prompt}", "tools_called": ["wave"]}


def mute(prompt: str) -> str:
    return "<b>no</b> \x1b[31m"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.json").write_text(json.dumps(SUITE))


def statuses(result: carob.RunResult) -> dict[str, str]:
    return {record.case.id: record.status.value for record in result}


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        pytest.param("suite.json", ["A", "B", "C"], id="path"),
        pytest.param(Path("suite.json"), ["A", "B", "C"], id="Path"),
        pytest.param(SUITE, ["A", "B", "C"], id="dict"),
        pytest.param(json.dumps(SUITE), ["A", "B", "C"], id="json"),
        pytest.param(f"\n  {json.dumps(GOLDEN)}", ["Q"], id="json-after-blanks"),
        pytest.param(GOLDEN, ["Q"], id="list"),
        pytest.param(YAML, ["A"], id="yaml"),
    ],
)
def test_what_a_suite_may_be(given: Any, ids: list[str]) -> None:
    suite = carob.load_suite(given)
    assert [case.id for case in suite.cases] == ids
    assert carob.load_suite(suite) is suite
    assert set(statuses(carob.run(given, agent)).values()) == {"PASS"}
    assert len(carob.lint(given).suite.cases) == len(ids)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param({**SUITE, "casses": []}, "unknown field", id="key"),
        pytest.param('{"cases": ', "not JSON", id="torn"),
        pytest.param({"cases": {1, 2}}, "the suite is not JSON", id="a-set"),
        pytest.param({**SUITE, "name": "\ud800"}, "not UTF-8|surrogate", id="half-a-character"),
        pytest.param("gone.json", "no such file", id="no-file"),
        pytest.param([], "no case|empty", id="nothing"),
    ],
)
def test_what_no_suite_is(given: Any, said: str) -> None:
    with pytest.raises(carob.CarobError, match=said) as caught:
        carob.load_suite(given)
    assert caught.value.exit_code is carob.ExitCode.USAGE


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({"cases": ["B", "A"]}, ["A", "B"]),
        ({"categories": ["talk"]}, ["A", "B"]),
        ({"cases": ("A", "C"), "categories": ["tools"]}, ["C"]),
        ({"cases": None, "categories": None}, ["A", "B", "C"]),
    ],
)
def test_selection(options: dict[str, Any], ids: list[str]) -> None:
    assert list(statuses(carob.run("suite.json", agent, **options))) == ids


def test_the_target_of_carob_toml_and_its_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(carob.CarobError, match="no target was given"):
        carob.run("suite.json")
    monkeypatch.setenv("TOKEN", "hush-hush-2")
    Path("talker.py").write_text("def ask(prompt):\n    return 'hello hush-hush-2'\n")
    Path("carob.toml").write_text(
        'secrets = ["TOKEN"]\ntarget = "mine"\n[targets.mine]\nuse = "python:talker.py:ask"\n'
    )
    by_name = carob.run("suite.json", cases=["A"])
    at_hand = carob.run("suite.json", lambda prompt: "hello hush-hush-2", cases=["A"])
    given = carob.run("suite.json", lambda prompt: "hello sesame", cases=["A"], secrets=["sesame"])
    assert [run.records[0].trace.final_message for run in (by_name, at_hand, given)] == ["hello [removed]"] * 3
    assert by_name.journal.header.target == "mine"


def test_a_result_says_how_the_run_came_out() -> None:
    good, bad = carob.run("suite.json", agent), carob.run("suite.json", mute)
    assert (good.ok, bool(good), good.exit_code) == (True, True, carob.ExitCode.OK)
    assert (bad.ok, bool(bad), bad.exit_code) == (False, False, carob.ExitCode.FAILED)
    assert [record.case.id for record in good] == [record.case.id for record in good.records] == ["A", "B", "C"]
    assert repr(good) == f"<RunResult 3 passed: {good.journal.path}>"
    assert repr(bad).startswith("<RunResult 0 passed, 2 failed, 1 partial (1 unknown): ")


def test_the_records_of_a_result_that_nobody_keeps_can_be_read() -> None:
    assert [record.case.id for record in carob.run("suite.json", agent)] == ["A", "B", "C"]


def test_a_notebook_shows_what_did_not_pass_and_nothing_of_it_is_markup() -> None:
    suite = {**SUITE, "cases": [{**SUITE["cases"][0], "id": "<script>alert(1)</script>"}, *SUITE["cases"][1:]]}

    def crash(prompt: str) -> str:
        raise ValueError("<img src=x onerror=alert(1)> \x1b[31m")

    shown = carob.run(suite, crash)._repr_html_()
    assert "<strong>0 passed, 3 errors</strong>" in shown
    assert shown.count("<tr>") == 4
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "&lt;img src=x" in shown
    assert not {"<script", "<img", "\x1b"} & {mark for mark in ("<script", "<img", "\x1b") if mark in shown}
    green = carob.run(SUITE, agent)._repr_html_()
    assert green.index("<details><summary>the others") < green.index("<table>"), "what passed is folded away"


def test_a_notebook_shows_the_first_of_many() -> None:
    cases = [{**SUITE["cases"][0], "id": f"case-{number}"} for number in range(60)]
    shown = carob.run({**SUITE, "cases": cases}, mute)._repr_html_()
    assert shown.count("<tr>") == 51
    assert "and 10 more" in shown


@pytest.mark.limit(40)
async def test_stop_ends_a_run_that_resume_finishes() -> None:
    stop = asyncio.Event()
    asked: list[str] = []

    async def slow(prompt: str, case: carob.Case) -> Mapping[str, object]:
        asked.append(case.id)
        if case.id == "B" and len(asked) == 2:
            stop.set()
            await asyncio.sleep(600)
        return agent(prompt)

    first = await carob.arun("suite.json", slow, stop=stop, results_dir="out")
    assert (statuses(first), first.exit_code, first.ok) == ({"A": "PASS"}, carob.ExitCode.INTERRUPTED, False)
    assert repr(first).startswith("<RunResult INCOMPLETE: 1 of 3 cases finished (interrupted); 1 passed: ")
    told: list[carob.Event] = []
    second = await carob.aresume(first.journal, target=slow, listeners=[told.append])
    assert statuses(second) == {"A": "PASS", "B": "PASS", "C": "PASS"}
    assert asked == ["A", "B", "B", "C"]
    assert Path(second.journal.path).parent == Path("out")
    assert [event.message for event in told if isinstance(event, carob.Notice)] == [
        "kept 1 finished case",
        "new or not finished, run now: B, C",
    ]


async def test_a_run_that_is_stopped_before_it_begins() -> None:
    stop, asked = asyncio.Event(), list[str]()
    stop.set()
    result = await carob.arun("suite.json", lambda prompt: asked.append(prompt) or "hello", stop=stop)
    assert (result.exit_code, asked) == (carob.ExitCode.INTERRUPTED, [])


def test_rerun_runs_again_what_a_status_names() -> None:
    first = carob.run("suite.json", mute, results_dir="out", cases=["A", "C"])
    assert statuses(first) == {"A": "FAIL", "C": "PARTIAL"}
    again = carob.rerun(first.journal.path, target=agent)
    assert statuses(again) == {"A": "PASS", "C": "PASS"}, "another target answers anew"
    asked: list[str] = []

    def counting(prompt: str, case: carob.Case) -> str:
        asked.append(case.id)
        return mute(prompt)

    first = carob.run("suite.json", counting, results_dir="out", cases=["A", "C"])
    carob.rerun(first.journal, target=counting)
    assert asked == ["A", "C", "A"]
    carob.rerun(first.journal, target=counting, status=["partial"])
    assert asked == ["A", "C", "A", "C"]
    with pytest.raises(carob.CarobError, match=r"no status is called 'failed'\. Did you mean 'fail'"):
        carob.rerun(first.journal, target=counting, status=["failed"])  # type: ignore[list-item]


def test_what_a_resumed_run_needs() -> None:
    first = carob.run(SUITE, agent, results_dir="out")
    with pytest.raises(carob.CarobError, match="the suite <object> of this journal is not here"):
        carob.resume(first.journal, target=agent)
    assert carob.resume(first.journal, SUITE, agent).ok


async def test_audit_and_lint_inside_a_running_loop() -> None:
    run = await carob.arun("suite.json", agent)
    report = carob.audit(run.journal, "suite.json", seed=3)
    assert (report.summary.audited, report.summary.seed, [case.case_id for case in report.cases]) == (
        3,
        3,
        ["A", "B", "C"],
    )
    other = {**SUITE, "cases": SUITE["cases"][:1]}
    with pytest.raises(carob.CarobError, match="is of another suite"):
        carob.audit(run.journal, other)
    found = carob.lint("suite.json")
    assert "duplicate-prompt" in {problem.slug for problem in found.smells}
    assert "duplicate-prompt" not in {s.slug for s in carob.lint("suite.json", ignore=["duplicate-prompt"]).smells}
    with pytest.raises(carob.CarobError, match="no smell is called 'duplicate'"):
        carob.lint("suite.json", ignore=["duplicate"])


class Parrot:
    """A target of one's own."""

    limits = carob.Limits(max_concurrency=1, why="there is one parrot")
    options: dict[str, Any] = {"use": "parrot"}  # noqa: RUF012

    def __init__(self) -> None:
        self.heard: list[str] = []

    async def open(self) -> None:
        self.heard.append("open")

    async def run(self, case: carob.Case, context: carob.RunContext) -> carob.Trace:
        if case.id == "B":
            raise carob.TargetError("agent", "it flew away")
        calls = (carob.ToolCall("wave", success=True),)
        return carob.Trace(case_id=case.id, input=case.prompt, final_message="hello", tool_calls=calls)

    async def close(self) -> None:
        self.heard.append("close")


def test_a_target_of_ones_own() -> None:
    parrot, told = Parrot(), list[carob.Event]()
    result = carob.run("suite.json", parrot, concurrency=2, listeners=[told.append])
    assert statuses(result) == {"A": "PASS", "B": "ERROR", "C": "PASS"}
    assert parrot.heard == ["open", "close"]
    assert result.journal.header.target == "parrot"
    assert carob.Notice("one case at a time: there is one parrot") in told


@pytest.mark.parametrize(
    ("message", "tools", "expected", "errors"),
    [
        pytest.param("Allocated.", ["book"], {"tools_used": ["book"], "reason_contains": ["allocated"]}, 0, id="good"),
        pytest.param("Allocated.", ["find"], {"tools_used": ["book"], "reason_contains": ["window"]}, 2, id="bad"),
        pytest.param("Vehicle not found.", [], {"tools_used": [], "allocation_valid": False}, 0, id="refused"),
        pytest.param("Vehicle not found.", [], {"allocation_valid": True}, 1, id="not-allocated"),
    ],
)
def test_the_decision_validator(message: str, tools: list[str], expected: dict[str, Any], errors: int) -> None:
    context = ExecutionContext("D1", "Allocate vehicle 42.", message, tools, message)
    passed, why = DecisionValidator.validate(context, expected)
    assert (passed, len(why)) == (errors == 0, errors), why


def test_the_qa_validator() -> None:
    context = ExecutionContext("Q1", "What decides?", "The weight class decides.", [], "The weight class decides.")
    assert QAValidator.validate(context, {"expected_contains": ["Weight Class"]}) == (True, [])
    passed, why = QAValidator.validate(context, {"expected_contains": ["drive"], "must_not_contain": ["decides"]})
    assert not passed
    assert [line.split(":")[0] for line in why] == ["expected_contains", "must_not_contain"]
    with pytest.raises(carob.SuiteError):
        QAValidator.validate(context, {"expected_contain": ["drive"]})
