"""Pages that people read: what they group, link and leave out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import carob
from browsing import opened
from carob.features.matrix import library as matrix
from carob.features.matrix.report import matrix_html
from carob.features.viewer import rule_pages
from carob.features.viewer.rule_pages import rules_page
from carob.journal.index import CaseFilter, Index
from carob.journal.reader import Journal
from carob.reports.html.markup import prose
from carob.reports.html.run_pages import OfRun
from features.viewer.runs import serving

CASES = 90
FORBIDDEN = "I am an AI model and I am not a person who can pay"


def _suite(name: str) -> dict[str, Any]:
    expected = {"must_not_say": [FORBIDDEN], "tool_calls_none": ["wire"]}
    rules = [
        {"id": "pay-once" if name == "Desk" else "pay-twice", "why": "Once.", "each": {"call": "pay"}, "at_most": 1}
    ]
    cases = [{"id": f"case-{i}", "prompt": f"{i}", "expected": expected} for i in range(CASES)]
    return {"carob": 1, "name": name, "rules": rules, "cases": cases}


def _agent(worse: bool) -> Any:
    def ask(prompt: str) -> dict[str, Any]:
        number = int(prompt)
        calls = [{"name": "pay", "arguments": {"n": number}, "success": True}] * (2 if worse and number % 3 == 0 else 1)
        calls += [{"name": "wire", "success": True}] if worse and number % 3 == 1 else []
        words = "I am an AI model and I am not a person who can pay it" if worse and number % 3 == 2 else "Paid."
        return {"final_message": words, "tool_calls": calls}

    return ask


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("desk") / "carob-results"
    for worse in (False, True):
        carob.run(_suite("Desk"), _agent(worse), results_dir=folder)
    carob.run(_suite("Other"), _agent(False), results_dir=folder / "other")
    return folder


@pytest.fixture
def keys(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The runs, the oldest first."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    index = Index([folder])
    index.refresh()
    found = [run.key for run in reversed(index.runs())]
    index.close()
    return found


def test_a_comparison_is_grouped_filtered_and_names_all(browser, folder: Path, keys: list[str]) -> None:
    with serving(folder) as address, opened(browser, f"{address}compare?base={keys[0]}&new={keys[1]}") as seen:
        page = seen.page
        groups = page.locator("main h3:not(.pair h3)").all_inner_texts()
        assert {re.sub(r" \d+$", "", group) for group in groups} >= {"rules: pay-once", "tool_calls_none[0]"}
        assert page.evaluate("document.documentElement.scrollHeight") < 4_000
        assert page.locator(".changes > li").count() + page.locator(".named > li").count() == CASES
        assert page.locator(".named > li a").count() == page.locator(".named > li").count() == CASES - 60
        page.fill("[data-filter]", "case-89")
        assert page.locator(".changes > li:visible").count() == 0
        page.fill("[data-filter]", "case-1 ")
        assert page.locator(".changes > li:visible").count() + page.locator(".named > li:not([hidden])").count() == 11
        with page.expect_navigation():
            page.select_option("select[name=new]", keys[2])
        assert keys[2] in page.url
        assert "Compare runs of one suite" in page.inner_text(".trouble")
        with page.expect_navigation():
            page.select_option("select[name=new]", keys[1])
        assert page.locator(".changes > li").count()
        assert not seen.said


def test_a_prohibition_is_not_compared_word_by_word(browser, folder: Path, keys: list[str]) -> None:
    with serving(folder) as address, opened(browser, f"{address}run/{keys[1]}/case/2/0") as seen:
        check = seen.page.locator(".check.k-failed").first
        assert FORBIDDEN in check.inner_text()
        assert check.locator("del, ins").count() == 0
        seen.page.set_viewport_size({"width": 390, "height": 844})
        story, verdicts = (seen.page.locator(name).first.bounding_box() for name in (".story", ".verdicts"))
        assert story["y"] < verdicts["y"], "the conversation comes first"


def test_words_between_backticks_are_code() -> None:
    assert prose("expect `tool_calls` <b>") == "expect <code>tool_calls</code> &lt;b&gt;"
    assert prose("`<script>`") == "<code>&lt;script&gt;</code>"
    assert prose("one ` alone") == "one ` alone"


def test_a_rule_has_its_share_its_trend_and_all_of_its_conversations(
    folder: Path, keys: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_pages, "MOST_LISTED", 20)
    index = Index([folder])
    index.refresh()
    run = index.run(keys[1])
    assert run is not None
    page = rules_page(index, run, "pay-once", OfRun("", run.key, CaseFilter()))
    [broken] = page["broken"]
    assert (broken.total, len(broken.cases), broken.more) == (30, 20, 20)
    [rest] = rules_page(index, run, "pay-once", OfRun("", run.key, CaseFilter()), 20)["broken"]
    assert (len(rest.cases), rest.more) == (10, 0)
    assert page["chosen"].share.words == "33.3% (95% Clopper-Pearson interval 23.7% to 44.1%)"
    assert [(one.key, one.share.percent) for one in page["trend"]] == [(keys[1], "33.3%"), (keys[0], "0%")]
    index.close()


def test_a_call_that_did_not_happen_is_said_and_not_struck_out(folder: Path) -> None:
    journals = sorted(folder.glob("*.jsonl"), key=lambda path: Journal(path).header.started_at, reverse=True)
    html = matrix_html(matrix.matrix(journals)).decode()
    assert "not called here: " in html
    assert "<del>" not in html.partition("</style>")[2].replace("<del>pay", "")
    assert 'id="case-case-1"' in html
    assert '<a href="#case-case-1">' in html
