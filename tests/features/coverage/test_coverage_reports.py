"""The renderings of a coverage report, to the letter, and with harmful text. CAROB_UPDATE_GOLDEN=1 writes them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec
import pytest
from markdown_it import MarkdownIt

from carob.features.coverage.model import (
    ArgumentCoverage,
    Coverage,
    EffectCoverage,
    FaultCoverage,
    Gap,
    JudgedCoverage,
    ToolCoverage,
    UnlikeKind,
    UnobservedPart,
    ValueClass,
)
from carob.features.coverage.report import coverage_html, coverage_json, coverage_markdown, coverage_sections
from carob.features.coverage.terminal import coverage_lines
from carob.reports.sections import TERMINAL_ROWS
from reports.runs import HOSTILE

GOLDEN = Path(__file__).parent / "golden"


def build(text: str = "pay") -> Coverage:
    arguments = ArgumentCoverage(name=text, classes=(ValueClass(text, 2), ValueClass("null")), asserted=1)
    row = JudgedCoverage(name=text, cases=3, passed=1, failed=1, unknown=1, not_triggered=2)
    return Coverage(
        suite=text,
        cases=3,
        runs=("runs/a.jsonl",),
        conversations=4,
        others=1,
        tools=(
            ToolCoverage(
                name=text, offered=True, called=3, succeeded=2, failed=1, refused=1, asserted=2, judged=1,
                alternative=1, arguments=(arguments,),
            ),
            ToolCoverage(name="find", called=1, succeeded=1, forbidden=1),
        ),
        effects=(EffectCoverage(text, 2, 1, 3),),
        rules=(row,),
        faults=(FaultCoverage(text, 1, 2),),
        untried_faults=("slow of a tool", "hang of a model", "slow of a model"),
        keys=(row,),
        outcomes=(row,),
        unasserted=(Gap(text, "called once", text, text),),
        uncalled=(Gap(text, "never called", "a new case", "tool_calls_any: [x]"),),
        unobserved=(UnobservedPart(text, text, text),),
        against=5,
        unlike=(UnlikeKind((text, f"{text} (failed)"), 3, text), UnlikeKind((), 1, text)),
        more_unlike=1,
    )  # fmt: skip


REPORTS = {
    "full": build(),
    "harmful": build(HOSTILE),
    "nothing": Coverage(suite="empty.yaml", cases=0, unobserved=(UnobservedPart("calls", "no run was given"),)),
}
RENDERED = {
    "json": lambda coverage: coverage_json(coverage, 0.8),
    "md": lambda coverage: coverage_markdown(coverage, 0.8),
    "txt": lambda coverage: "".join(f"{line}\n" for line in coverage_lines(coverage, 0.8)).encode(),
    "ansi": lambda coverage: "".join(f"{line}\n" for line in coverage_lines(coverage, 0.5, colour=True)).encode(),
}


@pytest.mark.parametrize("kind", RENDERED)
@pytest.mark.parametrize("name", REPORTS)
def test_golden(name: str, kind: str) -> None:
    data = RENDERED[kind](REPORTS[name])
    place = GOLDEN / f"{name}.{kind}"
    if os.environ.get("CAROB_UPDATE_GOLDEN"):
        place.write_bytes(data)
    assert data == place.read_bytes()


def test_every_row_is_in_every_medium() -> None:
    coverage = REPORTS["full"]
    page = coverage_html(coverage, 0.8).decode()
    lines = "\n".join(coverage_lines(coverage, 0.8))
    markdown = coverage_markdown(coverage, 0.8).decode()
    sections = coverage_sections(coverage)
    assert len(sections) == 11
    for section in sections:
        assert f"<h2>{section.title}</h2>" in page
        assert f"\n{section.title}\n" in lines
        assert f"\n## {section.title}\n" in markdown
    assert page.count("<tr data-row>") == sum(len(section.rows) for section in sections)
    assert "NOT MET: 1 of 2 tools are asserted, which is under 0.8" in page


def test_text_of_others_is_inert() -> None:
    coverage = REPORTS["harmful"]
    page = coverage_html(coverage).decode()
    assert "<script" not in page
    assert not re.search(r"<(?:a|img|b|i)\s+(?:href|src)=", page)
    text = "\n".join(coverage_lines(coverage))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u200b]", text)
    rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(coverage_markdown(coverage).decode())
    assert not re.search(r"<(?:script|a|img)\b", rendered)


def test_json_is_read_back() -> None:
    coverage = REPORTS["full"]
    assert msgspec.json.decode(coverage_json(coverage), type=Coverage) == coverage


def test_a_long_table_is_cut_and_says_so() -> None:
    tools = tuple(ToolCoverage(name=f"tool{n:03}", called=1) for n in range(TERMINAL_ROWS + 5))
    lines = [*coverage_lines(Coverage(suite="s", cases=1, runs=("r",), tools=tools))]
    assert "  5 more: see --format json" in lines
    assert not any("tool034" in line for line in lines)
