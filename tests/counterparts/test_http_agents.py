"""Five HTTP agents, each in its own framework, started by Carob: judged from their traffic with a model, and stressed.

The model is scripted. What each agent called is also in a log that its tools write themselves: that is the truth.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import carob
from carob.features.stress.model import CellStatus
from carob.features.stress.session import StressResult
from carob.model.verdict import CaseStatus
from counterparts.environments import install_by_npm, python_with
from scripted_model import serve

SERVICES = Path(__file__).parent / "services"
PYTHON = ("openai==2.9.0", "fastapi", "uvicorn", "flask", "aiohttp")
RULES = {
    "rules": [
        {"when": {"user": "done already"}, "say": "Yes, I have refunded it."},
        {"when": {"user": r"Where is (?P<order>A-\d+)"}, "call": {"find_order": {"order": "${order}"}}},
        {"when": {"user": r"[Rr]efund (?P<order>A-\d+)"}, "call": {"refund": {"order": "${order}"}}},
        {"when": {"results": {"find_order": r"shipped"}}, "say": "It was shipped."},
        {"when": {"results": {"refund": r"refunded"}}, "say": "I have refunded it."},
        {"when": {"user": "."}, "say": "Sorry, I cannot look that up now."},
    ]
}
SUITE = {
    "carob": 1,
    "effects": {"refund": ["refunded"]},
    "cases": [
        {
            "id": "right",
            "prompt": "Where is A-17?",
            "expected": {
                "tool_calls": [{"tool": "find_order", "arguments": {"order": "A-17"}}],
                "tool_calls_none": ["refund"],
                "must_say_any": ["shipped"],
            },
        },
        {
            "id": "wrong-argument",
            "prompt": "Where is A-18?",
            "expected": {"tool_calls": [{"tool": "find_order", "arguments": {"order": "A-17"}}]},
        },
        {"id": "forbidden", "prompt": "Refund A-17.", "expected": {"tool_calls_none": ["refund"]}},
        {"id": "claim", "prompt": "Is it done already?", "expected": {"no_false_success": True}},
    ],
}
VERDICTS = {
    "right": CaseStatus.PASS,
    "wrong-argument": CaseStatus.FAIL,
    "forbidden": CaseStatus.FAIL,
    "claim": CaseStatus.FAIL,
}
CALLS = {
    "right": [["find_order", {"order": "A-17"}]],
    "wrong-argument": [["find_order", {"order": "A-18"}]],
    "forbidden": [["refund", {"order": "A-17"}]],
    "claim": [],
}


class Agent(NamedTuple):
    """How Carob starts one, and what npm has to bring."""

    start: str
    packages: tuple[str, ...] = ()
    path: str = "/chat"
    ready: str = "/health"


AGENTS = {
    "fastapi": Agent("{desk} fastapi_desk.py {{port}}"),
    "flask": Agent("{desk} flask_desk.py {{port}}"),
    "aiohttp": Agent("{desk} aiohttp_desk.py {{port}}"),
    "express": Agent("node express_desk.mjs {{port}}", ("express@5.1.0", "ai@6.0.326", "@ai-sdk/openai@3", "zod@4")),
    "next": Agent(
        "node node_modules/next/dist/bin/next start -H 127.0.0.1 -p {{port}}",
        ("next@16", "react@19", "react-dom@19", "openai@6"),
        "/api/chat",
        "/api/chat",
    ),
}


@pytest.fixture(params=AGENTS)
def project(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a service with everything it needs, and a scripted model where its client looks for one."""
    agent = AGENTS[request.param]
    if agent.packages:
        shutil.copytree(SERVICES / "next", tmp_path, dirs_exist_ok=True)
        shutil.copy(SERVICES / "express_desk.mjs", tmp_path)
        install_by_npm(tmp_path, *agent.packages)
    else:
        for file in SERVICES.glob("*.py"):
            shutil.copy(file, tmp_path)
    if request.param == "next":
        build(tmp_path)
    desk = "" if agent.packages else python_with("http-agents", *PYTHON)
    (tmp_path / "carob.toml").write_text(
        f"""
[targets.desk]
use = "http://127.0.0.1:{{port}}{agent.path}"
start = "{agent.start.format(desk=desk)}"
start_env = {{ DESK_LOG = "{tmp_path / "calls.log"}" }}
start_timeout = 120
ready = "{agent.ready}"
body = {{ message = "{{prompt}}" }}
answer = "$.reply"
telemetry = {{ models = {{ complete = true }} }}
"""
    )
    (tmp_path / "desk.carob.yaml").write_text(json.dumps(SUITE))
    monkeypatch.chdir(tmp_path)
    with serve(RULES) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-scripted-model")
        yield tmp_path


def build(folder: Path) -> None:
    done = subprocess.run(
        ["node", "node_modules/next/dist/bin/next", "build"],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "NEXT_TELEMETRY_DISABLED": "1", "OPENAI_API_KEY": "none"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_agent_behind_http_is_judged_by_its_traffic_and_stressed(project: Path) -> None:
    run = carob.run("desk.carob.yaml", "desk", workers=1, concurrency=1, timeout=120)
    records = {record.case.id: record for record in run.journal.records()}
    assert {name: record.verdict.status for name, record in records.items()} == VERDICTS
    seen = {name: [[call.name, call.arguments] for call in record.trace.tool_calls] for name, record in records.items()}
    assert seen == CALLS
    log = [json.loads(line) for line in (project / "calls.log").read_text().splitlines()]
    assert sorted(log, key=str) == sorted((call for calls in CALLS.values() for call in calls), key=str)

    stressed = carob.stress("desk.carob.yaml", "desk", cases=["right"], workers=1, concurrency=1)
    assert isinstance(stressed, StressResult)
    report = stressed.report
    assert {cell.hits for cell in report.cells} == {"model"}, "its tools run where Carob does not reach them"
    assert report.not_tried, "that is said"
    others = {cell.fault: (cell.status, cell.findings) for cell in report.cells if cell.status is not CellStatus.HELD}
    unknown = {fault for fault, (status, _) in others.items() if status is CellStatus.UNKNOWN}
    assert unknown == others.keys() <= {"bad arguments"}, f"whether such a call ran, its traffic does not say: {others}"
    assert len(report.cells) >= 3
