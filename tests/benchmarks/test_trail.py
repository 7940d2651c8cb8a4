"""Standing rules next to labels of TRAIL, on traces of our own in its format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import carob
from benchmarks.published.__main__ import main
from benchmarks.published.trail import CATEGORIES, POLICY, is_for_writing
from carob.judging.judges import ConversationJudge


def span(number: int, name: str, attributes: dict[str, Any], *below: dict[str, Any], **about: Any) -> dict[str, Any]:
    return {
        "timestamp": f"2026-11-01T10:00:{number:02d}Z", "trace_id": "t", "span_id": f"{number:016x}",
        "parent_span_id": None, "span_name": name, "status_code": "Ok", "duration": "PT1S", "events": [],
        "span_attributes": attributes, "resource_attributes": {}, "child_spans": [*below], **about,
    }  # fmt: skip


def trace_with(calls: int, *, failed: bool) -> dict[str, Any]:
    """An agent that visits a page so often, by an argument that the tool does not have."""
    tool = {"openinference.span.kind": "TOOL", "tool.name": "visit_page", "input.value": '{"page": "a"}'}
    about = {"status_code": "Error", "status_message": "got an unexpected keyword argument 'page'"} if failed else {}
    visits = [span(number + 2, "visit_page", tool, parent_span_id=f"{1:016x}", **about) for number in range(calls)]
    agent = {"openinference.span.kind": "AGENT", "input.value": "Who?", "output.value": "FINAL ANSWER: me"}
    return {"trace_id": "t", "spans": [span(1, "agent", agent, *visits)]}


def write_clone(clone: Path, traces: dict[str, tuple[dict[str, Any] | None, list[str]]]) -> None:
    for name, (trace, categories) in traces.items():
        labels = clone / "benchmarking" / "processed_annotations_gaia" / f"{name}.json"
        labels.parent.mkdir(parents=True, exist_ok=True)
        labels.write_text(json.dumps({"errors": [{"category": category} for category in categories]}))
        path = clone / "benchmarking" / "data" / "GAIA" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        if trace is not None:
            path.write_text(json.dumps(trace))


def names(count: int, *, for_writing: bool) -> list[str]:
    return [name for name in map(str, range(99)) if is_for_writing(name) == for_writing][:count]


def test_alarms_are_counted_beside_labels_of_the_half_that_no_rule_was_written_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong, missed, lost = names(4, for_writing=False)
    [other] = names(1, for_writing=True)
    formatting = ["Formatting Errors", "Goal Deviation"]
    write_clone(
        tmp_path,
        {
            right: (trace_with(1, failed=True), formatting),
            wrong: (trace_with(1, failed=True), []),
            missed: (trace_with(1, failed=False), formatting),
            lost: (None, formatting),
            other: (trace_with(1, failed=True), formatting),
        },
    )
    assert main(["trail", "--from", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "3 traces, 1 more cannot be read" in printed
    assert "| arguments-are-known | Formatting Errors | 2 | 2 | 1 | 0.50 | 0.50 | 1, 1 |" in printed
    assert main(["trail", "--from", str(tmp_path), "--writing-half"]) == 0
    assert "| arguments-are-known | Formatting Errors | 1 | 1 | 1 | 1.00 | 1.00 | 0, 0 |" in capsys.readouterr().out


def test_a_clone_without_traces_is_no_result(tmp_path: Path) -> None:
    assert main(["trail", "--from", str(tmp_path)]) == 2


def test_each_rule_has_its_category() -> None:
    judge = carob.prepare_judge(POLICY)
    assert isinstance(judge, ConversationJudge)
    assert [*judge.names] == [*CATEGORIES]
