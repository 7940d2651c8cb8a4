"""What real libraries sent, recorded: each dialect gives its calls, and its verdicts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import structs

import carob
from carob.evidence.spans.dialects import dialect_of
from carob.evidence.spans.otlp import SpanBatch
from carob.targets.base import RunContext
from counterparts.span_sources import SOURCES, SpanSource
from evidence.spans.order_cases import SUITE, VERDICTS, Judged, judged_by_the_log, logged, told, tool_log
from targets.conftest import opened

DOCUMENTED = Path(__file__).parents[3] / "docs" / "conformance.md"
VARIANTS = {"wrong-arguments": "where", "forbidden": "where", "no-tool": "hello"}
"""Cases that ask something else of what was recorded for another."""


@pytest.fixture(params=SOURCES, ids=lambda source: source.name)
def source(request: pytest.FixtureRequest) -> SpanSource:
    return request.param


async def replayed(source: SpanSource, folder: Path) -> dict[str, Judged]:
    suite, runs = folder / "orders.json", {}
    suite.write_text(json.dumps(SUITE))
    async with opened("replay", str(source.recording), folder) as target:
        for case in carob.load_suite(suite).cases:
            if case.id in VERDICTS:
                known = structs.replace(case, id=VARIANTS.get(case.id, case.id))
                trace = await target.run(known, RunContext())
                runs[case.id] = Judged(known, trace, carob.judge(known, trace))
    return runs


def conformance(source: SpanSource, judged: dict[str, Judged]) -> str:
    """The row of a library in the table of the documentation."""
    decided = sum(run.verdict.status is not carob.CaseStatus.PARTIAL for run in judged.values())
    cells = [
        source.held_against,
        source.dialect,
        f"{decided} of {len(judged)}",
        "yes" if judged["where"].trace.tokens else "no",
        source.unknown.why,
    ]
    return f"| {' | '.join(cells)} |"


async def test_a_recording_decides_each_case_as_the_log_of_the_tools_does(source: SpanSource, tmp_path: Path) -> None:
    """As the documentation says of the library."""
    judged, log = await replayed(source, tmp_path), tool_log(source.tool_log)
    assert conformance(source, judged) in DOCUMENTED.read_text().splitlines()
    wrote = {name: log.get(VARIANTS.get(name, name), []) for name in judged}
    truth = {name: judged_by_the_log(run, wrote[name]) for name, run in judged.items()}
    assert truth == VERDICTS
    expected = {**truth, **dict.fromkeys(source.unknown.cases, "PARTIAL")}
    assert {name: str(run.verdict.status) for name, run in judged.items()} == expected
    if source.tool_spans:
        assert {name: told(run) for name, run in judged.items()} == {
            name: logged(run, wrote[name]) for name, run in judged.items()
        }
        assert_each_call_is_told(judged)


def assert_each_call_is_told(judged: dict[str, Judged]) -> None:
    (call,) = judged["where"].trace.tool_calls
    assert call.result == {"order": "A-17", "status": "shipped"}
    assert call.started_at is not None
    assert call.ended_at is not None
    assert call.started_at <= call.ended_at
    (failed,) = judged["cancel"].trace.tool_calls
    assert "on its way" in str(failed.error or failed.result)
    (listed,) = judged["list"].trace.tool_calls
    assert (listed.result, listed.unobserved.get("result")) == (["A-17", "B-04"], None)
    spans = {node.id: node for node in judged["where"].trace.spans}
    assert [node for node in spans.values() if node.parent is not None and node.parent not in spans] == []


def test_the_spans_of_a_library_are_of_its_dialect(source: SpanSource) -> None:
    records = [
        record for line in source.recording.read_bytes().splitlines() for record in SpanBatch(line, json=True).records()
    ]
    spoken = {dialect.name for one in records if (dialect := dialect_of(one)) and dialect.kind(one) == source.tells_by}
    assert source.dialect in spoken
