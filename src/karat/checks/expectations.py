"""The keywords of `karat.check`: every key of `expected`. Written by `python docs/reference.py` from the catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict


class CallTimesKeys(TypedDict, total=False):
    """How often such a call is made. Without `min` it is made at least once."""

    min: int
    """The minimum number of calls; 1 if not given."""
    max: int
    """The maximum number of calls."""


class ExpectedCallKeys(TypedDict, total=False):
    """A call that was made: its tool, and what else must be true of it."""

    tool: str
    """The name of the tool."""
    arguments: object
    """Arguments of the call, which may have others; matchers are allowed."""
    success: bool
    """Whether it succeeded."""
    result: object
    """Its result; matchers are allowed."""
    error: object
    """The text of its error; matchers are allowed."""
    times: int | CallTimesKeys
    """How often the call is made: a number, or {min, max}."""
    never: Literal[True]
    """No such call was made or requested."""


class TrajectoryCallKeys(TypedDict, total=False):
    """A call of the reference."""

    tool: str
    """The name of the tool."""
    arguments: object
    """Arguments of the call, others allowed; matchers are allowed."""


class TrajectoryRuleKeys(TypedDict, total=False):
    """The calls of a reference, and how those that were made are compared with them."""

    calls: Sequence[TrajectoryCallKeys | Sequence[TrajectoryCallKeys]]
    """The calls in order; calls in a nested list were requested together, in any order."""
    without_failed: Literal[True]
    """Calls that failed are ignored."""
    match: Literal["ordered", "in_order", "any_order", "subset", "superset"]
    """`ordered` (the default: these and no others), `in_order` (others between), `any_order`, `subset` (no others),
    `superset` (others too).
    """


class UiElementKeys(TypedDict, total=False):
    """Elements by role, accessible name and text, and how many of them the page must show."""

    role: str
    """The role of the element, such as `heading`."""
    name: str
    """Its accessible name."""
    name_contains: str
    """A part of its name."""
    name_regex: str
    """A regex that is found in its name."""
    text: str
    """What it shows."""
    within: Mapping[str, object]
    """The element that contains it, as an object."""
    new: bool
    """true: it was not there before the turn."""
    visible: bool
    """false: there is no such element."""
    min: int
    """At least this many."""
    max: int
    """At most this many."""
    any: Sequence[Mapping[str, object]]
    """Objects of which at least one must match."""


class GroundedNumberKeys(TypedDict, total=False):
    """A number to find: by `regex`, by `value`, or as `from_tool` gave it; next to one of `context_any` if given."""

    label: str
    """What the number is, for reports."""
    regex: str
    """A regex that is found in the message."""
    value: str | int | float
    """The number itself."""
    from_tool: str
    """The tool whose last result has the number."""
    at: str
    """JSONPath of it in that result; `$` if not given."""
    context_any: Sequence[str]
    """Phrases of which at least one must be in the message too."""
    within: Literal["line", "message"]
    """How close to the number that phrase must be."""


class LostDataKeys(TypedDict, total=False):
    """What the answer lacks where tools gave nothing that can be used."""

    tools: Sequence[str]
    """The tools whose results cannot be used."""
    lost: Sequence[str]
    """Values that only these tools know."""
    usual: str
    """The answer of a run in which nothing failed."""
    old: Literal[True]
    """Their data is old; the answer may also say how old."""


class AnyTurnKeys(TypedDict, total=False):
    """Word checks, each of which holds for at least one answer."""

    must_say_any: Sequence[str]
    """The answer contains at least one of these phrases."""
    must_match_regex: Sequence[str]
    """The answer has a match; one check per entry."""
    answer_equals: str
    """The answer is this text."""
    expected_contains: Sequence[str]
    """The answer contains the phrase; one check per entry."""
    reason_contains: Sequence[str]
    """The answer contains the phrase; one check per entry."""
    asks_for: Sequence[str | Sequence[str]]
    """The answer asks for it; one check per entry."""
    must_label_assumptions: Literal[True]
    """The answer names its assumptions."""
    required_sources: Sequence[str]
    """The answer names the source; one check per entry."""
    must_not_say: Sequence[str]
    """The answer lacks the phrase; one check per entry."""
    must_not_match_regex: Sequence[str]
    """The answer has no match; one check per entry."""
    must_not_contain: Sequence[str]
    """The answer lacks the phrase; one check per entry."""


class TokenLimitsKeys(TypedDict, total=False):
    """The most tokens."""

    input: int
    """The maximum number of input tokens."""
    output: int
    """The maximum number of output tokens."""
    total: int
    """The maximum of both together."""


class TextRuleKeys(TypedDict, total=False):
    """One thing that holds for the text of the answer, letter by letter."""

    contains: str
    """The answer contains this text."""
    contains_any: Sequence[str]
    """The answer contains at least one of these."""
    contains_all: Sequence[str]
    """The answer contains all of these."""
    starts_with: str
    """The answer begins with this text."""
    equals: str
    """The answer is this text."""
    regex: str
    """A JavaScript regex without flags that is found in the answer."""
    near: str
    """The answer is at most `distance` edits away from this text."""
    distance: int
    """Letters added, removed or changed; 5 if not given."""
    min_words: int
    """The minimum number of words, separated by white space."""
    max_words: int
    """The maximum number of words, separated by white space."""
    at: str
    """A JSONPath: check this value of the answer's JSON, not the whole answer."""
    ignore_case: Literal[True]
    """Ignore letter case."""
    negated: Literal[True]
    """Invert the check: it must fail."""


