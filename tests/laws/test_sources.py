"""Laws 2 and 3 for spans: what a lost span leaves behind is no absence, and foreign spans change nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import pytest

from carob.evidence.spans.otlp import SpanBatch, SpanRecord
from carob.evidence.spans.reading import is_of_a_turn, read_turn, span_trees
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.model.verdict import CaseStatus
from carob.targets.recordings.otlp import RecordedTrace, _trace
from counterparts.span_sources import SOURCES, SpanSource
from laws.coverage import Coverage, require
from laws.samples import Expected, build_case, judge

WHERE = "Where is A-17?"
TOOL = "lookup_order"
FORBIDDEN: Mapping[str, Expected] = {
    "by name": {"tool_calls_none": [TOOL]},
    "by pattern": {"tool_calls_none": ["lookup_*"]},
    "all": {"tool_calls_none": ["*"]},
    "by count": {"max_tool_calls": 0},
    "by the count of one": {"max_calls": {"look*": 0}},
    "by list": {"tools_used": []},
    "by effect": {"only_effects": [], "effects": {TOOL: ["looked up"]}},
    "never": {"tool_calls": [{"tool": "*_order", "never": True}]},
}
"""What the recorded turn breaks: it calls one tool, once."""


@cache
def _turn_of(name: str) -> tuple[SpanRecord, ...]:
    return _find_turn(next(source for source in SOURCES if source.name == name))


def _turn(source: SpanSource) -> tuple[SpanRecord, ...]:
    return _turn_of(source.name)


def _find_turn(source: SpanSource) -> tuple[SpanRecord, ...]:
    """The spans of the turn in which a tool is called."""
    traces: dict[str, tuple[RecordedTrace, list[SpanRecord]]] = {}
    for number, line in enumerate(source.recording.read_bytes().splitlines()):
        for record in SpanBatch(line, json=True).records():
            known, records = traces.setdefault(record.trace_id, (RecordedTrace(), []))
            known.add(record, number)
            records.append(record)
    named = [records for known, records in traces.values() if known.case_id == "where"]
    asked = named or [records for known, records in traces.values() if WHERE in known.prompts]
    turns = [[record for tree in span_trees(one) if is_of_a_turn(tree) for record in tree] for one in asked]
    return tuple(next(filter(None, turns)))


def _read(records: Sequence[SpanRecord]) -> Trace:
    ordered = [record for tree in span_trees(list(records)) for record in tree]
    return _trace(Case(id="A", prompt=WHERE, checks=()), WHERE, read_turn(ordered), ordered)


def _statuses(trace: Trace) -> dict[str, CaseStatus]:
    return {name: judge(build_case({"outcome": "completed", **one}), trace).status for name, one in FORBIDDEN.items()}


def find_calls_lost_with_spans() -> Coverage:
    """Turns in which a call was made, one span of which was lost, and that look as if none had been made."""
    dialects = [source.name for source in SOURCES]
    coverage = Coverage(2, "a lost span is no absent call", checks=FORBIDDEN, dialects=dialects)
    for source in SOURCES:
        records = _turn(source)
        for lost in records:
            left = [record for record in records if record is not lost]
            if not left:
                continue
            for name, status in _statuses(_read(left)).items():
                coverage.try_one(status is not CaseStatus.PASS, f"{source.name} without {lost.name!r}: {name} passes")
    return coverage


def test_a_lost_span_is_no_absent_call(record_property: Callable[[str, object], None]) -> None:
    require(find_calls_lost_with_spans(), record_property)


def test_a_reader_that_takes_gaps_for_absence_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: whatever is missing, the spans are taken to be complete."""
    monkeypatch.setattr("carob.evidence.spans.reading._gap", lambda *_: "")
    monkeypatch.setattr("carob.evidence.spans.reading._why_incomplete", lambda *_: "")
    monkeypatch.setattr("carob.evidence.spans.reading._why_call_missing", lambda *_: "")
    assert find_calls_lost_with_spans().violations


def _disorders(records: Sequence[SpanRecord]) -> Iterator[tuple[str, list[SpanRecord]]]:
    yield "backwards", [*reversed(records)]
    yield "rotated", [*records[len(records) // 2 :], *records[: len(records) // 2]]
    yield "by name", sorted(records, key=lambda record: record.name)


def _content(trace: Trace) -> Any:
    calls = [(call.name, json.dumps(call.arguments, default=str), call.success) for call in trace.tool_calls]
    return calls, trace.final_message, trace.possible_calls, trace.unobserved


def find_changes_by_disorder() -> Coverage:
    dialects = [source.name for source in SOURCES]
    coverage = Coverage(3, "spans out of order are the same turn", dialects=dialects)
    for source in SOURCES:
        records = _turn(source)
        expected = _content(_read(records))
        for name, disordered in _disorders(records):
            coverage.try_one(_content(_read(disordered)) == expected, f"{source.name} {name}")
    return coverage


def test_spans_out_of_order_are_the_same_turn(record_property: Callable[[str, object], None]) -> None:
    require(find_changes_by_disorder(), record_property)


def test_a_reader_that_minds_the_order_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the first span to arrive is taken for the first that began."""
    monkeypatch.setattr("carob.evidence.spans.reading.sorted", lambda items, key=None: [*items], raising=False)
    monkeypatch.setattr(f"{__name__}.span_trees", lambda records: [records])
    assert find_changes_by_disorder().violations


def _files(source: SpanSource, foreign: SpanSource) -> Iterator[tuple[str, bytes]]:
    own, other = source.recording.read_bytes(), _of_other_prompts(foreign)
    lines = own.splitlines(keepends=True)
    yield "each line twice", b"".join(line for line in lines for _ in range(2))
    yield "the file twice", own + own
    yield "backwards", b"".join(reversed(lines))
    yield "foreign spans before", other + own
    yield "foreign spans after", own + other


def _of_other_prompts(source: SpanSource) -> bytes:
    """The file of another agent, which was asked something else."""
    data = source.recording.read_bytes().replace(b"A-17", b"Z-99").replace(b"Hello there", b"Goodbye now")
    return data.replace(b"carob.case", b"other.case").replace(b'"where"', b'"there"').replace(b'"hello"', b'"adieu"')


async def test_foreign_spans_change_nothing(record_property: Callable[[str, object], None], tmp_path: Any) -> None:
    """Recordings with spans of others, doubled and out of order: each case has the trace that it had."""
    from carob.suites import loads
    from carob.targets.base import RunContext
    from evidence.spans.order_cases import SUITE
    from laws.samples import CATALOG
    from targets.conftest import opened

    cases = {case.id: case for case in loads(json.dumps(SUITE).encode(), "s.json", CATALOG).cases}
    chosen = [cases["where"], cases["hello"]]
    doors = ("doubled", "out of order", "foreign before", "foreign after")
    coverage = Coverage(3, "foreign spans change nothing", dialects=[s.name for s in SOURCES], doors=doors)

    async def traces(data: bytes) -> list[Any]:
        path = tmp_path / "spans.jsonl"
        path.write_bytes(data)
        async with opened("replay", str(path), tmp_path) as target:
            return [_content(await target.run(case, RunContext())) for case in chosen]

    for number, source in enumerate(SOURCES):
        expected = await traces(source.recording.read_bytes())
        foreign = SOURCES[(number + 1) % len(SOURCES)]
        for name, data in _files(source, foreign):
            found = await traces(data)
            coverage.try_one(found == expected, f"{source.name}: {name}")
    require(coverage, record_property)
