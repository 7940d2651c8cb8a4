"""Faults of models: agents that stream from a scripted server, which itself counts what reached it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from karat import api
from karat.engine.events import CaseFinished
from karat.model.stress import CellStatus
from karat.running.stress import StressResult
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


def stress(agent: str, faults: list[str], model: ScriptedModel, folder: Path, timeout: float = 5) -> Served:
    requests: dict[str, int] = {}

    def listen(event: object) -> None:
        if isinstance(event, CaseFinished):
            requests[event.item.case.id] = len(model.requests) - sum(requests.values())

    result = api.stress(
        DESK / "model_suite.yaml",
        f"langgraph:order_desk.model_desk:{agent}",
        faults=faults,
        workers=0,
        timeout=timeout,
        results_dir=folder,
        listeners=[listen],
    )
    assert isinstance(result, StressResult)
    return Served(result, requests)


WEAK = {
    "waits_for_the_end": ("cut stream", "deadline", 1),
    "asks_on_and_on": ("no access", "max_retries", 0),
    "breaks_down": ("bad arguments", "crash", 1),
}
"""The fault that shows each weakness, the rule that it breaks, and how many requests the server had by then."""


@pytest.mark.parametrize("agent", WEAK)
def test_a_planted_weakness_is_found(agent: str, model: ScriptedModel, tmp_path: Path) -> None:
    fault, rule, reached = WEAK[agent]
    found = stress(agent, [fault], model, tmp_path, timeout=4)
    (cell,) = found.result.report.cells
    assert (cell.status, cell.hits) == (CellStatus.BROKE, "model")
    assert [finding.rule for finding in cell.findings] == [rule]
    assert found.requests[cell.id] == reached


def test_the_sound_agent_holds(model: ScriptedModel, tmp_path: Path) -> None:
    faults = ["cut stream", "no access", "bad arguments", "unknown tool", "refusal", "empty answer"]
    found = stress("sound", faults, model, tmp_path)
    assert {fault: found.status(fault) for fault in faults} == dict.fromkeys(faults, CellStatus.HELD)
    assert all(cell.landed for cell in found.result.report.cells)
    assert found.requests["where/model/no access"] == 0
    assert found.requests["where/model/cut stream"] == 1


@pytest.mark.thorough
def test_the_sound_agent_holds_in_every_cell(model: ScriptedModel, tmp_path: Path) -> None:
    report = stress("sound", ["*"], model, tmp_path).result.report
    assert [cell.id for cell in report.cells if cell.status is not CellStatus.HELD] == []
    assert len(report.cells) > 20
