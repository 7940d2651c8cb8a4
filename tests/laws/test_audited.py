"""Law 11: every key is reached by the audit: some operator makes a wrong answer that this key alone notices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import pytest
from msgspec import structs

from carob.features.audit.case_audit import mutants
from carob.features.audit.operators.base import Operator, Subject
from carob.features.audit.operators.catalog import OPERATORS
from carob.model.suite import Case
from carob.model.verdict import CaseStatus
from laws.coverage import LAW, Coverage, require
from laws.samples import CATALOG, KEYS, SAMPLES, WITHOUT_SAMPLE, Sample, build_case, judge

COMPANIONS = {
    key: f"it only says how `{refined}` is read, which is reached"
    for cls in CATALOG.classes.values()
    for key, refined in cls.companions.items()
}
EXCEPTIONS = {
    **COMPANIONS,
    **WITHOUT_SAMPLE,
    "source_patterns": "it says how `required_sources` is read",
    "grounded_constants": "it says how `grounded_numbers` is read",
    "grounded_in": "it says how `grounded_numbers` is read",
}


def _alone(sample: Sample) -> Case:
    """A case with nothing but the checks of one key."""
    case = build_case(sample.expected)
    return structs.replace(case, checks=tuple(spec for spec in case.checks if spec.name == sample.check))


@cache
def table_of_kills(operators: tuple[Operator, ...] = OPERATORS) -> Mapping[str, dict[str, int]]:
    """How many mutants of each operator each key kills by itself, on the answer that meets it."""
    table: dict[str, dict[str, int]] = {key: {} for key in KEYS}
    for sample in SAMPLES:
        case = _alone(sample)
        if judge(case, sample.passing).status is not CaseStatus.PASS:
            continue
        for operator in operators:
            killed = [
                mutant
                for mutant in mutants(operator, Subject(case, sample.passing))
                if judge(case, mutant.trace).status is not CaseStatus.PASS
            ]
            if killed:
                row = table[sample.key]
                row[operator.name] = row.get(operator.name, 0) + len(killed)
    return table


def describe_kills(table: Mapping[str, dict[str, int]]) -> str:
    """The table of kills, a line for each key."""
    rows = [
        f"        {key}: {', '.join(f'{name} {count}' for name, count in row.items())}"
        for key, row in table.items()
        if row
    ]
    kills = sum(sum(row.values()) for row in table.values())
    return "\n".join([f"law 11: table of key and operator: {kills:,} kills, {len(rows)} keys", *rows])


def find_unreached(operators: tuple[Operator, ...] = OPERATORS) -> Coverage:
    coverage = Coverage(11, "every key is reached by the audit", checks=KEYS, exceptions=EXCEPTIONS)
    for key, row in table_of_kills(operators).items():
        coverage.try_one(bool(row) or key in EXCEPTIONS, f"no mutant reaches `{key}`")
    return coverage


def test_every_key_is_reached(record_property: Callable[[str, object], None]) -> None:
    require(find_unreached(), record_property)
    record_property(LAW, describe_kills(table_of_kills()))


def test_the_keys_that_limit_an_agent_are_reached_by_an_operator_of_their_own() -> None:
    """Alone, and by a mutant that the check fails: an unknown one would not say that the limit works."""
    reaching = {
        "ended": "cut-off",
        "spans": "spans-changed",
        "max_retries": "tool-retried",
        "no_leak": "answer-forbidden",
    }
    reaching |= {"only_effects": "tool-forbidden", "no_effect_twice": "tool-doubled"}
    reaching |= {"no_progress": "tool-doubled", "retrieved": "tool-dropped"}
    reaching |= {"files": "test-touched", "outside": "wrote-outside", "network": "host-reached"}
    reaching |= {"after": "exit-masked", "claims": "exit-masked"}
    for sample in SAMPLES:
        if sample.key in reaching:
            (operator,) = (operator for operator in OPERATORS if operator.name == reaching[sample.key])
            case = _alone(sample)
            made = mutants(operator, Subject(case, sample.passing))
            assert CaseStatus.FAIL in {judge(case, mutant.trace).status for mutant in made}, sample.key


def test_a_key_that_no_operator_reaches_is_noticed() -> None:
    """Planted: the operators of calls are gone."""
    left = tuple(operator for operator in OPERATORS if not operator.name.startswith("tool-"))
    assert find_unreached(left).violations


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_every_operator_has_a_key_that_kills(operator: Operator) -> None:
    assert {key for key in operator.fields if key in KEYS}
