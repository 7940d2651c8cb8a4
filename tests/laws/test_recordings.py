"""Law 20: each form of a recording that one command takes, every command takes, and reads alike."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.evidence.exports.catalog import result_formats
from evidence.exports.sources import SOURCES
from features.check.conversations import write_policy
from laws.coverage import Coverage, require
from laws.files import RESULTS

AGENTDOJO = {
    "suite_name": "banking",
    "user_task_id": "user_task_0",
    "messages": [
        {"role": "user", "content": "Pay 7."},
        {"role": "assistant", "content": "", "tool_calls": [{"function": "pay", "args": {"order": 7}, "id": "1"}]},
        {"role": "tool", "content": "ok: true", "tool_call_id": "1"},
        {"role": "assistant", "content": "Paid."},
    ],
}
OPENAI_CALL = {"id": "1", "type": "function", "function": {"name": "pay", "arguments": '{"order": 7}'}}
FORMS: dict[str, Any] = {
    **RESULTS,
    "agentdojo": AGENTDOJO,
    "messages": {"id": "a", "messages": AGENTDOJO["messages"]},
    "the short form with calls of an API": {"case_id": "A", "final_message": "x", "tool_calls": [OPENAI_CALL]},
    "what an agent returns": {"input": "p", "final_message": "x", "tool_calls": []},
    "a line of a journal": {"kind": "case", "case": {"id": "A"}, "trace": {"case_id": "A", "final_message": "x"}},
}
EXCEPTIONS = {"replay of what an agent returns": "it names no case"}
GRADER = "def accepts(trace):\n    return True\n"
Door = Callable[[Path, Path], int]


def _replay(path: Path, folder: Path) -> int:
    """How many conversations a case of the same id gets: each is one repeat of its case, or a case of its own."""
    name = next(one.result.case_id if one.result else one.id for one in carob.read_conversations(path))
    prompts = next(one.trace.turns or (one.trace,) for one in carob.read_conversations(path))
    turns = [{"prompt": turn.input or "p"} for turn in prompts]
    said = turns[0] if len(turns) == 1 else {"turns": turns}
    suite = {"carob": 1, "cases": [{"id": name, **said, "expected": {"must_not_say": ["nobody says this"]}}]}
    (record,) = carob.run(suite, f"replay:{path}", results_dir=folder / "runs", workers=0)
    return int(record.status != "ERROR")


DOORS: dict[str, Door] = {
    "check": lambda path, folder: carob.check_conversations(path, write_policy(folder)).judged,
    "draft": lambda path, _: _count(lambda: carob.draft(path).summary.traces),
    "draft --rules": lambda path, _: _count(lambda: carob.draft_rules(path).conversations),
    "coverage": lambda path, _: carob.coverage({"carob": 1, "cases": [CASE]}, path).conversations,
    "audit": lambda path, folder: _audit(path, folder),
    "replay": _replay,
}
CASE = {"id": "a", "prompt": "p", "expected": {"must_not_say": ["nobody says this"]}}


def _count(draft: Callable[[], int]) -> int:
    """How many conversations were read: those that cannot be drafted from are counted too."""
    try:
        return draft()
    except carob.UsageError as error:
        return int(re.findall(r"found (\d+)|none of the (\d+) trace", str(error))[0][0] or 1)


def _audit(path: Path, folder: Path) -> int:
    (folder / "grader.py").write_text(GRADER)
    report = carob.audit_grader("python:grader.py:accepts", [str(path)])
    return report.audited + report.unaudited


def find_differences(folder: Path, doors: dict[str, Door]) -> Coverage:
    says = "every command takes each form of a recording"
    coverage = Coverage(20, says, formats=FORMS, doors=tuple(doors), exceptions=EXCEPTIONS)
    for name, value in FORMS.items():
        path = folder / "recorded.json"
        path.write_text(json.dumps(value))
        for door, read in doors.items():
            if f"{door} of {name}" in EXCEPTIONS:
                continue
            try:
                found: object = read(path, folder)
            except carob.CarobError as error:
                found = str(error)
            coverage.try_one(found == 1, f"{door} of {name}: {found}")
    return coverage


def test_every_command_takes_each_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    monkeypatch.chdir(tmp_path)
    require(find_differences(tmp_path, DOORS), record_property)


def test_no_form_is_forgotten() -> None:
    assert {declared.name for declared in result_formats()} <= FORMS.keys()


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_every_command_takes_each_export(source: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = source.write(tmp_path)
    assert {door: read(path, tmp_path) for door, read in DOORS.items() if door != "replay"} == dict.fromkeys(
        [door for door in DOORS if door != "replay"], len(list(carob.read_conversations(path)))
    )
