"""Law 10: a fault that did not land was not survived, and what was not tried is listed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest

from carob.features.stress.judging import judge_cell
from carob.features.stress.kinds import INJECT, KINDS, read_injections
from carob.features.stress.model import CellStatus
from carob.features.stress.planning import Planner, StressPlan
from carob.model.faults import AlteredCall, Fault, Hit
from carob.model.run import CaseRecord
from carob.model.suite import Case
from carob.model.trace import SpanNode, Tokens, ToolCall, Trace
from carob.model.verdict import CaseStatus, Verdict
from carob.scoring.verdicts import judge_case
from carob.suites.formats.base import CaseExpectations
from laws.coverage import Coverage, require
from laws.samples import CATALOG

INJECTIONS = read_injections()
ALL = {(kind.hits, kind.name) for kind in KINDS} | {("tool", f"{INJECT}: {one.name}") for one in INJECTIONS}
CALL = ToolCall("find", {"order": 7}, result={"status": "shipped on Monday", "updated": "2026-01-01"}, success=True)
USUAL = Trace(case_id="a", final_message="It was shipped on Monday.", tool_calls=(CALL,))
TOKENS = Tokens(input=5, output=5)
OWN = Fault(hits="tool", kind="slow", name="find", value=1)


def _record(case: Case, trace: Trace) -> CaseRecord:
    verdict = judge_case(case, trace, CATALOG)
    return CaseRecord(index=0, case=case, trace=trace, verdict=verdict)


def _plan(trace: Trace, hits: Sequence[Hit], faults: Sequence[str], case: Case) -> StressPlan:
    planner = Planner(CATALOG, INJECTIONS, 0, hits, faults)
    record = CaseRecord(index=0, case=case, trace=trace, verdict=Verdict(status=CaseStatus.PASS))
    expected = {"effects": {"refund": ["refunded"]}}
    planner.add(case, CaseExpectations(expected, (), lambda field: (field,)), record)
    return planner.plan(1000)


TRACES = {
    "no call": Trace(case_id="a", final_message="Hello.", tool_calls=()),
    "tools": USUAL,
    "tools and tokens": Trace(case_id="a", final_message="Hello.", tool_calls=(CALL,), tokens=TOKENS),
    "a result that is empty": Trace(
        case_id="a", final_message="x", tool_calls=(ToolCall("find", result={}, success=True),)
    ),
    "spans": Trace(
        case_id="a",
        final_message="Hello.",
        tool_calls=(CALL,),
        spans=(SpanNode(id="1", name="chat", kind="model"), SpanNode(id="2", name="chat", kind="model")),
    ),
}
HITS: tuple[tuple[Hit, ...], ...] = (("tool",), ("model",), ("tool", "model"))
FAULTS: tuple[tuple[str, ...], ...] = ((), ("error",), ("hang", "stale"), ("inject*",))


def find_untold() -> Coverage:
    coverage = Coverage(10, "each kind of fault is tried, or listed with the reason")
    case = Case(id="a", prompt="Where is order 7?", checks=())
    for (name, trace), hits, faults in itertools.product(TRACES.items(), HITS, FAULTS):
        plan = _plan(trace, hits, faults, case)
        tried = {(cell.hits, cell.fault) for cell in plan.cells}
        listed = {(kinds.hits, fault) for kinds in plan.not_tried for fault in kinds.faults if kinds.why}
        what = f"{name}, {hits}, {faults}"
        if not plan.cells:
            coverage.try_one(bool(plan.left_out), f"{what}: nothing is tried, and no reason is given")
            continue
        for kind in sorted(ALL):
            coverage.try_one((kind in tried) != (kind in listed), f"{what}: {kind} is tried xor listed")
    return coverage


def find_survived_without_landing() -> Coverage:
    coverage = Coverage(10, "a fault that did not land was not survived")
    for own in ((), (OWN,)):
        case = Case(id="a", prompt="Where is order 7?", checks=(), faults=own)
        usual = TRACES["spans"]
        others = tuple(
            AlteredCall(hits="tool", name="find", call=1, kind="slow", fault=index) for index, _ in enumerate(own)
        )
        for cell in _plan(usual, ("tool", "model"), (), case).cells:
            landed = AlteredCall(hits="tool", name=cell.name, call=1, kind="x", fault=len(own))
            for altered, is_reached in ((others, False), ((*others, landed), True)):
                trace = Trace(
                    case_id="a", final_message="Hello.", tool_calls=(CALL,), altered_calls=altered, spans=usual.spans
                )
                records = {one.id: _record(one, trace) for one in cell.cases}
                result = judge_cell(cell, records)
                status = None if result is None else result.status
                is_right = (status is not CellStatus.NOT_REACHED) is is_reached
                coverage.try_one(is_right, f"{cell.case.id} with {len(altered)} altered calls: {status}")
    return coverage


def test_what_was_not_tried_is_listed(record_property: Callable[[str, object], None]) -> None:
    require(find_untold(), record_property)


def test_a_fault_that_did_not_land_was_not_survived(record_property: Callable[[str, object], None]) -> None:
    require(find_survived_without_landing(), record_property)


def test_a_kind_that_is_dropped_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: no reasons are kept."""
    monkeypatch.setattr(Planner, "_not_tried", lambda self: ())
    assert find_untold().violations


def test_a_fault_of_the_case_itself_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: any altered call counts as the fault of the cell."""
    monkeypatch.setattr("carob.features.stress.judging._count_landed", lambda record: len(record.trace.altered_calls))
    assert find_survived_without_landing().violations
