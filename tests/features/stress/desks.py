"""Stress runs of the example agents in this process, with what the tools themselves logged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from carob.engine.events import CaseFinished
from carob.features.stress import library
from carob.features.stress.model import CellResult, CellStatus, StressReport
from carob.features.stress.session import StressResult
from order_desk.tools import LOG
from recordings import ROOT

SUITE = ROOT / "examples" / "order_desk" / "suite.yaml"


class Stressed(NamedTuple):
    """A stress run, and for each case of it the calls that really ran, by the tools' own log."""

    result: StressResult
    ran: dict[str, list[dict[str, Any]]]

    @property
    def report(self) -> StressReport:
        return self.result.report

    def cell(self, id_: str) -> CellResult:
        return next(cell for cell in self.report.cells if cell.id == id_)

    def bad(self) -> list[str]:
        return [f"{cell.id}: {cell.findings}" for cell in self.report.cells if cell.status is not CellStatus.HELD]


def stress(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, suite: Path = SUITE, **how: Any) -> Stressed:
    log = folder / "desk.log"
    log.touch()
    monkeypatch.setenv(LOG, str(log))
    ran: dict[str, list[dict[str, Any]]] = {}
    line_count = 0

    def listen(event: object) -> None:
        nonlocal line_count
        if isinstance(event, CaseFinished):
            lines = log.read_text().splitlines()
            ran[event.item.case.id] = [json.loads(line) for line in lines[line_count:]]
            line_count = len(lines)

    target = f"langgraph:order_desk.weak:{name}"
    options = {"workers": 0, "results_dir": folder / "results", "listeners": [listen], **how}
    result = library.stress(suite, target, **options)
    assert isinstance(result, StressResult)
    return Stressed(result, ran)
