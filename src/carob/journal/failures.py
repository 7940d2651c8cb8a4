"""What broke in a case, and which breaks are of one kind: the same check, the same kind of evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from carob.model.suite import Case
from carob.model.trace import TraceError
from carob.model.verdict import ACCEPTED, CheckResult, Status, Verdict
from carob.text.wording import shorten

OF_RUN: Final = -1
"""The number of a break that belongs to no check: agent or harness broke."""
SHAPE: Final = 90
EXPECTED: Final = 160
IN_PLACE: Final = "in "
NOT_SAID: Final = "not in the answer"
"""Kinds that say where something was found, and that the answer itself was."""
_SEEN: Final = 400
_OPENING: Final = 12
"""How much of what was found must begin the answer, to be taken for it."""

_digits = re.compile(r"\d+(?:[.,:]\d+)*")
_quoted = re.compile(r"'[^']{1,200}'|\"[^\"]{1,200}\"|/[^/\s]{1,200}/")
_rule_event = re.compile(r"event \d+: .*?\): (?:it is not known (?:whether|which|what) .*?: )?")
"""Where a rule was judged, which differs from case to case; then why it is broken, or not known to hold."""
_space = re.compile(r"\s+")


class Failure(NamedTuple):
    """A check that did not pass, by its number in the verdict; `kind` is what it found without what differs by case."""

    number: int
    label: str
    name: str
    status: str
    group: str
    kind: str
    expected: str = ""
    found: str = ""
    """What it found as it is, where `kind` leaves out what differs."""


class _ErrorRecord(Protocol):
    @property
    def error(self) -> TraceError | None: ...

    @property
    def final_message(self) -> str: ...


class Breakable(Protocol):
    """The parts of a record that show what failed in it."""

    @property
    def case(self) -> Case: ...

    @property
    def verdict(self) -> Verdict: ...

    @property
    def trace(self) -> _ErrorRecord: ...


def list_failures(record: Breakable) -> list[Failure]:
    """What did not pass in a record, in the order of its checks; an error of the agent first."""
    return list(_failures(record))


def _failures(record: Breakable) -> Iterator[Failure]:
    error = record.trace.error
    if error is not None:
        kind, example = _kind_and_example(error.message)
        yield Failure(OF_RUN, f"{error.kind} error", error.kind, Status.ERROR, "", kind, found=example)
    for number, result in enumerate(record.verdict.checks):
        if result.status not in (*ACCEPTED, Status.UNJUDGED):
            kind, example = _kind_and_example(_without_answer(result, record))
            yield Failure(
                number,
                label(record, number),
                result.name,
                result.status,
                result.group,
                kind,
                shorten(result.expected, EXPECTED),
                example,
            )


def label(record: Breakable, number: int) -> str:
    """Where the suite asked for a check, such as `must_not_say[1]`, else its name."""
    specs, results = record.case.all_checks, record.verdict.checks
    name = results[number].name
    if number < len(specs) and specs[number][1].name == name:
        return specs[number][1].path or name
    return name


def _without_answer(result: CheckResult, record: Breakable) -> str:
    """What was found; where that is the agent's own words, no two cases are alike, and only their place counts."""
    if result.rule_id:
        return result.found.removeprefix(where[0] if (where := _rule_event.match(result.found)) else "")
    if result.at is not None and result.at.start is not None:
        return f"{IN_PLACE}{result.at.channel.replace('_', ' ')}"
    answer = " ".join(record.trace.final_message[: 4 * _OPENING].split())[:_OPENING]
    if result.found == answer != "":
        return NOT_SAID
    before, quoted, _ = result.found.partition(answer) if len(answer) == _OPENING else (result.found, "", "")
    return before.rstrip(" :,'\"") or NOT_SAID if quoted else result.found


def _kind_and_example(found: str) -> tuple[str, str]:
    """What is the same in all such cases; and this one, where that has gaps."""
    kind, example = shape(found), shorten(" ".join(found[:_SEEN].split()), EXPECTED)
    return kind, "" if kind == example else example


def shape(text: str) -> str:
    """A text without what differs between cases: numbers and quotations."""
    plain = _digits.sub("#", _quoted.sub("'…'", _space.sub(" ", text[:_SEEN]).strip()))
    return plain if len(plain) <= SHAPE else plain[: SHAPE - 1] + "…"
