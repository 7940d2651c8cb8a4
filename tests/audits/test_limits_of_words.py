"""Each wrong answer that passes, a documented limit of literal words, is of a kind that the audit points out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from audits.support import survivors
from catalogs import CATALOG
from checks import test_answers_as_models_write as written
from checks import test_answers_by_family as by_family
from karat.audits.case_audit import audit_case
from karat.audits.hints import Spelling
from karat.audits.operators.base import Subject
from karat.model.check import Declared
from karat.model.suite import Case
from karat.model.trace import Trace
from karat.suites.declared import with_declared

KARAT_1 = Spelling("karat-1", "1", CATALOG)


def limits() -> Iterator[Any]:
    """What shows each limit, what is expected there, and the trace of an agent that does the right thing."""
    for item in by_family.items():
        if item["kind"] == "wrong" and item["verdict"] == "pass":
            right = by_family.trace_of({**item, **item.get("right", {})}) if "right" in item else None
            yield pytest.param(item, right, id=item["id"])
    for group in yaml.safe_load(written.FILE.read_text("utf-8")):
        if "limits" in group:
            yield pytest.param(group, written.trace_of(group, group["right"][0]), id=group["name"])


@pytest.mark.parametrize(("item", "right"), list(limits()))
def test_an_audit_of_a_right_run_points_out_the_limit(item: dict[str, Any], right: Trace | None) -> None:
    """It needs `right`, an answer that does as it should, and `shown_by`: which operator makes such wrong answers."""
    assert right is not None
    expected = with_declared(item["expected"], Declared(item.get("effects", {}), item.get("words", {})))
    specs = tuple(one.spec for one in CATALOG.read(expected))
    case = Case(id="A", prompt=item["prompt"], outcome=expected.get("outcome", "response_only"), checks=specs)
    found = audit_case(Subject(case, right), None, KARAT_1, CATALOG)
    assert item["shown_by"] in survivors(found) | {unseen.operator for unseen in found.unseen}
