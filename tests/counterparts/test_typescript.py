"""The npm package `carob` as a team installs it: packed, with the real vitest and the real AI SDK."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import carob
from counterparts.environments import ROOT, install_by_npm
from processes import running

PROJECT = Path(__file__).with_name("vitest_project")
CAROB = Path(sys.executable).with_name("carob")
VITEST = "node_modules/.bin/vitest"
PACKAGES = ("vitest@4.1", "ai@6", "zod@4", "tsx")
RECORDERS = ROOT / "src" / "carob" / "targets" / "node"
MOST_BYTES = 60_000
EXPECTED = {"must_say_any": ["sorry"], "must_not_say": ["password"], "tool_calls_none": ["delete_order"]}


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tarball that npm would publish, compiled in strict mode."""
    folder = tmp_path_factory.mktemp("package") / "typescript"
    shutil.copytree(ROOT / "clients" / "typescript", folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    subprocess.run(["npm", "ci", "--silent", "--no-audit"], cwd=folder, check=True)
    subprocess.run(["npm", "pack", "--silent"], cwd=folder, check=True)
    (tarball,) = folder.glob("carob-*.tgz")
    return tarball


@pytest.fixture(scope="module")
def installed(packed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    install_by_npm(folder, *PACKAGES, str(packed))
    return folder / "node_modules"


@pytest.fixture
def project(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(PROJECT, tmp_path, dirs_exist_ok=True)
    (tmp_path / "package.json").write_text('{"private": true, "type": "module"}')
    (tmp_path / "node_modules").symlink_to(installed)
    counted = tmp_path / "counted"
    counted.write_text(f'#!/bin/sh\necho $$ >> {tmp_path}/started\nexec {CAROB} "$@"\n')
    counted.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CAROB", str(counted))
    monkeypatch.setenv("NO_COLOR", "1")
    write_suite(8)
    return tmp_path


def write_suite(cases: int) -> None:
    """Every other case asks for a refund, and every other one of these finds its order locked."""
    listed = []
    for number in range(cases):
        tool = "issue_refund" if number % 4 < 2 else "look_up"
        call = {"tool": tool, "arguments": {"order": number}, "success": True}
        prompt = f"Please {'refund' if tool == 'issue_refund' else 'find'} {number}."
        listed.append({"id": f"case-{number}", "prompt": prompt, "expected": {**EXPECTED, "tool_calls": [call]}})
    Path("desk.carob.yaml").write_text(json.dumps({"carob": 1, "cases": listed}, indent=1))


def vitest(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([VITEST, *arguments], capture_output=True, text=True, timeout=280, check=False)


def starts(project: Path) -> list[int]:
    file = project / "started"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def test_the_package_is_small(packed: Path) -> None:
    assert packed.stat().st_size <= MOST_BYTES


def test_the_bridges_have_the_recorders_of_the_package(packed: Path) -> None:
    for file in RECORDERS.glob("*.js"):
        assert file.read_text() == (packed.parent / "dist" / file.name).read_text()


def test_200_cases_through_the_bridge_have_the_verdicts_of_vitest(project: Path) -> None:
    write_suite(200)
    Path("package.json").write_text('{"type": "module", "dependencies": {"ai": "6"}, "devDependencies": {"tsx": "*"}}')
    began = time.perf_counter()
    subprocess.run([CAROB, "init", "--yes", "--no-ask"], capture_output=True, check=False)
    ran = subprocess.run([CAROB, "run", "desk.carob.yaml"], capture_output=True, text=True, check=False)
    print(f"200 cases through the bridge in {time.perf_counter() - began:.1f} s")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    (bridged,) = Path("carob-results").glob("*.jsonl")
    vitest("run", "desk.test.ts")
    (tested,) = set(Path("carob-results").glob("*.jsonl")) - {bridged}
    ours, theirs = (list(carob.Journal(file).records()) for file in (bridged, tested))
    assert len(ours) == 200
    assert [msgspec.json.encode(record.verdict) for record in ours] == [
        msgspec.json.encode(record.verdict) for record in theirs
    ]
    assert {record.status for record in ours} == {"PASS", "FAIL"}


def test_from_install_to_a_red_test_with_evidence(project: Path) -> None:
    ran = vitest("run")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "FAIL: a check failed; tool_calls[0]" in ran.stderr
    assert "issue_refund(order=4) → error: Error: the order is locked" in ran.stderr
    assert 'Expected: "tool_calls: a call to' in ran.stderr
    assert re.search(r"❯ desk\.carob\.yaml:\d+:1", ran.stderr)
    assert len(starts(project)) == 1
    assert "keys" not in ran.stderr, ran.stderr
    (journal,) = (project / "carob-results").glob("*.jsonl")
    records = list(carob.Journal(journal).records())
    calls = [call for record in records for call in record.trace.tool_calls]
    seen = [f"{call.name} {'done' if call.success else 'failed'}" for call in calls]
    by_hand = ["issue_refund failed"]  # that of the test `keys`
    assert sorted([*seen, *by_hand]) == sorted((project / "tools.log").read_text().splitlines())


def test_200_cases_have_the_verdicts_of_carob_run(project: Path) -> None:
    write_suite(200)
    began = time.perf_counter()
    ran = vitest("run", "--reporter=json", "--outputFile=results.json")
    print(f"200 cases in {time.perf_counter() - began:.1f} s")
    results = json.loads((project / "results.json").read_text())
    tests = {test["title"]: test["status"] for test in results["testResults"][0]["assertionResults"]}
    usual = carob.run("desk.carob.yaml", "replay:traces.jsonl", results_dir=project / "usual")
    (journal,) = (project / "carob-results").glob("*.jsonl")
    ours = list(carob.Journal(journal).records())
    assert len(ours) == 200, ran.stdout
    assert [msgspec.json.encode(record.verdict) for record in ours] == [
        msgspec.json.encode(record.verdict) for record in usual
    ]
    assert {record.case.id: "passed" if record.status == "PASS" else "failed" for record in ours} == {
        name: status for name, status in tests.items() if name != "keys"
    }
    assert 0 < usual.summary.failed < 200
    for command in (["compare", str(usual.journal.path), str(journal)], ["audit", str(journal)]):
        assert subprocess.run([CAROB, *command], capture_output=True, check=False).returncode in (0, 1)


def test_one_test_alone_is_a_run_of_one_case(project: Path) -> None:
    ran = vitest("run", "-t", "case-1$")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (journal,) = (project / "carob-results").glob("*.jsonl")
    assert [record.case.id for record in carob.Journal(journal).records()] == ["case-1"]


def test_watching_judges_again_with_the_same_judge(project: Path) -> None:
    with subprocess.Popen([VITEST, "--watch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as watching:
        try:
            results = project / "carob-results"
            wait_for(lambda: len(list(results.glob("*.md"))) == 1)
            time.sleep(1)  # until it watches
            write_suite(4)
            wait_for(lambda: len(list(results.glob("*.md"))) == 2)
        finally:
            watching.terminate()
            watching.communicate()
    assert [len(list(carob.Journal(file).records())) for file in sorted(results.glob("*.jsonl"))] == [8, 4]
    (judge,) = starts(project)
    wait_for(lambda: not running(judge))


def test_a_judge_that_is_killed_ends_its_tests(project: Path) -> None:
    Path("desk.test.ts").write_text(
        'import { readFileSync } from "node:fs";\n'
        'import { suite } from "carob/vitest";\n'
        'suite("desk.carob.yaml", (prompt) => {\n'
        '  if (prompt.includes("4")) process.kill(Number(readFileSync("started", "utf8")), "SIGKILL");\n'
        '  return "Sorry.";\n'
        "});\n"
    )
    ran = vitest("run", "--reporter=json", "--outputFile=results.json")
    assert ran.returncode == 1
    assert "Unhandled" not in ran.stderr
    results = json.loads((project / "results.json").read_text())["testResults"][0]["assertionResults"]
    ended = [test["title"] for test in results if "the judge ended" in "".join(test["failureMessages"])]
    assert ended == ["case-4", "case-5", "case-6", "case-7"]


def test_the_file_of_init_says_what_to_fill_in(project: Path) -> None:
    Path("desk.test.ts").unlink()
    Path("desk.ts").unlink()
    Path("package.json").write_text('{"type": "module", "dependencies": {"ai": "6"}}')
    subprocess.run([CAROB, "init", "--yes", "--no-ask"], capture_output=True, check=False)
    ran = vitest("run")
    assert ran.returncode == 1
    assert 'ERROR: agent: Error: call your agent with "Please refund 0." in carob.test.ts' in ran.stderr


def test_the_recorder_of_openai_agents_tells_what_its_tools_did(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"private": true, "type": "module"}')
    install_by_npm(tmp_path, "@openai/agents", "zod@4", str(packed))
    script = shutil.copy(PROJECT / "agents_sdk.mjs", tmp_path)
    seen = json.loads(subprocess.run(["node", script], capture_output=True, text=True, check=True).stdout)
    assert seen["log"] == [1, 2]
    done, waits = seen["done"], seen["waits"]
    success = {"tool_calls": [{"tool": "issue_refund", "arguments": {"order": 1}, "success": True}]}
    failure = {"tool_calls": [{"tool": "issue_refund", "arguments": {"order": 2}, "success": False}]}
    for expected in (success, failure):
        carob.check(done, **expected)  # type: ignore[arg-type]
    assert (done["final_message"], done["ended_by"]) == ("Done.", "itself")
    assert ("ended_by" in waits, waits["tool_calls"][0]["started"]) == (False, False)


def test_npx_carob_is_the_command_line(project: Path) -> None:
    ran = subprocess.run(["npx", "carob", "validate", "nowhere.yaml"], capture_output=True, text=True, check=False)
    assert ran.returncode == 4
    assert "nowhere.yaml" in ran.stderr
    path = f"{project / 'node_modules' / '.bin'}:{Path(shutil.which('node') or '').parent}:/bin"
    environ = {"PATH": path, "HOME": str(project)}
    ran = subprocess.run(["npx", "carob"], env=environ, capture_output=True, text=True, check=False)
    assert (ran.returncode, "Install it: uv tool install carob" in ran.stderr) == (4, True), ran.stderr


def wait_for(condition: Callable[[], bool], seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)
