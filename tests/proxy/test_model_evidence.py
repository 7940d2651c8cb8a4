"""Runs whose evidence is the traffic with models: agents that report nothing but their answer."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from carob.errors import ConfigError
from carob.model.verdict import CaseStatus
from carob.targets.capabilities import Limits
from carob.targets.config import TargetConfig
from carob.targets.wrappers.proxied import WithProxy
from carob.targets.wrappers.telemetry import Models
from proxy.test_taped_runs import Project, error, statuses
from scripted_model import serve

HERE = Path(__file__).parent
PASS, FAIL, PARTIAL, ERROR = CaseStatus.PASS, CaseStatus.FAIL, CaseStatus.PARTIAL, CaseStatus.ERROR
RULES: dict[str, Any] = {
    "rules": [
        {"when": {"user": r"balance of (?P<account>\w+)"}, "call": {"get_balance": {"account": "${account}"}}},
        {"when": {"user": "balance", "results": {"get_balance": r"(?P<sum>\d+\.\d\d)"}}, "say": "You have ${sum}."},
        {"when": {"user": "busy"}, "status": 429},
        {"when": {"user": "."}, "say": "Good day."},
    ]
}
MODELS = '[targets.bank]\nuse = "python:proxy.agents:{}"\ntelemetry = {{ models = true }}\n'


def case(name: str, prompt: str, **expected: Any) -> dict[str, Any]:
    return {"id": name, "prompt": prompt, "expected": expected}


CASES = [
    case(
        "called",
        "What is the balance of A1?",
        tool_calls=[{"tool": "get_balance", "arguments": {"account": "A1"}, "result": {"balance": "12.50"}}],
        outcome="tool_success",
        valid_arguments=True,
        ended=True,
        max_tokens={"total": 1000},
        tool_calls_none=["pay"],
    ),
    case("wrong", "What is the balance of A1?", tool_calls=[{"tool": "get_balance", "arguments": {"account": "B2"}}]),
    case("forbidden", "What is the balance of A1?", tool_calls_none=["get_balance"]),
    case("none", "Hello!", tool_calls_none=["get_balance"], max_tool_calls=0),
]
VERDICTS = {"called": PASS, "wrong": FAIL, "forbidden": FAIL, "none": PASS}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    created = Project(tmp_path, monkeypatch)
    created.write({"carob": 1, "cases": CASES}, MODELS.format("ask_and_report_words"))
    return created


def run(project: Project, monkeypatch: pytest.MonkeyPatch, tape: str | None = None, **how: Any) -> dict[str, Any]:
    with serve(RULES) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        result = project.run(tape, target=how.pop("target", "bank"), **how)
        monkeypatch.delenv("OPENAI_BASE_URL")
        return result


@pytest.mark.parametrize("name", ["get_balance", "Desk-get_balance"])
def test_a_tool_of_semantic_kernel_has_either_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, asked = Project(tmp_path, monkeypatch), "What is the balance of A1?"
    cases = [
        case("called", asked, tool_calls=[{"tool": name, "arguments": {"account": "A1"}}], valid_arguments=True),
        case("forbidden", asked, tool_calls_none=[name]),
        case("another", asked, tool_calls_none=["pay"]),
    ]
    project.write({"carob": 1, "cases": cases}, MODELS.format("ask_as_semantic_kernel"))
    asking = {"when": {"user": "."}, "call": {"Desk-get_balance": {"account": "A1"}}}
    with serve({"rules": [asking, {"when": {"results": "any"}, "say": "12.50"}]}) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        records = project.run(None, target="bank")
    assert statuses(records) == {"called": PASS, "forbidden": FAIL, "another": PASS}


def test_calls_are_judged_by_the_traffic_alone(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    records = run(project, monkeypatch)
    assert statuses(records) == VERDICTS
    trace = records["called"].trace
    assert trace.messages[0].role == "system"
    assert [node.kind for node in trace.spans] == ["model", "model"]
    assert project.tape_in_header is None


def test_a_tape_gives_the_same_evidence(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    live = run(project, monkeypatch, "record")
    again = project.run("replay", target="bank")
    assert statuses(live) == statuses(again) == VERDICTS

    def shown(records: dict[str, Any]) -> list[Any]:
        calls = [call for record in records.values() for call in record.trace.tool_calls]
        return [(call.name, call.arguments, call.id, call.result, call.success) for call in calls]

    assert shown(live) == shown(again)
    assert [r.trace.tokens for r in live.values()] == [r.trace.tokens for r in again.values()]


def test_cases_side_by_side_are_kept_apart_by_their_address(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    called = {"tool": "get_balance", "times": 1}
    cases = [
        case(f"c{n}", f"What is the balance of N{n}?", tool_calls=[{**called, "arguments": {"account": f"N{n}"}}])
        for n in range(6)
    ]
    command = f"command:{sys.executable} -S {HERE / 'agents.py'} words"
    config = f'[targets.bank]\nuse = "{command}"\ntelemetry = {{ models = true }}\n'
    project.write({"carob": 1, "cases": cases}, config)
    records = run(project, monkeypatch, concurrency=6, workers=1)
    assert statuses(records) == dict.fromkeys((f"c{n}" for n in range(6)), PASS)
    assert [len(record.trace.tool_calls) for record in records.values()] == [1] * 6


def test_an_agent_in_this_process_runs_one_case_at_a_time(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [
        case(f"c{n}", f"What is the balance of N{n}?", tool_calls=[{"tool": "get_balance", "times": 1}])
        for n in range(4)
    ]
    project.write({"carob": 1, "cases": cases}, MODELS.format("ask_and_report_words"))
    records = run(project, monkeypatch, concurrency=4)
    assert statuses(records) == dict.fromkeys((f"c{n}" for n in range(4)), PASS)
    assert [line for line in project.notices if line.startswith("one case at a time")]


def test_turns_and_setup_prompts_have_their_own_calls(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [
        {"prompt": "What is the balance of A1?", "expected": {"tool_calls": [{"tool": "get_balance", "times": 1}]}},
        {"prompt": "Thanks!", "expected": {"tool_calls_none": ["get_balance"]}},
    ]
    setup = case("setup", "Thanks!", tool_calls_none=["get_balance"]) | {
        "setup_prompts": ["What is the balance of A1?"]
    }
    project.write({"carob": 1, "cases": [{"id": "turns", "turns": turns}, setup]}, MODELS.format("remember"))
    records = run(project, monkeypatch)
    assert statuses(records) == {"turns": PASS, "setup": PASS}
    assert [len(turn.tool_calls) for turn in records["turns"].trace.turns] == [1, 0]
    assert [call.name for call in records["setup"].trace.setup_calls] == ["get_balance"]


def test_an_agent_that_asks_elsewhere_is_not_observed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write({"carob": 1, "cases": CASES}, MODELS.format("ask_nobody"))
    records = run(project, monkeypatch)
    assert statuses(records)["none"] is PARTIAL
    assert [line for line in project.notices if "no request to a model has reached http://127.0.0.1" in line]


def test_a_model_that_fails_is_an_error_and_not_a_verdict(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write({"carob": 1, "cases": [case("busy", "busy", tool_calls_none=["x"])]}, MODELS.format("give_up"))
    record = run(project, monkeypatch)["busy"]
    assert record.verdict.status is ERROR
    assert error(record).startswith("backend: the last request to the model failed: openai /v1/chat/completions")


def test_who_cannot_be_pointed_at_the_proxy_is_refused_before_anything_runs(project: Project) -> None:
    config = '[targets.bank]\nuse = "http://127.0.0.1:9/chat"\nbody = {prompt = "{prompt}"}\ntelemetry.models = true\n'
    project.write({"carob": 1, "cases": CASES}, config)
    with pytest.raises(ConfigError, match=r"is already running: Carob cannot point it at the proxy.*or set `port`"):
        project.run(None, target="bank", workers=1)


@pytest.mark.parametrize("where", ["env", "options.start_env"])
def test_an_app_that_carob_starts_is_given_the_address(where: str, tmp_path: Path) -> None:
    """The model is where the configuration says, and the app hears of the proxy, whatever table says it."""
    given_to_it: dict[str, Any] = {}

    def make(config: TargetConfig) -> Any:
        given_to_it.update(config.env)
        given_to_it.update(config.options.get("start_env", {}))  # type: ignore[arg-type]  # a table
        return SimpleNamespace(
            limits=Limits(), options={}, open=lambda: asyncio.sleep(0), close=lambda: asyncio.sleep(0)
        )

    start_env = {"OPENAI_BASE_URL": "http://127.0.0.1:7/v1"}
    options: dict[str, object] = {"start": "./app", "start_env": start_env} if where != "env" else {"start": "./app"}
    config = TargetConfig(
        kind="browser", spec="http://127.0.0.1:9", options=options, env=start_env if where == "env" else {}
    )
    target = WithProxy(make, config, None, Models())

    async def opened() -> None:
        await target.open()
        await target.close()

    asyncio.run(opened())
    assert given_to_it["OPENAI_BASE_URL"].endswith("/openai/v1")
    assert ":7/" not in given_to_it["OPENAI_BASE_URL"]


def test_an_unknown_key_is_refused(project: Project) -> None:
    config = '[targets.bank]\nuse = "python:proxy.agents:ask"\ntelemetry = { models = { complet = true } }\n'
    project.write({"carob": 1, "cases": CASES}, config)
    with pytest.raises(ConfigError, match="complet"):
        project.run(None, target="bank")
