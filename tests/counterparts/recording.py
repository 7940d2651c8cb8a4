"""What a front end showed in one turn, kept as a recording that the tests of the browser target play again."""

from __future__ import annotations

import asyncio
import json
import tomllib
from pathlib import Path
from typing import Any

from carob.features.browser import environment
from carob.features.browser.navigation import locate
from carob.features.browser.options import Place
from carob.features.browser.target import BrowserTarget
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.targets.base import RunContext
from carob.targets.config import TargetConfig

FOLDER = Path(__file__).parents[1] / "targets" / "browser" / "recorded"
PROMPT = "Which rooms are free on Friday?"
FRAMES = 14
# What no reader sees is marked as hidden, so that the recording needs no style sheets.
WATCH = """() => {
  const icon = /\\b(icons?|symbols?|awesome|glyphs?)\\b/i;
  const unseen = (one) => !one.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    || icon.test(getComputedStyle(one).fontFamily.split(",")[0]);
  const clean = () => {
    const copy = document.body.cloneNode(true), copies = [...copy.querySelectorAll("*")];
    for (const [at, one] of [...document.body.querySelectorAll("*")].entries())
      if (unseen(one)) copies[at].setAttribute("hidden", "");
    copy.querySelectorAll("script, style, link, noscript, template, iframe, svg > *").forEach((one) => one.remove());
    for (const one of copy.querySelectorAll("*"))
      for (const name of ["src", "srcset", "href", "onload", "style"]) one.removeAttribute(name);
    return copy.innerHTML.replace(/<!--.*?-->/gs, "");
  };
  const began = performance.now();
  window.frames_ = [[0, clean()]];
  window.timer_ = setInterval(() => {
    const now = clean();
    if (now !== window.frames_.at(-1)[1]) window.frames_.push([Math.round(performance.now() - began), now]);
  }, 50);
}"""


def record(name: str, version: str, url: str, configuration: Path) -> Path:
    """Record one turn of the app at the address with the target that an inspection wrote."""
    options = tomllib.loads(configuration.read_text())["targets"][name]["options"]
    trace, frames = asyncio.run(_recorded(url, options))
    kept = {
        "front": f"{name} {version}",
        "prompt": PROMPT,
        "options": options,
        "final_message": trace.final_message,
        "answer_page": trace.answer_page,
        "frames": _sampled(frames),
    }
    FOLDER.mkdir(exist_ok=True)
    file = FOLDER / f"{name}.json"
    file.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    return file


async def _recorded(url: str, options: dict[str, Any]) -> tuple[Trace, list[Any]]:
    from playwright.async_api import async_playwright

    target = BrowserTarget(TargetConfig(kind="browser", spec=url, options=options))
    await target.open()
    trace = await target.run(Case(id="recorded", prompt=PROMPT, checks=()), RunContext())
    await target.close()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=environment.find_browser("", playwright.chromium.executable_path),
            args=environment.launch_arguments(),
        )
        page = await browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        await page.goto(url)
        box = locate(page, Place(**options["chat_box"])).first
        await box.wait_for()
        await asyncio.sleep(2)
        await page.evaluate(WATCH)
        await box.fill(PROMPT)
        await box.press("Enter")
        await asyncio.sleep(6)
        frames: list[Any] = await page.evaluate("() => { clearInterval(window.timer_); return window.frames_; }")
        await browser.close()
    return trace, frames


def _sampled(frames: list[Any]) -> list[Any]:
    """The first and the last, and as many of those between as show how it went."""
    step = max(1, len(frames) // FRAMES)
    return [*frames[:-1:step], frames[-1]]
