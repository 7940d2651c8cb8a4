"""The keywords of `karat.check`: every key of `expected`. Written by `python docs/reference.py` from the catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict


class CallTimesKeys(TypedDict, total=False):
    """How often such a call is made. Without `min` it is made at least once."""

    min: int
    """At least so often; 1 if not given."""
    max: int
    """At most so often."""


class ExpectedCallKeys(TypedDict, total=False):
    """A call that was made: its tool, and what else must be true of it."""

    tool: str
    """The name of the tool."""
    arguments: object
    """Arguments that it was given among others; matchers may stand here."""
    success: bool
    """Whether it succeeded."""
    result: object
    """What it gave; matchers may stand here."""
    error: object
    """What its error says; matchers may stand here."""
    times: int | CallTimesKeys
    """How often such a call is made: a number, or {min, max}."""
    never: Literal[True]
    """Such a call was not even asked for."""


class TrajectoryCallKeys(TypedDict, total=False):
    """A call of the reference."""

    tool: str
    """The name of the tool."""
    arguments: object
    """Arguments that it was given among others; matchers may be here."""


class TrajectoryRuleKeys(TypedDict, total=False):
    """The calls of a reference, and how those that were made are compared with them."""

    calls: Sequence[TrajectoryCallKeys | Sequence[TrajectoryCallKeys]]
    """The calls in order; calls in a list of their own were asked for together, in any order."""
    without_failed: Literal[True]
    """Calls that failed are not among those that were made."""
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
    """An object for the element that it is in."""
    new: bool
    """true: it was not there before the turn."""
    visible: bool
    """false: none of them is there."""
    min: int
    """At least so many."""
    max: int
    """At most so many."""
    any: Sequence[Mapping[str, object]]
    """Objects of which one is enough."""


class GroundedNumberKeys(TypedDict, total=False):
    """A number to find: by `regex`, by `value`, or as `from_tool` gave it; next to one of `context_any` if given."""

    label: str
    """What the number is, for reports."""
    regex: str
    """A regex that is found in the message."""
    value: str | int | float
    """The number itself."""
    from_tool: str
    """The tool whose last result holds it."""
    at: str
    """Where in it, as a JSONPath; `$` if not given."""
    context_any: Sequence[str]
    """Phrases of which one is in the message too."""
    within: Literal["line", "message"]
    """Where that phrase must be next to the number."""


class LostDataKeys(TypedDict, total=False):
    """What the answer lacks where tools gave nothing that can be used."""

    tools: Sequence[str]
    """The tools that gave nothing that can be used."""
    lost: Sequence[str]
    """Values that only these tools know."""
    usual: str
    """The answer of a run in which nothing failed."""
    old: Literal[True]
    """They gave old data, and the answer may also say from when."""


class AnyTurnKeys(TypedDict, total=False):
    """Word checks, each of which holds for at least one answer."""

    must_say_any: Sequence[str]
    """At least one of these phrases is in it."""
    must_match_regex: Sequence[str]
    """The regex is found in it; one check per entry."""
    answer_equals: str
    """It is this text."""
    expected_contains: Sequence[str]
    """The phrase is in it; one check per entry."""
    reason_contains: Sequence[str]
    """The phrase is in it; one check per entry."""
    asks_for: Sequence[str | Sequence[str]]
    """It asks for it; one check per entry."""
    must_label_assumptions: Literal[True]
    """It names its assumptions."""
    required_sources: Sequence[str]
    """It names the source; one check per entry."""
    must_not_say: Sequence[str]
    """The phrase is not in it; one check per entry."""
    must_not_match_regex: Sequence[str]
    """The regex is not found in it; one check per entry."""
    must_not_contain: Sequence[str]
    """The phrase is not in it; one check per entry."""


class TokenLimitsKeys(TypedDict, total=False):
    """The most tokens."""

    input: int
    """The most tokens that the model reads."""
    output: int
    """The most tokens that it writes."""
    total: int
    """The most of both together."""


class TextRuleKeys(TypedDict, total=False):
    """One thing that holds for the text of the answer, letter by letter."""

    contains: str
    """It is in the answer."""
    contains_any: Sequence[str]
    """One of these is in the answer."""
    contains_all: Sequence[str]
    """All of these are in the answer."""
    starts_with: str
    """The answer begins with it."""
    equals: str
    """The answer is this text."""
    regex: str
    """A JavaScript regex without flags that is found in the answer."""
    near: str
    """A text from which the answer is at most `distance` edits away."""
    distance: int
    """Letters added, removed or changed; 5 if not given."""
    min_words: int
    """The fewest words between white space."""
    max_words: int
    """The most words between white space."""
    at: str
    """A JSONPath: the value in the JSON of the answer that is held to this."""
    ignore_case: Literal[True]
    """Upper and lower case are the same."""
    negated: Literal[True]
    """The opposite must hold."""


class JsonRuleKeys(TypedDict, total=False):
    """JSON in the answer."""

    part: Literal[True]
    """It may be anywhere in the answer; without it, it is all of it."""
    schema: Mapping[str, object]
    """A JSON Schema that accepts it, of draft 7 unless it says."""
    equals: object
    """The value that it is."""
    negated: Literal[True]
    """The opposite must hold."""


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
    """Their names, with * and ?, in any letter case."""
    min: int
    """The fewest of them."""
    max: int
    """The most of them."""
    max_ms: float
    """The longest that one of them, or `percentile`, takes."""
    percentile: float
    """The share of them that `max_ms` holds for."""
    max_errors: int
    """The most with an error."""
    max_error_percent: float
    """The largest share with an error."""


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
    """The share of the weights that must hold."""
    of: Sequence[ScoredPartKeys]
    """The checks."""


class CodeRuleKeys(TypedDict, total=False):
    """Code that judges the answer, and what it is given."""

    language: Literal["javascript", "python"]
    """What it is written in."""
    code: str
    """An expression, or the body of a function of `output` and `context`."""
    file: str
    """A file that holds the function."""
    function: str
    """Its name in the file."""
    context: Mapping[str, object]
    """What it is given in addition to the answer."""
    threshold: float
    """The lowest score, where it gives a number."""
    negated: Literal[True]
    """The opposite must hold."""


class CheckKeywords(TypedDict, total=False):
    """What is expected of a trace, in the words of a suite."""

    outcome: Literal[
        "tool_success", "tool_started", "needs_input", "graceful_block", "graceful_error", "response_only", "completed"
    ]
    """How the turn must end; `response_only` if not given."""
    tool_calls_any: Sequence[str]
    """At least one of these tools was called."""
    tool_calls_none: Sequence[str]
    """None of these tools was even asked for."""
    tool_calls: Sequence[ExpectedCallKeys]
    """Calls that were made: {tool, arguments, success, result, error, times}, or with {never: true} were not."""
    trajectory: TrajectoryRuleKeys
    """All calls that were made with their arguments, next to those of a reference: {calls, match}."""
    tool_order: Sequence[str]
    """These calls were made in this order; others may stand between."""
    tool_requires: Mapping[str, Sequence[str]]
    """Preconditions: each call of a tool comes after a successful call of each tool that is listed for it."""
    valid_arguments: Literal[True]
    """Every call names a tool that exists, with arguments that the tool's own JSON Schema takes. A parameter that the
    schema does not list is invented, unless it says `additionalProperties`.
    """
    ended: Literal[True]
    """The agent came to an end by itself; a step, turn, token or recursion limit did not cut it off."""
    asks_for: Sequence[str | Sequence[str]]
    """The answer asks for each of these; a list within it holds several names of one thing."""
    telemetry: Sequence[str]
    """Events of the turn: `tool.<name> start`, `tool.<name> result success:true|false`, `success:false with
    missingFields containing <field>`, or any text to find in the log.
    """
    ui: Sequence[str | UiElementKeys]
    """What the page shows after the turn: sentences that the target's ui_vocabulary or the small grammar knows, or
    objects such as {role, name, within, new, visible, min, max} or {any: [objects]}.
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
    """The final message speaks of each of these sources."""
    source_patterns: Mapping[str, Sequence[str]]
    """Phrases that stand for a source of `required_sources`, in place of its own name."""
    must_ground_numbers: Sequence[GroundedNumberKeys | str | int | float]
    """Numbers that the final message states: a regex, a value as a whole number, or what `from_tool` gave."""
    must_label_assumptions: Literal[True]
    """The final message names its assumptions or its uncertainty."""
    assumption_markers_any: Sequence[str]
    """One of these phrases counts as the label, in place of the built-in markers."""
    required_levers: int
    """The answer offers at least this many levers."""
    lever_regex: str
    """What a lever looks like; by default a line that begins with -, *, +, •, 1. or 1)."""
    claim_evidence_alignment: Literal[True]
    """The answer makes a claim, shows evidence and ties the one to the other."""
    claim_marker_regex: str
    """What marks a claim."""
    evidence_marker_regex: str
    """What marks evidence."""
    alignment_marker_regex: str
    """What ties a claim to its evidence."""
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
    """Whether it was done: true needs a word of success, none of failure, a call that succeeded and no tool of
    `tools_used` whose last call failed; false needs a word of failure, none of success and no call of such a tool
    (of `effects` if declared) that succeeded.
    """
    success_indicators: Sequence[str]
    """WordLists of success, in place of the built-in ones."""
    failure_indicators: Sequence[str]
    """WordLists of failure, in place of the built-in ones."""
    reason_contains: Sequence[str]
    """Each phrase is in the final message."""
    database: Mapping[str, Sequence[object]]
    """SQL queries and the rows that each must give after the turn, in any order."""
    expected_contains: Sequence[str]
    """Each phrase is in the final message."""
    must_not_contain: Sequence[str]
    """None of these phrases is in the final message."""
    grounded_numbers: Literal[True]
    """Every number of the answer is in a tool result, the page or the user's words, or follows from those."""
    grounded_constants: Sequence[int | float]
    """Numbers that the answer may tell although nothing seen holds them."""
    grounded_in: Sequence[str]
    """Text files next to the suite, such as a policy: the answer may tell every number in them."""
    no_false_success: Literal[True]
    """Every deed that the answer claims, in the words of `effects`, was done by a tool that succeeded."""
    only_effects: Sequence[str]
    """Of the tools of `effects`, no other than these started; `[]` means none. The list permits, no more."""
    no_effect_twice: Literal[True]
    """No tool of `effects` started again with equal arguments after a call that succeeded, or whose answer was lost
    (`lost_answer` in docs/words.md). Without `effects` any tool counts, and the result is unknown.
    """
    max_retries: int
    """How often at most a call that failed is made again with the same arguments."""
    admits_failure: Literal[True] | LostDataKeys
    """Where the last call of a tool failed, the answer admits it in listed words. `tools` names those that gave
    nothing usable, whatever their result looks like; with `old` they gave old data, and the answer may say from
    when instead. `lost` are values that only they know; `usual` is the answer of a run in which nothing failed. A
    lost value, or nothing but the usual words, is a failure; an answer with neither is unknown.
    """
    no_leak: Sequence[str]
    """None of these texts is in the answer or in an argument of a call: as it is, escaped, in Base64, Base32 or hex,
    as character codes, reversed, in ROT13, or with other characters between its letters.
    """
    in_any_turn: AnyTurnKeys
    """Word checks, each of which holds for at least one answer of the conversation."""
    answer_equals: str | int | float
    """The final message is this, and nothing else."""
    answer_json: Mapping[str, object] | Literal[True]
    """The answer is JSON that this JSON Schema accepts; `true`: any JSON."""
    answer_at: Mapping[str, object]
    """Values of a JSON answer by JSONPath (RFC 9535): {path: value or matcher}."""
    min_words: int
    """The fewest words of the answer."""
    max_words: int
    """The most words of the answer."""
    state: Mapping[str, object]
    """Values of the agent's final state by JSONPath (RFC 9535): {path: value or matcher}."""
    max_tool_calls: int
    """The most tool calls, of whatever tools."""
    max_calls: Mapping[str, int]
    """The most calls by tool."""
    max_seconds: float
    """The longest that the turn may take."""
    max_first_token_seconds: float
    """The longest wait for the first word of the answer."""
    max_steps: int
    """The most steps: of a LangGraph graph, its steps."""
    max_tokens: TokenLimitsKeys | int
    """The most tokens: {input, output, total}, or a number for the total."""
    max_cost_usd: float
    """The most that the turn may cost: as spans or a service tell it, else by its tokens and [prices]."""
    answer_text: Sequence[TextRuleKeys]
    """What the answer holds letter by letter, one check per entry: letter case, white space and signs count."""
    json_text: Sequence[JsonRuleKeys]
    """JSON that the answer is, or holds in one `part` of it; one check per entry. No fence is taken off."""
    response_match: MatchRuleKeys
    """How many words the answer shares with a reference (ROUGE-1, `karat[rouge]`): {texts, threshold}."""
    tool_call_f1: F1RuleKeys
    """How well the set of tools that were called fits: the harmonic mean of precision and recall."""
    spans: Sequence[SpanRuleKeys]
    """Bounds for the spans of the turn by their names, one check per entry."""
    score_of: Sequence[ScoreRuleKeys]
    """Checks that count together, each by its weight; the share that holds must reach `threshold`."""
    code: Sequence[CodeRuleKeys]
    """Code that judges the answer, one check per entry; it is run only with `--trust-code`."""
    unjudged: Sequence[str]
    """What only another tool can judge, such as a rubric for a model: reported as not judged, one per entry."""
    effects: Mapping[str, Sequence[str]]
    """What tools change, and the words that claim it, as in a suite."""
    words: Mapping[str, object]
    """Word lists in place of the published ones, as in a suite."""
