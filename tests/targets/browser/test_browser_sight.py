"""What a reader sees counts as said and shown; what is only there counts where it is forbidden."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from karat.checks.ui import Ui
from karat.model.snapshot import NOT_SEEN
from karat.model.trace import Trace
from karat.model.verdict import Status

from .conftest import ask, few_at_a_time, opened
from .stub import CHAT, serving

pytestmark = pytest.mark.asyncio(loop_scope="module")

UNSEEN = {
    "display": "<b style='display: none'>Booked</b>",
    "visibility": "<b style='visibility: hidden'>Booked</b>",
    "opacity": "<b style='opacity: 0'>Booked</b>",
    "opacity-of-a-parent": "<div style='opacity: 0.05'><div><b>Booked</b></div></div>",
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
}
PARTLY = {
    "clamped": "<p style='width: 300px; height: 1.2em; line-height: 1.2em; overflow: hidden'>"
    + " ".join(f"word{number}" for number in range(60))
}
SEEN = {
    "plain": "<b>Booked</b>",
    "half": "<b style='opacity: 0.5'>Booked</b>",
    "small": "<b style='font-size: 8px'>Booked</b>",
    "gradient": "<b style='color: transparent; background: linear-gradient(red, blue) text'>Booked</b>",
    "below-the-fold": "<div style='height: 4000px'></div><b>Booked</b>",
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
}


def page_with(name: str) -> str:
    """The stub's chat, which answers with one of the rows."""
    html = (UNSEEN | SEEN | PARTLY)[name]
    script = f"at('go').onclick = () => bubble('bot', 'OK. ').insertAdjacentHTML('beforeend', `{html}`)"
    return f"{CHAT}<script>{script}</script>"


async def shown(rows: Mapping[str, str]) -> dict[str, Trace]:
    """What is seen of each row, side by side in one browser."""
    ways = {name: [{"open": f"/echo?page={name}"}] for name in rows}
    with serving(page=page_with) as stub:
        async with opened(stub.url, "/lobby", preconditions=ways, answer={"selector": ".bot"}) as target:
            asked = (ask(target, "Book it", preconditions=(name,)) for name in rows)
            return dict(zip(rows, await few_at_a_time(asked), strict=True))


def status(trace: Trace, **element: Any) -> Status:
    return msgspec.convert({"elements": [element]}, Ui).judge(trace).status


async def test_what_no_reader_sees_is_not_said_and_not_shown_and_breaks_what_forbids_it() -> None:
    for name, trace in (await shown(UNSEEN)).items():
        assert "Booked" not in trace.final_message, name
        assert trace.final_message.startswith("OK."), name
        assert status(trace, name_contains="Booked") is Status.FAILED, (name, trace.page)
        if name not in ("display", "visibility", "details"):
            assert status(trace, name_contains="Booked", visible=False) is Status.FAILED, (name, trace.page)
            assert "Booked" in trace.unseen_words, name


async def test_what_a_reader_sees_or_can_scroll_to_counts() -> None:
    for name, trace in (await shown(SEEN)).items():
        assert "Booked" in trace.final_message, name
        assert NOT_SEEN not in (trace.page or ""), name
        assert status(trace, name_contains="Booked") is Status.PASSED, (name, trace.page)


async def test_of_a_clipped_text_the_words_that_show_count() -> None:
    said = (await shown(PARTLY))["clamped"].final_message
    assert "word0" in said
    assert "word59" not in said
