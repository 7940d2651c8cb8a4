"""Services of Node, and what is written of an agent whose name or problem is hostile."""

from __future__ import annotations

import dataclasses
import json
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

from carob.features.setup.library import choose_agent, plan_init
from carob.features.setup.survey.findings import FoundAgent
from carob.features.setup.survey.survey import survey_folder
from carob.features.setup.write import texts


def package(*names: str, **scripts: str) -> str:
    return json.dumps({"dependencies": dict.fromkeys(names, "1"), "scripts": scripts})


EXPRESS = "import express from 'express'\nconst app = express()\nconst PORT = process.env.PORT || 8787\n"
STREAMS = "app.post('/api/chat', async (req, res) => { result.pipeUIMessageStreamToResponse(res) })\napp.listen(PORT)\n"
PLAIN = "app.post('/login', login)\napp.post(\"/v1/ask\", ask)\napp.listen(4000)\n"
MASTRA = (
    "import { Agent } from '@mastra/core/agent'\n"
    "export const weather = new Agent({ id: 'weather', name: 'Weather Agent', instructions: 'x' })\n"
)
NEXT = "export async function POST(request) { return Response.json({}) }"
PROJECTS = {
    "express": (
        {
            "package.json": package("express", start="node server.js"),
            "server.js": "import express from 'express'\n" + PLAIN,
        },
        "http://127.0.0.1:4000/v1/ask",
        "npm start",
    ),
    "express without a script": (
        {"package.json": package("express"), "server.js": "import express from 'express'\n" + PLAIN},
        "http://127.0.0.1:4000/v1/ask",
        "node server.js",
    ),
    "express with the AI SDK": (
        {"package.json": package("express", "ai", dev="tsx src/index.ts"), "src/index.ts": EXPRESS + STREAMS},
        "ai-sdk:http://127.0.0.1:8787/api/chat",
        "npm run dev",
    ),
    "next": (
        {"web/package.json": package("next", dev="next dev"), "web/src/app/(chat)/api/agent/route.ts": NEXT},
        "http://127.0.0.1:3000/api/agent",
        "npm --prefix web run dev",
    ),
    "mastra": (
        {"package.json": package("@mastra/core", dev="mastra dev"), "src/mastra/agents/weather.ts": MASTRA},
        "http://127.0.0.1:4111/api/agents/weather/generate",
        "npm run dev",
    ),
}


@pytest.mark.parametrize("name", PROJECTS)
def test_services_of_node(name: str, tmp_path: Path) -> None:
    files, use, start = PROJECTS[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = [(agent.use, agent.start) for agent in survey_folder(tmp_path, {}).agents if agent.address]
    assert found == [(use, start)]


def test_the_model_of_an_agent_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(package("express"))
    (tmp_path / "server.js").write_text("import express from 'express'\n" + PLAIN)
    survey = survey_folder(tmp_path, {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})
    chosen = choose_agent(survey)
    assert [agent.is_model for agent in survey.agents] == [False, True]
    assert chosen is not None
    assert not chosen.is_model
    alone = choose_agent(dataclasses.replace(survey, agents=survey.agents[1:]))
    assert alone is not None
    assert alone.is_model


@pytest.mark.parametrize("text", ["", "[]", "{", '{"dependencies": [], "scripts": 3}', "[" * 3000])
def test_an_odd_package_is_left_out(text: str, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(text)
    (tmp_path / "index.js").write_text(PLAIN)
    assert survey_folder(tmp_path, {}).agents == ()


RECORDERS = {
    "ai": "fromAiSdk",
    "@openai/agents": "fromAgents",
    "langchain": "fromLangChain",
    "@mastra/core": "fromMastra",
}


@pytest.mark.parametrize(("library", "recorder"), RECORDERS.items())
def test_a_project_with_agents_gets_a_test_file(library: str, recorder: str, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(package(library))
    plan = plan_init(survey_folder(tmp_path, {}), None)
    written = {file.path: file.text for file in plan.files}["carob.test.ts"]
    assert f"import {{ {recorder}, suite }}" in written
    assert f'suite("{plan.suite}", async (prompt) => {recorder}(' in written
    (tmp_path / "carob.test.ts").touch()
    assert "carob.test.ts" not in [file.path for file in plan_init(survey_folder(tmp_path, {}), None).files]


def test_a_project_without_agents_gets_no_test_file(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(package("express", "main"))
    assert "carob.test.ts" not in [file.path for file in plan_init(survey_folder(tmp_path, {}), None).files]


def test_an_agent_with_a_type_is_an_agent(tmp_path: Path) -> None:
    (tmp_path / "desk.py").write_text("from agents import Agent\n\nagent = Agent[Context](name='desk')\n")
    (agent,) = survey_folder(tmp_path, {}).agents
    assert (agent.use, agent.where) == ("openai-agents:desk.py:agent", "desk.py:3")


STRANGE = "a folder: with #signs\nand 'lines'"
SERVICE = FoundAgent(f"http://127.0.0.1:8000/{STRANGE}", f"what\n{STRANGE}", "x:1", "app", "http", "uvicorn 'a b:app'")


def test_what_is_written_holds_hostile_names() -> None:
    assert tomllib.loads(texts.configuration(SERVICE, {}, "it said\ntarget = 3", (), ())) == {}
    assert (
        "use"
        in tomllib.loads(texts.configuration(SERVICE, {"use": SERVICE.use}, "no\nuse = 1", (), ()))["targets"]["app"]
    )
    assert yaml.safe_load(texts.first_suite(STRANGE, ("Hi",)))["name"] == f"First cases of {STRANGE}"
    workflow = yaml.safe_load(texts.workflow(["my suites: #1.yaml"], SERVICE, "", ("OPENAI_API_KEY",)))
    *_, start, run, _ = workflow["jobs"]["carob"]["steps"]
    assert start["run"].startswith("uvicorn 'a b:app' & timeout 60 bash -c ")
    assert shlex.split(run["run"]) == ["carob", "run", "my suites: #1.yaml", "--report", "html"]
    assert start["env"] == run["env"] == {"OPENAI_API_KEY": "${{ secrets.OPENAI_API_KEY }}"}


@pytest.mark.parametrize(
    ("start", "steps"),
    [
        ("npm run dev", ["npm ci", "npm run dev & timeout 60"]),
        ("npm --prefix web start", ["npm --prefix web ci", "npm --prefix web start & timeout 60"]),
        ("", ["echo 'Replace this step with one that starts what answers at http://127.0.0.1:3000/chat'; exit 1"]),
    ],
)
def test_a_workflow_starts_the_service(start: str, steps: list[str]) -> None:
    agent = FoundAgent("http://127.0.0.1:3000/chat", "app", "x:1", "app", "http", start)
    found = yaml.safe_load(texts.workflow(["s.yaml"], agent, "", ()))["jobs"]["carob"]["steps"]
    runs = [step["run"] for step in found if "run" in step][1:-1]
    assert len(runs) == len(steps)
    assert all(run.startswith(step) for run, step in zip(runs, steps, strict=True))
    assert any("setup-node" in step.get("uses", "") for step in found) is start.startswith("npm")