class JsonRuleKeys(TypedDict, total=False):
    """JSON in the answer."""

    part: Literal[True]
    """The JSON may be any part of the answer, instead of all of it."""
    schema: Mapping[str, object]
    """A JSON Schema that it fits; draft 7 unless it has `$schema`."""
    equals: object
    """The value that it equals."""
    negated: Literal[True]
    """Invert the check: it must fail."""


class MatchRuleKeys(TypedDict, total=False):
    """References, and how alike the answers are to them."""

    texts: Sequence[str]
    """A reference for each turn."""
    threshold: float
    """The lowest mean of the ROUGE-1 F-measures."""


class F1RuleKeys(TypedDict, total=False):
    """Tools, and how well the set of those that were called fits them."""

    tools: Sequence[str]
    """The tools that are expected."""
    threshold: float
    """The lowest F1 score."""


class SpanRuleKeys(TypedDict, total=False):
    """Spans whose name fits a pattern, and what bounds them."""

    pattern: str
    """Their names; * and ? are wildcards, and letter case is ignored."""
    min: int
    """The minimum number of such spans."""
    max: int
    """The maximum number of such spans."""
    max_ms: float
    """The maximum time for each of them, or for `percentile`."""
    percentile: float
    """The share of them that must be within `max_ms`."""
    max_errors: int
    """The maximum number with an error."""
    max_error_percent: float
    """The maximum share with an error."""


class ScoredPartKeys(TypedDict, total=False):
    """One of the checks, by its name and arguments."""

    check: str
    """The name of the check; docs/checks.md has them."""
    args: Mapping[str, object]
    """Its arguments."""
    weight: float
    """How much it counts; 1 if not given."""
    turn: int
    """The turn of the conversation that it judges."""


class ScoreRuleKeys(TypedDict, total=False):
    """Checks of which enough must hold."""

    threshold: float
    """The weighted share that must pass."""
    of: Sequence[ScoredPartKeys]
    """The checks."""


class CodeRuleKeys(TypedDict, total=False):
    """Code that judges the answer, and what it is given."""

    language: Literal["javascript", "python"]
    """The language of the code."""
    code: str
    """An expression, or the body of a function of `output` and `context`."""
    file: str
    """The file that contains the function."""
    function: str
    """The name of the function in the file."""
    context: Mapping[str, object]
    """Additional data for the code."""
    threshold: float
    """The lowest score that passes, if the code returns a number."""
    negated: Literal[True]
    """Invert the check: it must fail."""


