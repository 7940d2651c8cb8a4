"""Twelve situations in each way of building an agent, live: no verdict contradicts what the tools wrote themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterparts.environments import ROOT, python_with
from counterparts.ways_of_building import SITUATIONS, WAYS, WAYS_FOLDER, Way


def look(order: str, **rest: Any) -> dict[str, Any]:
    return {"tool": "lookup_order", "arguments": {"order": order}, **rest}


EXPECTED: dict[str, dict[str, Any]] = {
    "right": {"tool_calls": [look("A-17")], "tool_calls_none": ["issue_refund"]},
    "wrong-argument": {"tool_calls": [look("A-17")]},
    "forbidden": {"tool_calls_none": ["issue_refund"]},
    "raises": {"outcome": "tool_success", "tool_calls_any": ["issue_refund"]},
    "parallel": {"tool_calls": [look("A-17", times=1), look("C-08", times=1)]},
    "two-turns": {"tool_calls": [look("C-08", times=1)], "tool_calls_none": ["issue_refund"]},
    "retried": {
        "tool_calls": [{"tool": "issue_refund", "times": 2}],
        "outcome": "tool_success",
        "tool_calls_any": ["issue_refund"],
    },
    "claim": {"no_false_success": True},
    "thread": {"tool_calls_none": ["issue_refund"]},
    "nested": {"tool_calls": [look("A-17"), {"tool": "ask_expert", "arguments": {"order": "A-17"}}]},
    "in-words": {"tool_calls_none": ["issue_refund"]},
    "cancelled": {"tool_calls": [{"tool": "slow_refund", "success": True}]},
}


@pytest.fixture
def model() -> Iterator[str]:
    """The address of the server that plays the situations."""
    command = [sys.executable, str(WAYS_FOLDER / "models.py"), "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.kill()
        process.communicate()


def write_suite(folder: Path) -> None:
    sys.path.insert(0, str(WAYS_FOLDER))
    import desk  # type: ignore[import-not-found]

    cases = [{"id": name, "prompt": desk.SITUATIONS[name][0], "expected": EXPECTED[name]} for name in SITUATIONS]
    cases[[*SITUATIONS].index("two-turns")]["setup_prompts"] = [desk.SITUATIONS["first-turn"][0]]
    suite = {"carob": 1, "effects": {"issue_refund": ["refunded"]}, "cases": cases}
    (folder / "suite.json").write_text(json.dumps(suite))


@pytest.mark.limit(900)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_verdicts_agree_with_the_log_of_the_tools(way: Way, model: str, tmp_path: Path) -> None:
    python = python_with(f"ways-{way.environment}", "--editable", str(ROOT), *way.requirements)
    write_suite(tmp_path)
    target = f'use = "{way.use}"\npython_path = ["{WAYS_FOLDER}"]\ntelemetry = {{ models = true }}\ntimeout = 90\n'
    (tmp_path / "carob.toml").write_text(f"[targets.way]\n{target}")
    log = tmp_path / "tools.jsonl"
    log.touch()
    served = {"OPENAI_BASE_URL": f"{model}/{way.speech}/v1", "OPENAI_API_KEY": "none", "TOOL_LOG": str(log)}
    command = [python.with_name("carob"), "run", "suite.json", "--target", "way", "--workers", "1"]
    done = subprocess.run(
        [*command, "--results-dir", "runs"], cwd=tmp_path, env={**os.environ, **served}, capture_output=True, text=True
    )
    journals = [*(tmp_path / "runs").glob("suite-*Z.jsonl")]
    assert journals, done.stdout + done.stderr
    records = [json.loads(line) for line in journals[0].read_text().splitlines()]
    statuses = {record["case"]["id"]: record["verdict"]["status"] for record in records if "verdict" in record}
    expected = {**SITUATIONS, **dict.fromkeys(way.unknown, "PARTIAL")}
    for name in way.without:
        del statuses[name], expected[name]
    assert statuses == expected
