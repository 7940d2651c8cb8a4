"""What a key of a file was meant to be: typing errors, other spellings, and the words that other tools use for it."""

from __future__ import annotations

import re
from collections.abc import Collection

from carob.text.wording import find_nearest, join_words, likeness, quoted

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TYPING_ERROR = 0.85
"""As much as a key must be like a known one to be suggested next to the words of other tools."""
MOST = 2
"""As many keys as a message suggests."""


def _groups(*lines: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(line.split()) for line in lines)


SYNONYMS = _groups(
    # A suite and its cases.
    "cases tests test_cases evals eval_cases examples samples scenarios goldens dataset items",
    "id name title case_id test_id test_name eval_id",
    "prompt input inputs question query user_input user_message user_content request task instruction utterance",
    "prompt message text user human",
    "input prompt inputs question query user_input",
    "turns conversation messages dialog dialogue rounds",
    "setup_prompts setup history before context",
    "expected expect expects expectations assert asserts assertions checks evaluators should criteria then",
    "vars variables values parameters params",
    "each rows table parametrize matrix foreach examples dataset data",
    "defaults default default_test defaultTest",
    "replies user_simulator simulated_user user_replies",
    "say reply text message content answer",
    "asks_for asks when on_question",
    "skip skipped disabled ignore",
    "xfail expected_failure known_failure expected_to_fail",
    "tags labels tag keywords",
    "category group topic type kind",
    # What is expected of an answer.
    "must_say_any must_say contains contains_any icontains icontains_any includes must_contain must_contain_any"
    " response_contains answer_contains output_contains should_contain substring says keywords",
    "must_not_say not_contains not_icontains must_not_contain excludes should_not_contain not_includes forbidden_words",
    "must_match_regex regex regex_any matches matches_regex pattern must_match",
    "must_not_match_regex not_regex regex_none must_not_match",
    "answer_equals answer equals exact exact_match expected_output expected_answer expected_response reference"
    " ground_truth ideal response output final_message",
    "answer_json is_json json_schema response_schema output_schema",
    # What is expected of tools.
    "tool_calls tools calls function_calls tools_called expected_tools tool_uses actions",
    "tool_calls_any any_tool must_call must_call_any",
    "tool_calls_none forbidden_tools must_not_call tools_not_called no_tools not_called",
    "tool_order trajectory tool_sequence tool_trajectory order",
    "tool name tool_name function function_name action",
    "name tool tool_name function function_name action",
    "arguments args params parameters input inputs tool_input kwargs input_parameters",
    "result output response returns return_value tool_output",
    "times count repeat repeats",
    "never not forbidden absent",
    "max_seconds latency max_latency max_duration timeout duration",
    "max_cost_usd cost max_cost",
    "max_tokens tokens",
    "tokens usage token_usage cost cost_usd",
    "max_tool_calls tool_budget max_calls_total",
    # What an agent gives back.
    "final_message answer response output text content reply completion message result final_answer final_response"
    " final_output output_text actual_output generated_text assistant",
    "messages history transcript conversation chat",
    "telemetry logs events log",
)
"""Words for one thing. Where a file has a key of a group that is unknown there, those of the group that are known
there are suggested, the first ones first."""


def meant_keys(key: str, valid: Collection[str]) -> list[str]:
    """The valid keys that an unknown one may mean, the likeliest first, at most MOST."""
    words = synonyms_of(key, valid)
    near = find_nearest(key, valid)
    if near and (not words or likeness(key, near) >= _TYPING_ERROR):
        words.append(near)
    return list(dict.fromkeys(words))[:MOST]


def suggest_keys(key: str, valid: Collection[str]) -> str:
    """`Did you mean 'x' or 'y'?`, or nothing."""
    keys = meant_keys(key, valid)
    return f"Did you mean {join_words(map(quoted, keys))}?" if keys else ""


def synonyms_of(key: str, valid: Collection[str]) -> list[str]:
    """The valid keys that are another spelling of this one, or another word for it."""
    spelled = _spelling(key)
    alike = [name for name in valid if _spelling(name) == spelled]
    return alike or [name for group in SYNONYMS if spelled in group for name in group if name in valid]


def _spelling(key: str) -> str:
    """A key as Carob spells its own: `mustSayAny` and `must-say-any` are `must_say_any`."""
    return _WORD_START.sub("_", key).replace("-", "_").replace(" ", "_").casefold()
