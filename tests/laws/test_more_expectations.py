"""Law 1: more expectations never make green, and no prohibition of `defaults` is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from carob.checks.catalog import OWN
from carob.checks.combined import AUTHORS_WORDS
from carob.checks.effects.outcome import CONFIRMED, Outcome
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.model.verdict import CaseStatus
from laws.coverage import Coverage, require
from laws.samples import (
    CATALOG,
    EFFECTS,
    KEYS,
    POOL,
    SAMPLES,
    VARIANTS,
    WITHOUT_SAMPLE,
    Expected,
    build_case,
    build_trace,
    describe,
    judge,
    read_suite,
    status,
    swap_tools,
)

COMPANIONS = {
    key: f"it only says how `{refined}` is read" for cls in OWN.values() for key, refined in cls.companions.items()
}
DECLARATIONS = {
    **COMPANIONS,
    "source_patterns": "patterns of `required_sources`",
    "grounded_constants": "a declaration",
    "grounded_in": "a declaration",
    "score_of": "enough of several checks is what it asks for",
}
"""Keys that declare what others go by, so that they may also make them pass."""
EXCEPTIONS = {
    **DECLARATIONS,
    "outcome": "it replaces `response_only`, which is judged where a case names none",
    "only_effects: exactly": "the calls of `tool_calls` next to it are those that it permits",
    "words that pass": "beside graceful_*, positive words of the author may stand for those of the published list",
    **WITHOUT_SAMPLE,
}
OWN_WORDS = frozenset(field.name for cls in AUTHORS_WORDS for field in cls.fields)
GREEN = CaseStatus.PASS


def _specs(case: Case) -> set[tuple[str, bytes]]:
    return {(spec.name, bytes(spec.args)) for spec in case.checks}


def _pairs(expected: Expected) -> Iterator[tuple[str, Expected]]:
    """What else can be expected beside this."""
    for key, more in VARIANTS:
        if key not in DECLARATIONS and key != "outcome" and expected.keys().isdisjoint(more):
            yield key, more


def find_lost_failures(beside: Sequence[tuple[str, Expected]] = VARIANTS) -> Coverage:
    """Cases that pass once something more is expected.

    A check whose arguments stay as they were gives what it gave, so that only the others are judged.
    """
    coverage = Coverage(1, "more expectations never make green", checks=KEYS, exceptions=EXCEPTIONS)
    for _, expected in beside:
        before = build_case(expected)
        asked = _specs(before)
        red: list[Trace] | None = None
        for key, more in _pairs(expected):
            after = build_case({**expected, **more})
            excused = key in OWN_WORDS and expected.get("outcome") in CONFIRMED
            if asked <= _specs(after) or excused:
                coverage.tried += 1
                continue
            red = [trace for trace in POOL if judge(before, trace).status is not GREEN] if red is None else red
            green = [trace for trace in red if judge(after, trace).status is GREEN]
            coverage.tried += len(red)
            coverage.violations += [f"{key}={more} beside {expected}: {describe(trace)}" for trace in green[:1]]
    return coverage


def test_more_expectations_never_make_green(record_property: Callable[[str, object], None]) -> None:
    require(find_lost_failures(), record_property)


def test_every_key_is_tried() -> None:
    assert {*CATALOG.fields} == {*KEYS, *WITHOUT_SAMPLE}


def test_a_key_that_switches_another_off_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: an outcome is not judged where a budget is given."""
    read = Outcome.read.__func__  # type: ignore[attr-defined]

    def lenient(cls: type[Outcome], expected: Expected) -> Any:
        return read(cls, {**expected, "outcome": "completed"} if "max_words" in expected else expected)

    monkeypatch.setattr(Outcome, "read", classmethod(lenient))
    assert find_lost_failures([(key, expected) for key, expected in VARIANTS if key == "outcome"]).violations


