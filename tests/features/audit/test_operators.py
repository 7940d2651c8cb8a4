"""Each operator is held to the fields that it says can kill it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest

from carob.features.audit.case_audit import mutants
from carob.features.audit.judging import judge_trace
from carob.features.audit.operators.base import Operator, Subject, is_same
from carob.features.audit.operators.catalog import OPERATORS
from carob.features.audit.survivors import Spelling, known_fields, noticing, suggest_field
from carob.model.trace import Trace
from carob.model.verdict import CaseStatus
from catalogs import CATALOG
from features.audit.proofs import PROOFS
from features.audit.support import QUIET, bare_case

CLAIMS = [pytest.param(o, field, id=f"{o.name}-{field}") for o in OPERATORS for field in o.fields]
BY_NAME = [pytest.param(operator, id=operator.name) for operator in OPERATORS]
FORMATS = (("carob-1", "1"), ("eval-set", ""), ("eval-set", "0.3"), ("golden", "1.0"))
SPELLINGS = [Spelling(*one, CATALOG) for one in FORMATS]
FORBIDS_WORDS = {"must_not_match_regex": ["^zzz$"]}


def quiet(operator: Operator) -> Mapping[str, Any]:
    """Something to expect that no mutant of this operator can violate."""
    return FORBIDS_WORDS if operator.name == "tool-forbidden" else QUIET


def killed(operator: Operator, expected: Mapping[str, Any]) -> list[bool]:
    """For each mutant of the operator's own trace, whether a case that expects this notices."""
    case = bare_case({**quiet(operator), **expected}, implied=False)
    assert judge_trace(case, PROOFS[operator.name].trace, CATALOG).status is CaseStatus.PASS, judge_trace(
        case, PROOFS[operator.name].trace, CATALOG
    )
    made = mutants(operator, Subject(case, PROOFS[operator.name].trace))
    assert made
    return [judge_trace(case, mutant.trace, CATALOG).status is not CaseStatus.PASS for mutant in made]


@pytest.mark.parametrize(("operator", "field"), CLAIMS)
def test_a_field_kills_what_it_is_said_to_kill(operator: Operator, field: str) -> None:
    expected = {**PROOFS[operator.name].expected, field: PROOFS[operator.name].kills[field]}
    assert [flaw for parsed in CATALOG.read(expected) for flaw in parsed.problems] == []
    assert any(killed(operator, expected))


def test_each_field_of_each_operator_is_proved() -> None:
    assert {name: tuple(proof.kills) for name, proof in PROOFS.items()} == {o.name: o.fields for o in OPERATORS}


@pytest.mark.parametrize("operator", BY_NAME)
def test_without_the_field_it_survives(operator: Operator) -> None:
    assert not any(killed(operator, PROOFS[operator.name].expected))


@pytest.mark.parametrize("operator", BY_NAME)
def test_every_mutant_differs(operator: Operator) -> None:
    case = bare_case(quiet(operator))
    assert all(
        not is_same(m.trace, PROOFS[operator.name].trace)
        for m in mutants(operator, Subject(case, PROOFS[operator.name].trace))
    )


@pytest.mark.parametrize("operator", BY_NAME)
def test_a_remedy_can_be_written_into_the_suite(operator: Operator) -> None:
    subject = Subject(bare_case(quiet(operator)), PROOFS[operator.name].trace)
    spellings = [spelling for spelling in SPELLINGS if noticing(operator, spelling)]
    for mutant, spelling in product(mutants(operator, subject), spellings):
        field, hint = suggest_field(subject, operator, mutant, spelling, blind=True)
        assert field in known_fields(spelling)
        assert field in operator.fields
        assert hint.startswith(f"nothing in example {operator.lack}: add {field}")


@pytest.mark.parametrize("operator", BY_NAME)
def test_what_a_remedy_says_to_write_kills_the_mutant(operator: Operator) -> None:
    """`fix` works: with it in the case, the very mutant is noticed, and the recorded trace still passes."""
    subject = Subject(bare_case(quiet(operator)), PROOFS[operator.name].trace)
    for mutant in mutants(operator, subject):
        field, _ = suggest_field(subject, operator, mutant, Spelling("eval-set", "", CATALOG), blind=True)
        if field in mutant.fix:
            beside = {name: value for name, value in mutant.fix.items() if name not in operator.fields}
            case = bare_case({**quiet(operator), **beside, field: mutant.fix[field]})
            assert judge_trace(case, PROOFS[operator.name].trace, CATALOG).status is CaseStatus.PASS, mutant.fix
            assert judge_trace(case, mutant.trace, CATALOG).status is not CaseStatus.PASS, mutant


@pytest.mark.parametrize(
    ("version", "knows"), [("0.1", False), ("0.1.0", False), ("0.2", True), ("0.2.0", True), ("0.3", True), ("", True)]
)
def test_a_version_knows_the_fields_of_its_time(version: str, knows: bool) -> None:
    fields = known_fields(Spelling("eval-set", version, CATALOG))
    assert ("must_match_regex" in fields, "must_say_any" in fields) == (knows, True)


def test_names_are_unique_and_fields_are_known() -> None:
    names = [operator.name for operator in OPERATORS]
    assert len(set(names)) == len(names)
    assert {field for operator in OPERATORS for field in operator.fields} <= {*CATALOG.fields}


def test_every_kind_of_wrong_that_was_promised_is_there() -> None:
    assert {operator.name for operator in OPERATORS} == {
        "tool-dropped", "tool-renamed", "tool-doubled", "tool-moved", "tool-arguments", "tool-outcome",
        "tool-result-denied", "tool-result-missing", "tool-forbidden", "tool-retried", "telemetry-missing", "cut-off",
        "spans-changed",
        "answer-emptied", "answer-cut", "answer-refused",
        "answer-claims-success", "answer-forbidden", "answer-bullets", "number-changed", "source-removed",
        "assumptions-removed", "ages-stale", "element-gone", "database-undone", "answer-retracted", "answer-overclaims",
        "answer-quoted", "answer-commented", "answer-courtesy", "claim-slipped-in",
        "budget-spent", "state-changed", "number-off-by-one", "result-changed", "json-changed", "answer-padded",
        "precondition-dropped", "turn-skipped",
        "claim-unframed", "words-hollow", "forbidden-paraphrased", "number-borrowed",
        "exit-masked", "tested-too-early", "test-touched", "wrote-outside", "host-reached",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ("There were 48 visits.", ["There were 49 visits."]),
        ("There were twenty visits.", ["There were 21 visits."]),
        ("It was 1,200 and −5.", ["It was 1201 and −5.", "It was 1,200 and 6."]),
        ("zwanzig Besuche, two ways, ٤٨", ["zwanzig Besuche, two ways, 49"]),
        ("one hundred and five; 12k; 1'000; ½", ["106; 12k; 1'000; ½", "one hundred and five; 13k; 1'000; ½",
                                                "one hundred and five; 12k; 1001; ½",
                                                "one hundred and five; 12k; 1'000; 0.6"]),
    ],
)  # fmt: skip
def test_a_number_is_another_however_it_is_written(answer: str, wrong: list[str]) -> None:
    (operator,) = (one for one in OPERATORS if one.name == "number-off-by-one")
    trace = Trace(case_id="A", input="?", final_message=answer)
    made = [mutant.trace.final_message for mutant in mutants(operator, Subject(bare_case(QUIET), trace))]
    assert made == wrong
