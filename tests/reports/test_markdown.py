from __future__ import annotations

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from carob.model.trace import Trace, TraceError
from carob.model.verdict import CaseStatus, Group, Status
from carob.reports.case_details import CHECKS
from carob.reports.case_facts import log
from carob.reports.markdown import COLUMNS, DETAILED_CASES, LISTED, MarkdownReport

from .runs import (
    HUGE,
    Kept,
    MemoryRun,
    check,
    every_status,
    interrupted,
    interrupted_repeats,
    passing,
    record,
    repeated,
    tried_again,
)


def written(run: MemoryRun) -> str:
    out = Kept()
    report = MarkdownReport(run, out)
    for case in run.records():
        report.case(case)
    report.end()
    return out.data.decode()


def parsed(text: str) -> list[Token]:
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)


def test_hostile_text_is_rendered_as_nothing_but_text() -> None:
    tokens = parsed(written(every_status()))
    assert not {"html_block", "fence", "blockquote_open", "hr"} & {token.type for token in tokens}
    children = {child.type for token in tokens for child in token.children or ()}
    assert children == {"text"}


def test_what_a_broken_agent_left_behind_is_one_block_of_code() -> None:
    run = every_status()
    (block,) = [token.content for token in parsed(written(run)) if token.type == "code_block"]
    assert block.splitlines() == log(run.cases[4])
    assert block.endswith("\n- item\n> quote\n===\n")


@pytest.mark.parametrize(
    "detail", ["```\n    ```\n~~~\n", "- a\n\n\n1. b\n", "</code></pre>\n<!--\n", "\t\tdeep\n# top\n"]
)
def test_no_line_ends_the_block(detail: str) -> None:
    broken = Trace(case_id="E", error=TraceError("agent", "exit code 1", detail))
    rows = [check("must_say_any", Group.FORMATTING, Status.FAILED)]
    run = MemoryRun(
        (record("E", CaseStatus.ERROR, rows, reason="agent: exit code 1", trace=broken),), passing().summary
    )
    tokens = parsed(written(run))
    (block,) = [token.content for token in tokens if token.type == "code_block"]
    assert block.splitlines() == log(run.cases[0])
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h1", "h2", "h3"]


@pytest.mark.parametrize("run", [every_status(), repeated(), interrupted(), passing()])
def test_one_blank_line_is_enough(run: MemoryRun) -> None:
    text = written(run)
    assert "\n\n\n" not in text
    assert not text.endswith("\n\n")


def test_a_case_that_passed_after_errors_says_so() -> None:
    busy = TraceError("agent", "429")
    assert "| G1 | PASS after 1 error | 1.0000 |" in written(tried_again(busy))
    assert "| G1 | PASS after 2 errors | 1.0000 |" in written(tried_again(busy, busy))
    assert "| G1 | PASS | 1.0000 |" in written(tried_again())


def test_so_does_one_that_did_not_pass() -> None:
    text = written(repeated())
    assert "(95% Clopper-Pearson interval 0.09 to 0.99), 1 error retried |" in text
    assert ": ERROR after 1 error\n" in text


@pytest.mark.parametrize(
    ("run", "first", "result"),
    [
        pytest.param(interrupted(), "1 of 6 cases finished", "1 passed, 1 of 6 cases", id="cases"),
        pytest.param(interrupted_repeats(), "4 of 12 runs finished", "1 passed, 1 failed, 2 of 4 cases", id="repeats"),
        pytest.param(every_status(), "", "1 passed, 2 failed, 1 partial, 2 errors, 6 total", id="whole"),
    ],
)
def test_what_is_missing_from_a_run_is_counted_once(run: MemoryRun, first: str, result: str) -> None:
    text = written(run)
    assert f"\n- Result: {result}\n" in text
    assert f"**INCOMPLETE: {first}" in text or not first


def test_one_row_per_case_with_every_column() -> None:
    tokens = parsed(written(every_status()))
    kinds = [token.type for token in tokens]
    assert kinds.count("tr_open") == 1 + len(every_status().cases)
    assert kinds.count("td_open") == len(COLUMNS) * len(every_status().cases)
    assert kinds.count("table_open") == 1


def test_headings_are_ours_alone() -> None:
    tokens = parsed(written(every_status()))
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h1", "h2", *["h3"] * 5]


def test_cases_that_passed_have_no_details() -> None:
    assert "##" not in written(passing(3))


def failing(count: int, checks: int = 1) -> MemoryRun:
    rows = [check(f"must_say_any[{i}]", Group.FORMATTING, Status.FAILED) for i in range(checks)]
    cases = tuple(record(f"G{index}", CaseStatus.FAIL, rows, index=index) for index in range(count))
    return MemoryRun(cases, passing(1).summary)


@pytest.mark.parametrize("more", [0, 1, 50])
def test_details_are_bounded_and_the_rest_counted(more: int) -> None:
    text = written(failing(DETAILED_CASES + more))
    assert text.count("\n### ") == DETAILED_CASES
    assert text.count("| FAIL |") == DETAILED_CASES + more
    assert (f"\n{more} more did not pass" in text) == bool(more)


@pytest.mark.parametrize("more", [0, 3])
def test_checks_of_a_case_are_bounded_and_the_rest_counted(more: int) -> None:
    text = written(failing(1, CHECKS + more))
    assert text.count("Expected:") == CHECKS
    assert (f"- {more} more checks" in text) == bool(more)
    assert f", {CHECKS + more - LISTED} more |" in text


def test_a_huge_answer_makes_no_huge_report() -> None:
    assert len(written(every_status())) < len(HUGE) // 50
