"""What real libraries sent, recorded: each dialect gives its calls, and its verdicts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import karat
from counterparts.span_sources import SOURCES, SpanSource
from karat.model.run import CaseRecord
from karat.telemetry.spans import otlp_json
from karat.telemetry.spans.facts import dialect_of
from telemetry.spans.order_cases import SUITE, VERDICTS, judged_by_the_log, logged, told, tool_log

DOCUMENTED = Path(__file__).parents[3] / "docs" / "conformance.md"
VARIANTS = {"wrong-arguments": "where", "forbidden": "where", "no-tool": "hello"}
"""Cases that ask something else of what was recorded for another."""


@pytest.fixture(params=SOURCES, ids=lambda source: source.name)
def source(request: pytest.FixtureRequest) -> SpanSource:
    return request.param


def replayed(source: SpanSource, folder: Path, *names: str) -> dict[str, CaseRecord]:
    cases = {case["id"]: case for case in SUITE["cases"]}
    found = {}
    for name in names:
        suite = folder / f"{name}.json"
        suite.write_text(json.dumps({**SUITE, "cases": [{**cases[name], "id": VARIANTS.get(name, name)}]}))
        (found[name],) = karat.run(str(suite), f"replay:{source.recording}", results_dir=folder)
    return found


def conformance(source: SpanSource, records: dict[str, CaseRecord]) -> str:
    """The row of a library in the table of the documentation."""
    shown = ("where", "wrong-arguments", "forbidden", "cancel", "hello", "no-tool", "two-turns")
    tokens = records["where"].trace.tokens
    cells = [
        source.held_against,
        source.dialect,
        *(str(records[name].verdict.status) for name in shown),
        "yes" if tokens else "no",
        source.unknown.why,
    ]
    return f"| {' | '.join(cells)} |"


def test_a_recording_decides_each_case_as_the_log_of_the_tools_does(source: SpanSource, tmp_path: Path) -> None:
    """As the documentation says of the library."""
    records, log = replayed(source, tmp_path, *VERDICTS), tool_log(source.tool_log)
    assert conformance(source, records) in DOCUMENTED.read_text().splitlines()
    wrote = {name: log.get(VARIANTS.get(name, name), []) for name in records}
    truth = {name: judged_by_the_log(record, wrote[name]) for name, record in records.items()}
    assert truth == VERDICTS
    expected = {**truth, **dict.fromkeys(source.unknown.cases, "PARTIAL")}
    assert {name: str(record.verdict.status) for name, record in records.items()} == expected
    for name in records.keys() - set(source.unknown.cases):
        assert told(records[name]) == logged(records[name], wrote[name]), name


@pytest.mark.parametrize(
    "source", [one for one in SOURCES if "cancel" not in one.unknown.cases], ids=lambda one: one.name
)
def test_a_recording_tells_each_call(source: SpanSource, tmp_path: Path) -> None:
    records = replayed(source, tmp_path, "where", "cancel", "list")
    (found,) = records["where"].trace.tool_calls
    assert (found.name, found.arguments, found.result) == (
        "lookup_order",
        {"order": "A-17"},
        {"order": "A-17", "status": "shipped"},
    )
    assert found.success is True
    assert found.started_at is not None
    assert found.ended_at is not None
    assert found.started_at <= found.ended_at
    (failed,) = records["cancel"].trace.tool_calls
    assert (failed.arguments, failed.success) == ({"order": "B-04", "reason": "late"}, False)
    assert "on its way" in str(failed.error or failed.result)
    (listed,) = records["list"].trace.tool_calls
    assert (listed.result, listed.unobserved.get("result")) == (["A-17", "B-04"], None)
    spans = {node.id: node for node in records["where"].trace.spans}
    assert [node for node in spans.values() if node.parent is not None and node.parent not in spans] == []
    assert sum(node.kind == "tool" for node in spans.values()) == 1


def test_the_spans_of_a_library_are_of_its_dialect(source: SpanSource) -> None:
    records = [record for line in source.recording.read_bytes().splitlines() for record in otlp_json.records(line)]
    spoken = {dialect.name for record in records if (dialect := dialect_of(record)) and dialect.kind(record) == "tool"}
    assert spoken == {source.dialect}
