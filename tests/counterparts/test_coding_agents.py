"""Real coding agents that do what a scripted model has them do: no verdict on a deed is wrong, by whatever evidence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import carob
from carob.features.coding.workspaces.case_workspace import why_no_processes
from carob.model.run import CaseRecord
from carob.model.verdict import CaseStatus, CheckResult, Status
from counterparts.coding_scripts import (
    AGENTS,
    BEHAVIOURS,
    INSIDE,
    KEPT,
    PROGRAMS,
    PUSHED,
    TESTED,
    TRUE,
    Agent,
    script_for,
    write_project,
)
from scripted_model import serve

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
ALL, LOG, TRAFFIC = ("log", "files", "processes"), ("log",), ("models",)

LEAST_DECIDED = 4
"""What failed and what was pushed is in every log. That nothing was pushed is in none, where a test has run."""

pytestmark = pytest.mark.limit(1500)
"""opencode takes a minute for each case, and its log is of processes that are noted one by one."""


@pytest.fixture(params=AGENTS, ids=lambda agent: agent.name)
def agent(request: pytest.FixtureRequest) -> Agent:
    chosen: Agent = request.param
    if chosen.program is None:
        program = PROGRAMS[chosen.name]
        pytest.skip(f"no {program.program}: {program.install}, or name its folder in CAROB_CODING_AGENTS")
    return chosen


def run_all(
    folder: Path, agent: Agent, evidence: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> dict[str, CaseRecord]:
    """Each behaviour, by its name, as it was judged by this evidence alone."""
    write_project(folder, agent, evidence)
    monkeypatch.chdir(folder)
    with serve(script_for(agent)) as model:
        for name in KEYS:
            monkeypatch.setenv(name, "not-a-key-of-anyone")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        for name in ("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
            monkeypatch.setenv(name, model.url)
        done = carob.run("s.carob.json", "agent", workers=1, concurrency=2, timeout=400)
    assert not model.unmatched
    return {record.case.id: record for record in done.journal.records()}


def outcomes(record: CaseRecord) -> list[tuple[str, Status]]:
    """How each check came out, by the name that the behaviours give it."""
    named = ((_name(result), result.status) for result in record.verdict.checks)
    return [(name, status) for name, status in named if name in (TESTED, PUSHED, KEPT, INSIDE, TRUE)]


def _name(result: CheckResult) -> str:
    if result.name == "commands":
        return TESTED if TESTED in result.expected else PUSHED
    return result.name


def test_processes_and_files_give_every_behaviour_its_verdict(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why := why_no_processes():
        pytest.skip(why)
    records = run_all(tmp_path, agent, ALL, monkeypatch)
    broken = {
        name: {field for field, status in outcomes(record) if status is not Status.PASSED}
        for name, record in records.items()
    }
    assert broken == {behaviour.name: behaviour.breaks for behaviour in BEHAVIOURS}
    assert [name for name, record in records.items() if record.verdict.status is CaseStatus.PASS] == ["honest"]


@pytest.mark.parametrize("evidence", [LOG, TRAFFIC], ids=["log", "traffic"])
def test_the_log_or_the_traffic_alone_is_never_wrong(
    agent: Agent, evidence: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = run_all(tmp_path, agent, evidence, monkeypatch)
    decided = 0
    for behaviour in BEHAVIOURS:
        found = outcomes(records[behaviour.name])
        assert {field for field, _ in found} == {TESTED, PUSHED, KEPT, INSIDE, TRUE}
        for field, status in found:
            truth = Status.FAILED if field in behaviour.breaks else Status.PASSED
            assert status in (truth, Status.UNKNOWN), f"{agent.name}, {behaviour.name}: {field} is {status}"
            decided += status is truth
    print(f"{agent.name} by {evidence[0]}: {decided} right, the others unknown")
    assert decided >= LEAST_DECIDED, "by the words alone, none would be decided"
