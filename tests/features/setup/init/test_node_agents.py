"""Agents of Node projects that have no server: what is found, and the bridge that asks them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from carob import Journal
from carob.features.setup.library import choose_agent, plan_init, survey_project
from cli.support import Carob
from yaml_files import read_yaml

CASES = read_yaml(Path(__file__).with_name("node_agents.yaml"))


def lay_out(folder: Path, case: dict[str, Any]) -> None:
    package = {"type": "module", "dependencies": dict.fromkeys(case["packages"], "1")}
    files = {f"{case.get('folder', '.')}/package.json": json.dumps(package), **case["files"]}
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_what_is_found_and_written(case: dict[str, Any], tmp_path: Path) -> None:
    lay_out(tmp_path, case)
    survey = survey_project(tmp_path)
    bridged = [agent for agent in survey.agents if agent.bridge] or list(survey.agents)
    assert (bridged[0].use, bridged[0].where) == (case["use"], case["place"])
    assert [agent.where for agent in bridged[1:]] == case.get("others", [])
    plan = plan_init(survey, bridged[0])
    written = {file.path: file.text for file in plan.files}
    bridge = next((text for path, text in written.items() if "carob_bridge" in path), "")
    assert [line for line in case.get("asks", ()) if line not in bridge] == []
    assert bool(bridge) == ("asks" in case)
    assert len(bridge.splitlines()) <= 30
    assert ("lines = true" in written["carob.toml"]) == bool(bridge)
    assert [gap for gap in case.get("gaps", ()) if not any(gap in note for note in plan.notes)] == []
    test = written.get("carob.test.ts", "")
    assert "folder" in case or not bridge or all(line in test for line in case["asks"][1:2]), test


LIBRARY = """\
let calls = 0;
export async function generateText({ prompt }) {
  if (prompt.includes("fail")) throw new Error("the model is gone");
  console.log("the library prints", { final_message: 1 });
  const call = { type: "tool-call", toolCallId: `c${++calls}`, toolName: "look_up", input: { n: calls } };
  const result = { type: "tool-result", toolCallId: call.toolCallId, toolName: "look_up", output: process.pid };
  const steps = [{ content: [call, result], finishReason: "stop" }];
  return { text: `You said ${prompt}`, steps, finishReason: "stop" };
}
"""
DESK = """\
import { generateText } from "ai";
import { createInterface } from "node:readline/promises";
const terminal = createInterface({ input: process.stdin, output: process.stdout }); // as programs of a terminal have it
export async function desk(prompt) {
  return generateText({ prompt });
}
"""


def test_one_process_has_50_cases(carob: Carob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a library of the same form; the real ones are in tests/counterparts."""
    monkeypatch.chdir(tmp_path)
    library = {"node_modules/ai/index.js": LIBRARY, "node_modules/ai/package.json": '{"type": "module"}'}
    lay_out(tmp_path, {"packages": ["ai"], "files": {"desk.mjs": DESK, **library}})
    agent = choose_agent(survey_project(tmp_path), may_ask=True)
    assert agent is not None
    assert agent.use == "command:node carob_bridge.mjs"
    done = carob("init", "--yes")
    assert "1 passed" in done.out, done
    prompts = [{"id": f"c{n}", "prompt": "fail" if n == 7 else f"Hi {n}", "expected": EXPECTED} for n in range(50)]
    Path("many.carob.yaml").write_text(json.dumps({"carob": 1, "cases": prompts}))
    done = carob("run", "many.carob.yaml", "--results-dir", "many", "--workers", "0")
    assert done.code == 1, done
    (journal,) = Path("many").glob("*.jsonl")
    records = list(Journal(journal).records())
    assert [record.case.id for record in records if record.status != "PASS"] == ["c7"]
    assert len({record.trace.tool_calls[0].result for record in records if record.trace.tool_calls}) == 1
    failed = next(record for record in records if record.case.id == "c7")
    assert "the model is gone" in str(failed.trace.error)
    assert subprocess.run(["pgrep", "-f", f"{tmp_path}/carob_bridge"], check=False).returncode == 1


EXPECTED = {"tool_calls": [{"tool": "look_up", "success": True}], "must_say_any": ["You said"]}
