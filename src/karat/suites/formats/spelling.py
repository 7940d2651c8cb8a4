"""Cases of other formats in the words of Karat 1: each check as the field of `expected` that asks for the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from karat.model.check import Field, Vocabulary
from karat.model.suite import Case, CheckSpec, Scoring
from karat.suites.diagnostics import Json
from karat.suites.shapes.known_keys import KnownKeys
from karat.suites.shapes.types import shape_of

NO_EQUAL = "No equal in Karat 1"
_COPIED = ("category", "tags", "skip", "xfail", "setup_prompts", "preconditions", "max_turns")

Asked = list[tuple[str, Any]]
"""Checks by name and arguments."""


class Commented(NamedTuple):
    """A part of a suite, and what a reader should know of how it came about."""

    value: dict[str, Any]
    comments: Sequence[str] = ()


def spell_cases(cases: Iterable[Case], vocabulary: Vocabulary) -> Iterator[Commented]:
    """Each case as Karat 1 writes it."""
    return (_spell_case(case, vocabulary) for case in cases)


def _spell_case(case: Case, vocabulary: Vocabulary) -> Commented:
    comments: list[str] = []
    value: dict[str, Any] = {"id": case.id}
    value |= {key: _plain(given) for key in _COPIED if (given := getattr(case, key))}
    if case.turns:
        value["turns"] = [_spell_turn(turn.prompt, turn.checks, vocabulary, comments) for turn in case.turns]
    else:
        value["prompt"] = case.prompt
    if case.replies:
        value["replies"] = [{"asks_for": list(reply.asks_for), "say": reply.say} for reply in case.replies]
    expected = spell_checks(case.checks, vocabulary, comments)
    if case.min_pass_rate is not None:
        expected["min_pass_rate"] = case.min_pass_rate
    if scoring := _spell_scoring(case.scoring, vocabulary.groups, comments):
        value["scoring"] = scoring
    if case.metadata:
        value["metadata"] = case.metadata
    return Commented({**value, "expected": expected}, comments)


def _plain(given: object) -> object:
    return list(given) if isinstance(given, tuple) else given


def _spell_turn(prompt: str, specs: Sequence[CheckSpec], vocabulary: Vocabulary, comments: list[str]) -> dict[str, Any]:
    expected = spell_checks(specs, vocabulary, comments)
    return {"prompt": prompt, **({"expected": expected} if expected else {})}


def _spell_scoring(scoring: Scoring, groups: Sequence[str], comments: list[str]) -> dict[str, Any]:
    soft: dict[str, Any] = {} if scoring.threshold is None else {"threshold": scoring.threshold}
    known = {group: weight for group, weight in (scoring.weights or {}).items() if group in groups}
    for group, weight in (scoring.weights or {}).items():
        if group not in groups:
            comments.append(f"{NO_EQUAL}: the weight {weight:g} of {group}.")
    if any(known.values()):
        soft["weights"] = known
    found: dict[str, Any] = {"hard_fail": list(scoring.hard_fail)} if scoring.hard_fail else {}
    return found | ({"soft_score": soft} if soft else {})


def spell_checks(specs: Iterable[CheckSpec], vocabulary: Vocabulary, comments: list[str]) -> dict[str, Any]:
    """The `expected` that asks for these checks and no others; a comment on each that it cannot ask for."""
    expected: dict[str, Any] = {}
    usual = _asked({}, vocabulary)
    asked: Asked = []
    for spec in specs:
        one = spec.name, msgspec.json.decode(spec.args)
        if one in usual or one in asked:
            continue
        for more in _candidates(*one, vocabulary, expected):
            # What is written together may mean something else: it must ask for this check more, and no other.
            found = [each for each in _asked(more, vocabulary) if each not in usual]
            if len(found) == len(asked) + 1 and all(each in found for each in (*asked, one)):
                expected, asked = more, found
                break
        else:
            comments.append(_without_equal(spec))
    return expected


def _without_equal(spec: CheckSpec) -> str:
    args = msgspec.json.decode(spec.args)
    negated = "not " if args.pop("$not", False) else ""
    scored = f" in the group {group}" if (group := args.pop("$group", "")) else ""
    label = f" ({spec.path})" if spec.path else ""
    return f"{NO_EQUAL}: {negated}{spec.name} {msgspec.json.encode(args).decode()}{scored}{label}."


def _candidates(
    name: str, args: Mapping[str, Json], vocabulary: Vocabulary, expected: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """The fields of a check with its arguments as they might be written, next to what is expected already."""
    values = [*args.values()] if len(args) == 1 else [dict(args), *args.values()]
    for field in vocabulary.fields_of(name):
        for value in (written for one in values for written in (one, [one])):
            if field.name not in expected:
                if _fits(field, value):
                    yield {**expected, field.name: value}
            elif isinstance(value, list) and isinstance(expected[field.name], list) and _fits(field, value):
                yield {**expected, field.name: [*expected[field.name], *value]}


def _fits(field: Field, value: object) -> bool:
    return not shape_of(field.type, KnownKeys()).validate(value)


def _asked(expected: Mapping[str, Any], vocabulary: Vocabulary) -> Asked:
    return [(one.spec.name, msgspec.json.decode(one.spec.args)) for one in vocabulary.read(expected)]
