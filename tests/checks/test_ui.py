"""Sentences of the small grammar that nobody can judge: what is said of them, word for word."""

from __future__ import annotations

import pytest

from carob.checks.page.ui import Ui
from carob.checks.sample_traces import shows
from carob.model.trace import Trace
from carob.model.verdict import Status

UNMARKED = "no element of the page has the role of a component (article, complementary, figure, group, region)"
TILE = '- text: Board\n- heading "Slack Mentions"'
REGION = '- region "Notes"\n'


@pytest.mark.parametrize(
    ("sentence", "trace", "why"),
    [
        pytest.param(
            "The confetti falls.",
            shows(TILE),
            "Carob does not know this sentence: define it in the target's ui_vocabulary, or write an object, such "
            'as {"role": "heading", "name": "My Activity"}',
            id="no-rule",
        ),
        pytest.param(
            "A Slack mentions component is visible.",
            shows(TILE),
            f"{UNMARKED}, and it shows the heading 'slack mentions': write what must show as an object, such as "
            '{"role":"heading","name":"slack mentions"}',
            id="a-tile-without-a-role",
        ),
        pytest.param(
            "No new component is added.",
            shows(TILE, before="- text: Board"),
            f"{UNMARKED}: write what must not appear as an object, such as "
            '{"role": "heading", "new": true, "visible": false}',
            id="no-tiles-at-all",
        ),
        pytest.param(
            "No new component is added.",
            shows(REGION + TILE, before=REGION),
            "the heading 'slack mentions' is new and not in a component: write what must not appear as an object, "
            'such as {"role": "heading", "new": true, "visible": false}',
            id="a-heading-that-is-new",
        ),
        pytest.param(
            "No new component is added.",
            shows(REGION),
            "the page was not captured before the turn",
            id="no-page-before",
        ),
    ],
)
def test_what_is_unknown_says_what_to_write(sentence: str, trace: Trace, why: str) -> None:
    result = Ui(sentence).judge(trace)
    assert (result.status, result.found) == (Status.UNKNOWN, why)


def test_a_component_that_nothing_tells_of_is_missing() -> None:
    result = Ui("A GitHub component is visible.").judge(shows(TILE))
    assert (result.status, result.found) == (Status.FAILED, "0 for at least 1 component 'github'")
