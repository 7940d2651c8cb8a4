"""Pages that the target was not designed around: lists that are redrawn or shown in part, panels, boxes, panes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from playwright.async_api import Page

from carob.features.browser.answer_text import AnswerTracker
from carob.features.browser.prompt_echo import PromptMatcher
from carob.targets.base import TargetError

from . import strange_pages
from .conftest import IN_A_BROWSER, ask, few_at_a_time, opened
from .stub import Stub, serving

pytestmark = IN_A_BROWSER

PROMPT = "Please book a room for me now"
EARLIER = ("Is the desk open?", "And the bar?")
FREE, ALSO_FREE = "Three are free:\n- Blue\n- Red", "Three are free:\n- Green\n- Red"
BOOKED = "Booked. Room 7 is yours."
SAME = "the answer is the same text as before, so it is unknown whether the assistant said it again"


class Row(NamedTuple):
    """The answers of a page, of which the last is the one to the prompt, and what is seen of it."""

    page: str
    answers: tuple[str, ...]
    said: str
    unseen: str | None = None


TABLE: dict[str, list[Row]] = {
    "": [
        Row("two panes", (BOOKED,), BOOKED),
        Row("a box", (FREE,), FREE),
    ],
    ".bot": [
        Row("redrawn for each word", ("Booked.", "Booked."), "Booked."),
        Row("a window over the list", ("All is cancelled.", "It is.", "Booked."), "Booked."),
        Row("places used again", ("Booked.", BOOKED), BOOKED),
        Row("a panel", (FREE, ALSO_FREE), ALSO_FREE),
        Row("a panel", (FREE, FREE), "", SAME),
        Row("a box", (FREE, ALSO_FREE), ALSO_FREE),
        Row("the prompt in the answer", (BOOKED,), f"You asked: {PROMPT} {BOOKED}"),
    ],
}
ROWS = [row for rows in TABLE.values() for row in rows]


@pytest.fixture
def pages() -> Iterator[Stub]:
    with serving(page=lambda number: strange_pages.page(ROWS[int(number)].page, ROWS[int(number)].answers)) as running:
        yield running


def configured(answer: str) -> dict[str, Any]:
    ways = {str(number): [{"open": f"/echo?page={number}"}] for number in range(len(ROWS))}
    place: dict[str, Any] = {"answer": {"selector": answer}} if answer else {}
    return {"path": "/lobby", "preconditions": ways, "complete": {"busy": "#main"}, **place}


@pytest.mark.thorough
async def test_what_is_said_is_told_from_what_stood_there(pages: Stub) -> None:
    for answer, rows in TABLE.items():
        async with opened(pages.url, **configured(answer)) as target:
            asked = [
                ask(
                    target, PROMPT, setup_prompts=EARLIER[: len(row.answers) - 1], preconditions=(str(ROWS.index(row)),)
                )
                for row in rows
            ]
            traces = await few_at_a_time(asked)
        observed = [
            row._replace(said=trace.final_message, unseen=trace.unobserved.get("final_message"))
            for row, trace in zip(rows, traces, strict=True)
        ]
        assert observed == rows


async def test_a_message_that_was_read_and_is_gone_has_no_snapshot(pages: Stub, page: Page) -> None:
    await page.goto(f"{pages.url}/echo?page=0")
    words = AnswerTracker(page, page.locator(".bot"))
    await words.mark()
    await page.evaluate("() => put(log, 'bot', 'Booked.')")
    assert (await words.since([PromptMatcher(PROMPT)])).text == "Booked."
    assert await words.snapshot() == "- paragraph: Booked."
    await page.evaluate("() => log.replaceChildren()")
    assert await words.snapshot() is None


async def test_an_answer_that_may_be_the_prompt_is_an_error(pages: Stub) -> None:
    async with opened(pages.url, **configured("")) as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, PROMPT, preconditions=(str(len(ROWS) - 1),))
    assert str(caught.value) == (
        f"the answer could not be separated from the prompt: 'You asked: {PROMPT} {BOOKED}' may be either; set "
        "`answer` to the assistant's messages alone [bad-answer]"
    )
