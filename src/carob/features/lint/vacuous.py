"""Expectations that nothing can fail, by their shape alone: any page, log, age, number, JSON or value, no check."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress

import regex

from carob.checks.answer.brief import EvidenceFreshness
from carob.checks.answer.json import AnswerAt, AnswerJson, State
from carob.checks.page.ui import Ui
from carob.checks.telemetry import Telemetry, shorthand
from carob.checks.tools.calls import ToolCalls
from carob.features.lint.base import LintCase, Rule, Smell, TargetInfo
from carob.matchers.reading import matcher
from carob.model.trace import Trace
from carob.model.verdict import Status
from carob.suites.diagnostics import Path
from carob.text.folding import fold
from carob.text.regexes.examples import UnreadableError, example
from carob.text.wording import quoted

SHORT_NAME = 2
SHORT_TEXT = 3
COMMON_ROLES = frozenset(
    ("document", "generic", "main", "text", "paragraph", "banner", "navigation", "contentinfo", "rootwebarea")
)
"""Roles that any page has, whatever is on it."""
LOG_WORDS = frozenset(
    ("ts", "time", "timestamp", "level", "source", "event", "data", "message", "msg", "info", "true", "false", "tool")
)
"""Words that nearly every line of a log holds."""
PLAIN = regex.compile(r"[\W_]+")
LOW_THRESHOLD = 0.1
YEAR_MINUTES = 365 * 24 * 60
SAMPLES: tuple[object, ...] = (None, True, False, 0, 1, -1e18, 1e18, 0.5, "", "x", [], ["x"], {}, {"x": 1})
ONLY_THERE = {"$absent": False}
TEXTS: tuple[object, ...] = ("", "x", "xx", "x" * 50, [], ["x"], ["x", "y"])
BOUNDS = frozenset(("$gt", "$gte", "$lt", "$lte"))
NUMBER = regex.compile(r"[+-]?\d+(?:\.\d+)?")
LONG_TEXT = 10_000
PARTICULAR = frozenset(("$regex", "$length", "$contains", "$approx", "$each"))
"""Matchers of which samples prove little."""


def find_common_elements(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Elements that every page has."""
    for placed in case.of(Ui):
        for element in placed.check.elements if isinstance(placed.check, Ui) else ():
            low, high = element.bounds
            if not low or high is not None or element.name:
                continue
            part = element.name_contains
            if part and len(fold(part).strip()) <= SHORT_NAME:
                message = f"nearly every page has a name with {quoted(part)} in it. Write the name, or more of it."
                yield placed.path, message
            elif not part and low == 1 and element.role in COMMON_ROLES:
                yield placed.path, f"every page has a {element.role}. Name what must be on it."


