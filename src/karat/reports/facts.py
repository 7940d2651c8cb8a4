"""What several reports say of a case, worked out once: its checks by outcome, and what was missing."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from karat.model.run import CaseRecord, RunView, Summary
from karat.model.suite import CheckSpec
from karat.model.verdict import CheckResult, Group, Status


class Judged(NamedTuple):
    """One judged check and where its suite asked for it."""

    label: str
    result: CheckResult


class Facts(NamedTuple):
    """The checks of a case by outcome; a check that broke counts as unknown."""

    passed: list[Judged]
    failed: list[Judged]
    unknown: list[Judged]
    required_sources: list[str]
    missing_sources: list[str]
    missing_numbers: list[str]
    missing_brief: list[str]


class _Source(msgspec.Struct):
    source: str = ""


class _Number(msgspec.Struct):
    label: str | None = None
    value: str | int | float | None = None
    regex: str | None = None


_source: Final = msgspec.json.Decoder(_Source)
_number: Final = msgspec.json.Decoder(_Number)


def facts(record: CaseRecord) -> Facts:
    """Sort the checks of a case, and name what its answer lacks. Checks that were not judged lack nothing."""
    found = Facts([], [], [], [], [], [], [])
    results = record.verdict.checks
    specs = record.case.checks
    for spec, result in zip(specs, results, strict=False):
        label = spec.path or result.name
        if result.status is Status.PASSED:
            found.passed.append(Judged(label, result))
        else:
            _miss(found, spec, result)
            (found.failed if result.status is Status.FAILED else found.unknown).append(Judged(label, result))
    found.required_sources.extend(_source_name(spec) for spec in specs if spec.name == "required_sources")
    return found


def _miss(found: Facts, spec: CheckSpec, result: CheckResult) -> None:
    if spec.name == "required_sources":
        found.missing_sources.append(_source_name(spec))
    elif spec.name == "must_ground_numbers":
        found.missing_numbers.append(_number_name(spec))
    elif result.group is Group.MORNING_BRIEF_CONTRACT and result.name not in found.missing_brief:
        found.missing_brief.append(result.name)


def _source_name(spec: CheckSpec) -> str:
    return _source.decode(spec.args).source


def _number_name(spec: CheckSpec) -> str:
    number = _number.decode(spec.args)
    return number.label or str(number.regex if number.value is None else number.value)


def case_name(record: CaseRecord) -> str:
    """The case's id, and which repeat of it this is."""
    return f"{record.case.id} #{record.repeat + 1}" if record.repeat else record.case.id


def finished(summary: Summary) -> int:
    """How many cases came to an end, whatever end."""
    return summary.passed + summary.failed + summary.partial + summary.error


def counts(summary: Summary) -> str:
    """`12 passed, 1 failed`: the passed, then every other outcome that occurred."""
    others = ((summary.failed, "failed"), (summary.partial, "partial"), (summary.error, "error"))
    return ", ".join([f"{summary.passed} passed", *(f"{count} {word}" for count, word in others if count)])


def incomplete(run: RunView) -> str:
    """What is to be said of a run that did not get to its end, else the empty string."""
    if not run.summary.interrupted:
        return ""
    return f"INCOMPLETE: {finished(run.summary)} of {run.header.total} cases finished"
