"""Cases of other formats in the words of Carob 1: each check as the field of `expected` that asks for the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from carob.model.check import CheckSpec, Field, Vocabulary
from carob.model.suite import Case
from carob.model.verdict import OWN_RULE
from carob.suites.decisions import spell_turn
from carob.suites.diagnostics import Json, Path
from carob.suites.shapes.containers import KnownKeys
from carob.suites.shapes.types import shape_of

NO_EQUAL = "No equivalent in Carob 1"
_COPIED = ("category", "tags", "skip", "xfail", "setup_prompts", "preconditions", "max_turns")

Asked = list[tuple[str, Any]]
"""Checks by name and arguments."""


class Commented(NamedTuple):
    """A part of a suite, and what a reader should know of how it came about."""

    value: dict[str, Any]
    comments: Sequence[str] = ()
    moved: Mapping[str, Path] = {}
    """Where the fields of `expected` were in the case, if not there."""


class WrittenPart(Protocol):
    """What is expected of a case or a turn: fields of Carob 1, and checks that were asked for by name."""

    @property
    def expected(self) -> dict[str, Any]: ...
    @property
    def checks(self) -> Sequence[tuple[CheckSpec, Path]]: ...


class WrittenCase(WrittenPart, Protocol):
    """A case as its format put it together. `is_plain`: it has no checks by name."""

    @property
    def turns(self) -> Sequence[WrittenPart]: ...
    @property
    def is_plain(self) -> bool: ...


class _Checks(NamedTuple):
    """All checks by name, where it is not known which fields asked for them."""

    checks: Sequence[tuple[CheckSpec, Path]]
    expected: dict[str, Any]


def spell_cases(
    cases: Sequence[Case], parsed_cases: Sequence[WrittenCase], vocabulary: Vocabulary
) -> Iterator[Commented]:
    """Each case as Carob 1 writes it: its fields as they are, and its other checks by the fields that ask for them."""
    rules = shared_rules(cases)
    for index, case in enumerate(cases):
        if parsed_cases:
            parts: Sequence[WrittenPart] = (parsed_cases[index], *parsed_cases[index].turns)
        else:
            all_checks = (case.checks, *(turn.checks for turn in case.turns))
            parts = [_Checks([(spec, ()) for spec in checks], {}) for checks in all_checks]
        yield _CaseSpeller(case, parts, vocabulary, rules).spell()


def shared_rules(cases: Sequence[Case]) -> list[bytes]:
    """The arguments of the rules that every case has that is not skipped: Carob 1 gives rules to all cases."""
    rules = [[bytes(spec.args) for spec in case.checks if spec.name == OWN_RULE] for case in cases if not case.skip]
    return [rule for rule in rules[0] if all(rule in others for others in rules)] if rules else []


class _CaseSpeller:
    def __init__(
        self, case: Case, parts: Sequence[WrittenPart], vocabulary: Vocabulary, rules: Sequence[bytes]
    ) -> None:
        self._case = case
        self._rules = rules
        self._parts = parts
        self._vocabulary = vocabulary
        self._weights = case.scoring.weights or {}
        self._comments: list[str] = []

    def spell(self) -> Commented:
        case = self._case
        value: dict[str, Any] = {"id": case.id}
        value |= {key: _as_list(value_of_key) for key in _COPIED if (value_of_key := getattr(case, key))}
        if case.turns:
            value["turns"] = [
                {**spell_turn(turn), **({"expected": expected} if (expected := self._find_expected(part)) else {})}
                for turn, part in zip(case.turns, self._parts[1:], strict=True)
            ]
        else:
            value["prompt"] = case.prompt
        if case.replies:
            value["replies"] = [{"asks_for": list(reply.asks_for), "say": reply.say} for reply in case.replies]
        expected = self._find_expected(self._parts[0])
        if not expected and not any("expected" in turn for turn in value.get("turns", ())):
            # A case that asks for nothing any more must not pass.
            value.setdefault("skip", "nothing that it expects has an equivalent in Carob 1")
            expected["outcome"] = case.outcome
        if case.min_pass_rate is not None:
            expected["min_pass_rate"] = case.min_pass_rate
        if scoring := self._scoring():
            value["scoring"] = scoring
        if case.metadata:
            value["metadata"] = case.metadata
        return Commented({**value, **({"expected": expected} if expected or not case.turns else {})}, self._comments)

    def _scoring(self) -> dict[str, Any]:
        groups, scoring = self._vocabulary.groups, self._case.scoring
        soft: dict[str, Any] = {} if scoring.threshold is None else {"threshold": scoring.threshold}
        weights = {group: weight for group, weight in self._weights.items() if group in groups}
        if any(weights.values()):
            soft["weights"] = weights
        hard_fail = [group for group in scoring.hard_fail if group in groups]
        return {**({"hard_fail": hard_fail} if hard_fail else {}), **({"soft_score": soft} if soft else {})}

    def _find_expected(self, part: WrittenPart) -> dict[str, Any]:
        """The `expected` that asks for these checks and no others; a comment on each that it cannot ask for."""
        expected = dict(part.expected)
        if not part.checks:
            return expected
        usual = self._read_checks({})
        spelled = [check for check in self._read_checks(expected) if check not in usual]
        for spec, _ in part.checks:
            if spec.name == OWN_RULE and bytes(spec.args) in self._rules:
                continue
            args = msgspec.json.decode(spec.args)
            if group := args.pop("$group", ""):
                weighs = f", which weighs {self._weights[group]:g}" if group in self._weights else ""
                self._comments.append(f"{NO_EQUAL}: the group {group}{weighs} (of {spec.path or spec.name}).")
            wanted_check = spec.name, args
            if wanted_check in usual or wanted_check in spelled:
                continue
            for more in _candidates(args, self._vocabulary.fields_of(spec.name), expected):
                # What is written together may mean something else: it must ask for this check more, and no other.
                asked_checks = [each for each in self._read_checks(more) if each not in usual]
                if len(asked_checks) == len(spelled) + 1 and all(
                    each in asked_checks for each in (*spelled, wanted_check)
                ):
                    expected, spelled = more, asked_checks
                    break
            else:
                negated = "not " if args.pop("$not", False) else ""
                asks = f"{negated}{spec.name} {msgspec.json.encode(args).decode()}"
                self._comments.append(f"{NO_EQUAL}: {asks}{f' ({spec.path})' if spec.path else ''}.")
        return expected

    def _read_checks(self, expected: Mapping[str, Any]) -> Asked:
        return [(check.spec.name, msgspec.json.decode(check.spec.args)) for check in self._vocabulary.read(expected)]


def _as_list(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _candidates(
    args: Mapping[str, Json], fields: Sequence[Field], expected: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """What is expected already with a field of the check, in the ways in which its arguments might be written."""
    values = [dict(args), *args.values()]
    for field in fields:
        for value in (spelling for value_or_member in values for spelling in (value_or_member, [value_or_member])):
            if shape_of(field.type, KnownKeys()).validate(value):
                continue
            there = expected.get(field.name)
            if there is None:
                yield {**expected, field.name: value}
            elif isinstance(value, list) and isinstance(there, list):
                yield {**expected, field.name: [*there, *value]}
