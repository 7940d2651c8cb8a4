"""Workers that cannot be opened beside others, and one that takes too long."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import carob
from carob.engine.events import Event, Notice
from carob.engine.processes import executor
from carob.engine.runner import NotStartedError
from carob.targets.config import TargetConfig

from .support import kind, suite_of

FIRST_ONLY = """
import os, time
os.mkdir("lock")
def answer(prompt):
    while prompt == "patient" and not os.path.exists("noticed"):
        time.sleep(0.01)
    return "fine"
"""
UNTIL_A_CRASH = """
import os, time
if os.path.exists("crashed"):
    raise RuntimeError("closed")
def answer(prompt):
    while prompt != "elsewhere" and not os.path.exists("elsewhere"):
        time.sleep(0.01)
    if prompt == "die":
        open("crashed", "w").close()
        os._exit(3)
    if prompt == "held":
        time.sleep(60)
    open("elsewhere", "w").close()
    return "fine"
"""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "OPEN_ATTEMPTS", 1)
    monkeypatch.setattr(executor, "BACKOFF", 0.01)


async def ran(folder: Path, prompts: list[str], module: str = FIRST_ONLY, **options: Any) -> tuple[Any, list[str]]:
    """The result of a run, and what was noticed in it."""
    (folder / "agent.py").write_text(module)
    noticed: list[str] = []

    def listener(event: Event) -> None:
        if isinstance(event, Notice):
            noticed.append(event.message)
            (folder / "noticed").touch()

    target = TargetConfig(kind="python", spec="agent:answer", root=folder)
    given = {"workers": 1, "timeout": 30.0, "results_dir": folder / "out", "listeners": [listener], **options}
    return await carob.arun(suite_of(folder, prompts), target, **given), noticed


@pytest.mark.parametrize("options", [{"workers": 3}, {"workers": 3, "max_failures": 9}], ids=["ahead", "exact"])
async def test_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    monkeypatch.chdir(tmp_path)
    result, noticed = await ran(tmp_path, ["answer"] * 4 + ["patient"] + ["answer"] * 4, **options)
    assert (result.summary.passed, result.summary.incomplete) == (9, "")
    (message,) = noticed
    assert message.startswith(
        "not all workers could be started; continuing with fewer: 'agent:answer' cannot be imported"
    )


async def test_none_can_be_opened_beside_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is to blame for a crash cannot be found out then."""
    monkeypatch.chdir(tmp_path)
    prompts = ["die", "held", *["elsewhere"] * 4]
    result, _ = await ran(tmp_path, prompts, UNTIL_A_CRASH, workers=2, concurrency=2, max_failures=9)
    assert [kind(record) for record in result.records] == ["harness"] * 2 + ["PASS"] * 4
    assert "could not be run again, alone, after a crash" in result.records[0].verdict.reason
    assert result.summary.incomplete == ""


async def test_opening_takes_part_of_the_time_of_the_run(tmp_path: Path) -> None:
    with pytest.raises(NotStartedError, match=r"the target did not open within the 0\.8 s of the run") as raised:
        await ran(tmp_path, ["answer"], "import time\ntime.sleep(3600)\n", run_timeout=0.8)
    assert raised.value.exit_code == 2
    assert not (tmp_path / "out").exists()
