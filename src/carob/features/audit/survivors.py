"""What is said of a survivor: what was changed, which field would have caught it, and what to write there."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from carob.checks.base import excerpt
from carob.checks.catalog import CheckCatalog
from carob.features.audit.operators.base import Mutant, Operator, Subject
from carob.model.check import CheckSpec, Field
from carob.model.trace import ToolCall, Trace
from carob.suites.formats.catalog import blame

SNIPPET = 120
AROUND = 40
CALLS = 20
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
    for field in ready:
        if field in used:
            return field, f"{field} of {case_id} lets it through: add {_snippet(mutant, field)}"
    lack = f"nothing in {case_id} {operator.lack}" if blind else f"no check of {case_id} notices this one"
    if operator.of_answer and not ready:
        field = next((field for field in usable if field in FACTS), usable[0])
        return field, f"{lack}: add {field}{FACTS.get(field, ONLY_WORDS)}"
    field = (ready or usable)[0]
    snippet = f": {_snippet(mutant, field)}" if field in mutant.fix else ""
    companion = next((name for name in mutant.fix if name not in operator.fields and name not in used), None)
    addition = f" with {companion}: {_snippet(mutant, companion)}" if companion else ""
    return field, f"{lack}: add {field}{snippet}{addition}"


def noticing(operator: Operator, spelling: Spelling) -> list[str]:
    """The fields by which a suite of this spelling can notice what an operator does."""
    fields = known_fields(spelling)
    return [field for field in operator.fields if field in fields]


@lru_cache(maxsize=8)
def known_fields(spelling: Spelling) -> frozenset[str]:
    """The fields, of those that there are, that a suite of this spelling may use, and that its version knows."""
    for form in spelling.catalog.formats:
        if form.name == spelling.format:
            with blame(form):
                return form.fields(spelling.version, spelling.catalog.fields.values())
    return frozenset(spelling.catalog.fields)  # the package that brings the format is gone


def _used_fields(subject: Subject, catalog: CheckCatalog) -> set[str]:
    """The fields that ask for the checks of a case: its format may have other words for them."""
    return {field.name for spec in subject.case.checks for field in _fields(spec, catalog)}


def _fields(spec: CheckSpec, catalog: CheckCatalog) -> Sequence[Field]:
    """Of a check with several fields, the one that was written, where that is known."""
    fields = catalog.fields_of(spec.name)
    name = spec.path.partition("[")[0].partition(".")[0]
    return [field for field in fields if field.name == name] or fields


def _snippet(mutant: Mutant, field: str) -> str:
    return excerpt(msgspec.json.encode(mutant.fix[field]).decode(), SNIPPET)


def evidence(before: Trace, after: Trace) -> str:
    """One bounded line about the first part of the trace that differs."""
    if before.final_message != after.final_message:
        return f"answer: {_difference(before.final_message, after.final_message)}"
    if before.tool_calls != after.tool_calls:
        return f"calls: {_calls(before.tool_calls, after.tool_calls)}"
    if before.telemetry != after.telemetry:
        return f"telemetry: {len(after.telemetry)} lines, {len(before.telemetry)} before"
    if before.page != after.page:
        page, changed_page = before.page or "", after.page or ""
        start = _common(page, changed_page)
        return f"page: without {excerpt(page[start : start + len(page) - len(changed_page)])}"
    for sql, rows in after.database.items():
        if before.database.get(sql) != rows:
            return f"database: {excerpt(f'{sql} gives {rows}')}"
    measures = ("state", "duration_ms", "timings", "steps", "tokens")
    changed = next((name for name in measures if getattr(before, name) != getattr(after, name)), "turns")
    return f"{changed}: {excerpt(str(getattr(after, changed)))}"


def _calls(before: tuple[ToolCall, ...], after: tuple[ToolCall, ...]) -> str:
    """The calls, of one that was given other arguments these too."""
    if len(before) == len(after):
        for was, now in zip(before, after, strict=True):
            if was.name == now.name and was.arguments != now.arguments:
                return excerpt(f"{now} with {msgspec.json.encode(now.arguments).decode()}")
    names = [*map(str, after[:CALLS]), *(["…"] if len(after) > CALLS else [])]
    return excerpt(", ".join(names)) or "none"


def _difference(before: str, after: str) -> str:
    """The changed part in brackets with the words around it."""
    if not after.strip():
        return "empty"
    start = _common(before, after)
    end = len(after) - _common(before[start:][::-1], after[start:][::-1])
    while start > 0 and start < end and not after[start - 1].isspace():
        start -= 1
    while start < end < len(after) and not after[end].isspace():
        end += 1
    before_change = f"{'…' * (start > AROUND)}{after[max(0, start - AROUND) : start]}"
    after_change = f"{after[end : end + AROUND]}{'…' * (len(after) - end > AROUND)}"
    return excerpt(f"{before_change}[{after[start:end]}]{after_change}")


def _common(text: str, other_text: str) -> int:
    """The length of the start that both share."""
    sizes = range(1, min(len(text), len(other_text)) + 1)
    return bisect_left(sizes, True, key=lambda size: text[:size] != other_text[:size])
