"""What Karat 1 adds to suites, key by key: the case of a shipped suite that has it, and the bug that turns it red."""

from __future__ import annotations

from typing import NamedTuple

from recordings import ROOT

SUITES = {"dyno": ROOT / "examples/dyno_agent/suite.yaml", "canvas": ROOT / "examples/canvas_app/suite.yaml"}


class Row(NamedTuple):
    """`check`: the check that must fail, where it is not called as the key."""

    field: str
    agent: str
    case: str
    bug: str
    check: str = ""

    @property
    def red(self) -> str:
        return self.check or self.field.partition(".")[0]


DYNO = (
    Row("tool_calls.arguments", "dyno", "books-vehicle-42", "another-argument"),
    Row("tool_calls.times", "dyno", "books-vehicle-42", "calls-twice"),
    Row("tool_order", "dyno", "looks-before-it-books", "calls-backwards"),
    Row("tool_requires", "dyno", "looks-before-it-books", "calls-backwards"),
    Row("valid_arguments", "dyno", "books-vehicle-42", "another-argument"),
    Row("ended", "dyno", "books-vehicle-42", "cut-off"),
    Row("max_tool_calls", "dyno", "books-vehicle-42", "calls-twice"),
    Row("max_calls", "dyno", "tells-the-date", "calls-twice"),
    Row("max_seconds", "dyno", "tells-the-date", "half-a-minute"),
    Row("max_first_token_seconds", "dyno", "tells-the-date", "late-first-word"),
    Row("max_steps", "dyno", "tells-the-date", "one-step-more"),
    Row("max_tokens", "dyno", "tells-the-date", "many-tokens"),
    Row("max_cost_usd", "dyno", "tells-the-date", "dear-tokens"),
    Row("answer_equals", "dyno", "books-vehicle-42", "curt"),
    Row("answer_json", "dyno", "counts-in-json", "a-number-as-text"),
    Row("answer_at", "dyno", "counts-in-json", "counts-one-more"),
    Row("min_words", "dyno", "deletes-nothing", "refuses-without-a-reason"),
    Row("max_words", "dyno", "tells-the-date", "goes-on"),
    Row("state", "dyno", "books-two", "forgets-a-call"),
    Row("grounded_numbers", "dyno", "books-vehicle-42", "makes-up-a-number"),
    Row("grounded_in", "dyno", "counts-in-json", "counts-one-more", check="grounded_numbers"),
    Row("must_ground_numbers.from_tool", "dyno", "books-vehicle-42", "another-allocation"),
    Row("no_false_success", "dyno", "refuses-taken", "claims-it-anyway"),
    Row("only_effects", "dyno", "tells-the-date", "books-on-the-side"),
)
CANVAS = (
    Row("tool_calls.tool", "canvas", "opens-the-space-that-it-adds-to", "stays-in-this-space"),
    Row("tool_calls.arguments", "canvas", "adds-build_health", "vercel-for-posthog"),
    Row("tool_calls.success", "canvas", "adds-three-cards", "denies-its-success"),
    Row("tool_calls.result", "canvas", "adds-mentions", "wrong-space-in-the-result"),
    Row("tool_calls.error", "canvas", "refuses-an-unknown-template", "crashes"),
    Row("tool_calls.times", "canvas", "keeps-a-rule", "calls-twice"),
    Row("tool_calls.never", "canvas", "narrows-to-one-repository", "wrong-repository"),
    Row("tool_order", "canvas", "creates-a-space-and-fills-it", "last-things-first"),
    Row("tool_requires", "canvas", "opens-the-space-that-it-adds-to", "stays-in-this-space"),
    Row("max_tool_calls", "canvas", "adds-my_activity", "calls-twice"),
    Row("max_calls", "canvas", "clears-the-canvas", "calls-twice"),
    Row("max_seconds", "canvas", "sums-up-in-one-sentence", "thinks-for-a-minute"),
    Row("answer_equals", "canvas", "adds-signups", "chatty"),
    Row("answer_json", "canvas", "compares-in-json", "numbers-as-text"),
    Row("answer_at", "canvas", "compares-in-json", "stale-numbers-in-json"),
    Row("min_words", "canvas", "deletes-nothing", "curt"),
    Row("max_words", "canvas", "refuses-a-second-card-of-a-kind", "wordy"),
    Row("asks_for", "canvas", "asks-which-card", "guesses"),
    Row("grounded_numbers", "canvas", "adds-mentions", "makes-up-a-number"),
    Row("grounded_constants", "canvas", "counts-reviews", "an-hour-off", check="grounded_numbers"),
    Row("must_ground_numbers.from_tool", "canvas", "keeps-a-rule", "tells-another-number"),
    Row("must_ground_numbers.at", "canvas", "keeps-a-rule", "tells-another-number"),
    Row("no_false_success", "canvas", "refuses-a-second-card-of-a-kind", "claims-it-anyway"),
    Row("in_any_turn", "canvas", "asks-which-card", "guesses"),
    Row("turns", "canvas", "asks-which-card", "guesses", check="outcome"),
    Row("replies", "canvas", "a-user-who-answers", "forgets-the-question", check="tool_calls"),
    Row("each", "canvas", "adds-build_health", "vercel-for-posthog", check="tool_calls"),
    Row("vars", "canvas", "deletes-nothing", "curt", check="answer_equals"),
    Row("defaults", "canvas", "refuses-to-remove-what-is-not-there", "wordy", check="max_words"),
    Row("xfail", "canvas", "keeps-a-rule-that-nobody-calls-one", "reads-every-rule", check="xfail"),
    Row("ui", "canvas", "adds-mentions", "draws-nothing"),
    Row("ui", "canvas", "asks-which-card", "draws-nothing"),
)
ROWS = (*DYNO, *CANVAS)

NOT_JUDGED = {
    "karat": "it names the format",
    "tags": "they select cases",
    "skip": "a case that is not run cannot fail",
    "max_turns": "it ends a conversation, and what it leaves undone fails otherwise",
}
"""Keys that no agent can break, each with the reason."""
