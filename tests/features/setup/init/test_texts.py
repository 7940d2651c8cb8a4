"""The texts that are written: they are sound by the rules of whoever reads them."""

from __future__ import annotations

import json
import tomllib
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from carob import __version__
from carob.features.setup.survey.findings import FoundAgent
from carob.features.setup.survey.survey import survey_folder
from carob.features.setup.write import texts

APP = FoundAgent("http://127.0.0.1:8000/chat", "web app", "main.py:1", "app", "http", "uvicorn main:app --port 8000")
COMMIT = "0123456789abcdef"


@pytest.mark.parametrize(
    ("origin", "installs"),
    [
        pytest.param(None, f'pip install "carob[http]=={__version__}"', id="index"),
        pytest.param(
            {"url": "https://me:secret@git.example/carob", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            f'pip install "carob[http] @ git+https://git.example/carob@{COMMIT}"',
            id="repository",
        ),
        pytest.param(
            {"url": "file:///home/me/carob", "dir_info": {"editable": True}},
            'pip install "${CAROB_PACKAGE:?set this repository variable}"',
            id="folder",
        ),
    ],
)
def test_a_workflow_installs_carob_from_where_it_came(
    monkeypatch: pytest.MonkeyPatch, origin: dict[str, object] | None, installs: str
) -> None:
    found = SimpleNamespace(read_text=lambda name: None if origin is None else json.dumps(origin))
    monkeypatch.setattr(metadata, "distribution", lambda name: found)
    text = texts.workflow(["app.carob.yaml"], APP, "pyproject.toml", ["OPENAI_API_KEY"])
    steps = yaml.safe_load(text)["jobs"]["carob"]["steps"]
    runs = [step["run"] for step in steps if "run" in step]
    assert runs[:2] == ["pip install .", installs]
    assert runs[2].startswith("uvicorn main:app --port 8000 & timeout 60 ")
    assert runs[3] == "carob run app.carob.yaml --report html"
    assert next(step["env"] for step in steps if step.get("run") == runs[3]) == {
        "OPENAI_API_KEY": "${{ secrets.OPENAI_API_KEY }}"
    }
    assert steps[-1]["if"] == "always()"
    assert "secret@" not in text
    assert "/home/me" not in text


@pytest.mark.parametrize(
    ("agent", "lines"),
    [
        (
            FoundAgent("http://127.0.0.1:3000/chat", "app", "server.js", "app", "http", "node server.js"),
            ['start = "node server.js"', 'start_env = { PORT = "{port}" }'],
        ),
        (APP, ['start = "uvicorn main:app --port {port}"']),
    ],
)
def test_a_service_says_how_carob_starts_it(agent: FoundAgent, lines: list[str]) -> None:
    text = texts.configuration(agent, {"use": agent.use}, "", (), ())
    commented = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")]
    assert commented[-len(lines) - 2 :] == [
        'use = "http://127.0.0.1:{port}/chat"',
        *lines,
        'evidence = ["models"]',
    ]


def test_instructions_for_coding_agents_lead_to_a_preset(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("Use uv.\n")
    found = survey_folder(tmp_path, {}).instructions
    text = texts.configuration(None, {}, "", (), (), found)
    target = text[text.index("# [targets.coder]") :].replace("# ", "")
    assert tomllib.loads(target) == {"targets": {"coder": {"use": "claude-code:", "workspace": "."}}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("", "carob-results/\n", id="none"),
        pytest.param("*.pyc", "*.pyc\ncarob-results/\n", id="no-line-end"),
        pytest.param("*.pyc\n", "*.pyc\ncarob-results/\n", id="more"),
        pytest.param("/carob-results\n", None, id="there"),
        pytest.param("# carob-results/\n", "# carob-results/\ncarob-results/\n", id="a-comment"),
    ],
)
def test_lines_of_gitignore(before: str, after: str | None) -> None:
    assert texts.add_to_gitignore(before) == after
