"""Two runs compared, and the last runs of a suite case by case, as reports show them."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from msgspec import Struct, field

from carob.errors import ExitCode
from carob.text.wording import percent, pluralize


class Change(StrEnum):
    """What became of a case from one run to the other."""

    BROKE = "broke"
    FELL = "fell"
    """It passed in every run of the base and in none of the new run, and the runs are too few to say that it broke."""
    FIXED = "mended"
    RED = "stayed red"
    FLAKY = "flickers"
    STEADY = "stayed green"
    ERRED = "erred"
    PROMPT_CHANGED = "asks otherwise"
    EXPECTATIONS_CHANGED = "expects otherwise"
    ANOTHER_JUDGE = "another judge"
    SKIPPED = "set apart"
    NEW = "new"
    REMOVED = "gone"


COMPARED = (Change.BROKE, Change.FELL, Change.FIXED, Change.RED, Change.FLAKY, Change.STEADY)
"""What was asked and judged in both runs, so that it can be compared."""
NOT_IN_BASE = (Change.NEW, Change.PROMPT_CHANGED, Change.EXPECTATIONS_CHANGED, Change.ANOTHER_JUDGE)
"""What the base does not have, or not like this."""


class Bounds(Struct, frozen=True):
    """A figure with the interval that holds the true one at the confidence of the comparison."""

    value: float
    low: float
    high: float
    method: str = ""


def with_interval(bounds: Bounds) -> str:
    method = f", {bounds.method}" if bounds.method else ""
    return f"{percent(bounds.value)} ({percent(bounds.low)} to {percent(bounds.high)}{method})"


def describe_falls(broke: int, fell: int, cases: int) -> str:
    """How many cases that passed before fail now, and for how many of them chance is excluded."""
    both = broke + fell
    if not both:
        return f"none of {pluralize(cases, 'case')} that passed before fails now"
    fails = f"{both} of {pluralize(cases, 'case')} passed before and {'fails' if both == 1 else 'fail'} now"
    if broke and fell:
        return f"{fails}: chance is excluded for {broke}, not for {fell}"
    if broke:
        return f"{fails}: chance is excluded{' for all' if broke > 1 else ''}"
    return (
        f"{fails}: chance is excluded for none of them alone, which has too few runs"
        if fell > 1
        else f"{fails}: it may be chance"
    )


class RunSide(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One of the two runs. `runs` were judged, `errors` were not; `incomplete` says why cases are missing.

    `figures` are those that every page, report and terminal gives of the run as a whole. A base may be several runs,
    `pooled`; `settings` are those of the target, by name.
    """

    path: str
    suite: str
    target: str
    started_at: str
    version: str = ""
    commit: str = ""
    dirty: bool = False
    cases: int = 0
    runs: int = 0
    errors: int = 0
    incomplete: str = ""
    figures: str = ""
    pooled: int = 1
    settings: dict[str, str] = {}
    deterministic: bool = False


class Flip(Struct, frozen=True, omit_defaults=True):
    """An expectation that held in one run and not in the other: in how many judged runs of each."""

    check: str
    before: str
    after: str
    found: str = ""


class RunExcerpt(Struct, frozen=True, omit_defaults=True):
    """What an agent said and called in one run of a case, cut short."""

    answer: str = ""
    calls: tuple[str, ...] = ()


class CaseChange(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A case that is worth a look: how often it passed in each run, which expectations flipped, what was seen."""

    id: str
    change: Change
    category: str = ""
    base: str = ""
    new: str = ""
    flips: tuple[Flip, ...] = ()
    base_excerpt: RunExcerpt | None = field(name="base_seen", default=None)
    new_excerpt: RunExcerpt | None = field(name="new_seen", default=None)


class ScopeComparison(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The compared cases of a scope: of all, of one category, or of one tag. `p` is corrected for the looks taken.

    Cases of one cluster are variants of one thing; a case of no cluster is one of its own.
    """

    scope: str
    cases: int
    clusters: int
    broke: int = 0
    fixed: int = field(name="mended", default=0)
    base: Bounds
    new: Bounds
    difference: Bounds
    test: str
    p: float
    confidence: float

    @property
    def sure(self) -> Literal["better", "worse", ""]:
        """Which way it went, if interval and test both say so."""
        if self.p > 1 - self.confidence:
            return ""
        return "better" if self.difference.low > 0 else "worse" if self.difference.high < 0 else ""


class Measure(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A quantity that both runs know of some cases: the mean of each run, and their ratio."""

    name: str
    cases: int
    base: float
    new: float
    ratio: Bounds | None = None


class GateVerdict(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a gate says: met, broken, or undecided, and then what would decide it."""

    gate: str
    verdict: Literal["met", "broken", "undecided"]
    says: str
    decides: str = ""


class Comparison(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Everything that a comparison found. `changes` holds cases worth a look, of which `left_off` are not listed."""

    base: RunSide
    new: RunSide
    confidence: float
    counts: dict[str, int]
    overall: ScopeComparison
    groups: tuple[ScopeComparison, ...] = ()
    measures: tuple[Measure, ...] = ()
    changes: tuple[CaseChange, ...] = ()
    left_off: int = 0
    flips: dict[str, int] = {}
    differs: tuple[str, ...] = ()
    """What is not the same in both runs besides their results: suite, target, version, settings."""
    notes: tuple[str, ...] = ()
    gates: tuple[GateVerdict, ...] = ()

    def count(self, change: Change) -> int:
        return self.counts.get(change.value, 0)

    @property
    def compared(self) -> int:
        return self.overall.cases

    @property
    def exit_code(self) -> ExitCode:
        """Exit code by gates; without gates, fail if the new run is significantly worse, or a run is not whole."""
        if self.gates:
            return ExitCode.OK if all(gate.verdict == "met" for gate in self.gates) else ExitCode.FAILED
        worse = self.overall.sure == "worse" or self.base.incomplete or self.new.incomplete
        return ExitCode.FAILED if worse else ExitCode.OK


STRIP = {"passed": "P", "failed": "F", "flickered": "~", "erred": "E", "set apart": "s", "absent": "-"}
"""One letter for how a case came out in a run."""


class RunPoint(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One run in the line of runs."""

    path: str
    started_at: str
    target: str = ""
    commit: str = ""
    dirty: bool = False
    version: str = ""
    figures: str = ""
    """Those that every page, report and terminal gives of the run."""
    flaky: int = 0


class CaseHistory(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One case over the runs. `broke` is the run in which it first did not pass after one in which it did.

    `flake` is the share of its judged runs that did not pass, of a case that both passed and did not.
    """

    id: str
    category: str = ""
    tags: tuple[str, ...] = ()
    strip: str = ""
    passed: int = 0
    judged: int = 0
    changed: int = 0
    """How often it came out otherwise than in the run before."""
    broke: RunPoint | None = None
    flake: Bounds | None = None
    seconds: float | None = None
    """The mean of the last run that has it, and its ratio to that of the first that has it."""
    seconds_ratio: float | None = None
    cost: float | None = None
    cost_ratio: float | None = None

    @property
    def is_flaky(self) -> bool:
        return self.flake is not None


class History(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Runs of one suite, target and settings from the oldest to the newest, and every case that any of them had.

    `left_out` counts runs of the suite against `other_targets`, or against this one with other settings.
    """

    suite: str
    runs: tuple[RunPoint, ...]
    cases: tuple[CaseHistory, ...]
    unreadable: tuple[str, ...] = ()
    target: str = ""
    left_out: int = 0
    other_targets: tuple[str, ...] = ()
