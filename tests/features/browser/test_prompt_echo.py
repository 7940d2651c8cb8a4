"""What a line is to the prompt, and what a snapshot shows of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.features.browser.prompt_echo import Likeness, PromptMatcher
from carob.features.browser.screen import MASK, SentPrompt, without_prompts
from carob.model.trace import LIKE_PROMPT, THE_PROMPT

LONG = "Compare GitHub with Slack, and say:\n- which one is fresh?"
FLAT = "compare github with slack and say which one is fresh"
QUOTE = f"You want me to {FLAT}? Here is what I found today: both."
HTML = "Say that <b>GitHub</b> is fine, see [the issue](https://example.com/1) &amp; smile"

WHOLE, NAMED, START, PART, OTHER = Likeness.WHOLE, Likeness.NAMED, Likeness.START, Likeness.PART, Likeness.OTHER


@pytest.mark.parametrize(
    ("prompt", "lines", "likenesses"),
    [
        pytest.param(LONG, [FLAT.upper(), "Both are."], [WHOLE, OTHER], id="other-case-and-marks"),
        pytest.param(LONG, [*LONG.split("\n"), "Both."], [WHOLE, WHOLE, OTHER], id="over-two-lines"),
        pytest.param(LONG, [f"You: {FLAT[:33]}", f"{FLAT[34:]} 9:15"], [WHOLE, WHOLE], id="label-and-time"),
        pytest.param(LONG, ["Compare Git\u00adHub with Sl…", f"{FLAT[:30]} show more"], [WHOLE, WHOLE], id="cut"),
        pytest.param(LONG, ["Compare GitHub with Slack", "Compare"], [START, START], id="cut-unmarked"),
        pytest.param(
            LONG,
            [f"Mira {FLAT}", f"You want me to {FLAT}? Here is what I found today: both."],
            [NAMED, Likeness.QUOTED],
            id="with-other-words",
        ),
        pytest.param(LONG, ["Slack", "slac"], [PART, OTHER], id="a-word-of-it"),
        pytest.param(HTML, ["Say that GitHub is fine, see the issue & smile"], [WHOLE], id="rendered"),
        pytest.param("OK", ["OK", "You: OK 9:15", "OK, done.", "Book it"], [WHOLE, WHOLE, NAMED, OTHER], id="short"),
        pytest.param("Mentions", ["Mentions today", "Mentions just now"], [NAMED, WHOLE], id="short-and-a-time"),
        pytest.param("recall", ["recall", "2"], [WHOLE, OTHER], id="a-number-is-no-rest"),
        pytest.param("🎉", ["🎉", "Party!"], [WHOLE, OTHER], id="no-words"),
    ],
)
def test_what_a_line_is(prompt: str, lines: list[str], likenesses: list[Likeness]) -> None:
    assert PromptMatcher(prompt).likenesses(lines) == likenesses


@given(st.text(min_size=1), st.text())
def test_the_echo_never_raises(prompt: str, shown: str) -> None:
    echo = PromptMatcher(prompt)
    assert len(echo.likenesses(shown.split("\n"))) == shown.count("\n") + 1
    assert without_prompts(shown, [SentPrompt(echo, "")]).count("\n") == shown.count("\n")


@given(st.lists(st.text("abcdefghij", min_size=2, max_size=9), min_size=8, max_size=30), st.integers(0, 3))
def test_no_long_prompt_survives(words: list[str], style: int) -> None:
    prompt = " ".join(words)
    shown = (prompt, prompt.replace(" ", "\n"), prompt.upper(), f"You: {prompt} 9:15")[style]
    assert set(PromptMatcher(prompt).likenesses(shown.split("\n"))) <= {WHOLE}


@pytest.mark.parametrize(
    ("prompt", "line", "shown"),
    [
        pytest.param(LONG, f'- article "You": "{FLAT}"', f'- article "You": "{MASK}"', id="bubble"),
        pytest.param(LONG, f"- text: You {FLAT} Bot OK", f"- text: You {MASK} Bot OK", id="merged-text"),
        pytest.param(LONG, f'- cell "{FLAT}"', f'- cell "{FLAT}" {THE_PROMPT}', id="any-role"),
        pytest.param(LONG, '- link "Compare Git…":', f'- link "Compare Git…" {THE_PROMPT}:', id="title"),
        pytest.param(
            LONG,
            '- heading "Compare GitHub with Slack" [level=2]',
            f'- heading "Compare GitHub with Slack" [level=2] {LIKE_PROMPT}',
            id="component-or-title",
        ),
        pytest.param("Snooze", '- link "Snooze"', f'- link "Snooze" {THE_PROMPT}', id="short-title"),
        pytest.param("Snooze", '- button "Snooze"', f'- button "Snooze" {LIKE_PROMPT}', id="short-prompt-and-control"),
        pytest.param("Snooze", '- article "You": Snooze', f'- article "You": {MASK}', id="short-bubble"),
        pytest.param("Snooze", "- text: Snooze it now", "- text: Snooze it now", id="short-within-a-text"),
        pytest.param("You are late", '- article "You": Sorry', '- article "You": Sorry', id="a-name-of-the-user"),
    ],
)
def test_the_snapshot_shows_what_repeats_the_prompt(prompt: str, line: str, shown: str) -> None:
    assert without_prompts(line, [SentPrompt(PromptMatcher(prompt), "")]) == shown
    page = f"- main:\n{line}"
    assert without_prompts(page, [SentPrompt(PromptMatcher(prompt), line)]) == page, "what was there before is no echo"
