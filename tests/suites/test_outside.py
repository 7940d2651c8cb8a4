"""What a suite names is in its project, whatever it is called: no `..`, no absolute path, no link that leads out."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import carob
from carob.errors import SuiteError

CASES = {
    "each": lambda name: {"id": "a {{q}}", "prompt": "{{q}}", "each": name, "expected": {"must_say_any": ["x"]}},
    "grounded_in": lambda name: {
        "id": "a",
        "prompt": "hello",
        "expected": {"grounded_numbers": True, "grounded_in": [name]},
    },
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    outside, project = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    project.mkdir()
    (outside / "secret.csv").write_text("q\nhello 42\n")
    (project / "carob.toml").write_text("")
    (project / "own.csv").write_text("q\nhello 42\n")
    os.symlink(project / "own.csv", project / "own_link.csv")
    os.symlink(outside / "secret.csv", project / "link.csv")
    os.symlink(outside, project / "folder")
    return project


def load(project: Path, key: str, name: str) -> None:
    suite = project / "s.carob.yaml"
    suite.write_text(json.dumps({"carob": 1, "cases": [CASES[key](name)]}))
    carob.load_suite(suite)


@pytest.mark.parametrize("key", CASES)
@pytest.mark.parametrize("name", ["link.csv", "folder/secret.csv", "../outside/secret.csv", "{outside}/secret.csv"])
def test_a_file_outside_of_the_project_is_refused(key: str, name: str, project: Path) -> None:
    with pytest.raises(SuiteError) as refused:
        load(project, key, name.replace("{outside}", str(project.parent / "outside")))
    assert "is outside the project of the suite" in str(refused.value)
    assert key in str(refused.value)


@pytest.mark.parametrize("key", CASES)
@pytest.mark.parametrize("name", ["own.csv", "own_link.csv"])
def test_a_file_of_the_project_is_read(key: str, name: str, project: Path) -> None:
    load(project, key, name)
