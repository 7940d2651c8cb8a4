"""What a guard did in a run: which calls it refused, which cases it broke by that, and which it saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct

from carob.model.run import GuardSummary
from carob.model.trace import Trace
from carob.model.verdict import CaseStatus
from carob.scoring.intervals import Runs

GUARD: Final = "guard"
"""The key of a trace's metadata that says what was refused."""
MOST_RULES: Final = 50
MOST_CALLS: Final = 1_000
LONGEST: Final = 80
"""What a trace says may come from anywhere."""
StatusOf: TypeAlias = Callable[[int], CaseStatus]


class Refusals(Struct, frozen=True, array_like=True):
    """The calls that were refused in one run of a case: each as `TOOL by RULE`."""

    case: str
    calls: tuple[str, ...]


def read_refusals(case: str, trace: Trace) -> Refusals | None:
    """What a trace says that a guard refused; None if that is nothing."""
    about: Any = trace.metadata.get(GUARD)
    refused = about.get("refused") if isinstance(about, Mapping) else None
    if not isinstance(refused, list | tuple):
        return None
    listed = [one for one in refused[:MOST_CALLS] if isinstance(one, Mapping)]
    calls = [f"{str(one.get('tool'))[:LONGEST]} by {str(one.get('rule'))[:LONGEST]}" for one in listed]
    return Refusals(case, tuple(calls)) if calls else None


class GuardTally:
    """Counts what was refused, by case."""

    def __init__(self) -> None:
        self._rules: Counter[str] = Counter()
        self._cases: dict[int, str] = {}

    def add(self, index: int, refusals: Refusals) -> None:
        self._rules.update(refusals.calls)
        self._cases[index] = refusals.case

    def summary(self, status_of: StatusOf, baseline: Mapping[int, Runs] | None) -> GuardSummary | None:
        """None: nothing was refused. `baseline` is what cases came to without the guard, where that is known."""
        if not self._cases:
            return None
        compared = [index for index in self._cases if baseline is not None and index in baseline]
        passed_before = {index for index in compared if (baseline or {})[index][0] == (baseline or {})[index][1]}
        passes = {index for index in compared if status_of(index) is CaseStatus.PASS}
        return GuardSummary(
            calls=self._rules.total(),
            cases=len(self._cases),
            by_rule=dict(self._rules.most_common(MOST_RULES)),
            compared=len(compared),
            wrong=tuple(self._cases[index] for index in sorted(passed_before - passes)),
            saved=tuple(self._cases[index] for index in sorted(passes - passed_before)),
        )
