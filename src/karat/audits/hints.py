"""Which field would have caught a survivor, and what to write there."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import NamedTuple

import msgspec

from karat.audits.operators.base import Mutant, Operator, Subject
from karat.checks.base import excerpt
from karat.model.check import Field

SNIPPET = 120
KARAT_1 = (1,)
"""The version that brought what older suites can use and need not know."""


class Spelling(NamedTuple):
    """The format of a suite and its version, which decide which of the `known` fields it may use."""

    format: str
    version: str = ""
    known: tuple[Field, ...] = ()


def remedy(subject: Subject, operator: Operator, mutant: Mutant, spelling: Spelling, *, blind: bool) -> tuple[str, str]:
    """The field to write or to sharpen, and a sentence that says so. `blind`: the case noticed no such mutant."""
    case_id = subject.case.id
    usable = noticing(operator, spelling)
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


def noticing(operator: Operator, spelling: Spelling) -> list[str]:
    """The fields by which a suite of this spelling can notice what an operator does."""
    known = known_fields(spelling)
    return [field for field in operator.fields if field in known]


@lru_cache(maxsize=8)
def known_fields(spelling: Spelling) -> frozenset[str]:
    """The fields, of those that there are, that a suite of this spelling may use, and that its version knows."""
    fields = spelling.known
    if spelling.format == "karat-1":
        return frozenset(field.name for field in fields)
    if spelling.format != "eval-set":
        spellings = {"golden-expected", "golden-case"}
        return frozenset(f.name for f in fields if f.formats & spellings and _numbers(f.since) < KARAT_1)
    newest = _numbers(spelling.version) or (sys.maxsize,)
    return frozenset(f.name for f in fields if "eval-set" in f.formats and _numbers(f.since) <= newest)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _used(subject: Subject) -> set[str]:
    return {spec.path.partition("[")[0].partition(".")[0] for spec in subject.case.checks}


def _snippet(mutant: Mutant, field: str) -> str:
    return excerpt(msgspec.json.encode(mutant.mend[field]).decode(), SNIPPET)
