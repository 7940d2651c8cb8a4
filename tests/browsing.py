"""A real Chromium for tests of pages: one per module, with what a page asked for and complained about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from recordings import CHROMIUM

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SERIOUS = ("serious", "critical")
WIDE = {"width": 1280, "height": 900}
NARROW = {"width": 390, "height": 844}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "viewport": WIDE},
    "dark": {"color_scheme": "dark", "viewport": WIDE},
    "narrow": {"color_scheme": "light", "viewport": NARROW},
}
SETTLED = """() => Promise.allSettled(
  document.getAnimations().filter((one) => one instanceof CSSTransition).map((one) => one.finished))"""
RULES: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"runOnly": ["color-contrast"]},
    "narrow": {"rules": {"color-contrast": {"enabled": False}}},
}
"""What is looked at: another scheme changes nothing but colours, another width all but them."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        pytest.skip("no Chromium: apt-get install chromium-headless-shell")
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield started
        started.close()


@dataclass
class Seen:
    """A page, what it asked for, and what it said on its console."""

    page: Page
    requests: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


@contextmanager
def opened(browser: Browser, url: str, **how: Any) -> Iterator[Seen]:
    context = browser.new_context(**{**LOOKS["light"], **how})
    context.set_default_timeout(20_000)
    seen = Seen(context.new_page())
    context.on("request", lambda request: seen.requests.append(request.url))
    seen.page.on("console", lambda message: seen.said.append(message.text))
    seen.page.on("pageerror", lambda error: seen.said.append(str(error)))
    try:
        seen.page.goto(url)
        yield seen
    finally:
        context.close()


def axe_faults(page: Page, look: str) -> list[str]:
    """What axe-core finds that is serious or critical in a page that looks so."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"resultTypes": ["violations"], **RULES[look]}).response["violations"]
    return [f"{fault['id']}: {fault['nodes'][0]['html'][:200]}" for fault in found if fault["impact"] in SERIOUS]


def looking(page: Page) -> Iterator[str]:
    """The names of all looks, while the page has each and none of its colours is on the way to another."""
    for look, how in LOOKS.items():
        page.set_viewport_size(how["viewport"])
        page.emulate_media(color_scheme=how["color_scheme"])
        page.evaluate(SETTLED)
        yield look


def is_too_wide(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))
