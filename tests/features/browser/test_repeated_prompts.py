"""Nothing of the prompt counts as the assistant's words, wherever and however the page repeats it."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from carob.api import judge, load_suite
from carob.model.suite import Case
from carob.model.verdict import Status
from carob.targets.base import RunContext

from .conftest import IN_A_BROWSER, ask, opened, waited_in_vain
from .stub import Stub

pytestmark = IN_A_BROWSER

PROMPT = """Say what GitHub, Slack and PostHog show: RISK_SCORE: 48, and 12 commits (12 minutes ago).
Today's mission follows from the evidence, because the metric fell, backed by 7 mentions.
- Reframe mission
- Lower priority
2. Snooze, or Use different objective?
Assumption: this may be stale, with low confidence. The booking is confirmed: **all done**."""

EXPECTED = {
    "must_say_any": ["all done"],
    "must_match_regex": [r"RISK_SCORE:\s*48", r"^-\s+Reframe"],
    "required_sources": ["github", "slack", "posthog"],
    "must_ground_numbers": [48, {"value": 12, "context_any": ["commits"]}, {"regex": r"\b7\s+mentions"}],
    "must_label_assumptions": True,
    "required_levers": 1,
    "claim_evidence_alignment": True,
    "evidence_freshness_max_age_minutes": 60,
    "must_allow_override_actions": ["Reframe mission", "Lower priority", "Use different objective", "Snooze"],
    "ui": [{"name_contains": "Snooze"}, {"name_contains": "RISK_SCORE: 48"}, {"role": "text", "name_contains": "done"}],
    "allocation_valid": True,
    "reason_contains": ["GitHub"],
    "expected_contains": ["12 commits"],
}

PLACES = {
    "no-place": None,
    "precise": {"selector": ".bot"},
    "finds-both": {"selector": ".msg"},
    "around-both": {"selector": "#out"},
}


@pytest.fixture
def asking(tmp_path: Path) -> Case:
    """A case whose prompt holds all that its checks look for."""
    suite = {"version": "0.3", "cases": [{"id": "one", "prompt": PROMPT, "expected": EXPECTED}]}
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    return load_suite(str(tmp_path / "suite.json")).cases[0]


PAGES = {"plain": "/chat", "named": "/chat?named=1&titled=1", "silent": "/chat?silent=1"}
FEW = {("plain", "no-place"), ("plain", "finds-both"), ("named", "no-place"), ("named", "around-both")}
FEW |= {("silent", "precise")}
"""For every run of the tests: each page and each place, and where both repeat the most."""


@pytest.mark.parametrize(
    ("page", "place"),
    [
        pytest.param(page, place, id=f"{page}-{place}", marks=() if (page, place) in FEW else (pytest.mark.thorough,))
        for page, place in product(PAGES, PLACES)
    ],
)
async def test_every_check_fails_on_ok(stub: Stub, asking: Case, page: str, place: str) -> None:
    async with opened(stub.url, PAGES[page], answer=PLACES[place]) as target:
        trace = await target.run(asking, RunContext())
    assert stub.heard == [PROMPT]
    assert trace.final_message in ("OK", "Bot: OK")
    verdict = judge(asking, trace)
    looked = [check for check in verdict.checks if check.name != "outcome"]
    assert len(looked) > 15
    assert [check.name for check in looked if check.status is not Status.FAILED] == []


async def test_every_check_holds_once_the_assistant_says_it(stub: Stub, asking: Case) -> None:
    """The same checks can be passed, so that failing them means something."""
    async with opened(stub.url, "/chat?silent=1", answer={"selector": ".bot"}) as target:
        trace = await ask(target, f"say {PROMPT}")
    said = [check for check in judge(asking, trace).checks if check.name not in ("outcome", "ui")]
    assert [check.name for check in said if check.status is not Status.PASSED] == []


async def test_setup_prompts_do_not_count_either(stub: Stub, asking: Case) -> None:
    async with opened(stub.url, "/chat?titled=1") as target:
        trace = await ask(target, "say OK", setup_prompts=(PROMPT,))
    assert trace.final_message == "OK"
    assert trace.page is not None
    assert "Snooze" not in trace.page
    assert "RISK_SCORE" not in (trace.page_before or "")


@pytest.mark.parametrize(
    "place",
    ["no-place", "finds-both", *(pytest.param(p, marks=pytest.mark.thorough) for p in ("precise", "around-both"))],
)
async def test_a_part_of_the_prompt_may_be_an_answer_but_not_all_of_it(stub: Stub, place: str) -> None:
    async with opened(stub.url, answer=PLACES[place]) as target:
        assert (await ask(target, "say OK")).final_message == "OK"
    said = (
        "no complete answer within {} ms: the answer could not be separated from the prompt: all that appeared "
        "repeats it; set `answer` to the assistant's messages alone [timeout]"
    )
    await waited_in_vain(stub.url, "/chat", "OK", said, answer=PLACES[place])


async def test_an_assistant_that_quotes_the_prompt_is_quoted(stub: Stub) -> None:
    """Where the page shows the prompt elsewhere, the place is the assistant's alone."""
    async with opened(stub.url, answer={"selector": ".bot"}) as target:
        trace = await ask(target, "say You asked me to say this, and I do")
    assert trace.final_message == "You asked me to say this, and I do"


async def test_a_page_that_is_loaded_anew_for_each_answer(stub: Stub) -> None:
    options: dict[str, Any] = {
        "chat_box": {"selector": "[name=text]"},
        "send": "Enter",
        "session_query": "conversation",
    }
    async with opened(stub.url, "/old", **options) as target:
        trace = await ask(target, "say Fine, thank you", setup_prompts=("say Hello there",))
    assert trace.final_message == "Fine, thank you"
