"""Finding the prompt in what a page shows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.targets.browser_echo import MASK, Echo
from karat.targets.browser_page import _new_lines, _new_texts

LONG = "Compare GitHub with Slack, and say:\n- which one is fresh?"
FLAT = "compare github with slack and say which one is fresh"


@pytest.mark.parametrize(
    ("prompt", "shown", "said"),
    [
        pytest.param(LONG, f"{LONG}\nBoth are.", "Both are.", id="as-written"),
        pytest.param(LONG, f"{FLAT.upper()}\nBoth are.", "Both are.", id="other-case-marks-and-lines"),
        pytest.param(LONG, f"You\n{LONG} 10:32\nBoth are.\nTruly.", "Both are.\nTruly.", id="label-and-time"),
        pytest.param(LONG, f"You: {FLAT}\nBot: Both are.", "Bot: Both are.", id="label-in-the-line"),
        pytest.param(LONG, f"{FLAT}\nToday\n{FLAT}\nBoth are fresh.", "Both are fresh.", id="title-and-bubble"),
        pytest.param(LONG, f"{FLAT}\nBoth are fresh.\n{FLAT}", "Both are fresh.", id="left-in-the-box"),
        pytest.param(LONG, FLAT, "", id="no-answer-yet"),
        pytest.param(LONG, "Both are.", "Both are.", id="not-repeated"),
        pytest.param(LONG, f"So you want to {FLAT}? Well, this is what I found for you today: both.", "?", id="quoted"),
        pytest.param("OK", "OK\nOK", "OK", id="short-and-the-same-answer"),
        pytest.param("OK", "You: OK 9:15\nOK", "OK", id="short-with-label-and-time"),
        pytest.param("OK", "OK…\nOK\nOK, done.", "OK, done.", id="short-with-title"),
        pytest.param("OK", "OK, done.", "OK, done.", id="short-within-an-answer"),
        pytest.param("OK", "OK", "", id="short-and-no-answer-yet"),
        pytest.param("🎉", "🎉\nParty!", "Party!", id="no-words"),
    ],
)
def test_what_is_said_after_the_prompt(prompt: str, shown: str, said: str) -> None:
    found = Echo(prompt).without(shown)
    assert found == said or (said == "?" and "what I found" in found and "GitHub" not in found)


@given(st.text(min_size=1), st.text())
def test_the_echo_never_raises_and_never_adds(prompt: str, shown: str) -> None:
    echo = Echo(prompt)
    assert len(echo.without(shown)) <= len(shown)
    assert echo.count(shown) >= 0
    assert len(echo.masked(shown, "").split("\n")) == len(shown.split("\n"))


@given(st.lists(st.text("abcdefghij", min_size=2, max_size=9), min_size=8, max_size=30), st.integers(0, 3))
def test_no_long_prompt_survives(words: list[str], style: int) -> None:
    prompt = " ".join(words)
    shown = (prompt, prompt.replace(" ", "\n"), prompt.upper(), f"You: {prompt} 9:15")[style]
    assert Echo(prompt).without(f"{shown}\nOK") == "OK"


@pytest.mark.parametrize(
    ("prompt", "line", "masked"),
    [
        pytest.param(LONG, f'- article "You": "{FLAT}"', f'- article "You": "{MASK}"', id="bubble"),
        pytest.param(LONG, f"- text: You {FLAT} Bot OK", f"- text: You {MASK} Bot OK", id="merged-text"),
        pytest.param(LONG, '- link "Compare GitHub with Slack…":', f'- link "{MASK}":', id="title"),
        pytest.param(LONG, '- link "Compare GitHub"', '- link "Compare GitHub"', id="too-short-for-a-title"),
        pytest.param(
            LONG, '- region "Compare GitHub with Slack"', '- region "Compare GitHub with Slack"', id="component"
        ),
        pytest.param("Snooze", '- button "Snooze"', '- button "Snooze"', id="short-prompt-and-control"),
        pytest.param("Snooze", '- article "You": Snooze', f'- article "You": {MASK}', id="short-bubble"),
        pytest.param("Snooze", "- text: Snooze it now", "- text: Snooze it now", id="short-within-a-text"),
    ],
)
def test_the_snapshot_is_masked(prompt: str, line: str, masked: str) -> None:
    assert Echo(prompt).masked(line, "") == masked
    assert Echo(prompt).masked(f"- main:\n{line}", line) == f"- main:\n{line}", "what was there before is no echo"


@pytest.mark.parametrize(
    ("before", "after", "new"),
    [
        pytest.param(["a"], ["a", "b"], ["b"], id="appended"),
        pytest.param([], ["b"], ["b"], id="first"),
        pytest.param(["a", "b"], ["b", "c"], ["c"], id="oldest-dropped"),
        pytest.param(["a"], ["b"], ["b"], id="changed-in-place"),
        pytest.param(["hint", "a"], ["hint", "b"], ["", "b"], id="one-of-two-changed"),
        pytest.param(["me: hi"], ["me: hi\nbot: OK"], ["\nbot: OK"], id="grown"),
        pytest.param(["OK"], ["OK", "OK"], ["OK"], id="the-same-again"),
        pytest.param(["a", "b"], [], [], id="cleared"),
    ],
)
def test_new_messages(before: list[str], after: list[str], new: list[str]) -> None:
    assert _new_texts(before, after) == new


def test_new_lines_keep_their_order_and_count() -> None:
    assert _new_lines("head\nOK\nfoot", "head\nOK\n  hi \n\nOK\nfoot", Echo("Well?")) == "hi\nOK"


def test_a_prompt_that_was_suggested_is_an_echo_all_the_same() -> None:
    before, after = "Try this:\nAdd mentions", "Mentions\n5 today\nAdd mentions\nAdded."
    echo = Echo("Add mentions")
    assert echo.without(_new_lines(before, after, echo)) == "Added."
