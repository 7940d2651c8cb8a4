"""A folder of runs and of exports is read whole, whichever file comes first in it, and reports are none of both."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.errors import CarobError

SUITE = {"carob": 1, "cases": [{"id": "q", "prompt": "Where is A-17?", "expected": {"outcome": "completed"}}]}
RUNS, EXPORTED = 2, 6


def agent(prompt: str) -> dict[str, Any]:
    calls = [{"name": name, "arguments": {"id": 1}, "result": {"total": 48.5}} for name in ("look_up", "pay")]
    return {"final_message": "It came to 48.5 EUR.", "tool_calls": calls}


def exported(number: int) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Pay order {number}."}]
    for name in ("look_up", "pay"):
        call = {"id": name, "type": "function", "function": {"name": name, "arguments": json.dumps({"id": number})}}
        messages += [
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": name, "content": "{}"},
        ]
    return json.dumps({"messages": messages})


@pytest.fixture(params=["a-first.jsonl", "z-last.jsonl"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A journal, the reports of its run, and an export that comes before or after them."""
    carob.run(SUITE, agent, repeat=RUNS, results_dir=tmp_path)
    (tmp_path / request.param).write_text("\n".join(map(exported, range(EXPORTED))))
    assert {path.suffix for path in tmp_path.iterdir()} >= {".jsonl", ".json", ".md"}
    return tmp_path


READERS: dict[str, Callable[[Path], int]] = {
    "draft": lambda folder: carob.draft(folder).summary.traces,
    "draft --rules": lambda folder: carob.draft_rules(folder).conversations,
    "coverage": lambda folder: carob.coverage(SUITE, folder).conversations,
    "coverage --against": lambda folder: carob.coverage(SUITE, against=folder).against,
}


@pytest.mark.parametrize("reader", READERS)
def test_every_conversation_of_a_folder_is_read(reader: str, folder: Path) -> None:
    assert READERS[reader](folder) == RUNS + EXPORTED


def test_a_check_passes_by_the_reports_of_runs(folder: Path) -> None:
    rules = {"carob": 1, "rules": [{"id": "once", "each": {"call": "pay"}, "at_most": 1}]}
    assert carob.check_conversations(folder, rules).judged == RUNS + EXPORTED


def test_a_file_of_no_known_format_is_still_refused_by_a_check(folder: Path) -> None:
    (folder / "other.json").write_text('{"generated_at": "2026-01-01", "target": "x"}')
    rules = {"carob": 1, "rules": [{"id": "once", "each": {"call": "pay"}, "at_most": 1}]}
    with pytest.raises(CarobError, match="not a format of exports"):
        carob.check_conversations(folder, rules)
