"""Agents of frameworks in Python: which one answers users, and what reaches it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from carob.features.setup.library import choose_agent, plan_init, survey_project
from yaml_files import read_yaml

CASES = read_yaml(Path(__file__).with_name("framework_agents.yaml"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_what_is_found_and_written(case: dict[str, Any], tmp_path: Path) -> None:
    for path, text in case["files"].items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    survey = survey_project(tmp_path)
    assert survey.others == tuple(case.get("unreached", ()))
    in_process = [agent for agent in survey.agents if not agent.address]
    assert [agent.where for agent in in_process] == ([case["place"]] if "use" in case else []) + case.get("others", [])
    if "use" not in case:
        return
    assert in_process[0].use == case["use"]
    assert case.get("why", "") in in_process[0].what
    chosen = choose_agent(survey, case["place"])
    assert chosen is not None
    plan = plan_init(survey, chosen)
    written = {file.path: file.text for file in plan.files}
    assert f'use = "{case["use"]}"' in written["carob.toml"]
    assert {"carob_agent.py", "carob_hooks.py"} & written.keys() == ({case["file"]} if "file" in case else set())
    text = written.get(case.get("file", ""), "")
    assert [line for line in case.get("lines", ()) if line not in text] == [], text
    compile(text, "written", "exec")
    gaps = case.get("gaps", [])
    assert [note for note in plan.notes if "fill in" in note] == [f"before the first run: {gap}." for gap in gaps]
    assert ("raise NotImplementedError" in text) == bool(gaps)
