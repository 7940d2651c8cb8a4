"""Real libraries, live: their spans decide each case as the log of their tools does.

`CAROB_RECORD=1 make counterparts` replaces the recordings that `make test` holds the dialects against.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import carob
from carob.targets.config import TargetConfig
from counterparts.environments import python_with
from counterparts.span_sources import EMITTERS, EXPORTER, PROMPTS, SOURCES, SpanSource
from counterparts.spans_sink import recorded
from evidence.spans.order_cases import SUITE, VERDICTS, judged_by_the_log, logged, told, tool_log


@pytest.fixture(params=SOURCES, ids=lambda source: source.name)
def source(request: pytest.FixtureRequest) -> SpanSource:
    return request.param


@pytest.fixture
def command(source: SpanSource) -> list[str]:
    name = f"spans-{source.environment or source.name}"
    shared = [one for one in SOURCES if name == f"spans-{one.environment or one.name}"]
    wanted = dict.fromkeys(part for one in shared for part in (*one.requirements, *one.clients))
    python = python_with(name, *wanted, *EXPORTER)
    script, *rest = source.command.split()
    return [str(python), str(EMITTERS / script), *rest]


@pytest.mark.limit(900)
def test_spans_of_the_living_library_decide_each_case(source: SpanSource, command: list[str], tmp_path: Path) -> None:
    wrote = tmp_path / "tools.jsonl"
    target = TargetConfig(
        kind="command",
        spec=" ".join(command),
        root=tmp_path,
        env={**source.env, "TOOL_LOG": str(wrote)},
        telemetry={"otlp": {"wait_ms": 20_000}},
        timeout=300,
    )
    suite = tmp_path / "orders.json"
    suite.write_text(json.dumps(SUITE))
    records = {record.case.id: record for record in carob.run(str(suite), target, results_dir=tmp_path)}
    log = tool_log(wrote)
    statuses = {name: str(record.verdict.status) for name, record in records.items()}
    truth = {name: judged_by_the_log(record, log.get(name, [])) for name, record in records.items()}
    assert truth == {**VERDICTS, "crash": "ERROR"}
    assert statuses == {**truth, **dict.fromkeys(source.unknown.cases, "PARTIAL")}
    for name in VERDICTS if source.tool_spans else ():
        assert told(records[name]) == logged(records[name], log.get(name, [])), name


@pytest.mark.limit(900)
@pytest.mark.skipif(not os.environ.get("CAROB_RECORD"), reason="records only if CAROB_RECORD is set")
def test_its_spans_are_recorded(source: SpanSource, command: list[str], tmp_path: Path) -> None:
    wrote, lines = tmp_path / "tools.jsonl", []
    for case, prompts in PROMPTS.items():
        env = {**os.environ, **source.env, "TOOL_LOG": str(wrote)}
        lines += recorded(command, env, EMITTERS, case, prompts)
    source.recording.parent.mkdir(exist_ok=True)
    source.recording.write_text("".join(f"{line}\n" for line in lines))
    source.tool_log.write_text(wrote.read_text())
    assert lines
