"""The words of the assistant, and what the page shows, told from what repeats the prompt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import pytest

from carob.checks.page.ui import Ui
from carob.model.trace import Trace
from carob.model.verdict import Status

from . import echo_pages
from .conftest import IN_A_BROWSER, ask, few_at_a_time, opened
from .stub import Stub, serving

pytestmark = IN_A_BROWSER

LONG = "Please add a GitHub my-activity component with Slack and PostHog in it, then say done and 12"
SHORT = "Add milk"
RISKY = "Please tell RISK <n> of 100 and then GitHub and Slack in <b>bold</b> letters"
LINK = "See <a href='https://x.y/issue'>this</a> and say that GitHub is fine"
NEXT = "And now answer the question of the day please"
BRIEF = "Give me the mission of GitHub and Slack in three lines"


class Row(NamedTuple):
    page: str
    prompt: str = LONG
    said: str = "OK"
    setup: tuple[str, ...] = ()


QUOTE = f"I deleted the whole database.\n{LONG}\nThat is all."
TABLE: dict[str, list[Row]] = {
    "": [
        *(Row(page, SHORT) for page in ("title", "inline label", "time", "editable")),
        *(Row(page) for page in ("title", "cut title", "cut bubble", "hyphens", "editable")),
        Row("rendered", RISKY),
        Row("rendered", LINK),
        Row("first title", NEXT, "OK", (BRIEF,)),
        Row("quote", LONG, "I deleted the whole database.\nThat is all."),
    ],
    ".msg": [Row("title"), Row("title", SHORT), Row("inline label", SHORT)],
    ".assistant": [
        *(Row(page, NEXT, "OK", (BRIEF,)) for page in ("regenerate", "ages", "newest first")),
        Row("nested", LONG, "1. one\n2. two"),
        Row("hidden"),
        Row("quote", LONG, QUOTE),
    ],
}
FOUND = defaultdict(
    lambda: "no `answer` is configured: took what appeared after the prompt, in p.msg.assistant",
    quote="no `answer` is configured: took what appeared after the prompt, in div",
)
"""Where words were found if nobody said where to look."""


@pytest.fixture
def pages() -> Iterator[Stub]:
    with serving(page=echo_pages.page) as running:
        yield running


async def shown(stub: Stub, answer: str, rows: list[Row]) -> list[Trace]:
    """What is seen of each row, side by side in one browser."""
    ways = {name: [{"open": f"/echo?page={name}"}] for name in echo_pages.PAGES}
    place: dict[str, Any] = {"answer": {"selector": answer}} if answer else {}
    async with opened(stub.url, "/lobby", preconditions=ways, **place) as target:
        asked = (ask(target, row.prompt, setup_prompts=row.setup, preconditions=(row.page,)) for row in rows)
        return await few_at_a_time(asked)


@pytest.mark.parametrize("answer", TABLE)
async def test_what_the_assistant_says(pages: Stub, answer: str) -> None:
    rows = TABLE[answer]
    traces = await shown(pages, answer, rows)
    observed = [row._replace(said=trace.final_message) for row, trace in zip(rows, traces, strict=True)]
    assert observed == rows
    assert [trace.metadata for trace in traces] == [{} if answer else {"answer": FOUND[row.page]} for row in rows]


ON_THE_PAGE: list[tuple[Row, str | dict[str, Any], Status]] = [
    (Row("link", "Snooze it"), {"role": "link", "name_contains": "Snooze"}, Status.FAILED),
    (Row("link", "Snooze or Reframe mission, please"), {"role": "link", "name_contains": "Snooze"}, Status.FAILED),
    (Row("group and cell"), "A GitHub my-activity component is visible.", Status.FAILED),
    (Row("group and cell", "Add GitHub my-activity"), "A GitHub my-activity component is visible.", Status.FAILED),
    (Row("group and cell"), {"role": "cell", "name_contains": "PostHog"}, Status.FAILED),
    (Row("group and cell"), {"role": "cell", "name_contains": "PostHog", "visible": False}, Status.UNKNOWN),
    (
        Row("own title", "Slack unanswered threads must not be added to the page"),
        {"role": "heading", "name": "Slack Unanswered Threads", "visible": False},
        Status.UNKNOWN,
    ),
    (Row("lazy"), "The card title becomes Release Radar.", Status.FAILED),
    (Row("lazy"), "No new component is added.", Status.PASSED),
]


async def test_what_the_page_shows(pages: Stub) -> None:
    rows = list(dict.fromkeys(row for row, _, _ in ON_THE_PAGE))
    traces = dict(zip(rows, await shown(pages, ".assistant", rows), strict=True))
    assert {trace.final_message for trace in traces.values()} == {"OK"}
    for row, wanted, status in ON_THE_PAGE:
        trace = traces[row]
        args = {"sentence": wanted} if isinstance(wanted, str) else {"elements": [wanted]}
        assert msgspec.convert(args, Ui).judge(trace).status is status, (row, wanted, trace.page)
