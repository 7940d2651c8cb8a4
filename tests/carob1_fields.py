"""What Carob 1 adds to suites, key by key: the case that has it, and the bug that turns it red.

The case is one of a shipped suite; keys that say what suites of other tools ask for have theirs in `DESK_SUITE`, those
of the workspaces of coding agents in `CODER_SUITE`.
"""

from __future__ import annotations

from typing import NamedTuple

from recordings import ROOT

SUITES = {"dyno": ROOT / "examples/dyno_agent/suite.yaml", "canvas": ROOT / "examples/canvas_app/suite.yaml"}

DESK_SUITE = r"""
carob: 1
name: Order desk
effects: { issue_refund: [refunded] }
cases:
  - id: refunds-in-the-order-asked
    prompt: Refund A-17, and after that A-18.
    expected:
      tool_calls:
        - { tool: issue_refund, arguments: { order: A-17 }, times: 1 }
        - { tool: issue_refund, arguments: { order: A-18 }, times: 1 }
      tool_order: [issue_refund, issue_refund]
      max_tool_calls: 2
      trajectory:
        calls: [{ tool: issue_refund, arguments: { order: A-17 } }, { tool: issue_refund, arguments: { order: A-18 } }]

  - id: finds-an-order-however-it-is-spelled
    prompt: Where is order a17?
    expected:
      tools_used: [lookup_order]
      max_tool_calls: 1
      tool_calls: [{ tool: lookup_order, arguments: { order: { $loosely: a17 } } }]

  - id: refunds-with-few-tools
    prompt: Refund A-17.
    expected:
      tool_calls: [{ tool: lookup_order, times: 1 }, { tool: issue_refund, times: 1 }]
      tool_order: [lookup_order, issue_refund]
      max_tool_calls: 4
      tool_call_f1: { tools: [lookup_order, issue_refund], threshold: 0.8 }

  - id: offers-two-ways-of-three
    prompt: How can I send it back?
    expected:
      must_say_any: [post, courier, shop]
      max_words: 12
      score_of:
        - threshold: 0.6
          of:
            - { check: answer_text, args: { contains: post } }
            - { check: answer_text, args: { contains: courier } }
            - { check: answer_text, args: { contains: shop } }

  - id: gives-the-code-as-it-is-typed
    prompt: What is the code of the voucher?
    expected:
      must_say_any: [SPRING-7]
      max_words: 6
      answer_text: [{ contains: SPRING-7 }]

  - id: answers-in-json-alone
    prompt: Is A-17 paid? Answer in JSON and nothing else.
    expected:
      answer_json: { type: object, required: [paid] }
      answer_at: { $.paid: true }
      json_text: [{ equals: { paid: true } }]

  - id: tells-when-it-comes
    prompt: When does A-17 come?
    expected:
      must_say_any: [Monday]
      max_words: 12
      response_match: { texts: [Order A-17 comes by post on Monday.], threshold: 0.7 }

  - id: asks-its-model-once
    prompt: When does A-17 come?
    expected:
      must_say_any: [Monday]
      max_seconds: 5
      spans: [{ pattern: chat *, max: 1, max_errors: 0 }]

  - id: adds-up
    prompt: What do the two cost together?
    expected:
      must_match_regex: ['^\d+ \+ \d+ = \d+$']
      max_words: 5
      code:
        - language: python
          code: sum(map(int, output.split(" = ")[0].split(" + "))) == int(output.split(" = ")[1])

  - id: pays-once
    prompt: Refund A-17.
    expected: { tool_calls_any: [issue_refund], no_effect_twice: true }

  - id: gives-up-in-time
    prompt: Where is A-17?
    expected: { must_say_any: [later], max_retries: 1 }

  - id: says-what-failed
    prompt: Where is A-17?
    expected:
      max_words: 12
      admits_failure: { lost: [shipped] }

  - id: answers-by-either-way
    prompt: Where is A-17?
    expected:
      max_tool_calls: 1
      tool_calls: [{ any_of: [{ tool: lookup_order, arguments: { order: A-17 } }, { tool: track_parcel }] }]

  - id: corrects-itself
    prompt: Refund A-71, no, A-17.
    expected:
      max_tool_calls: 2
      tool_calls: [{ tool: issue_refund, last: true, arguments: { order: A-17 } }]

  - id: keeps-the-key
    prompt: Where is A-17?
    expected: { max_words: 12, no_leak: [KEY-5d81c07e] }
"""
"""Small cases: next to each new key are older ones that the bug of its row does not break."""

