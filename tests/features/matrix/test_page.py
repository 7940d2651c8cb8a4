"""The pages of runs side by side in a real Chromium: a matrix, and a comparison."""

from __future__ import annotations

from pathlib import Path

import pytest

from browsing import axe_faults, browser, is_too_wide, looking, opened
from carob.cli.main import run
from cli.support import write
from features.matrix.test_matrix import AGENT, SUITE

__all__ = ["browser"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Made before there is a browser, whose loop would be in the way of runs in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.chdir(tmp_path_factory.mktemp("project"))
        write("agent.py", AGENT)
        write("suite.json", SUITE)
        run(["run", "suite.json", "-t", "python:agent.py:ask", "--matrix", "MODEL=large,small"])
        first, second = sorted(map(str, Path("carob-results").glob("suite-2*.jsonl")))
        run(["compare", first, second, "--format", "html", "--output", "compare.html"])
        (matrix,) = Path("carob-results").glob("suite-matrix-*.html")
        return {"matrix": matrix.absolute(), "compare": Path("compare.html").absolute()}


@pytest.mark.parametrize("name", ["matrix", "compare"])
def test_a_page_of_several_runs_is_accessible_and_fits(pages: dict[str, Path], browser, name: str) -> None:
    with opened(browser, pages[name].as_uri()) as page_shown:
        for look in looking(page_shown.page):
            assert not is_too_wide(page_shown.page), look
            assert axe_faults(page_shown.page, look) == [], look
        shown = page_shown.page.locator("body").text_content() or ""
        assert all(text in shown for text in ("refund", "I cannot.", "large says yes"))
        assert page_shown.said == []
        assert page_shown.requests == [pages[name].as_uri()], "it loads nothing"
