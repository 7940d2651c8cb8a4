"""The GitHub Action: its logic in this process, its comments against a fake of GitHub's API."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from action.workflow import ACTION, ROOT, Contexts, FakeGithub, run_action
from carob.cli.main import run as run_command
from cli.support import eval_set, write

SUITE = eval_set(
    {"id": "A", "prompt": "a", "expected": {"must_say_any": ["hello"]}},
    {"id": "B", "prompt": "b", "expected": {"must_say_any": ["hello"], "tool_calls_none": ["refund"]}},
)


@pytest.fixture
def action(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> ModuleType:
    """scripts/action.py, whose commands run in this process: a process each would take seconds."""
    spec = importlib.util.spec_from_file_location("carob_action", ROOT / "scripts/action.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def run_here(*arguments: str, stdout: Any = None) -> subprocess.CompletedProcess[str]:
        capsys.readouterr()
        code = run_command([*arguments, *(("--workers", "0") if arguments[0] == "run" else ())])
        return subprocess.CompletedProcess(arguments, code, capsys.readouterr().out)

    monkeypatch.setattr(module, "run_carob", run_here)
    return module


@pytest.fixture
def github() -> Iterator[FakeGithub]:
    with FakeGithub().serving() as fake:
        yield fake


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    write("desk.json", SUITE)
    return tmp_path


def answer(text: str) -> None:
    """What the agent says to B from now on; to A it is friendly."""
    words = {"A": "Hello.", "B": text}
    write("traces.jsonl", [{"case_id": case, "final_message": said, "tool_calls": []} for case, said in words.items()])


def test_branch_then_pull_request(
    workspace: Path, tmp_path: Path, github: FakeGithub, action: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A push is kept; a pull request is compared with it, is red, and has one comment that changes."""

    def run_here(script: str, folder: Path, environ: dict[str, str]) -> int:
        with monkeypatch.context() as patched:
            for name, value in environ.items():
                patched.setenv(name, value)
            step = re.fullmatch(r'python "\$ACTION/scripts/action.py" (\w+)', script)
            assert step, script
            return int(action.STEPS[step[1]]() or 0)

    def run(event: str, gate: str = "", token: str = "token-of-the-job") -> tuple[bool, dict[str, str]]:
        pull = {"base_ref": "main", "ref_name": "7/merge"} if event == "pull_request" else {"ref_name": "main"}
        payload = write("event.json", {"pull_request": {"number": 7}} if event == "pull_request" else {})
        known = {
            "event_path": payload,
            "api_url": github.address,
            "repository": "o/r",
            "run_id": "1",
            "run_attempt": "1",
        }
        inputs = {"suite": "desk.json", "target": "replay:traces.jsonl", "gate": gate, "token": token}
        return run_action(inputs, known | pull, workspace, tmp_path / "cache", run_here, skip=("Install Carob",))

    answer("Hello.")
    green = {"passed": "2", "failed": "0", "unknown": "0", "error": "0", "report": ".carob-action/report"}
    assert run("push") == (True, green)
    assert github.comments == []

    answer("Good day.")
    passed, outputs = run("pull_request")
    assert (passed, outputs["passed"], outputs["failed"]) == (False, "1", "1")
    assert list((tmp_path / "cache/artifacts").rglob("*.html"))
    (comment,) = github.comments
    assert comment["body"].startswith("<!-- carob:")
    assert "passed before and fails now: it may be chance" in comment["body"]
    assert github.tokens == {"Bearer token-of-the-job"}

    assert run("pull_request", gate="--max-new-failures 1")[0], "the gate decides where there is one"
    assert not run("pull_request", gate="--max-new-failures 0")[0]
    answer("Hello.")
    assert run("pull_request")[0]
    (comment,) = github.comments
    assert "2 passed" in comment["body"]

    github.may_write = False
    assert run("pull_request")[0], "a fork may not comment, and is judged all the same"
    assert run("schedule")[0]
    assert run("pull_request", token="")[0]


def test_run_that_cannot_start_is_red_and_commented(
    workspace: Path, action: ModuleType, github: FakeGithub, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = write("event.json", {"pull_request": {"number": 7}})
    for name, value in {
        "CAROB_SUITE": "gone.json",
        "CAROB_TOKEN": "t",
        "GITHUB_EVENT_PATH": event,
        "GITHUB_API_URL": github.address,
        "GITHUB_REPOSITORY": "o/r",
    }.items():
        monkeypatch.setenv(name, value)
    for step in ("plan", "run", "compare", "comment"):
        action.STEPS[step]()
    assert action.decide() == 4
    assert "The run did not start" in github.comments[0]["body"]


def test_comment_is_found_among_many_and_kept_short(
    workspace: Path, action: ModuleType, github: FakeGithub, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(150):
        github.add(f"comment {number}")
    github.add("<!-- carob:mine -->\nold")
    github.add("<!-- carob:other -->\nof another use")
    action.WORK.mkdir()
    action.COMMENT.write_text("<!-- carob:mine -->\nnew")
    event = write("event.json", {"pull_request": {"number": 7}})
    monkeypatch.setenv("CAROB_TOKEN", "t")
    monkeypatch.setenv("GITHUB_EVENT_PATH", event)
    monkeypatch.setenv("GITHUB_API_URL", github.address)
    monkeypatch.setenv("GITHUB_REPOSITORY", "o/r")
    action.comment()
    assert [one["body"] for one in github.comments[150:]] == [
        "<!-- carob:mine -->\nnew",
        "<!-- carob:other -->\nof another use",
    ]


def test_action_asks_for_a_suite_alone_and_hands_out_what_it_says() -> None:
    assert [name for name, one in ACTION["inputs"].items() if one.get("required")] == ["suite"]
    assert list(ACTION["outputs"]) == ["passed", "failed", "unknown", "error", "report"]
    steps = ACTION["runs"]["steps"]
    with_token = [step["name"] for step in steps if "token" in json.dumps(step)]
    assert with_token == ["Comment"]
    names = [step["name"] for step in steps]
    assert names.index("Run") < names.index("Compare") < names.index("Comment") < names.index("Decide")
    for step in steps:
        assert ("uses" in step) != ("run" in step)
        assert re.fullmatch(r"actions/[\w/-]+@[0-9a-f]{40}", step.get("uses", f"actions/x@{40 * '0'}"))


def test_expressions_of_the_action_are_resolved() -> None:
    contexts = Contexts({"suite": "s.yaml", "comment": "false"}, {"base_ref": ""})
    assert contexts.inputs["token"] == "token-of-the-job"
    assert contexts.resolve("${{ inputs.suite }}-${{ github.base_ref }}") == "s.yaml-"
    assert contexts.value("always() && github.base_ref == '' && steps.run.outputs.report != ''") is False
    contexts.failed = True
    assert [step["name"] for step in ACTION["runs"]["steps"] if contexts.wanted(step)] == []


@pytest.mark.parametrize(
    ("without_base", "code"), [pytest.param(True, 1, id="no-base"), pytest.param(False, 0, id="each-has-a-base")]
)
def test_suite_without_a_base_is_red_where_its_run_failed(
    action: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_base: bool, code: int
) -> None:
    """The gates that were met are those of other suites."""
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"run": 1, "gates": [0], "without_base": without_base}))
    monkeypatch.setattr(action, "STATE", state)
    monkeypatch.setattr(action, "given", lambda name, default="": "--max-new-failures 0" if name == "GATE" else default)
    assert action.decide() == code
