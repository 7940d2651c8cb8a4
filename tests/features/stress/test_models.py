"""Faults of models: agents that stream from a scripted server, which itself counts what reached it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from carob.engine.events import CaseFinished
from carob.features.stress import library
from carob.features.stress.model import CellStatus
from carob.features.stress.session import StressResult
from recordings import ROOT
from scripted_model import serve
from scripted_model.server import ScriptedModel

DESK = ROOT / "examples" / "order_desk"


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModel]:
    with serve(DESK / "script.yaml") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setattr("order_desk.model_desk.PATIENCE", 0.5)
        yield server


class Served(NamedTuple):
    result: StressResult
    requests: dict[str, int]
    """How many requests of each case reached the server."""

    def status(self, fault: str) -> CellStatus:
        return next(cell.status for cell in self.result.report.cells if cell.fault == fault)


def stress(
    agent: str, faults: list[str], model: ScriptedModel, folder: Path, case: str = "where", timeout: float = 5
) -> Served:
    requests: dict[str, int] = {}

    def listen(event: object) -> None:
        if isinstance(event, CaseFinished):
            requests[event.item.case.id] = len(model.requests) - sum(requests.values())

    result = library.stress(
        DESK / "model_suite.yaml",
        f"langgraph:order_desk.model_desk:{agent}",
        faults=faults,
        cases=[case],
        workers=0,
        timeout=timeout,
        results_dir=folder,
        listeners=[listen],
    )
    assert isinstance(result, StressResult)
    return Served(result, requests)


WEAK = {
    "waits_for_the_end": ("where", "cut stream", ["deadline"], 1, 4),
    "asks_on_and_on": ("where", "no access", ["max_retries"], 0, 60),
    "breaks_down": ("where", "bad arguments", ["crash"], 1, 60),
    "starts_over": ("refund", "late cut stream", ["no_effect_twice", "tool_calls"], 4, 60),
}
"""The case and the fault that show each weakness, the rules it breaks, the requests of the server and the timeout."""


@pytest.mark.parametrize("agent", WEAK)
def test_a_planted_weakness_is_found(agent: str, model: ScriptedModel, tmp_path: Path) -> None:
    case, fault, rules, reached, timeout = WEAK[agent]
    result = stress(agent, [fault], model, tmp_path, case, timeout=timeout)
    (cell,) = result.result.report.cells
    assert (cell.status, cell.hits) == (CellStatus.BROKE, "model")
    assert sorted(finding.rule for finding in cell.findings) == rules
    assert result.requests[cell.id] == reached


def test_the_sound_agent_holds(model: ScriptedModel, tmp_path: Path) -> None:
    faults = ["cut stream", "no access", "bad arguments", "unknown tool", "refusal", "empty answer"]
    result = stress("sound", faults, model, tmp_path)
    assert {fault: result.status(fault) for fault in faults} == dict.fromkeys(faults, CellStatus.HELD)
    assert all(cell.landed for cell in result.result.report.cells)
    assert result.requests["where/model/no access"] == 0
    assert result.requests["where/model/cut stream"] == 1


def test_the_sound_agent_holds_where_the_model_fails_after_it_has_paid(
    model: ScriptedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESK_LOG", str(tmp_path / "log"))
    faults = ["late cut stream", "late overload"]
    result = stress("sound", faults, model, tmp_path, "refund")
    assert {fault: result.status(fault) for fault in faults} == dict.fromkeys(faults, CellStatus.HELD)
    assert [json.loads(line)["tool"] for line in (tmp_path / "log").read_text().splitlines()] == ["issue_refund"] * 3


@pytest.mark.thorough
def test_the_sound_agent_holds_in_every_cell(model: ScriptedModel, tmp_path: Path) -> None:
    report = stress("sound", ["*"], model, tmp_path, "*").result.report
    assert [cell.id for cell in report.cells if cell.status is not CellStatus.HELD] == []
    assert len(report.cells) > 40
