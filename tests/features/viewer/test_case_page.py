"""The page of a case with sixty calls in a real Chromium, the same in the viewer and in the report.

Pictures of it go to the folder CAROB_SCREENSHOTS, if there is one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect

from browsing import RULES, Seen, axe_faults, browser, is_too_wide, looking, opened
from carob.journal.index import Index
from carob.journal.reader import Journal
from carob.reports.html.report import HtmlReport
from features.viewer.long_case import CALLS, UNSEEN, write_run
from features.viewer.runs import serving

__all__ = ["browser"]

SMALL = 1_200
"""Characters of each result: enough to be folded, and quick to look at."""
IN_SIGHT = "one => { const r = one.getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight }"


class CasePages(NamedTuple):
    viewer: str
    report: str


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CasePages]:
    folder = tmp_path_factory.mktemp("long")
    journal = write_run(folder / "runs", SMALL)
    report = folder / "report.html"
    with report.open("wb") as out:
        made = HtmlReport(Journal(journal), out)
        for record in Journal(journal).records():
            made.case(record)
        made.end()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        with serving(folder / "runs") as address:
            yield CasePages(f"{address}run/{Index.key_of(journal)}/case/0/0", f"{report.as_uri()}#c0r0")


def test_viewer_and_report_tell_the_same_in_the_same_order(browser, pages: CasePages) -> None:
    texts = []
    for url in pages:
        with opened(browser, url) as page_shown:
            case = page_shown.page.locator("#c0r0")
            texts.append([case.locator(part).inner_text() for part in (".facts", ".verdicts", ".story")])
            page_shown.page.get_by_role("radio", name="Expectations").check()
            texts[-1].append(case.locator(".panel.expectations").inner_text())
            assert page_shown.said == []
    assert texts[0] == texts[1]
    story = texts[0][2]
    numbers = [int(number) for number in re.findall(r"^call (\d+)$", story, re.MULTILINE)]
    assert numbers == list(range(1, sum(CALLS) + 1))
    prompt, step, said, first, last, answer = (
        story.index(words)
        for words in ("order A-17?", "model-1", "pages from 1 on", "call 1\n", "call 60\n", "paid 94.00 back")
    )
    assert prompt < step < said < first < last < answer
    assert "call 1 of turn 2" in story
    assert "".join(texts[0]).count(UNSEEN) == 1
    assert "$0.0123" in story
    assert "12.3k in, 95 out" in story


def walk(page_shown: Seen) -> None:
    """From a failed check to its call, to its line of the suite and back, to the raw record; then by keyboard."""
    page, case = page_shown.page, page_shown.page.locator("#c0r0")
    case.locator(".verdicts").get_by_role("link", name="call 5 of turn 2").click()
    call = case.locator("#c0r0-call60")
    page.wait_for_url(re.compile("#c0r0-call60$"))
    assert call.evaluate(IN_SIGHT)
    assert "refund" in call.inner_text()
    assert "94" in call.inner_text()

    folded = case.locator("#c0r0-call59 details.long").last
    before = page.evaluate("[scrollY, document.querySelector('#c0r0-call59').getBoundingClientRect().top]")
    assert not folded.locator("pre").is_visible()
    assert "Show all" in folded.locator(".handle").evaluate("one => getComputedStyle(one, '::before').content")
    folded.locator("summary").focus()
    page.keyboard.press("Enter")
    assert "moved to hall 1 & back" in folded.locator("pre").inner_text()
    assert page.evaluate("[scrollY, document.querySelector('#c0r0-call59').getBoundingClientRect().top]") == before

    page.keyboard.press("2")
    rows = case.locator(".asked tr.asks")
    row = rows.filter(has_text="- tool: refund")
    assert row.locator(".n").inner_text() == "19"
    assert row.locator(".found-words").inner_text().startswith("nearest is call 5 of turn 2, refund")
    row.get_by_role("link", name="failed").click()
    expect(page.get_by_role("radio", name="Transcript")).to_be_checked()
    assert case.locator(".check.on .name").inner_text() == "tool_calls[0]"

    page.keyboard.press("3")
    case.locator(".json pre").first.wait_for()
    case.get_by_role("searchbox", name="Find in the record").fill("PAID 94.00")
    match_count = case.locator(".find output")
    match_count.filter(has_text="1 of ").wait_for()
    page.keyboard.press("Enter")
    match_count.filter(has_text="2 of ").wait_for()
    case.get_by_role("searchbox", name="Find in the record").fill("nowhere at all")
    match_count.filter(has_text="not found").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("radio", name="Raw record").focus()
    page.keyboard.press("ArrowLeft")
    assert page.get_by_role("radio", name="Expectations").is_checked()
    assert page_shown.said == []


@pytest.mark.parametrize("at", CasePages._fields)
def test_from_a_check_to_its_call_its_line_and_its_record(browser, pages: CasePages, at: str) -> None:
    with opened(browser, getattr(pages, at)) as page_shown:
        walk(page_shown)


FEW = {"expectations": ("light", "dark"), "raw": ("light",)}
"""What the page of another case does not show already; axe takes seconds for each."""
ALL = dict.fromkeys(("transcript", "expectations", "raw"), tuple(RULES))


@pytest.mark.parametrize("judged", [FEW, pytest.param(ALL, marks=pytest.mark.thorough)], ids=["few", "all"])
def test_it_is_accessible_and_fits(browser, pages: CasePages, tmp_path: Path, judged: dict) -> None:
    folder = Path(os.environ.get("CAROB_SCREENSHOTS") or tmp_path)
    with opened(browser, pages.viewer) as page_shown:
        page = page_shown.page
        for key, name in enumerate(ALL, 1):
            page.keyboard.press(str(key))
            for look in looking(page):
                page.screenshot(path=folder / f"case-{name}-{look}.png")
                assert not is_too_wide(page), (name, look)
        if judged is FEW:
            page.evaluate("document.querySelectorAll('.story').forEach((one) => one.remove())")
        for name, looks in judged.items():
            page.locator(f".tab input[value={name}]").check()
            for look in looking(page):
                assert look not in looks or axe_faults(page, look) == [], (name, look)


def test_without_scripts_its_tabs_and_links_work(browser, pages: CasePages) -> None:
    for url in pages:
        with opened(browser, url, java_script_enabled=False) as page_shown:
            case = page_shown.page.locator("#c0r0")
            assert case.locator("#c0r0-call7").is_visible()
            case.get_by_role("radio", name="Expectations").check()
            assert case.locator(".asked").is_visible()
            assert not case.locator("#c0r0-call7").is_visible()
            case.locator(".asked").get_by_role("link", name="call 5 of turn 2").click()
            assert case.locator("#c0r0-call60").is_visible()
            page_shown.page.emulate_media(media="print")
            assert not case.locator(".tabs").is_visible()


def test_the_record_alone_is_text(pages: CasePages) -> None:
    with urlopen(f"{pages.viewer}/record") as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert '"id": "refund-after-research"' in answer.read().decode()
