"""What an operator is: it makes wrong traces out of a right one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from carob.checks.base import Check
from carob.features.audit.operators.log_lines import Log
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.text.folding import fold

SOMETHING_ELSE = "something else"


class Mutant(NamedTuple):
    """One wrong trace, what is wrong with it, and what to write into `expected` to notice it."""

    trace: Trace
    change: str
    fix: Mapping[str, object] = {}


class Subject:
    """A case that passed and the trace that it passed with; of a turn of a talk, `earlier` is the one before."""

    def __init__(self, case: Case, trace: Trace, seed: int = 0, earlier: Trace | None = None) -> None:
        self.case = case
        self.earlier = earlier
        self.trace = trace
        self.seed = seed

    @cached_property
    def chance(self) -> random.Random:
        """Of the case alone, so that what is tried on it does not depend on the other cases."""
        return random.Random(f"{self.seed}/{self.case.id}")

    @cached_property
    def checks(self) -> tuple[tuple[str, dict[str, object]], ...]:
        """Name and arguments of every check of the case."""
        return tuple((spec.name, msgspec.json.decode(spec.args)) for spec in self.case.checks)

    @cached_property
    def log(self) -> Log:
        return Log(self.trace)

    @property
    def answer(self) -> str:
        return self.trace.final_message

    def arguments(self, kind: type[Check]) -> Iterator[dict[str, Any]]:
        """The arguments of each check of this kind."""
        return (args for check, args in self.checks if check == kind.name)

    def with_answer(self, text: str) -> Trace:
        return structs.replace(self.trace, final_message=text)


@dataclass(frozen=True, slots=True)
class Operator:
    """A family of mutants, with the fields that can notice them."""

    name: str
    about: str
    """What is wrong with its mutants, in a few words."""
    lack: str
    """How to go on after `nothing in SYN2 ...` where no field looks at what it changes."""
    mutants: Callable[[Subject], Iterator[Mutant]]
    fields: tuple[str, ...]
    """A test has, for each of them, a trace and a value under which a mutant of that trace is killed."""
    of_answer: bool = False
    """Its mutants change the text of the answer, and nothing that was done."""
    of_rules: bool = False
    """It breaks the rules that a case has, so no field of the case can notice in their place."""
    helps: str = ""
    """How to use its first field, where only who knows the answer beforehand can: its mutants are not in the rate."""


of_answer = partial(Operator, of_answer=True)


class Equivalent(NamedTuple):
    """A change that leaves a trace right; None where the trace has nothing of the kind.

    `advice` says how to fix a check that minds it, by the check's name; under the empty name for all others.
    """

    name: str
    about: str
    change: Callable[[Subject], Trace | None]
    advice: Mapping[str, str]


_JUDGED = (
    *("input", "tool_calls", "telemetry", "page", "database", "state", "duration_ms", "timings", "steps", "tokens"),
    *("ended_by", "spans", "workspace"),
)


def is_same(trace: Trace, original: Trace) -> bool:
    """Whether two traces differ in nothing that a check may look at; letter case and spaces of the answer do not."""
    answer, original_answer = trace.final_message, original.final_message
    if answer != original_answer and fold(answer) != fold(original_answer):
        return False
    return all(getattr(trace, name) == getattr(original, name) for name in _JUDGED)


def other_value(value: object) -> object:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return [SOMETHING_ELSE] if isinstance(value, list) else SOMETHING_ELSE