class CheckKeywords(TypedDict, total=False):
    """What is expected of a trace, in the words of a suite."""

    outcome: Literal[
        "tool_success", "tool_started", "needs_input", "graceful_block", "graceful_error", "response_only", "completed"
    ]
    """How the turn must end; `response_only` if not given."""
    tool_calls_any: Sequence[str]
    """At least one of these tools was called."""
    tool_calls_none: Sequence[str]
    """None of these tools was called, or even requested."""
    tool_calls: Sequence[ExpectedCallKeys]
    """Calls that were made: {tool, arguments, success, result, error, times}, or with {never: true} not made."""
    trajectory: TrajectoryRuleKeys
    """All calls with their arguments, compared with a reference: {calls, match}."""
    tool_order: Sequence[str]
    """These calls were made in this order; others may come between."""
    tool_requires: Mapping[str, Sequence[str]]
    """Preconditions: each call to a tool comes after a successful call to every tool that is listed for it."""
    valid_arguments: Literal[True]
    """Every call names an existing tool, with arguments that fit its JSON Schema. A parameter that is not in the
    schema fails, unless the schema allows `additionalProperties`.
    """
    ended: Literal[True]
    """The agent ended by itself; no limit of steps, turns, tokens or recursion cut it off."""
    asks_for: Sequence[str | Sequence[str]]
    """The answer asks for each of these; a nested list gives several names for one thing."""
    telemetry: Sequence[str]
    """Events of the turn: `tool.<name> start`, `tool.<name> result success:true|false`, `success:false with
    missingFields containing <field>`, or any text to find in the log.
    """
    ui: Sequence[str | UiElementKeys]
    """What the page shows after the turn: sentences of the target's ui_vocabulary or the built-in grammar, or objects
    such as {role, name, within, new, visible, min, max} or {any: [objects]}.
    """
    must_say_any: Sequence[str]
    """At least one of these phrases is in the final message."""
    must_not_say: Sequence[str]
    """None of these phrases is in the final message."""
    must_match_regex: Sequence[str]
    """Each of these regexes is found in the final message."""
    must_not_match_regex: Sequence[str]
    """None of these regexes is found in the final message."""
    required_sources: Sequence[str]
    """The final message mentions each of these sources."""
    source_patterns: Mapping[str, Sequence[str]]
    """Phrases that count as a mention of a source of `required_sources`, instead of its name."""
    must_ground_numbers: Sequence[GroundedNumberKeys | str | int | float]
    """Numbers that the final message states: a regex, a value as a whole number, or the result of `from_tool`."""
    must_label_assumptions: Literal[True]
    """The final message names its assumptions or its uncertainty."""
    assumption_markers_any: Sequence[str]
    """One of these phrases counts as the label, in place of the built-in markers."""
    required_levers: int
    """The answer offers at least this many levers."""
    lever_regex: str
    """What a lever looks like; by default a line that begins with -, *, +, •, 1. or 1)."""
    claim_evidence_alignment: Literal[True]
    """The answer makes a claim, shows evidence and links the two."""
    claim_marker_regex: str
    """What marks a claim."""
    evidence_marker_regex: str
    """What marks evidence."""
    alignment_marker_regex: str
    """What links a claim to its evidence."""
    evidence_freshness_max_age_minutes: int | float
    """The answer states the age of its evidence, none older than this many minutes."""
    evidence_freshness_regex: str
    """What an age looks like; the first number of each match is minutes, unless a unit follows it."""
    must_allow_override_actions: Sequence[str]
    """Each action is offered in the final message or as a control on the page."""
    tools_used: Sequence[str]
    """The tools called, each as often as listed; `[]` means none."""
    tools_match: Literal["exact", "ordered", "set", "subset", "superset"]
    """How `tools_used` is compared: `exact` (any order), `ordered`, `set`, `subset` (nothing but these), `superset`
    (at least these).
    """
    allocation_valid: bool
    """Whether it was done. true: a word of success, none of failure, a call that succeeded, and no tool of
    `tools_used` whose last call failed. false: a word of failure, none of success, and no successful call of such a
    tool (of `effects`, if declared).
    """
    success_indicators: Sequence[str]
    """Words of success, instead of the built-in ones."""
    failure_indicators: Sequence[str]
    """Words of failure, instead of the built-in ones."""
    reason_contains: Sequence[str]
    """Each phrase is in the final message."""
    database: Mapping[str, Sequence[object]]
    """SQL queries and the rows that each must return after the turn, in any order."""
    expected_contains: Sequence[str]
    """Each phrase is in the final message."""
    must_not_contain: Sequence[str]
    """None of these phrases is in the final message."""
    grounded_numbers: Literal[True]
    """Every number in the answer is in a tool result, the page or the user's words, or follows from those."""
    grounded_constants: Sequence[int | float]
    """Numbers that the answer may state without a source."""
    grounded_in: Sequence[str]
    """Text files next to the suite, such as a policy: the answer may state every number in them."""
    no_false_success: Literal[True]
    """What the answer claims to have done, in the words of `effects`, was done by a tool that succeeded."""
    only_effects: Sequence[str]
    """No tool of `effects` started except these; `[]` means none. These may be called, but need not be."""
    no_effect_twice: Literal[True]
    """No tool of `effects` started again with equal arguments after a call that succeeded, or whose answer was lost
    (`lost_answer` in docs/words.md). Without `effects` any tool counts, and the result is unknown.
    """
    max_retries: int
    """The maximum number of times that a failed call is repeated with the same arguments."""
    admits_failure: Literal[True] | LostDataKeys
    """If the last call of a tool failed, the answer admits it in listed words. `tools` names tools whose result cannot
    be used, even if it looks fine; with `old` their data is old, and the answer may say how old instead. `lost` are
    values that only they know; `usual` is the answer of a run in which nothing failed. A lost value, or only the
    usual words, fails; an answer with neither is unknown.
    """
    no_leak: Sequence[str]
    """None of these texts is in the answer or in an argument of a call: as it is, escaped, in Base64, Base32 or hex,
    as character codes, reversed, in ROT13, or with other characters between its letters.
    """
    in_any_turn: AnyTurnKeys
    """Word checks, each of which must pass for at least one answer of the conversation."""
    answer_equals: str | int | float
    """The final message is this, and nothing else."""
    answer_json: Mapping[str, object] | Literal[True]
    """The answer is JSON that this JSON Schema accepts; `true`: any JSON."""
    answer_at: Mapping[str, object]
    """Values of a JSON answer by JSONPath (RFC 9535): {path: value or matcher}."""
    min_words: int
    """The minimum number of words."""
    max_words: int
    """The maximum number of words."""
    state: Mapping[str, object]
    """Values of the agent's final state by JSONPath (RFC 9535): {path: value or matcher}."""
    max_tool_calls: int
    """The maximum number of tool calls, over all tools."""
    max_calls: Mapping[str, int]
    """The maximum number of calls, by tool."""
    max_seconds: float
    """The maximum time for the turn."""
    max_first_token_seconds: float
    """The maximum time to the first word of the answer."""
    max_steps: int
    """The maximum number of steps, for instance of a LangGraph graph."""
    max_tokens: TokenLimitsKeys | int
    """The maximum number of tokens: {input, output, total}, or a number for the total."""
    max_cost_usd: float
    """The maximum cost of the turn: as reported by spans or a service, otherwise from its tokens and [prices]."""
    answer_text: Sequence[TextRuleKeys]
    """Text in the answer, one check per entry; letter case, white space and punctuation must match."""
    json_text: Sequence[JsonRuleKeys]
    """The answer is JSON, or contains it in one `part`; one check per entry. Code fences are not removed."""
    response_match: MatchRuleKeys
    """How many words the answer shares with a reference (ROUGE-1, `karat[rouge]`): {texts, threshold}."""
    tool_call_f1: F1RuleKeys
    """How well the set of tools that were called fits: the harmonic mean of precision and recall."""
    spans: Sequence[SpanRuleKeys]
    """Limits for the spans of the turn, by name, one check per entry."""
    score_of: Sequence[ScoreRuleKeys]
    """Checks with weights; the weighted share that passes must reach `threshold`."""
    code: Sequence[CodeRuleKeys]
    """Code that judges the answer, one check per entry; it is run only with `--trust-code`."""
    unjudged: Sequence[str]
    """Something that only another tool can judge, such as a rubric: reported as not judged, one per entry."""
    effects: Mapping[str, Sequence[str]]
    """What tools change, and the words that claim it, as in a suite."""
    words: Mapping[str, object]
    """Word lists in place of the published ones, as in a suite."""
