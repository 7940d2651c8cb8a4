from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from carob.model.trace import TraceError
from carob.model.verdict import EvidenceLocation
from carob.reports.json import (
    CallRow,
    CaseRow,
    CheckRow,
    ChecksByStatus,
    ErrorRow,
    JsonReport,
    RunRow,
    encode,
)

from .runs import (
    HOSTILE,
    HUGE,
    Kept,
    MemoryRun,
    every_status,
    interrupted,
    interrupted_repeats,
    passing,
    repeated,
    tried_again,
)

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text()
CASE_FIELDS = [
    "id",
    "category",
    "prompt",
    "expected_outcome",
    "status",
    "checks",
    "metrics",
    "response",
    "tools_called",
    "duration_ms",
    "error",
]


def written(run: MemoryRun) -> str:
    out = Kept()
    report = JsonReport(run, out)
    for record in run.records():
        report.case(record)
    report.end()
    return out.data.decode()


def test_fields_and_their_order() -> None:
    report = json.loads(written(every_status()))
    assert list(report) == ["generated_at", "eval_file", "target", "summary", "cases"]
    assert list(report["summary"]) == ["pass", "fail", "partial", "error", "total", "avg_soft_score", "figures"]
    for case in report["cases"]:
        assert list(case)[: len(CASE_FIELDS)] == CASE_FIELDS
        assert set(case) - set(CASE_FIELDS) <= {"tool_calls"}
        assert list(case["checks"]) == ["passed", "failed", "unknown"]
        assert list(case["metrics"]) == ["synthesis", "morning_brief", "scoring"]
        assert list(case["metrics"]["synthesis"]) == ["required_sources", "missing_sources", "missing_numbers"]
        assert list(case["metrics"]["morning_brief"]) == ["missing_checks"]
        assert list(case["metrics"]["scoring"]) == ["groups", "hard_fail_triggered", "soft_score"]
        assert list(case["metrics"]["scoring"]["soft_score"]) == ["value", "threshold", "passed"]


@pytest.mark.parametrize("row", [CheckRow, ChecksByStatus, ErrorRow, RunRow, CaseRow, CallRow, EvidenceLocation])
def test_every_key_of_a_row_is_documented(row: type[Struct]) -> None:
    assert [key for key in row.__struct_fields__ if f"`{key}`" not in PAGE] == []


def test_every_key_of_summary_metrics_and_repeats_is_documented() -> None:
    report = json.loads(written(interrupted_repeats()))
    case = report["cases"][0]
    assert {"planned", "incomplete", "repeat"} < set(report["summary"])
    assert {"rate", "low", "high", "not_passed"} < set(case["repeats"])
    assert [key for key in (*report["summary"], *case["metrics"], *case["repeats"]) if f"`{key}`" not in PAGE] == []


def test_every_check_is_in_one_list() -> None:
    run = every_status()
    for record, case in zip(run.records(), json.loads(written(run))["cases"], strict=True):
        assert sum(map(len, case["checks"].values())) == len(record.verdict.checks)


def test_a_check_that_broke_is_unknown_and_marked() -> None:
    checks = json.loads(written(every_status()))["cases"][-1]["checks"]
    assert [check["error"] for check in checks["unknown"]] == [True]
    assert not checks["passed"]


def test_text_is_kept_with_its_offsets() -> None:
    cases = json.loads(written(every_status()))["cases"]
    assert cases[2]["response"] == HOSTILE.replace("\ud800", "\ufffd")
    assert cases[3]["response"] == HUGE


def test_no_case_at_all_is_still_json() -> None:
    assert json.loads(written(passing(0)))["cases"] == []


def test_a_case_is_a_line() -> None:
    assert sum(line.startswith('{"id":') for line in written(passing(5)).splitlines()) == 5


def test_what_is_missing_from_a_run_is_said() -> None:
    report = json.loads(written(interrupted()))
    assert report["summary"]["incomplete"].startswith("stopped by")
    assert report["summary"]["planned"] == 6
    assert report["generated_at"] == interrupted().header.started_at


def test_cases_are_planned_not_their_repeats() -> None:
    summary = json.loads(written(interrupted_repeats()))["summary"]
    assert (summary["total"], summary["planned"], summary["runs"], summary["repeat"]) == (2, 4, 4, 3)


def test_an_error_has_its_detail_where_there_is_one() -> None:
    errors = [case["error"] for case in json.loads(written(every_status()))["cases"]]
    assert errors[4] == {
        "kind": "crash",
        "message": "the agent left with code 1",
        "detail": "a long log\n" + HOSTILE.replace("\ud800", "\ufffd"),
    }
    run = tried_again(TraceError("timeout", "too slow"), TraceError("agent", "boom", "File ..."))
    assert json.loads(written(run))["cases"][0]["attempts"] == [
        {"kind": "timeout", "message": "too slow"},
        {"kind": "agent", "message": "boom", "detail": "File ..."},
    ]


def test_the_runs_of_a_case_are_one_entry() -> None:
    report = json.loads(written(repeated()))
    cases = {case["id"]: case for case in report["cases"]}
    assert [(name, case["status"]) for name, case in cases.items()] == [
        ("G1", "FAIL"),
        ("G2_ok", "PASS"),
        ("G3", "PASS"),
        ("E1", "ERROR"),
    ]
    assert {
        key: cases["G1"]["repeats"][key] for key in ("runs", "passed", "rate", "low", "high", "flaky", "shown")
    } == {
        "runs": 3,
        "passed": 2,
        "rate": 0.6667,
        "low": 0.0943,
        "high": 0.9916,
        "flaky": True,
        "shown": 1,
    }
    assert [(run["run"], run["status"]) for run in cases["G2_ok"]["repeats"]["not_passed"]] == [(2, "FAIL")]
    assert cases["G2_ok"]["checks"]["failed"] == []
    assert cases["G3"]["repeats"]["not_passed"] == []
    assert cases["E1"]["attempts"] == [{"kind": "agent", "message": "429 <b>slow down</b>"}]
    assert report["summary"]["flaky"] == 2


def test_a_case_that_was_run_once_has_no_repeats() -> None:
    assert "repeats" not in json.loads(written(passing()))["cases"][0]


@st.composite
def nested(draw: st.DrawFn) -> tuple[object, object]:
    """A value, and the same as a reader of the file must see it: a lone surrogate is U+FFFD."""
    text = draw(st.lists(st.text(st.characters()) | st.just("\ud83d\ude00"), max_size=4))
    read = ["".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in entry) for entry in text]
    return {"a": [text, {"b": 1.5}], "c": None}, {"a": [read, {"b": 1.5}], "c": None}


@given(nested())
def test_encoded_text_can_be_read_back_and_printed(pair: tuple[object, object]) -> None:
    value, read = pair
    line = encode(value).decode()
    assert not {char for char in line if unicodedata.category(char) in {"Cc", "Zl", "Zp"}}
    assert json.loads(line) == read


@pytest.mark.parametrize(
    "char", ["\x1b", "\x7f", "\x9b", "\u202e", "\u2066", "\u200b", "\u2028", "\ufeff", "\U000e0041"]
)
def test_steering_characters_are_escaped(char: str) -> None:
    line = encode({"text": f"é{char}"}).decode()
    assert char not in line
    assert json.loads(line) == {"text": f"é{char}"}
