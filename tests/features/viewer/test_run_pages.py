"""The pages over many runs in a real Chromium: what broke in words, cases over runs and targets, the suite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import carob
from browsing import axe_faults, browser, is_too_wide, looking, opened
from carob.journal.index import Index
from features.viewer.runs import serving

__all__ = ["browser"]

SUITE = """carob: 1
cases:
  - { id: asks, prompt: asks, expected: { asks_for: [order number] } }
  - { id: says, prompt: says, expected: { must_say_any: [sorted] } }
  - { id: fine, prompt: fine, expected: { must_say_any: [sorted] } }
  - { id: down, prompt: down, expected: { must_say_any: [sorted] } }
  - { id: later, prompt: later, skip: not yet, expected: { must_say_any: [sorted] } }
  - { id: known, prompt: known, xfail: known bug, expected: { must_say_any: [sorted] } }
"""
CONFIG = """[targets.careful]
use = "python:agent:answer"
[targets.quick]
use = "python:agent:quick"
"""
AGENT = """
import os
def answer(prompt):
    if prompt == "down":
        raise RuntimeError("the model is down")
    passes = prompt == "fine" or (prompt == "says" and os.environ["CAROB_SAYS"] == "ok")
    return "sorted" if passes else "Thanks. Okay, done."
def quick(prompt):
    return answer(prompt)
"""


@dataclass
class Runs:
    """A viewer over some runs, by their keys, the oldest first."""

    root: str
    keys: list[str]
    quick: str


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.chdir(folder)
        for name, text in (("suite.yaml", SUITE), ("agent.py", AGENT), ("carob.toml", CONFIG)):
            Path(name).write_text(text)
        keys = []
        for target, says in (("careful", "ok"), ("careful", "no"), ("careful", "ok"), ("quick", "no")):
            patch.setenv("CAROB_SAYS", says)
            result = carob.run("suite.yaml", target, results_dir="runs", repeat=1, workers=0)
            keys.append(Index.key_of(Path(result.journal.path)))
        with serving(Path("runs")) as address:
            yield Runs(address.removesuffix("/"), keys[:3], keys[3])


def test_the_grid_and_the_suite_are_accessible_and_fit(browser, runs: Runs) -> None:
    with opened(browser, f"{runs.root}/run/{runs.keys[1]}/grid?over=targets") as page_shown:
        for look in looking(page_shown.page):
            assert not is_too_wide(page_shown.page), look
            assert axe_faults(page_shown.page, look) == [], look
        page_shown.page.goto(f"{runs.root}/run/{runs.quick}/suite")
        assert not is_too_wide(page_shown.page)
        assert axe_faults(page_shown.page, "light") == []
        assert page_shown.said == []


def test_a_run_says_in_words_what_broke_and_shows_failures_first(browser, runs: Runs) -> None:
    with opened(browser, f"{runs.root}/run/{runs.keys[1]}") as page_shown:
        page = page_shown.page
        broke = page.locator(".broke").inner_text()
        assert "Did not ask for 'order number'" in broke
        assert "Did not say 'sorted'" in broke
        assert "Agent error" in broke
        assert "known" not in broke
        assert "later" not in broke
        ids = page.locator("table.cases th[scope=row] > a")
        assert ids.all_inner_texts() == ["asks", "says", "down", "later", "known", "fine"]
        page.locator("select[name=order]").select_option("suite")
        page.wait_for_url("**order=suite")
        page.locator("table.cases th[scope=row] > a").nth(2).filter(has_text="fine").wait_for()
        assert ids.all_inner_texts() == ["asks", "says", "fine", "down", "later", "known"]
        ids.nth(2).click()
        page.locator("a[rel=next]").click()
        page.wait_for_url("**/case/3/0?order=suite")


def test_cases_over_runs_are_of_one_kind_and_over_targets_the_last_of_each(browser, runs: Runs) -> None:
    with opened(browser, runs.root + "/") as page_shown:
        page = page_shown.page
        assert page.locator("main > p.fine").first.inner_text() == "4 runs of 1 suite, against 2 targets"
        page.locator(".suite", has_text="against careful").get_by_role("link", name="Cases over runs").click()
        page.wait_for_url("**/grid")
        rows = dict(_rows(page))
        assert rows["says"] == (["passed", "failed", "passed"], ["g4", "g0", "g4"])
        assert rows["down"] == (["error"] * 3, ["error"] * 3)
        assert rows["later"] == (["skipped"] * 3, ["apart"] * 3)
        assert list(rows)[:3] == ["asks", "down", "says"]  # the worst first
        page.locator("select[name=order]").select_option("suite")
        page.wait_for_url("**order=suite")
        assert next(name for name, _ in _rows(page)) == "asks"
        page.locator("select[name=over]").select_option("targets")
        page.wait_for_url("**over=targets**")
        assert [text.split()[0] for text in page.locator("thead .steep").all_inner_texts()] == ["quick", "careful"]
        assert dict(_rows(page))["says"][0] == ["failed", "passed"]
        page.locator("tbody td.g0 a").first.click()
        page.wait_for_url("**/case/*/0")


def _rows(page) -> Iterator[tuple[str, tuple[list[str], list[str]]]]:
    for row in page.locator("table.grid tbody tr").all():
        cells = row.locator("td:not(.number)").all()
        words = [cell.locator("a").get_attribute("aria-label") for cell in cells]
        yield row.locator("th").inner_text(), (words, [cell.get_attribute("class") for cell in cells])


def test_a_click_on_a_heading_sorts_the_runs(browser, runs: Runs) -> None:
    with opened(browser, runs.root + "/") as page_shown:
        table = page_shown.page.locator(".suite", has_text="against careful").locator("table.runs")
        heading = table.locator("th", has_text="Pass rate")
        for way in ("descending", "ascending"):
            heading.get_by_role("button").click()
            assert heading.get_attribute("aria-sort") == way
            rates = [float(text) for text in re.findall(r"([\d.]+)%", table.inner_text())]
            assert rates == sorted(rates, reverse=way == "descending")
            assert len(set(rates)) == 2


def test_the_suite_is_shown_only_as_it_was_run(browser, runs: Runs) -> None:
    with opened(browser, f"{runs.root}/run/{runs.keys[0]}") as page_shown:
        page_shown.page.get_by_role("link", name="Suite", exact=True).click()
        assert page_shown.page.locator(".source li").count() == len(SUITE.splitlines())
        Path("suite.yaml").write_text(SUITE + "# changed\n")
        try:
            page_shown.page.reload()
            assert page_shown.page.locator(".source").count() == 0
            assert "cannot be shown as it was run" in page_shown.page.locator("main").inner_text()
        finally:
            Path("suite.yaml").write_text(SUITE)


def test_a_table_that_goes_on_says_so(browser, runs: Runs) -> None:
    with opened(browser, f"{runs.root}/run/{runs.keys[0]}/grid", viewport={"width": 240, "height": 600}) as page_shown:
        wide = page_shown.page.locator(".scroll")
        page_shown.page.wait_for_selector(".scroll[data-more]")
        wide.evaluate("one => one.scrollTo(one.scrollWidth, 0)")
        page_shown.page.wait_for_selector(".scroll:not([data-more])")