def find_common_log_texts(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Texts that nearly every line of a log holds."""
    for placed in case.of(Telemetry):
        entry = placed.args["entry"]
        words = PLAIN.sub(" ", fold(entry)).split()
        if shorthand(entry) is None and (len("".join(words)) < SHORT_TEXT or LOG_WORDS.issuperset(words)):
            message = f"nearly every line of a log holds {quoted(entry)}. Look for a tool, a value or an event."
            yield placed.path, message


def find_far_ages(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Evidence that may be years old."""
    for placed in case.of(EvidenceFreshness):
        bound = placed.args["minutes"]
        if bound >= YEAR_MINUTES:
            message = f"evidence from {bound // YEAR_MINUTES:g} years ago would count as fresh."
            yield placed.path, f"{message} The limit is in minutes."


def find_far_bounds(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Bounds that are far beyond what a turn takes, and a length that every answer has."""
    for placed in case.checks:
        if why := placed.check.why_always_passes:
            yield placed.path, why
    threshold = case.case.scoring.threshold
    if threshold is not None and threshold <= LOW_THRESHOLD:
        message = (
            f"nearly every answer reaches a score of {threshold:g}. Raise it, or remove it: then every check counts."
        )
        yield (*case.scoring_path, "soft_score", "threshold"), message


def find_unchecked_groups(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Groups in `hard_fail` that nothing can fail."""
    judged = _judged_groups(case)
    for index, group in enumerate(case.hard_fail):
        if group not in judged:
            message = f"no check of this case is in the group {group}, so it can never fail. Add one, or remove it."
            yield (*case.scoring_path, "hard_fail", index), message


def find_unchecked_weights(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Groups in `weights` that nothing can fail."""
    judged = _judged_groups(case)
    for group, weight in (case.case.scoring.weights or {}).items():
        if weight and group not in judged:
            message = f"no check of this case is in the group {group}, so its weight has no effect."
            yield (*case.scoring_path, "soft_score", "weights", group), message


def _judged_groups(case: LintCase) -> set[str]:
    return {placed.check.group for part in (case, *case.turns) for placed in part.checks}


def find_open_schemas(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Schemas that any JSON satisfies. `true` says so openly."""
    for placed in case.of(AnswerJson):
        answers = (
            Trace(case_id="", final_message=f"```json\n{json.dumps(sample)}\n```", tool_calls=()) for sample in SAMPLES
        )
        if placed.args["schema"] is not True and all(
            placed.check.judge(answer).status is Status.PASSED for answer in answers
        ):
            yield placed.path, "any JSON satisfies it. Say what it must contain, or write true if any JSON is fine."


def find_open_matchers(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Matchers that any value satisfies. `{$absent: false}` says so openly."""
    for path, expected in _expected_values(case):
        literals = list(_literals(expected))
        if expected == ONLY_THERE or PARTICULAR.intersection(map(str, literals)):
            continue
        if all(map(matcher(expected).holds, (*SAMPLES, *literals))):
            yield path, "any value satisfies it. Say which, or write {$absent: false} if it must only be there."


def find_empty_values(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Arguments and results of which nothing is asked, and lengths that every text has."""
    for placed in case.of(ToolCalls):
        for part in ("arguments", "result"):
            if placed.args.get(part) == {}:
                yield (*placed.path, part), "an empty object asks for nothing. Say what must be in it, or remove it."
    for path, expected in _expected_values(case):
        if "$length" in expected and all(map(matcher(expected).holds, TEXTS)):
            yield path, "every text and every list satisfies it. Say how long it must be."


def find_dead_conditions(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Calls that are forbidden under a condition that no value meets."""
    for placed in case.of(ToolCalls):
        for part in ("arguments", "result") if placed.args.get("never") else ():
            values = placed.args.get(part)
            for name, value in values.items() if isinstance(values, dict) else ():
                if _has_operators(value) and not any(map(matcher(value).holds, _values_near(value))):
                    yield (*placed.path, part, name), "no value satisfies it, so that the call is never forbidden."


def find_quoted_bounds(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Bounds that are numbers in quotation marks: a number is never above or below a text."""
    for path, expected in _all_values(case):
        for key in BOUNDS.intersection(expected):
            bound = expected[key]
            if isinstance(bound, str) and NUMBER.fullmatch(bound.strip()):
                yield path, f"{key}: {quoted(bound)} is a text, which no number is compared with. Write {key}: {bound}."


def _all_values(case: LintCase) -> Iterator[tuple[Path, Mapping[str, object]]]:
    yield from _expected_values(case)
    for placed in case.of(ToolCalls):
        for part in ("arguments", "result") if placed.args.get("never") else ():
            values = placed.args.get(part)
            for name, value in values.items() if isinstance(values, dict) else ():
                if _has_operators(value):
                    yield (*placed.path, part, name), value


def _values_near(expected: Mapping[str, object]) -> Iterator[object]:
    """Values of which one satisfies every matcher that any does: its own, those near to them, texts for its regexes."""
    yield from SAMPLES
    yield from TEXTS
    for value in _literals(expected):
        yield value
        yield [value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield from (value + step for step in (-1, -0.5, 0.5, 1))
            yield from ("x" * size for size in (int(value) - 1, int(value) + 1) if 0 <= size < LONG_TEXT)
        elif isinstance(value, str):
            yield f"{value}x"
            with suppress(UnreadableError):
                yield example(value)


def _expected_values(case: LintCase) -> Iterator[tuple[Path, Mapping[str, object]]]:
    """What is expected of one value, where it is more than a plain one."""
    for placed in case.of(AnswerAt, State):
        if _has_operators(placed.args["value"]):
            yield placed.path, placed.args["value"]
    for placed in case.of(ToolCalls):
        for part in ("arguments", "result") if not placed.args.get("never") else ():
            values = placed.args.get(part)
            for name, value in values.items() if isinstance(values, dict) else ():
                if _has_operators(value):
                    yield (*placed.path, part, name), value


def _has_operators(value: object) -> bool:
    return isinstance(value, dict) and any(key.startswith("$") for key in value)


def _literals(value: object) -> Iterator[object]:
    """Every key and plain value below a matcher: what it may speak of."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _literals(inner)
        return
    yield value
    for inner in value if isinstance(value, list) else ():
        yield from _literals(inner)


RULES = (
    Rule("group-without-checks", find_unchecked_groups, in_turns=False),
    Rule("group-without-checks", find_unchecked_weights, key=True, in_turns=False),
    Rule("vacuous-ui", find_common_elements),
    Rule("vacuous-telemetry", find_common_log_texts),
    Rule("vacuous-freshness", find_far_ages),
    Rule("vacuous-bound", find_far_bounds),
    Rule("vacuous-value", find_open_schemas),
    Rule("vacuous-value", find_open_matchers),
    Rule("vacuous-value", find_empty_values),
    Rule("vacuous-prohibition", find_dead_conditions),
    Rule("quoted-bound", find_quoted_bounds),
)
