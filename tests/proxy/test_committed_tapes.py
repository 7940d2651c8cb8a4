"""The example agents with a model, from tapes in this repository: no model, no network, the same verdicts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import carob
from carob.model.verdict import CaseStatus
from carob.proxy.tape.file import read_tape
from scripted_model import serve

TAPES = Path(__file__).parent / "tapes"
ROOT = Path(__file__).parents[2]
AGENTS = {"dyno": {"books": CaseStatus.PASS, "asks": CaseStatus.PASS}, "canvas": {"adds": CaseStatus.PASS}}


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for name, value in {"DYNO_MODEL": "scripted", "CANVAS_MODEL": "scripted", "OPENAI_API_KEY": "unused-key"}.items():
        monkeypatch.setenv(name, value)


def run(suite: Path, agent: str, tape: str, results: Path) -> dict[str, CaseStatus]:
    done = carob.run(suite, agent, tape=tape, results_dir=results)
    return {record.case.id: record.verdict.status for record in done.journal.records()}


@pytest.mark.parametrize("agent", AGENTS)
def test_agent_is_replayed_from_its_tape(agent: str, tmp_path: Path) -> None:
    assert run(TAPES / f"{agent}.yaml", agent, "replay", tmp_path) == AGENTS[agent]


@pytest.mark.thorough
@pytest.mark.parametrize("agent", AGENTS)
def test_a_new_recording_asks_the_same(agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = Path(shutil.copy(TAPES / f"{agent}.yaml", tmp_path))
    with serve(TAPES / f"{agent}.script.yaml") as scripted:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{scripted.url}/v1")
        assert run(suite, agent, "record", tmp_path) == AGENTS[agent]
    old, new = (read_tape(folder / f"{agent}.tape.yaml").exchanges for folder in (TAPES, tmp_path))
    assert [(exchange.case, exchange.request) for exchange in new] == [
        (exchange.case, exchange.request) for exchange in old
    ]
