"""Which field would have caught a survivor, and what to write there."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from karat.audits.operators.base import Mutant, Operator, Subject
from karat.checks.base import excerpt
from karat.checks.catalog import CATALOG
from karat.model.check import Field

SNIPPET = 120


def remedy(subject: Subject, operator: Operator, mutant: Mutant, suite_format: str, *, blind: bool) -> tuple[str, str]:
    """The field to write or to sharpen, and a sentence that says so. `blind`: the case noticed no such mutant."""
    case_id = subject.case.id
    known = known_fields(suite_format, CATALOG.fields)
    usable = [field for field in operator.fields if field in known]
    ready = [field for field in mutant.mend if field in usable]
    used = _used(subject)
    here = next((field for field in ready if field in used), None)
    if here is not None:
        return here, f"{here} of {case_id} lets it through: add {_snippet(mutant, here)}"
    field = (ready or usable)[0]
    lack = f"nothing in {case_id} {operator.nothing}" if blind else f"no check of {case_id} notices this one"
    others = [name for name in mutant.mend if name not in operator.fields and name not in used]
    beside = [f"{name}: {_snippet(mutant, name)}" for name in others]
    snippet = f": {_snippet(mutant, field)}" if field in mutant.mend else ""
    return field, f"{lack}: add {field}{snippet}{f' with {beside[0]}' if beside else ''}"


@lru_cache(maxsize=4)
def known_fields(suite_format: str, fields: tuple[Field, ...]) -> frozenset[str]:
    """The fields, of those that there are, that a suite of this format may use."""
    spellings = {"eval-set"} if suite_format == "eval-set" else {"golden-expected", "golden-case"}
    return frozenset(field.name for field in fields if field.formats & spellings)


def _used(subject: Subject) -> set[str]:
    return {spec.path.partition("[")[0].partition(".")[0] for spec in subject.case.checks}


def _snippet(mutant: Mutant, field: str) -> str:
    return excerpt(msgspec.json.encode(mutant.mend[field]).decode(), SNIPPET)
