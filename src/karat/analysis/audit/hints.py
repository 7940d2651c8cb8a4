"""Which field would have caught a survivor, and what to write there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from karat.analysis.audit.operators.base import Mutant, Operator, Subject
from karat.checks.base import excerpt
from karat.checks.catalog import CheckCatalog
from karat.model.check import CheckSpec, Field
from karat.suites.formats.catalog import blame

SNIPPET = 120
FACTS = {
    "outcome": "",
    "no_false_success": "",
    "grounded_numbers": "",
    "must_ground_numbers": " with `from_tool`, the tool that gives it",
    "answer_json": "",
    "max_words": "",
}
"""Fields that look at what was done or stated, and not at how an answer is worded; with how they are to be used."""
ONLY_WORDS = ", with words that every right answer has, if there are any"


class Spelling(NamedTuple):
    """The format of a suite and its version, which decide which fields it may use."""

    format: str
    version: str
    catalog: CheckCatalog


def suggest_field(
    subject: Subject, operator: Operator, mutant: Mutant, spelling: Spelling, *, blind: bool
) -> tuple[str, str]:
    """The field to write or to sharpen, and a sentence that says so. `blind`: the case noticed no such mutant."""
    case_id = subject.case.id
    usable = noticing(operator, spelling)
    ready = [field for field in mutant.fix if field in usable]
    used = _used_fields(subject, spelling.catalog)
    here = next((field for field in ready if field in used), None)
    if here is not None:
        return here, f"{here} of {case_id} lets it through: add {_snippet(mutant, here)}"
    lack = f"nothing in {case_id} {operator.nothing}" if blind else f"no check of {case_id} notices this one"
    if operator.of_answer and not ready:
        field = next((field for field in usable if field in FACTS), usable[0])
        return field, f"{lack}: add {field}{FACTS.get(field, ONLY_WORDS)}"
    field = (ready or usable)[0]
    others = [name for name in mutant.fix if name not in operator.fields and name not in used]
    extra = [f"{name}: {_snippet(mutant, name)}" for name in others]
    snippet = f": {_snippet(mutant, field)}" if field in mutant.fix else ""
    return field, f"{lack}: add {field}{snippet}{f' with {extra[0]}' if extra else ''}"


def noticing(operator: Operator, spelling: Spelling) -> list[str]:
    """The fields by which a suite of this spelling can notice what an operator does."""
    known = known_fields(spelling)
    return [field for field in operator.fields if field in known]


@lru_cache(maxsize=8)
def known_fields(spelling: Spelling) -> frozenset[str]:
    """The fields, of those that there are, that a suite of this spelling may use, and that its version knows."""
    for one in spelling.catalog.formats:
        if one.name == spelling.format:
            with blame(one):
                return one.fields(spelling.version, spelling.catalog.fields)
    return frozenset(field.name for field in spelling.catalog.fields)  # the package that brings the format is gone


def _used_fields(subject: Subject, catalog: CheckCatalog) -> set[str]:
    """The fields that ask for the checks of a case: its format may have other words for them."""
    return {field.name for spec in subject.case.checks for field in _fields(spec, catalog)}


def _fields(spec: CheckSpec, catalog: CheckCatalog) -> Sequence[Field]:
    """Of a check with several fields, the one that was written, where that is known."""
    fields = catalog.fields_of(spec.name)
    written = spec.path.partition("[")[0].partition(".")[0]
    return [field for field in fields if field.name == written] or fields


def _snippet(mutant: Mutant, field: str) -> str:
    return excerpt(msgspec.json.encode(mutant.fix[field]).decode(), SNIPPET)
