"""`eval/run_agent_golden.py` and its sister for language models: layout, exit codes, artifacts, bad surroundings."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from golden_runs import ROOT

from dyno_agent.tools import TOOLS

RULE = "=" * 70
DATA = Path(__file__).parent / "data"
SECTIONS = {"agent_decisions_v1.0.0.json": "decisions", "agent_qa_v1.0.0.json": "qa"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of what the runner needs, so that its results go elsewhere."""
    shutil.copytree(ROOT / "eval", tmp_path / "eval", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "carob.toml", tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    return tmp_path


def run(project: Path, script: str = "run_agent_golden.py", *arguments: str) -> subprocess.CompletedProcess[str]:
    """`cd eval` first, as a user does, and by an interpreter without Carob, as a system's own is."""
    command = [sys.executable, "-S", script, *arguments]
    return subprocess.run(command, cwd=project / "eval", capture_output=True, text=True, timeout=600, check=False)


def write_sets(project: Path, **sets: list[dict[str, Any]]) -> None:
    for name, part in SECTIONS.items():
        (project / "eval" / "golden_sets" / name).write_text(json.dumps(sets[part]))


def passing(kind: str, name: str) -> str:
    """The section of a set in which every case passes."""
    cases = json.loads((ROOT / "eval" / "golden_sets" / name).read_text())
    lines = "".join(f"✓ PASS [{kind}] {case['id']}\n" for case in cases)
    return f"{RULE}\nRUNNING {kind.upper()} TESTS\n{RULE}\n{lines}"


def test_all_green(project: Path) -> None:
    ran = run(project)
    assert (ran.returncode, ran.stderr) == (0, "")
    sections = [passing(kind, name) for kind, name in zip(("decision", "qa"), SECTIONS, strict=True)]
    total = sum(section.count("✓") for section in sections)
    summary = f"{RULE}\nSUMMARY\n{RULE}\nPassed: {total}\nFailed: 0\nTotal:  {total}\n\n✓ All tests passed\n"
    assert ran.stdout == "\n".join((*sections, summary))
    made = [path.name for path in (project / "carob-results").iterdir()]
    assert sorted(name.split("-2")[0] + Path(name).suffix for name in made) == [
        f"{set_name}{end}"
        for set_name in ("agent_decisions_v1.0.0", "agent_qa_v1.0.0")
        for end in ("-results.json", "-results.md", ".jsonl")
    ]


FAILING: list[dict[str, Any]] = [
    {
        "id": "alloc_vehicle_not_found",
        "input": "Allocate vehicle 999 for a brake test on 2026-04-01.",
        "expected": {
            "tools_used": ["auto_allocate_vehicle"],
            "allocation_valid": False,
            "reason_contains": ["Vehicle not found"],
        },
    },
    {
        "id": "everything_wrong",
        "input": "Allocate vehicle 999 for a brake test on 2026-04-01.",
        "expected": {
            "outcome": "tool_success",
            "tools_used": ["find_available_dynos"],
            "allocation_valid": True,
            "reason_contains": ["Allocated in requested window"],
            "must_ground_numbers": ["4800"],
            "database": {"SELECT count(*) AS n FROM allocations": [22]},
        },
    },
]
FAILING_QA: list[dict[str, Any]] = [
    {
        "id": "drives",
        "input": "Which drives are supported?",
        "expected_contains": ["FWD", "six-wheel"],
        "must_not_contain": ["4WD"],
    }
]


def test_what_failed_is_shown_with_its_reasons(project: Path) -> None:
    write_sets(project, decisions=FAILING, qa=FAILING_QA)
    ran = run(project)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout == (DATA / "failing.txt").read_text()


def with_agent(project: Path, code: str) -> None:
    """Another agent than the dyno agent, which is soon there."""
    write_sets(project, decisions=FAILING, qa=FAILING_QA)
    (project / "other.py").write_text(code)
    (project / "carob.toml").write_text('[targets.dyno]\nuse = "python:other:agent"\n')


def test_an_agent_that_breaks_is_an_error_with_its_reason(project: Path) -> None:
    with_agent(project, "def agent(prompt):\n    raise ValueError('no dyno')\n")
    ran = run(project)
    assert ran.returncode == 1
    line = "✗ ERROR [decision] alloc_vehicle_not_found\n  • Error: ValueError: no dyno\n"
    assert line in ran.stdout


def test_nobody_has_to_listen_to_the_end(project: Path) -> None:
    with_agent(project, "def agent(prompt):\n    return 'No.'\n")
    command = f"{sys.executable} -S run_agent_golden.py | head -n 1"
    ran = subprocess.run(
        command, shell=True, cwd=project / "eval", capture_output=True, text=True, timeout=600, check=False
    )
    assert (ran.stdout, ran.stderr) == (f"{RULE}\n", "")
    reports = [json.loads(path.read_text()) for path in (project / "carob-results").glob("*.json")]
    assert sorted(report["summary"]["total"] for report in reports) == [1, 2]


def test_it_takes_no_arguments(project: Path) -> None:
    ran = run(project, "run_agent_golden.py", "--help")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "usage: run_agent_golden.py, without arguments\n"
    assert not (project / "carob-results").exists()


@pytest.mark.parametrize("script", ["run_agent_golden.py", "run_agent_golden_llm.py"])
def test_without_an_environment_it_says_how_to_make_one(project: Path, script: str) -> None:
    (project / ".venv").unlink()
    ran = run(project, script)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "carob is not installed: run `make setup` in the project's folder first\n"


@pytest.mark.parametrize("script", ["run_agent_golden.py", "run_agent_golden_llm.py"])
def test_a_set_that_cannot_be_read_is_one_line(project: Path, script: str) -> None:
    (project / "eval" / "golden_sets" / "agent_decisions_v1.0.0.json").write_text("[")
    ran = run(project, script)
    assert ran.returncode == 1
    assert "agent_decisions_v1.0.0.json:1:" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert "SUMMARY" not in ran.stdout


def test_an_agent_that_ends_the_process_is_no_success(project: Path) -> None:
    """Not even if it ends it with exit code 0, which would otherwise be the runner's own."""
    write_sets(project, decisions=FAILING[:1], qa=FAILING_QA)
    (project / "leaving.py").write_text(
        "import sys\n"
        "from langgraph.graph import START, MessagesState, StateGraph\n"
        "async def leave(state):\n    sys.exit(0)\n"
        "builder = StateGraph(MessagesState)\n"
        "builder.add_node('leave', leave)\n"
        "builder.add_edge(START, 'leave')\n"
        "graph = builder.compile()\n"
    )
    (project / "carob.toml").write_text('[targets.dyno]\nuse = "langgraph:leaving:graph"\n')
    ran = run(project)
    assert (ran.returncode, ran.stderr) == (1, "")
    reason = "  • Error: the agent's process ended: exit code 0\n"
    assert f"✗ ERROR [decision] alloc_vehicle_not_found\n{reason}" in ran.stdout
    assert "Passed: 0\nFailed: 2\n" in ran.stdout


@pytest.mark.parametrize("arguments", [["0"], ["some"], ["1", "2"], ["-1"]], ids=" ".join)
def test_a_number_of_cases_is_a_number(project: Path, arguments: list[str]) -> None:
    ran = run(project, "run_agent_golden_llm.py", *arguments)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("usage: ")


@pytest.fixture
def one_core() -> Iterator[None]:
    """Where other tests run too, two threads of a model mostly wait for each other."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    yield
    os.sched_setaffinity(0, cores)


@pytest.mark.thorough
@pytest.mark.limit(600)
@pytest.mark.usefixtures("one_core")
def test_a_language_model_drives_the_agent_and_is_judged(project: Path) -> None:
    """Not that it passes: a model of this size fails most cases, which is what golden sets are there to tell."""
    pytest.importorskip("xllamacpp", exc_type=ImportError)
    ran = run(project, "run_agent_golden_llm.py", "1")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Judged:          1 of 1\n" in ran.stdout
    assert ran.stdout.count("(wanted: ") == 1
    lines = [
        json.loads(line)
        for file in sorted((project / "carob-results").glob("agent_*.jsonl"))
        for line in file.read_text().splitlines()
    ]
    records = [line for line in lines if "trace" in line]
    assert [record["verdict"]["status"] in ("PASS", "FAIL", "PARTIAL") for record in records] == [True]
    assert all(record["trace"]["tokens"]["output"] > 0 for record in records)
    assert all(record["verdict"]["checks"] for record in records)
    assert all(record["trace"]["final_message"] for record in records)
    calls = [call for record in records for call in record["trace"].get("tool_calls", [])]
    assert {call["name"] for call in calls} <= {tool.name for tool in TOOLS}
    assert all({"success", "message"} <= call["result"].keys() for call in calls)
