"""The options of a run are declared once, and whatever takes them agrees with the declaration."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest

import carob
from carob.cli.main import carob as group
from carob.cli.main import run
from carob.engine.request import ResumeKeywords, RunKeywords, RunOptions
from carob.options import HOW_TO_RUN, SELECTION, Option

EVERY = {**SELECTION, **HOW_TO_RUN}
SUITE = {"version": "0.3", "cases": [{"id": "A", "prompt": "?", "expected": {"must_say_any": ["process"]}}]}
AGENT = "import os\n\n\ndef answer(prompt):\n    return f'process {os.getpid()}'\n"
OF_A_COMMAND = {
    "target",
    "matrix",
    "suite",
    "suites",
    "run",
    "resume",
    "failed",
    "status",
    "fail_fast",
    "quiet",
    "verbose",
    "help",
    "only_list",
    "judge",
    "labels_from",
}
OF_A_PROGRAM = {"secrets", "matrix", "listeners", "stop"}


def params(command: str) -> dict[str, Any]:
    found = group.get_command(None, command)  # type: ignore[arg-type]
    assert found
    return {param.name: param for param in found.params if param.name not in OF_A_COMMAND}


@pytest.mark.parametrize(
    ("command", "keywords", "options"),
    [
        ("run", RunKeywords, EVERY),
        ("run --resume", ResumeKeywords, HOW_TO_RUN),
        ("run --failed", ResumeKeywords, HOW_TO_RUN),
    ],
)
def test_commands_and_functions_take_the_declared_options(
    command: str, keywords: type, options: dict[str, Option]
) -> None:
    assert params(command).keys() == options.keys() == get_type_hints(keywords).keys() - OF_A_PROGRAM
    for name, param in params(command).items():
        assert param.default in (options[name].default, None), name


def test_run_options_have_the_declared_types() -> None:
    assert get_type_hints(RunOptions) == {name: HOW_TO_RUN[name].type for name in RunOptions.__struct_fields__}


@pytest.mark.parametrize("name", RunOptions.__struct_fields__)
def test_defaults_are_of_their_type_and_within_their_bounds(name: str) -> None:
    option = HOW_TO_RUN[name]
    msgspec.convert(option.default, option.type)
    option.refuse_out_of_bounds(option.default)


@pytest.mark.parametrize("work", [carob.run, carob.resume, carob.rerun])
def test_an_unknown_keyword_is_refused(work: Any) -> None:
    with pytest.raises(carob.UsageError, match=r"unknown option 'timeuot'. Did you mean 'timeout'\?"):
        work("suite.json", timeuot=3)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("suite.json").write_text(json.dumps(SUITE))
    Path("agent_of_options.py").write_text(AGENT)


def answer(prompt: str) -> str:
    return f"process {os.getpid()}"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("target", "options", "inside"),
    [
        pytest.param("python:agent_of_options.py:answer", {}, False, id="named"),
        pytest.param("python:agent_of_options.py:answer", {"workers": None}, False, id="named-default"),
        pytest.param("python:agent_of_options.py:answer", {"workers": 0}, True, id="named-here"),
        pytest.param(answer, {}, True, id="function"),
    ],
)
def test_what_has_a_name_runs_in_a_process_of_its_own(target: Any, options: dict[str, Any], inside: bool) -> None:
    (record,) = carob.run("suite.json", target, **options)
    assert (record.trace.final_message == answer("")) is inside


@pytest.mark.usefixtures("here")
def test_the_command_line_has_the_same_default() -> None:
    assert run(["run", "suite.json", "-t", "python:agent_of_options.py:answer", "--results-dir", "out", "-q"]) == 0
    (journal,) = Path("out").glob("*.jsonl")
    (record,) = carob.rescore(journal)
    assert record.trace.final_message != answer("")
