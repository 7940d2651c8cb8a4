from __future__ import annotations

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from karat.model.verdict import CaseStatus, Group, Status
from karat.reports.markdown import COLUMNS, DETAILED_CASES, DETAILED_CHECKS, LISTED, MarkdownReport

from .runs import HUGE, Kept, MemoryRun, check, every_status, passing, record


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
    assert not {"html_block", "fence", "code_block", "blockquote_open", "hr"} & {token.type for token in tokens}
    children = {child.type for token in tokens for child in token.children or ()}
    assert children == {"text"}


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
    text = written(failing(1, DETAILED_CHECKS + more))
    assert text.count("Expected:") == DETAILED_CHECKS
    assert (f"- {more} more checks" in text) == bool(more)
    assert f", {DETAILED_CHECKS + more - LISTED} more |" in text


def test_a_huge_answer_makes_no_huge_report() -> None:
    assert len(written(every_status())) < len(HUGE) // 50
