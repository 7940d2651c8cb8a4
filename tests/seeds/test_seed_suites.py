"""Small suites of every format and version: they load, they run, and each of them can pass and fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.support import Carob, report_of, write

DATA = Path(__file__).parent / "data"
SUITES = {
    "minimum-eval-set.v0.1.json": ("eval-set 0.1, 2 cases, 12 checks", ["G1", "G2"]),
    "synthesis-eval-set.v0.2.json": ("eval-set 0.2, 1 case, 11 checks", ["SYN1"]),
    "synthesis-eval-set.v0.3.json": ("eval-set 0.3, 2 cases, 16 checks", ["MB1", "MB2"]),
    "agent_decisions_v1.0.0.json": ("golden 1.0, 1 case, 5 checks", ["alloc_awd_brake_backup_ok"]),
    "agent_qa_v1.0.0.json": ("golden 1.0, 1 case, 5 checks", ["compatibility_basis"]),
}
AGENT = """\
import json
from pathlib import Path

LINES = Path(%r).read_text().splitlines()
ANSWERS = {line["case_id"]: line for line in map(json.loads, LINES)}


async def ask(prompt, case):
    return ANSWERS[case.id]
"""


@pytest.mark.parametrize(("name", "told"), [(name, told) for name, (told, _) in SUITES.items()], ids=SUITES)
def test_snippets_are_sound(carob: Carob, name: str, told: str) -> None:
    ran = carob("lint", "--errors-only", str(DATA / name))
    assert (ran.code, ran.out, ran.err) == (0, f"{DATA / name}: {told}\n", "")


@pytest.mark.parametrize("status", ["PASS", "FAIL"])
@pytest.mark.parametrize("kind", ["replay", "python"])
@pytest.mark.parametrize(("name", "ids"), [(name, ids) for name, (_, ids) in SUITES.items()], ids=SUITES)
def test_snippets_run(carob: Carob, name: str, ids: list[str], kind: str, status: str) -> None:
    recording = str(DATA / f"{status.lower()}ing.jsonl")
    write("golden.py", AGENT % recording)
    target = f"replay:{recording}" if kind == "replay" else "python:golden.py:ask"
    ran = carob("run", str(DATA / name), "-t", target)
    assert (ran.code, ran.statuses) == (0 if status == "PASS" else 1, dict.fromkeys(ids, status))


def test_dots_for_phrases_are_text(carob: Carob) -> None:
    """The same dots cannot both be said and not be said."""
    answer = {"case_id": "G1", "final_message": "Well ...", "tool_calls": [], "telemetry": [], "page": "- main"}
    ran = carob("run", str(DATA / "case-shape.v0.1.json"), "-t", f"replay:{write('r.jsonl', [answer])}")
    assert (ran.code, ran.statuses) == (1, {"G1": "FAIL"})
    checks = report_of()["cases"][0]["checks"]
    assert [check["name"] for check in checks["passed"]] == ["tool_calls_none", "must_say_any"]


def scored(carob: Carob, answer: str, recording: str = "r.jsonl") -> Any:
    write(recording, [{"case_id": "SYN1", "final_message": answer}])
    carob(
        "run", str(DATA / "synthesis-eval-set.v0.2.json"), "-t", f"replay:{recording}", "--results-dir", recording[:-6]
    )
    return report_of(recording[:-6])["cases"][0]


@pytest.mark.parametrize(
    ("replaced", "by", "groups"),
    [
        pytest.param("PostHog: site health is down\n", "", ["synthesis_coverage"], id="a-source"),
        pytest.param("RISK_SCORE: 40", "RISK_SCORE: high", ["numeric_grounding"], id="a-number"),
        pytest.param("ASSUMPTION 1:", "Assuming", ["uncertainty"], id="an-assumption"),
        pytest.param("Recommendation", "Advice", ["formatting"], id="a-heading"),
    ],
)
def test_each_hard_fail_group_of_the_scoring_snippet(carob: Carob, replaced: str, by: str, groups: list[str]) -> None:
    lines = map(json.loads, (DATA / "passing.jsonl").read_text().splitlines())
    passing = next(line for line in lines if line["case_id"] == "SYN1")
    assert scored(carob, passing["final_message"], "before.jsonl")["status"] == "PASS"
    entry = scored(carob, passing["final_message"].replace(replaced, by))
    assert (entry["status"], entry["metrics"]["scoring"]["hard_fail_triggered"]) == ("FAIL", groups)
    assert entry["metrics"]["scoring"]["soft_score"]["threshold"] == 0.8
