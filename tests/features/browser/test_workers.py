"""Worker processes, each with a browser and an app of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import carob
from carob.targets.config import TargetConfig

APP = Path(__file__).parent / "stub_process.py"


async def test_workers_have_an_app_each_and_run_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a field that tells conversations apart, too: each app writes a log of its own."""
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    monkeypatch.setenv("STUB_MEETING", str(meeting))
    suite = tmp_path / "suite.json"
    cases = [{"id": name, "prompt": f"meet {name}", "expected": {"must_say_any": ["True"]}} for name in "ab"]
    suite.write_text(json.dumps({"version": "0.3", "cases": cases}))
    options = {
        "start": f"{{python}} {APP} {{port}}",
        "start_env": {"STUB_LOG": "{log}", "STUB_DATA": "{data}"},
        "space_url": "/chat?how=busy",
        "chat_box": {"selector": "#in"},
        "send": {"selector": "#go"},
        "complete": {"busy": "#out"},
        "answer": {"selector": ".bot"},
        "screenshots": False,
        "telemetry": {"end_source": "turn", "end_event": "end"},
    }
    config = TargetConfig(kind="browser", spec="app", root=tmp_path, options=options)
    result = await carob.arun(suite, config, workers=2, concurrency=2, results_dir=tmp_path / "out", timeout=120)
    traces = [record.trace for record in result.journal.records()]
    said = [trace.final_message.split() for trace in traces]
    assert [(met, exists) for met, _, _, exists in said] == [("2", "True")] * 2, "both were asked at the same time"
    assert len({port for _, port, _, _ in said}) == len({data for _, _, data, _ in said}) == 2
    assert [[str(call) for call in trace.tool_calls] for trace in traces] == [["look (success)"]] * 2
