"""What a reader sees counts as said and shown; what is only there counts where it is forbidden."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from carob.checks.page.ui import Ui
from carob.model.trace import NOT_SEEN, Trace
from carob.model.verdict import Status

from .conftest import IN_A_BROWSER, ask, opened
from .stub import CHAT, serving

pytestmark = IN_A_BROWSER

BOOKED = "Booked"
LONG_PAGE = "<div style='height: 4000px'></div>"
UNSEEN = {
    "display": "<b style='display: none'>Booked</b>",
    "visibility": "<b style='visibility: hidden'>Booked</b>",
    "opacity": "<b style='opacity: 0'>Booked</b>",
    "opacity-of-a-parent": "<div style='opacity: 0.05'><div><b>Booked</b></div></div>",
    "filter": "<b style='filter: opacity(0)'>Booked</b>",
    "filter-of-a-parent": "<div style='filter: blur(0px) opacity(4%)'><div><b>Booked</b></div></div>",
    "faint-twice": "<div style='opacity: 0.2'><b style='opacity: 0.2'>Booked</b></div>",
    "transparent": "<b style='color: transparent'>Booked</b>",
    "alpha": "<b style='color: rgb(0 0 0 / 1%)'>Booked</b>",
    "fill": "<b style='-webkit-text-fill-color: transparent'>Booked</b>",
    "same-colour": "<div style='background: rgb(9, 9, 9)'><b style='color: rgb(9, 9, 9)'>Booked</b></div>",
    "size-0": "<b style='font-size: 0'>Booked</b>",
    "size-1": "<b style='font-size: 1px'>Booked</b>",
    "scaled": "<b style='display: inline-block; transform: scale(0)'>Booked</b>",
    "left": "<b style='position: absolute; left: -9999px'>Booked</b>",
    "above": "<b style='position: fixed; top: -500px'>Booked</b>",
    "beyond": "<b style='position: fixed; left: 200vw'>Booked</b>",
    "indent": "<div style='text-indent: -9999px; overflow: hidden'><b>Booked</b></div>",
    "clipped": "<div style='height: 0; overflow: hidden'><b>Booked</b></div>",
    "screen-reader": "<b style='position: absolute; width: 1px; height: 1px; overflow: hidden'>Booked</b>",
    "clip": "<b style='position: absolute; clip: rect(0, 0, 0, 0)'>Booked</b>",
    "inset": "<b style='display: block; clip-path: inset(50%)'>Booked</b>",
    "circle": "<b style='display: block; clip-path: circle(0)'>Booked</b>",
    "covered": "<div style='position: relative'><b>Booked</b>"
    "<div style='position: absolute; inset: 0; background: #eee'></div></div>",
    "covered-by-what-lets-clicks-through": "<div style='position: relative'><b>Booked</b>"
    "<div style='position: absolute; inset: 0; background: #eee; pointer-events: none'></div></div>",
    "name-of-a-picture": "<b style='font-family: Material Symbols Outlined, sans-serif'>Booked</b>",
    "del": "<del>Booked</del>",
    "s": "<p>It is <s>Booked</s></p>",
    "struck-parent": "<div style='text-decoration: line-through'><p>Booked</p></div>",
    "details": "<details><summary>More</summary>Booked</details>",
    "element-in-details": "<details><summary>More</summary><b>Booked</b></details>",
    "skipped": "<div style='content-visibility: hidden'>Booked</div>",
    "polygon-of-no-area": "<b style='display: block; clip-path: polygon(0 0, 100% 0, 100% 0, 0 0)'>Booked</b>",
    "polygon-elsewhere": "<b style='display: block; clip-path: polygon(200% 0, 300% 0, 300% 100%)'>Booked</b>",
    "circle-elsewhere": "<div style='clip-path: circle(5px at -99px -99px)'><p><b>Booked</b></p></div>",
    "path": "<b style='display: block; clip-path: path(&quot;M0 0&quot;)'>Booked</b>",
    "back": "<div style='transform: rotateY(180deg); backface-visibility: hidden'><b>Booked</b></div>",
    "mask": "<b style='display: block; mask-image: linear-gradient(transparent, transparent)'>Booked</b>",
    "mask-of-no-size": "<b style='display: block; mask: linear-gradient(#000, #000) 0 0 / 0 0 no-repeat'>Booked</b>",
    "blurred": "<div style='filter: blur(20px)'><b>Booked</b></div>",
    "no-contrast": "<div style='filter: contrast(0)'><b>Booked</b></div>",
    "nearly-the-same-colour": "<div style='background: #fff'><b style='color: #fefefe'>Booked</b></div>",
    "colour-of-the-empty-page": "<b style='color: #fff'>Booked</b>",
    "contained": "<div style='contain: paint; height: 0'><b>Booked</b></div>",
    "below-its-parent": "<div style='position: relative; z-index: 0'><div style='background: #eee; height: 2em'>"
    "<b style='position: absolute; top: 0; z-index: -1'>Booked</b></div></div>",
    "dots": "<b style='-webkit-text-security: disc'>Booked</b>",
    "shapes-without-fill": "<svg width='99' height='20'><text y='15' fill='none'>Booked</text></svg>",
    "shapes-that-are-clear": "<svg width='99' height='20'><text y='15' fill-opacity='0'>Booked</text></svg>",
    "shapes-outside": "<svg width='99' height='20'><text x='500' y='15'>Booked</text></svg>",
}
ABSENT = ("display", "visibility", "details", "element-in-details", "skipped")
"""The rows that assistive technology does not see either."""
PARTLY = {
    "clamped": "<p style='width: 300px; height: 1.2em; line-height: 1.2em; overflow: hidden'>"
    + " ".join(f"word{number}" for number in range(60))
}
SEEN = {
    "plain": "<b>Booked</b>",
    "half": "<b style='opacity: 0.5'>Booked</b>",
    "half-filtered": "<b style='filter: opacity(50%)'>Booked</b>",
    "small": "<b style='font-size: 8px'>Booked</b>",
    "gradient": "<b style='color: transparent; background: linear-gradient(red, blue) text'>Booked</b>",
    "scroller": "<div style='height: 40px; overflow: auto'><div style='height: 900px'></div><b>Booked</b></div>",
    "sideways": "<div style='width: 90px; overflow-x: scroll; white-space: nowrap'>"
    "<span style='display: inline-block; width: 400px'></span><b>Booked</b></div>",
    "out-of-a-clip": "<div style='height: 0; overflow: hidden'><b style='position: absolute'>Booked</b></div>",
    "veil": "<div style='position: relative'><b>Booked</b>"
    "<div style='position: absolute; inset: 0; background: rgb(0 0 0 / 30%)'></div></div>",
    "white-on-picture": "<div style='background: linear-gradient(#000, #000)'><b style='color: #fff'>Booked</b></div>",
    "inline-block": "<s style='display: contents'></s><b>Booked</b>",
    "own-decoration": "<b style='text-decoration: underline'>Booked</b>",
    "shadow": "<b style='filter: blur(0px)'>Booked</b>",
    "fixed": "<b style='position: fixed; top: 4px; left: 4px'>Booked</b>",
    "under-a-bar": "<b>Booked</b>"
    "<div style='position: fixed; top: 90px; height: 60px; left: 0; right: 0; background: #eee'></div>",
    "below-the-fold": f"{LONG_PAGE}<b>Booked</b>",
    "in-a-circle": "<b style='display: inline-block; clip-path: circle(100%)'>Booked</b>",
    "in-a-polygon": "<b style='display: inline-block; clip-path: polygon(0 0, 100% 0, 100% 100%, 0 100%)'>Booked</b>",
    "mirrored": "<div style='transform: rotateY(180deg)'><b>Booked</b></div>",
    "front": "<div style='backface-visibility: hidden'><b>Booked</b></div>",
    "inert": "<div inert style='clip-path: inset(0)'><b>Booked</b></div>",
    "fading": "<b style='display: block; mask-image: linear-gradient(#000, transparent)'>Booked</b>",
    "soft": "<b style='filter: blur(1px)'>Booked</b>",
    "grey": "<div style='background: #fff'><b style='color: #888'>Booked</b></div>",
    "paint": "<div style='contain: paint'><b>Booked</b></div>",
    "shapes": "<svg width='99' height='20'><text y='15'>Booked</text></svg>",
}
ROWS = [*UNSEEN.values(), *SEEN.values(), *PARTLY.values()]


async def shown(rows: Mapping[str, str], below: str = "") -> Trace:
    """What is seen of an answer in which all rows stand, one below the other, each with a word of its own."""
    html = "".join(f"<div>{row.replace(BOOKED, word(row))}</div>" for row in rows.values())
    script = f"at('go').onclick = () => bubble('bot', 'OK. ').insertAdjacentHTML('beforeend', `{html}{below}`)"
    with serving(page=lambda _: f"{CHAT}<script>{script}</script>") as stub:
        async with opened(stub.url, "/echo?page=rows", answer={"selector": ".bot"}) as target:
            return await ask(target, "Book it")


def word(row: str) -> str:
    return f"{BOOKED}{ROWS.index(row):02}"


def status(trace: Trace, **element: Any) -> Status:
    return msgspec.convert({"elements": [element]}, Ui).judge(trace).status


@pytest.mark.parametrize("below", [pytest.param("", id="one-screen"), pytest.param(LONG_PAGE, id="long-page")])
async def test_what_no_reader_sees_is_not_said_and_not_shown_and_breaks_what_forbids_it(below: str) -> None:
    trace = await shown(UNSEEN, below)
    assert trace.final_message.startswith("OK.")
    for name, row in UNSEEN.items():
        assert word(row) not in trace.final_message, name
        if name.startswith("shapes"):
            continue  # a snapshot has the picture, whose name is in it
        assert status(trace, name_contains=word(row)) is Status.FAILED, (name, trace.page)
        if name not in ABSENT:
            assert status(trace, name_contains=word(row), visible=False) is Status.FAILED, (name, trace.page)
            assert word(row) in trace.hidden_words, name


async def test_what_a_reader_sees_or_can_scroll_to_counts() -> None:
    trace = await shown(SEEN)
    assert NOT_SEEN not in (trace.page or "")
    for name, row in SEEN.items():
        assert word(row) in trace.final_message, name
        assert status(trace, name_contains=word(row)) is Status.PASSED, (name, trace.page)


async def test_of_a_clipped_text_the_words_that_show_count() -> None:
    said = (await shown(PARTLY)).final_message
    assert "word0" in said
    assert "word59" not in said
