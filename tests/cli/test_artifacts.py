"""SPEC §6 through the command line: names, keys and their order, and what each file says."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from carob.engine.session import Session
from cli.support import Carob, case, eval_set, journal_of, report_of, results, traces, write

STAMP = r"\d{8}T\d{6}Z"
SUMMARY = ["pass", "fail", "partial", "error", "total", "avg_soft_score", "figures"]
CASE = [
    "id",
    "category",
    "prompt",
    "expected_outcome",
    "status",
    "checks",
    "metrics",
    "response",
    "tools_called",
    "duration_ms",
    "error",
]
ASKED = {
    "outcome": "tool_success",
    "tool_calls_any": ["book"],
    "must_say_any": ["booked"],
    "telemetry": ["tool.book start"],
    "required_sources": ["github", "slack"],
    "must_ground_numbers": [{"label": "risk", "value": 12}, 7, {"regex": "score=\\d"}],
    "required_levers": 2,
    "must_allow_override_actions": ["Snooze"],
    "scoring": {"hard_fail": ["synthesis_coverage"], "soft_score": {"threshold": 0.9, "weights": {"formatting": 1}}},
}


@pytest.fixture
def report(carob: Carob) -> Any:
    """The JSON of a run with a case of each status."""
    cases = [
        case("P", category="ok"),
        case("F", category="bad", expected=ASKED),
        case("E"),
        case("U", expected={"tool_calls_none": ["drop"]}),
    ]
    answers: dict[str, Any] = {
        "P": "hello",
        "F": {"final_message": "GitHub: 12 | 7", "tool_calls": [{"name": "book", "success": False}]},
        "E": {"error": "the model is down"},
        "U": "hello",
    }
    assert carob("run", write("suite.json", eval_set(*cases)), "-t", traces(**answers)).code == 1
    return report_of()


def row(report: Any, case_id: str) -> Any:
    (entries,) = [entry for entry in report["cases"] if entry["id"] == case_id]
    return entries


def test_names(carob: Carob) -> None:
    ran = carob("run", write("my suite.v1.json", eval_set()), "-t", "python:agent.py:greet")
    names = sorted(path.name for path in Path("carob-results").iterdir())
    (stamp,) = {match[0] for name in names if (match := re.search(STAMP, name))}
    assert names == [
        f"minimum-eval-results-{stamp}.json",
        f"minimum-eval-results-{stamp}.md",
        f"my-suite.v1-{stamp}.jsonl",
    ]
    assert [line.strip() for line in ran.out.splitlines()[-3:]] == [
        f"carob-results/{name}" for name in (names[2], names[0], names[1])
    ]


@pytest.mark.parametrize(
    ("suite", "folder"),
    [
        pytest.param(".claude/evals/minimum-eval-set.v0.1.json", ".claude/evals/results", id="seed-suites"),
        pytest.param(".claude/evals/more/deep.yaml", ".claude/evals/results", id="below"),
        pytest.param("evals/suite.json", "carob-results", id="elsewhere"),
    ],
)
def test_default_folder(carob: Carob, suite: str, folder: str) -> None:
    write(suite, json.dumps(eval_set()))
    assert carob("run", suite, "-t", "python:agent.py:greet").code == 0
    assert len(list(Path(folder).iterdir())) == 3
    assert carob("rescore", str(journal_of(folder))).code == 0
    assert len(list(Path(folder).iterdir())) == 6


def test_two_runs_in_one_second_get_two_sets_of_files(carob: Carob, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = datetime(2026, 1, 1, 9, tzinfo=UTC)
    monkeypatch.setattr(Session.__init__, "__kwdefaults__", {"now": lambda: moment})
    suite = write("suite.json", eval_set())
    for said in ("hello one", "hello two", "hello three"):
        assert carob("run", suite, "-t", traces(A=said)).code == 0
    files = results()
    assert [len(files[suffix]) for suffix in (".jsonl", ".json", ".md")] == [3, 3, 3]
    stems = {re.sub(r".*?(\d{8}T.*)\..*", r"\1", path.name) for paths in files.values() for path in paths}
    assert len(stems) == 3
    for journal in files[".jsonl"]:
        stem = journal.stem.removeprefix("suite-")
        response = json.loads(Path(f"carob-results/minimum-eval-results-{stem}.json").read_bytes())["cases"][0][
            "response"
        ]
        assert response in journal.read_text()


def test_the_keys_of_the_json_and_their_order(report: Any) -> None:
    assert list(report) == ["generated_at", "eval_file", "target", "summary", "cases"]
    assert list(report["summary"]) == SUMMARY
    for entry in report["cases"]:
        assert list(entry)[: len(CASE)] == CASE
        assert set(entry) - set(CASE) <= {"tool_calls", "tokens"}
        assert list(entry["checks"]) == ["passed", "failed", "unknown"]
        assert list(entry["metrics"]) == ["synthesis", "morning_brief", "scoring"]
        assert list(entry["metrics"]["synthesis"]) == ["required_sources", "missing_sources", "missing_numbers"]
        assert list(entry["metrics"]["morning_brief"]) == ["missing_checks"]
        assert list(entry["metrics"]["scoring"]) == ["groups", "hard_fail_triggered", "soft_score"]
        assert list(entry["metrics"]["scoring"]["soft_score"]) == ["value", "threshold", "passed"]


def test_the_head_of_the_json(report: Any) -> None:
    assert (report["eval_file"], report["target"]) == ("suite.json", "replay:traces.jsonl")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", report["generated_at"])
    counts = {key: report["summary"][key] for key in SUMMARY[:5]}
    assert counts == {"pass": 1, "fail": 1, "partial": 1, "error": 1, "total": 4}
    soft = [entry["metrics"]["scoring"]["soft_score"]["value"] for entry in report["cases"] if entry["id"] != "E"]
    assert report["summary"]["avg_soft_score"] == round(sum(soft) / 3, 4)


def test_a_case_that_passed(report: Any) -> None:
    entry = row(report, "P")
    assert {key: entry[key] for key in CASE[:5]} == {
        "id": "P",
        "category": "ok",
        "prompt": "prompt of P",
        "expected_outcome": "response_only",
        "status": "PASS",
    }
    assert (entry["response"], entry["tools_called"], entry["error"]) == ("hello", [], None)
    assert [check["name"] for check in entry["checks"]["passed"]] == ["outcome", "must_say_any"]
    assert entry["checks"]["failed"] == entry["checks"]["unknown"] == []


def test_a_case_that_failed(report: Any) -> None:
    entry = row(report, "F")
    assert (entry["status"], entry["expected_outcome"], entry["tools_called"]) == ("FAIL", "tool_success", ["book"])
    assert entry["metrics"]["synthesis"] == {
        "required_sources": ["github", "slack"],
        "missing_sources": ["slack"],
        "missing_numbers": ["score=\\d"],
    }
    assert entry["metrics"]["morning_brief"] == {"missing_checks": ["required_levers", "must_allow_override_actions"]}
    scoring = entry["metrics"]["scoring"]
    assert scoring["hard_fail_triggered"] == ["synthesis_coverage"]
    assert scoring["soft_score"] == {"value": 0.0, "threshold": 0.9, "passed": False}
    assert scoring["groups"]["synthesis_coverage"] == {"score": 0.5, "passed": 1, "judged": 2}
    assert scoring["groups"].keys() == {
        "tool_hygiene",
        "formatting",
        "synthesis_coverage",
        "numeric_grounding",
        "morning_brief_contract",
    }
    assert [check["name"] for check in entry["checks"]["unknown"]] == ["telemetry"]
    (override,) = [check for check in entry["checks"]["failed"] if check["name"] == "must_allow_override_actions"]
    assert override["found"] == "neither in the message nor on the page"
    (said,) = [check for check in entry["checks"]["failed"] if check["name"] == "must_say_any"]
    assert said == {
        "name": "must_say_any",
        "group": "formatting",
        "expected": "'booked'",
        "found": "GitHub: 12 | 7",
    }
    (twelve, seven) = [check for check in entry["checks"]["passed"] if check["name"] == "must_ground_numbers"]
    assert twelve["at"] == {"channel": "final_message", "start": 8, "end": 10}
    assert seven["expected"] == "the number 7"


def test_a_case_that_erred_and_one_that_is_open(report: Any) -> None:
    assert row(report, "E")["error"] == {"kind": "agent", "message": "the model is down"}
    assert row(report, "E")["status"] == "ERROR"
    assert row(report, "E")["checks"] == {"passed": [], "failed": [], "unknown": []}
    assert row(report, "E")["metrics"]["scoring"]["soft_score"] == {"value": None, "threshold": None, "passed": None}
    assert row(report, "U")["status"] == "PARTIAL"
    assert [check["name"] for check in row(report, "U")["checks"]["unknown"]] == ["tool_calls_none"]


def test_the_markdown(report: Any) -> None:
    (path,) = results()[".md"]
    lines = path.read_text().splitlines()
    assert "- Result: 1 passed, 1 failed, 1 partial (1 unknown), 1 error, 4 total" in lines
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    assert table[0] == [
        "Case",
        "Status",
        "Soft score",
        "Missing sources",
        "Missing numbers",
        "Hard-fail groups",
        "Failed checks",
        "Unknown checks",
    ]
    assert [line[:2] for line in table[2:]] == [["P", "PASS"], ["F", "FAIL"], ["E", "ERROR"], ["U", "PARTIAL"]]
    failed = table[3]
    assert failed[3:6] == ["slack", "score=&#92;d", "synthesis\\_coverage"]
    assert failed[6].startswith("outcome, must\\_say\\_any")
    assert "tool\\_calls\\_none" in table[5][7]


def test_the_journal_holds_the_truth(report: Any) -> None:
    lines = [json.loads(line) for line in journal_of().read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["header", "case", "case", "case", "case", "footer"]
    head, *cases, foot = lines
    keys = ["kind", "format", "run_id", "suite", "suite_format", "suite_version", "suite_sha256", "target", "options"]
    held = [*keys, "versions", "started_at", "total", "repeat", "derived_from"]
    assert list(head) == [*held, "project", "suite_revision", "target_version", "until", "confirm", "deterministic"]
    assert [line["case"]["id"] for line in cases] == ["P", "F", "E", "U"]
    assert [line["verdict"]["status"] for line in cases] == [entry["status"] for entry in report["cases"]]
    assert cases[1]["trace"]["final_message"] == "GitHub: 12 | 7"
    counts = {"passed": 1, "failed": 1, "partial": 1, "partial_unknown": 1, "error": 1, "total": 4}
    figures = report["summary"]["figures"]
    rate = {"clusters": 4, "rate_method": "Clopper-Pearson", "spent": {"runs": 4}}
    held = {name: value for name, value in foot["summary"].items() if name not in ("rate_low", "rate_high")}
    assert held == {**counts, **soft_of(report, foot), **rate}
    assert (round(foot["summary"]["rate_low"], 4), round(foot["summary"]["rate_high"], 4)) == (
        figures["low"],
        figures["high"],
    )


def soft_of(report: Any, foot: Any) -> dict[str, float]:
    exact = foot["summary"]["avg_soft_score"]
    assert round(exact, 4) == report["summary"]["avg_soft_score"]
    return {"avg_soft_score": exact}