PROHIBITIONS: Mapping[str, tuple[Expected, Expected]] = {
    "tool_calls_none": ({"tool_calls_none": ["book"]}, {"tool_calls_none": ["drop"]}),
    "must_not_say": ({"must_not_say": ["as an AI"]}, {"must_not_say": ["tbd"]}),
    "must_not_match_regex": ({"must_not_match_regex": ["tbd|todo"]}, {"must_not_match_regex": ["xyz"]}),
    "must_not_contain": ({"must_not_contain": ["guess"]}, {"must_not_contain": ["tbd"]}),
    "no_leak": ({"no_leak": ["KEY-5d81c07e"]}, {"no_leak": ["KEY-99999999"]}),
    "tool_calls": (
        {"tool_calls": [{"tool": "book", "never": True}]},
        {"tool_calls": [{"tool": "find", "times": {"min": 0, "max": 9}}]},
    ),
    "commands": (
        {"commands": [{"run": "^pytest", "never": True}]},
        {"commands": [{"run": "^pytest", "times": {"min": 0, "max": 9}}]},
    ),
    "files": ({"files": {"unchanged": ["tests/**"]}}, {"files": {"unchanged": ["docs/**"], "absent": ["x"]}}),
    "diff": ({"diff": {"removes_none": ["^x = 1"]}}, {"diff": {"removes_none": ["^class "], "max_files": 90}}),
    "diff files": ({"diff": {"max_files": 1}}, {"diff": {"max_files": 90}}),
    "skills": ({"skills": {"not_used": ["deploy"]}}, {"skills": {"not_used": ["fix"]}}),
    "max_tool_calls": ({"max_tool_calls": 1}, {"max_tool_calls": 9}),
    "max_calls": ({"max_calls": {"book": 1}}, {"max_calls": {"book": 9, "find": 3}}),
    "max_retries": ({"max_retries": 0}, {"max_retries": 5}),
    "no_progress": ({"no_progress": 2}, {"no_progress": 9}),
    "max_seconds": ({"max_seconds": 2}, {"max_seconds": 90}),
    "max_first_token_seconds": ({"max_first_token_seconds": 1}, {"max_first_token_seconds": 90}),
    "max_steps": ({"max_steps": 3}, {"max_steps": 90}),
    "max_tokens": ({"max_tokens": {"total": 50}}, {"max_tokens": 5000}),
    "max_cost_usd": ({"max_cost_usd": 0.01}, {"max_cost_usd": 5}),
    "max_words": ({"max_words": 1}, {"max_words": 90}),
    "tool_requires": ({"tool_requires": {"book": ["find"]}}, {"tool_requires": {"book": ["log"]}}),
    "valid_arguments": ({"valid_arguments": True}, {"valid_arguments": True}),
}
"""A prohibition of `defaults`, and one under the same key that a case names and that every answer meets."""
REPLACED = {
    "only_effects": "the list permits, and a case is there to permit something else",
    "outside": "the list permits, and a case is there to permit something else",
    "network": "the list permits, and a case is there to permit something else",
    "files: created, changed, changed_only, deleted": "the list permits, and a case is there to permit something else",
    "claims": "it has one value",
    "no_false_success": "it has one value",
    "no_effect_twice": "it has one value",
    "admits_failure": "it has one value, or is merged",
    "valid_arguments": "it has one value",
    "in_any_turn": "its parts ask for one answer among several",
    "spans": "a list of patterns that a case replaces, as SPEC 8 says of other lists",
    "score_of": "enough of several checks is what it asks for",
    "trajectory": "it asks for calls",
    "grounded_numbers": "it has one value",
    "code": WITHOUT_SAMPLE["code"],
    "meets": WITHOUT_SAMPLE["meets"],
    "unjudged": WITHOUT_SAMPLE["unjudged"],
}
"""Prohibitions that `defaults` may lose to a case."""


def find_lost_prohibitions() -> Coverage:
    """Traces that break a prohibition of `defaults`, and pass where the case names the same key."""
    coverage = Coverage(
        1, "no prohibition of `defaults` is lost", checks=PROHIBITIONS, doors=("defaults",), exceptions=REPLACED
    )
    for key, (default, own) in PROHIBITIONS.items():
        broken = [build_short(key)]
        broken += [sample.failing for sample in SAMPLES if sample.key == key.split()[0]]
        for other in (own, swap_tools(own)):
            (case,) = read_suite(
                {"id": "A", "expected": {"outcome": "completed", **other}},
                effects=EFFECTS,
                defaults={"expected": default},
            )
            for trace in broken:
                if status({"outcome": "completed", **default}, trace) is GREEN:
                    continue
                green = judge(case, trace).status is GREEN
                coverage.try_one(not green, f"{default} of defaults beside {other}: {describe(trace)}")
    return coverage


def build_short(key: str) -> Trace:
    from seeds import test_fields as seeds

    calls = ("book+", "book+")
    return build_trace(
        seeds.calls(*calls, text="As an AI, my guess is KEY-5d81c07e, tbd.", steps=99, duration_ms=9999.0)
    )


def test_no_prohibition_of_defaults_is_lost(record_property: Callable[[str, object], None]) -> None:
    require(find_lost_prohibitions(), record_property)


def test_every_prohibition_is_tried() -> None:
    """By the catalog: a new check that prohibits is under the law, or has a reason not to be."""
    forbidding = {
        field.name
        for cls in OWN.values()
        for field in cls.fields[:1]
        if cls.forbids or cls.prohibits is True or field.name.startswith(("max_", "must_not_"))
    }
    assert forbidding - {*PROHIBITIONS, *REPLACED} == set()


def test_a_lost_prohibition_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the case replaces everything."""
    monkeypatch.setattr("carob.suites.formats.carob1.add_prohibitions", lambda own, *_: own)
    assert find_lost_prohibitions().violations
