"""Schemas and matchers that take whatever there is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from karat.analysis.lint.base import LintCase, PlacedCheck, Rule, TargetInfo
from karat.checks.answer.json import AnswerAt, AnswerJson, State
from karat.checks.tools.calls import ToolCalls
from karat.matchers.reading import matcher
from karat.model.trace import Trace
from karat.model.verdict import Status
from karat.suites.diagnostics import Path, PathDiagnostic

SLUG = "vacuous-value"
SAMPLES: tuple[object, ...] = (None, True, False, 0, 1, -1e18, 1e18, 0.5, "", "x", [], ["x"], {}, {"x": 1})
ONLY_THERE = {"$absent": False}
PARTICULAR = frozenset(("$regex", "$length", "$contains", "$approx", "$each"))
"""Matchers of which samples prove little."""


def schemas(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """Schemas that any JSON satisfies. `true` says so openly."""
    for placed in case.of(AnswerJson):
        answers = (
            Trace(case_id="", final_message=f"```json\n{json.dumps(sample)}\n```", tool_calls=()) for sample in SAMPLES
        )
        if placed.args["schema"] is not True and all(_passes(placed, answer) for answer in answers):
            yield PathDiagnostic(
                placed.path, "any JSON satisfies it. Say what it must contain, or write true if any JSON is fine.", SLUG
            )


def matchers(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """Matchers that any value satisfies. `{$absent: false}` says so openly."""
    for path, wanted in _expected_values(case):
        literals = list(_literals(wanted))
        if wanted == ONLY_THERE or PARTICULAR.intersection(map(str, literals)):
            continue
        if all(map(matcher(wanted).holds, (*SAMPLES, *literals))):
            message = "any value satisfies it. Say which, or write {$absent: false} if it must only be there."
            yield PathDiagnostic(path, message, SLUG)


def _passes(placed: PlacedCheck, answer: Trace) -> bool:
    return placed.check.judge(answer).status is Status.PASSED


def _expected_values(case: LintCase) -> Iterator[tuple[Path, Mapping[str, object]]]:
    """What is wanted of one value, where it is more than a plain one."""
    for placed in case.of(AnswerAt, State):
        if _has_operators(placed.args["value"]):
            yield placed.path, placed.args["value"]
    for placed in case.of(ToolCalls):
        for part in ("arguments", "result") if not placed.args.get("never") else ():
            given = placed.args.get(part)
            for name, value in given.items() if isinstance(given, dict) else ():
                if _has_operators(value):
                    yield (*placed.path, part, name), value


def _has_operators(value: object) -> bool:
    return isinstance(value, dict) and any(key.startswith("$") for key in value)


def _literals(value: object) -> Iterator[object]:
    """Every key and plain value below a matcher: what it may speak of."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield key
            yield from _literals(below)
    elif isinstance(value, list):
        yield value
        for below in value:
            yield from _literals(below)
    else:
        yield value


RULES = (Rule(SLUG, schemas), Rule(SLUG, matchers))
