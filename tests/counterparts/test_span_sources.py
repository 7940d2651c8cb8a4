"""Real libraries, live: their spans give the same verdicts as in their recordings, which this writes anew if asked to.

`KARAT_RECORD=1 make counterparts` replaces the recordings that `make test` holds the dialects against.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import karat
from counterparts.environments import python_with
from counterparts.span_sources import EMITTERS, EXPORTER, PROMPTS, SOURCES, SpanSource
from counterparts.spans_sink import recorded
from karat.targets.config import TargetConfig
from telemetry.spans.order_cases import SUITE, VERDICTS


@pytest.fixture(params=SOURCES, ids=lambda source: source.name)
def source(request: pytest.FixtureRequest) -> SpanSource:
    return request.param


@pytest.fixture
def command(source: SpanSource) -> list[str]:
    python = python_with(f"spans-{source.name.removesuffix('-latest')}", *source.requirements, *EXPORTER)
    script, *rest = source.command.split()
    return [str(python), str(EMITTERS / script), *rest]


@pytest.mark.limit(900)
def test_spans_of_the_living_library_decide_each_case(source: SpanSource, command: list[str], tmp_path: Path) -> None:
    target = TargetConfig(
        kind="command",
        spec=" ".join(command),
        root=tmp_path,
        env=source.env,
        telemetry={"otlp": {"wait_ms": 20_000}},
        timeout=300,
    )
    suite = tmp_path / "orders.json"
    suite.write_text(json.dumps(SUITE))
    result = karat.run(str(suite), target, results_dir=tmp_path)
    assert {record.case.id: str(record.verdict.status) for record in result} == {**VERDICTS, "crash": "ERROR"}


@pytest.mark.limit(900)
@pytest.mark.skipif(not os.environ.get("KARAT_RECORD"), reason="records only if KARAT_RECORD is set")
def test_its_spans_are_recorded(source: SpanSource, command: list[str]) -> None:
    lines = []
    for case, prompts in PROMPTS.items():
        lines += recorded(command, {**os.environ, **source.env}, EMITTERS, case, prompts)
    source.recording.parent.mkdir(exist_ok=True)
    source.recording.write_text("".join(f"{line}\n" for line in lines))
    assert lines