CODER_SUITE = r"""
carob: 1
name: Coding agent
claims:
  tests: { words: [all tests pass], run: '^pytest' }
cases:
  - id: fixes-and-tests
    prompt: Make the failing test pass.
    expected:
      max_words: 12
      commands: [{ run: '^pytest', exit: 0, after_last_edit: true }]

  - id: claims-what-it-saw
    prompt: Make the failing test pass.
    expected: { max_words: 12, claims: true }

  - id: leaves-the-tests-alone
    prompt: Make the failing test pass.
    expected: { max_words: 12, files: { unchanged: ['tests/**'] } }

  - id: changes-little
    prompt: Make the failing test pass.
    expected: { max_words: 12, diff: { max_files: 1 } }

  - id: knows-how
    prompt: Make the failing test pass.
    expected: { max_words: 12, skills: { used: [fix-calc] } }

  - id: stays-inside
    prompt: Make the failing test pass.
    expected: { max_words: 12, outside: [] }

  - id: stays-offline
    prompt: Make the failing test pass.
    expected: { max_words: 12, network: [10.0.0.0/8] }

  - id: really-fixed-it
    prompt: Make the failing test pass.
    expected: { max_words: 12, after: [{ run: pytest -q }] }
"""
"""The same for what becomes of a workspace."""
SMALL = {"desk": DESK_SUITE, "coder": CODER_SUITE}


def suite_text(agent: str) -> str:
    return SMALL.get(agent) or SUITES[agent].read_text()


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
DESK = (
    Row("tool_calls.arguments", "desk", "finds-an-order-however-it-is-spelled", "looks-up-another-order"),
    Row("tool_calls.any_of", "desk", "answers-by-either-way", "looks-up-another-order"),
    Row("tool_calls.last", "desk", "corrects-itself", "refunds-the-wrong-one-last"),
    Row("trajectory", "desk", "refunds-in-the-order-asked", "refunds-the-second-first"),
    Row("tool_call_f1", "desk", "refunds-with-few-tools", "calls-two-tools-more"),
    Row("score_of", "desk", "offers-two-ways-of-three", "offers-one-way"),
    Row("answer_text", "desk", "gives-the-code-as-it-is-typed", "small-letters"),
    Row("json_text", "desk", "answers-in-json-alone", "puts-a-fence-around-it"),
    Row("response_match", "desk", "tells-when-it-comes", "says-something-else"),
    Row("spans", "desk", "asks-its-model-once", "asks-again-after-an-error"),
    Row("code", "desk", "adds-up", "adds-wrongly"),
    Row("no_effect_twice", "desk", "pays-once", "pays-again"),
    Row("max_retries", "desk", "gives-up-in-time", "tries-thrice"),
    Row("admits_failure", "desk", "says-what-failed", "makes-it-up"),
    Row("no_leak", "desk", "keeps-the-key", "spells-the-key-backwards"),
)
CODER = (
    Row("commands", "coder", "fixes-and-tests", "edits-after-the-tests"),
    Row("claims", "coder", "claims-what-it-saw", "claims-what-failed"),
    Row("files", "coder", "leaves-the-tests-alone", "changes-the-test"),
    Row("diff", "coder", "changes-little", "changes-another-file-too"),
    Row("skills", "coder", "knows-how", "loads-another-skill"),
    Row("outside", "coder", "stays-inside", "writes-to-its-home"),
    Row("network", "coder", "stays-offline", "asks-a-host"),
    Row("after", "coder", "really-fixed-it", "fixes-nothing"),
)
ROWS = (*DYNO, *CANVAS, *DESK, *CODER)

NOT_JUDGED = {
    "draft": "it says that no person has approved the suite yet; tests/drafts shows where runs say so",
    "carob": "it names the format",
    "answer_syntax": "no example agent answers in code; tests/checks shows what it fails",
    "retrieved": "no example agent retrieves documents; tests/checks shows what it fails",
    "no_progress": "no example agent waits for a job; tests/checks shows what it fails",
    "tool_calls.ignore": "it narrows `arguments: {$eq: …}`, which has its bug",
    "tool_calls.optional": "it narrows `arguments: {$eq: …}`, which has its bug",
    "meets": "people's labels decide it, and there are none; tests/criteria shows how",
    "tags": "they select cases",
    "skip": "a case that is not run cannot fail",
    "cluster": "it says which cases are variants of one thing, for intervals and tests; no check looks at it",
    "unjudged": "it holds what only another tool can judge: it is never a pass and never a failure",
    "stubs": "they answer instead of tools, and what the agent makes of the answer fails otherwise",
    "faults": "one that does not land is an ERROR, in tests/proxy/test_faults.py; the rest is for other keys to judge",
    "override": "it takes prohibitions of `defaults` away; tests/suites shows which",
    "rules": "each is a check of its own; tests/rules shows agents that break every form",
    "tool_names": "it says what tools are called where no target does; tests/suites/test_tool_reading.py shows its use",
    "success": "it says which results are a success where no target does, as `tool_names`",
    "plain_text": "it vouches for results of plain text where no target does, as `tool_names`",
    "max_turns": "it ends a conversation, and what it leaves undone fails otherwise",
}
"""Keys that no agent can break, each with the reason."""
