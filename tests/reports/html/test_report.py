"""The report in a real browser, from disk: evidence in one click, filters, keyboard, hostile texts, no network."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from msgspec import structs

from browsing import LOOKS, Seen, axe_faults, browser, is_too_wide, opened
from carob.model.run import Summary
from carob.model.verdict import CaseStatus
from carob.reports.html import markup
from carob.reports.html.report import HtmlReport
from reports.hostile import HOSTILE, run_saying
from reports.runs import HEADER, Kept, MemoryRun, every_status, record, repeated

__all__ = ["browser"]

TAGS = """
A ARTICLE B BLOCKQUOTE BR BUTTON CAPTION CODE DD DEL DETAILS DIV DL DT EM FORM H1 H2 H3 HEADER HR IMG INPUT INS LABEL LI
MAIN MARK NOSCRIPT OL OPTION OUTPUT P PRE S SECTION SELECT SPAN STRONG SUMMARY TABLE TBODY TD TH THEAD TR UL svg rect
"""
DOM_FAULTS = """(tags) => {
  const faults = [];
  for (const one of document.querySelectorAll("main, main *")) {
    if (!tags.split(/\\s/).includes(one.tagName)) faults.push(one.tagName);
    for (const {name, value} of one.attributes) {
      if (/^on|^style$|^srcdoc$|^action$/.test(name)) faults.push(`${one.tagName} ${name}`);
      if (name === "href" && !/^#[\\w-]*$/.test(value)) faults.push(`href ${value}`);
      if (name === "src" && !value.startsWith("data:image/")) faults.push(`src ${value}`);
    }
  }
  if (window.owned !== undefined) faults.push("owned");
  return [...new Set(faults)];
}"""


def written(run: MemoryRun, place: Path) -> str:
    out = Kept()
    report = HtmlReport(run, out)
    for case_record in run.records():
        report.case(case_record)
    report.end()
    place.write_bytes(out.data)
    return place.as_uri()


def large() -> MemoryRun:
    """So many cases that those which passed are packed."""
    passed = [record(f"P{number}", CaseStatus.PASS, index=number, category="many") for number in range(6, 300)]
    cases = (*every_status().cases, *passed)
    return MemoryRun(
        cases, Summary(passed=295, failed=2, partial=1, error=2, total=300), structs.replace(HEADER, total=300)
    )


@pytest.fixture(scope="module")
def large_report(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(large(), tmp_path_factory.mktemp("large") / "report.html")


def hostile(*names: str) -> MemoryRun:
    """Hostile texts in one run, four cases each; of many, those that passed are packed."""
    numbers, texts = count(), [HOSTILE[name] for name in names]
    cases = tuple(structs.replace(case, index=next(numbers)) for text in texts for case in run_saying(text).cases)
    every = "".join(texts)
    header = structs.replace(HEADER, suite=every, target=every, total=len(cases))
    return MemoryRun(cases, Summary(failed=1, total=len(cases), incomplete=every), header)


def rows(page_shown: Seen) -> int:
    return page_shown.page.locator("table.cases tbody tr").count()


def test_from_a_red_mark_to_its_evidence(browser, large_report: str) -> None:
    url = large_report
    with opened(browser, url) as page_shown:
        page = page_shown.page
        page.get_by_role("link", name="must_not_say[0]").first.click()
        lit = page.locator("mark.lit")
        assert lit.inner_text() == "As an AI"
        assert lit.evaluate(
            "one => { const r = one.getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight }"
        )
        assert page.locator(".check.on .name").inner_text() == "must_not_say[0]"
        page.get_by_role("link", name="tool_calls_none[0]").last.click()
        assert page.locator(".call.lit .tool").inner_text() == "delete_all"
        page.locator(".check", has_text="telemetry[0]").hover()
        assert "tool.lookup" in page.locator(".lines .lit").inner_text()
        page.locator(".check", has_text="ui[0]").first.hover()
        assert page.locator("pre mark.lit").inner_text() == "list"
        page.go_back()
        assert page.locator("#run").is_visible()
        assert page_shown.said == []
        assert page_shown.requests == [url]


def test_filters_keyboard_deep_links_and_packed_cases(browser, large_report: str) -> None:
    url = large_report
    with opened(browser, url) as page_shown:
        page = page_shown.page
        assert rows(page_shown) == 60
        page.get_by_role("button", name="Show more").click()
        assert rows(page_shown) == 120
        page.keyboard.press("/")
        page.keyboard.type("P29")
        assert rows(page_shown) == 11
        assert page.locator(".found").inner_text() == "11 of 300 cases"
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.locator("#c290r0").wait_for()
        page.keyboard.press("j")
        page.locator("#c291r0").wait_for()
        page.keyboard.press("k")
        page.locator("#c290r0").wait_for()
        page.keyboard.press("u")
        assert rows(page_shown) == 11
        page.get_by_role("button", name="Clear").click()
        for label, value, left in (
            ("Status", "FAIL", 2),
            ("Broken check", "required_sources", 2),
            ("Category", "many", 60),
        ):
            page.get_by_label(label).select_option(value)
            assert rows(page_shown) == left, label
            page.get_by_role("button", name="Clear").click()
        page.locator("a.group", has_text="must_not_say").first.click()
        assert {"must_not_say"} == {page.get_by_label("Broken check").input_value()}
        page.keyboard.press("?")
        assert page.locator("dialog.help").is_visible()
        page.keyboard.press("Escape")
        page.goto("about:blank")
        page.goto(f"{url}#c299r0")
        assert page.locator("#c299r0 .id").inner_text() == "P299"
        page.goto("about:blank")
        page.goto(f"{url}#c1r0-k0")
        assert page.locator("mark.lit").inner_text() == "As an AI"
        assert page_shown.said == []


def test_without_scripts_it_can_be_read_and_printed(browser, tmp_path: Path) -> None:
    url = written(every_status(), tmp_path / "report.html")
    with opened(browser, url, java_script_enabled=False) as page_shown:
        assert rows(page_shown) == 6
        page_shown.page.locator("tbody a", has_text="must_not_say[0]").first.click()
        assert page_shown.page.locator("#c1r0").is_visible()
        assert not page_shown.page.locator("#run").is_visible()
        page_shown.page.locator("#c1r0 .crumbs a").click()
        assert page_shown.page.locator("#run").is_visible()
        page_shown.page.emulate_media(media="print")
        assert page_shown.page.locator("#c1r0").is_visible()
        assert not page_shown.page.locator("#c0r0").is_visible()


@pytest.mark.parametrize("look", ["light", *(pytest.param(look, marks=pytest.mark.thorough) for look in [*LOOKS][1:])])
def test_it_is_accessible_and_fits(browser, tmp_path: Path, look: str) -> None:
    url = written(every_status(), tmp_path / "report.html")
    with opened(browser, url, **LOOKS[look]) as page_shown:
        for part in ("", "#c1r0"):
            page_shown.page.goto(f"{url}{part}")
            assert axe_faults(page_shown.page, look) == [], part
            assert not is_too_wide(page_shown.page), part


def test_repeats_are_a_strip(browser, tmp_path: Path) -> None:
    with opened(browser, written(repeated(), tmp_path / "report.html")) as page_shown:
        assert rows(page_shown) == 4
        strip = page_shown.page.locator("tbody tr").first.locator(".strip a")
        assert [strip.nth(n).get_attribute("title") for n in range(3)] == ["run 1: FAIL", "run 2: PASS", "run 3: PASS"]
        strip.nth(1).click()
        assert page_shown.page.locator("#c0r1").is_visible()


def faults(browser, url: str) -> list[str]:
    """What hostile texts did to a page, with every case of it opened."""
    with opened(browser, url) as page_shown:
        page = page_shown.page
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        for number in range(3, len(HOSTILE) * 4, 40):
            page.evaluate(f"location.hash = 'c{number}r0'")
            page.wait_for_timeout(30)
        dom_faults = page.evaluate(DOM_FAULTS, TAGS)
        dom_faults += [request for request in page_shown.requests if request != url]
        dom_faults += [page.url] * (not page.url.startswith(url))
        return dom_faults + [line for line in page_shown.said if "Content Security Policy" not in line]


def test_hostile_texts_are_inert(browser, tmp_path: Path) -> None:
    assert faults(browser, written(hostile(*HOSTILE), tmp_path / "report.html")) == []


def no_escape(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(markup, "escape", lambda text: text)


def no_sight(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(markup, "replace_hidden", lambda text, wrap: text)


def test_without_its_escape_they_are_not(browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_escape(monkeypatch)
    texts = ("script", "img-onerror", "table-break", "attribute-double", "svg-onload")
    dom_faults = faults(browser, written(hostile(*texts), tmp_path / "report.html"))
    assert {"SCRIPT", "IMG onerror", "circle"} <= set(dom_faults)
    assert "owned" not in dom_faults  # the policy of the page holds on its own


@pytest.mark.parametrize(("take_out", "hidden"), [(lambda patch: None, False), (no_sight, True)])
def test_nothing_is_hidden_or_reordered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, take_out: Callable, hidden: bool
) -> None:
    take_out(monkeypatch)
    written(run_saying(HOSTILE["bidi"] + HOSTILE["ansi-title"]), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert any(sign in text for sign in "\u202e\u2066\u200f\x1b\x07") is hidden


def test_a_link_to_a_case_that_is_not_in_the_file_says_so(browser, large_report: str) -> None:
    with opened(browser, f"{large_report}#c999r0") as page_shown:
        page_shown.page.get_by_text("This case did not fit into the file").wait_for()
