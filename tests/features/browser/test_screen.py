"""The element that a check points to lights up on the screenshot: recorded by the target, drawn by the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import carob

from .conftest import IN_A_BROWSER, config_for
from .stub import Stub

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = IN_A_BROWSER

CARD = """
const show = bubble;
bubble = (who, text) => {
  const made = show(who, text);
  if (who === "bot" && !at("card")) document.body.insertAdjacentHTML("beforeend", `
    <div style="height: 1500px"></div>
    <div style="height: 60px; overflow: auto"><div style="height: 400px"></div><button>Far away</button></div>
    <section id="card" aria-label="Offer" style="position: absolute; left: 300px; top: 900px; width: 220px">
      <h2>Blue bike</h2>Only today<button style="width: 120px; height: 40px">Buy</button></section>`);
  return made;
};
"""
EXPECTED = {
    "must_not_say": ["as an AI"],
    "ui": [
        {"role": "button", "name": "Buy", "visible": False},
        {"role": "heading", "name": "Blue bike", "visible": False},
        {"text": "Only today", "visible": False},
        {"role": "button", "name": "Far away", "visible": False},
        {"role": "button", "name": "Rent"},
    ],
}


async def test_the_evidence_of_a_check_lights_up_on_the_screenshot(stub: Stub, tmp_path: Path, page: Page) -> None:
    stub.script = CARD
    suite = {"carob": 1, "cases": [{"id": "offer", "prompt": "say Hi, as an AI I sell.", "expected": EXPECTED}]}
    config = config_for(stub.url, answer={"selector": ".bot"})
    result = await carob.arun(suite, config, results_dir=tmp_path, reports=["html"])
    (record,) = result.records
    screen = record.trace.screen
    assert screen is not None
    assert screen.height > 1500
    await page.goto(next(tmp_path.glob("*.html")).as_uri() + "#c0r0")
    drawn = await page.locator(".shot img").evaluate("(one) => [one.naturalWidth, one.naturalHeight]")
    assert drawn == [screen.width, screen.height]
    lit = page.locator(".light.lit")
    places = {}
    for label in ("must_not_say[0]", *(f"ui[{number}]" for number in range(5))):
        await page.locator(".check", has=page.get_by_text(label, exact=True)).hover()
        places[label] = [
            [int(await element.get_attribute(name) or "") for name in ("x", "y", "width", "height")]
            for element in await lit.all()
        ]
    (words,), (button,), (heading,), (around,), far, _ = places.values()
    assert button[2:] == [120, 40]
    assert button[0] >= 300
    assert heading[0] == 300
    assert heading[1] >= 900
    assert around[:1] + around[2:3] == [300, 220], "loose words are shown by what they stand in"
    assert words[1] < 100
    assert 0 < words[3] < 60
    assert far == [], "what is scrolled out of its box is not on the picture"
    top = await page.locator(".frame").evaluate("(one) => one.scrollTop")
    await page.locator(".check", has=page.get_by_text("ui[0]", exact=True)).locator("a.name").click()
    assert await page.locator(".light.lit").count() == 1
    assert await page.locator(".frame").evaluate("(one) => one.scrollTop") >= top
    assert await page.locator(".light.lit").evaluate(
        "(one) => { const [a, b] = [one, one.closest('.frame')].map((e) => e.getBoundingClientRect());"
        " return a.top >= b.top - 1 && a.bottom <= b.bottom + 1; }"
    )
