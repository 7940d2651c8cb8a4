"""The site of the documentation: whole, without dead links, searchable from a folder, and readable by machines."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
import yaml

from browsing import NARROW, browser, is_too_wide, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[1]
SITE = runpy.run_path(str(ROOT / "scripts" / "docs_site.py"))
SEARCHES: dict[str, str] = yaml.safe_load((ROOT / "tests" / "docs_search.yaml").read_text())
LEFT_OUT = {"decisions"}
"""Folders of pages for those who work on Carob."""
__all__ = ["browser"]


def pages_of(entry: object) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    entries = entry if isinstance(entry, list) else list(entry.values())  # type: ignore[attr-defined]
    return [page for one in entries for page in pages_of(one)]


def test_every_page_can_be_reached() -> None:
    # The file has no tags of Python, so that the plain loader reads it.
    listed = set(pages_of(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    there = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    meant = {page for page in there if Path(page).parts[0] not in {*LEFT_OUT, "skill"}}
    recipes = {page for page in meant if page.startswith("recipes/")}  # their own page lists them
    assert meant - recipes - listed == set()
    assert listed - there == set()


@pytest.mark.parametrize(
    ("link", "leads_to"),
    [
        ("../ARCHITECTURE.md", f"{SITE['REPOSITORY']}/ARCHITECTURE.md"),
        (
            "../examples/feature_package/README.md#use",
            f"{SITE['REPOSITORY']}/examples/feature_package/README.md#use",
        ),
        ("expect-answers.md#effects", "expect-answers.md#effects"),
        ("../docs/suites.md", "../docs/suites.md"),
        ("https://example.org/../x", "https://example.org/../x"),
    ],
)
def test_links_out_of_the_documentation_lead_to_the_repository(link: str, leads_to: str) -> None:
    page = SimpleNamespace(file=SimpleNamespace(abs_src_path=str(ROOT / "docs" / "page.md"), src_uri="page.md"))
    found = SITE["on_page_markdown"](f"See [it]({link}).", page, {"docs_dir": str(ROOT / "docs")}, None)
    assert found == f"See [it]({leads_to})."


@pytest.mark.parametrize(
    ("page", "title", "about"),
    [
        ("# Tapes\n\nOne file. Two more.\n", "Tapes", "One file."),
        ("# A\n\n```\ncode. x\n```\n\n| a |\n\nSee [this](b.md) first.\n", "A", "See this first."),
        ("# Only a title\n", "Only a title", ""),
    ],
)
def test_a_page_is_summed_up_by_its_first_sentence(page: str, title: str, about: str) -> None:
    assert SITE["summary"](page) == (title, about)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(built)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=True)
    return built


def search(page: Page, site: Path, words: str) -> list[str]:
    """The pages that the search finds from a folder, in its order."""
    page.goto((site / "index.html").as_uri())
    box = page.locator(".md-search__input")
    box.fill(words[:-1])
    box.press(words[-1])  # one query: what is found for a part of the words is never shown
    # The first link of each result is its page; those below it lead to sections.
    found = page.locator(".md-search-result__item > .md-search-result__link, .md-search-result__item > a:first-child")
    found.first.wait_for(state="attached")
    links: list[str] = found.evaluate_all("all => all.map(one => one.href)")
    return list(dict.fromkeys(re.sub(r"\.html.*", "", link.removeprefix(f"{site.as_uri()}/")) for link in links))


def test_the_search_finds_the_right_page_first_and_generated_pages_last(browser: Browser, site: Path) -> None:
    generated = {Path(name).stem for name in SITE["GENERATED"]}
    with opened(browser, (site / "index.html").as_uri()) as seen:
        found = {words: search(seen.page, site, words) for words in SEARCHES}
    assert {words: pages[0] for words, pages in found.items()} == SEARCHES
    for words, pages in found.items():
        ranks = [page in generated or page.startswith("decisions/") for page in pages]
        assert ranks == sorted(ranks), (words, pages)


@pytest.mark.thorough
def test_the_site_is_whole_fits_a_phone_and_asks_no_machine(browser: Browser, site: Path) -> None:
    listed = (site / "llms.txt").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        name = str(page.relative_to(ROOT / "docs"))
        assert f"]({name})" in listed
        assert (site / name).read_text() == page.read_text()
    with opened(browser, (site / "index.html").as_uri()) as seen:
        assert search(seen.page, site, "tool not seen")
        seen.page.set_viewport_size(NARROW)
        for place in sorted(site.rglob("*.html")):
            seen.page.goto(place.as_uri())
            assert not is_too_wide(seen.page), place.name
    assert [url for url in seen.requests if not url.startswith(("file:", "data:", "blob:"))] == []
