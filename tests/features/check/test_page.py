"""The page of a check in a browser: it loads nothing, complains of nothing, fits a phone, and can be read by all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import carob
from browsing import axe_faults, browser, is_too_wide, looking, opened
from features.check.conversations import conversation, day, write_lines, write_policy

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]  # a fixture


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("check")
    conversations = [
        conversation(f"{d}-{n}", agreed=n % 20 >= d, ended=n % 7 > 0, created_at=day(d), user="<b>x</b>")
        for d in range(1, 9)
        for n in range(20)
    ]
    source = write_lines(folder / "export.jsonl", conversations)
    path = folder / "page.html"
    carob.check_conversations(source, str(write_policy(folder)), by="day", max_broken=0.2, outputs=[path])
    return path


def test_page_in_a_browser(page: Path, browser: Browser) -> None:
    with opened(browser, page.as_uri()) as seen:
        for look in looking(seen.page):
            assert not is_too_wide(seen.page), look
            assert axe_faults(seen.page, look) == []
        assert seen.page.locator("svg.plot g").count() >= 8
        assert seen.page.locator(".gate").first.inner_text().startswith("Gate ")
        assert seen.requests == [page.as_uri()]
        assert seen.said == []


def test_only_what_is_in_time_is_plotted(tmp_path: Path) -> None:
    """Users whose names begin with digits are no days."""
    conversations = [conversation(f"{u}-{n}", agreed=n > 2, user=f"{u} x") for u in (1, 2, 3) for n in range(9)]
    source = write_lines(tmp_path / "export.jsonl", conversations)
    path = tmp_path / "page.html"
    carob.check_conversations(source, str(write_policy(tmp_path)), by="user", outputs=[path])
    assert 'class="plot"' not in path.read_text("utf-8")
    assert "1 x" in path.read_text("utf-8")


def test_the_axis_of_a_rule_that_all_break_ends_at_all(tmp_path: Path) -> None:
    conversations = [conversation(f"{d}-{n}", agreed=False, created_at=day(d)) for d in (1, 2) for n in range(9)]
    source = write_lines(tmp_path / "export.jsonl", conversations)
    path = tmp_path / "page.html"
    carob.check_conversations(source, str(write_policy(tmp_path)), by="day", outputs=[path])
    tops = re.findall(r'class="axis" aria-hidden="true"><span>([^<]*)<', path.read_text("utf-8"))
    assert "100%" in tops
    assert not [top for top in tops if float(top.rstrip("%")) > 100]
