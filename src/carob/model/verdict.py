"""What judging gives: check results, group scores, a status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Literal

from msgspec import Struct


class Group(StrEnum):
    """The groups that our checks score in; a check of another package may name one of its own."""

    TOOL_HYGIENE = "tool_hygiene"
    SYNTHESIS_COVERAGE = "synthesis_coverage"
    NUMERIC_GROUNDING = "numeric_grounding"
    UNCERTAINTY = "uncertainty"
    FORMATTING = "formatting"
    MORNING_BRIEF_CONTRACT = "morning_brief_contract"
    DECISION = "decision"
    QA = "qa"
    BUDGET = "budget"
    RULES = "rules"
    WORKSPACE = "workspace"
    MEANING = "meaning"


class Status(StrEnum):
    """How one check came out. ERROR: the check itself could not be carried out. UNJUDGED: only another tool can.

    NOT_TRIGGERED: nothing happened that the rule speaks of, so it was not tested; that is not a pass.
    """

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"
    ERROR = "error"
    UNJUDGED = "unjudged"
    NOT_TRIGGERED = "not_triggered"


ACCEPTED = frozenset((Status.PASSED, Status.NOT_TRIGGERED))
"""What counts against no case."""


class CaseStatus(StrEnum):
    """How one case came out. SKIP: it was not to be run. XFAIL: it failed, as its suite says that it does."""

    PASS = "PASS"
    FAIL = "FAIL"
    PARTIAL = "PARTIAL"
    ERROR = "ERROR"
    SKIP = "SKIP"
    XFAIL = "XFAIL"


class EvidenceLocation(Struct, frozen=True, omit_defaults=True, gc=False):
    """Where the evidence is: a span of a text, or an entry of a list."""

    channel: str
    start: int | None = None
    end: int | None = None
    index: int | None = None


class Reading(Struct, frozen=True, omit_defaults=True, gc=False):
    """A criterion and the evidence for it, by their hashes, and who decided it: no one, people or a judge."""

    criterion: str
    evidence: str
    by: Literal["", "person", "judge"] = ""
    thinks: str = ""
    """What the configured judge thinks, where it was asked."""
    judge: str = ""
    """The judge that decided, by its identity."""
    uncommitted: bool = False
    """Whether the decision rests on labels or opinions that the last commit does not have."""


class Criteria(Struct, frozen=True, omit_defaults=True, gc=False):
    """How many criteria were decided by whom; of those that were not, what the judge thinks."""

    by_people: int = 0
    by_judge: int = 0
    unjudged: int = 0
    thinks: dict[str, int] = {}
    uncommitted: int = 0

    @classmethod
    def of(cls, readings: Iterable[Reading]) -> Criteria | None:
        """None where there is no criterion."""
        readings = list(readings)
        by = Counter(reading.by for reading in readings)
        thinks = Counter(reading.thinks for reading in readings if reading.thinks and not reading.by)
        new = sum(reading.uncommitted for reading in readings)
        return cls(by["person"], by["judge"], by[""], dict(sorted(thinks.items())), new) if readings else None

    def __add__(self, other: Criteria) -> Criteria:
        thinks = dict(sorted((Counter(self.thinks) + Counter(other.thinks)).items()))
        return Criteria(
            self.by_people + other.by_people,
            self.by_judge + other.by_judge,
            self.unjudged + other.unjudged,
            thinks,
            self.uncommitted + other.uncommitted,
        )


class CheckResult(Struct, frozen=True, omit_defaults=True, gc=False):
    """One judged check with its evidence."""

    name: str
    group: str
    status: Status
    expected: str = ""
    found: str = ""
    at: EvidenceLocation | None = None
    turn: int | None = None
    """The turn of the conversation that it judges, from 1; None: all of it, or there is but one."""
    reading: Reading | None = None
    """Of a criterion: what identifies it, and who decided it."""

    @property
    def rule_id(self) -> str:
        """The rule that it judges; empty for a check of another kind."""
        is_rule = self.group == Group.RULES and self.name in RULE_CHECKS
        return rule_of(self.expected) if is_rule else ""

    def __str__(self) -> str:
        return f"{self.name}: expected {self.expected}" + (f", found {self.found}" if self.found else "")


class GroupScore(Struct, frozen=True, gc=False):
    """How many of a group's judged checks passed."""

    passed: int
    judged: int

    @property
    def value(self) -> float:
        return self.passed / self.judged


class SoftScore(Struct, frozen=True, gc=False):
    """The weighted sum of group scores, and whether it met its threshold (None: there is none)."""

    value: float | None
    threshold: float | None
    passed: bool | None


class Shortfall(Struct, frozen=True, omit_defaults=True, gc=False):
    """Why a case is PARTIAL and no PASS: a check failed although the threshold held, one is unknown, one is not judged.

    `count` is how many of its expectations are not judged, whatever its status.
    """

    failed: bool = False
    unknown: bool = False
    unjudged: bool = False
    count: int = 0
    rules: str = ""
    """The rules that were judged, each with a sign that says whether it was triggered: `RuleMarks`."""
    criteria: Criteria | None = None


NOTHING_SHORT = Shortfall()


OWN_RULE, SHARED_RULE = "rule", "shared_rule"
"""The names of the checks that judge a rule of the suite itself, and one of carob.toml."""
RULE_CHECKS = frozenset((OWN_RULE, SHARED_RULE))
_MARKS = {(OWN_RULE, True): "+", (OWN_RULE, False): "-", (SHARED_RULE, True): "*", (SHARED_RULE, False): "/"}
_OWN_MARKS, _TRIGGERED_MARKS = "+-", "+*"
_SEPARATOR = "\x1f"


class RuleMarks(Struct):
    """The rules of a run: those that were triggered at least once, and those that were not."""

    own: dict[str, bool] = {}
    shared: dict[str, bool] = {}

    def add(self, marks: str) -> None:
        """Count the rules of one case, as `mark_rules` writes them."""
        for mark in marks.split(_SEPARATOR) if marks else ():
            rules = self.own if mark[0] in _OWN_MARKS else self.shared
            rules[mark[1:]] = rules.get(mark[1:], False) or mark[0] in _TRIGGERED_MARKS

    @property
    def untested(self) -> tuple[str, ...]:
        """The rules that nothing triggered."""
        every = {**self.shared, **self.own}
        return tuple(sorted(name for name, is_tested in every.items() if not is_tested))


def read_marks(marks: str) -> Iterator[tuple[str, bool]]:
    """The rules of one case, and whether each was triggered, of what `mark_rules` wrote."""
    for mark in marks.split(_SEPARATOR) if marks else ():
        yield mark[1:], mark[0] in _TRIGGERED_MARKS


def rule_of(expected: str) -> str:
    """The rule that a check of rules is for, by what it expected."""
    return expected.partition(": ")[0]


def mark_rules(checks: tuple[CheckResult, ...]) -> str:
    """The rules among these results, and whether each was triggered, in one text."""
    marks = [
        f"{_MARKS[check.name, check.status is not Status.NOT_TRIGGERED]}{check.rule_id}"
        for check in checks
        if check.rule_id
    ]
    return _SEPARATOR.join(marks)


class Verdict(Struct, frozen=True, omit_defaults=True, gc=False):
    """A case judged: every check, every group, one status and the reason for it."""

    status: CaseStatus
    checks: tuple[CheckResult, ...] = ()
    groups: dict[str, GroupScore] = {}
    soft: SoftScore = SoftScore(None, None, None)
    hard_fail_triggered: tuple[str, ...] = ()
    reason: str = ""
    left_to_others: bool = False
    """Whether what is not judged was left to another tool, and something else was judged."""

    @property
    def shortfall(self) -> Shortfall:
        """Why it is PARTIAL, if it is, and how much of it is not judged."""
        rules = mark_rules(self.checks)
        criteria = Criteria.of(check.reading for check in self.checks if check.reading is not None)
        if self.status is CaseStatus.PASS and not self.left_to_others:
            return Shortfall(rules=rules, criteria=criteria) if rules or criteria else NOTHING_SHORT
        statuses = [check.status for check in self.checks]
        count = statuses.count(Status.UNJUDGED)
        if self.status is not CaseStatus.PARTIAL:
            return (
                Shortfall(count=count, rules=rules, criteria=criteria) if count or rules or criteria else NOTHING_SHORT
            )
        failed, unknown = Status.FAILED in statuses, Status.UNKNOWN in statuses
        unjudged = count > 0 and not self.left_to_others
        return Shortfall(failed=failed, unknown=unknown, unjudged=unjudged, count=count, rules=rules, criteria=criteria)


class TimelineEntry(Struct, frozen=True):
    """An event of a conversation; `is_evidence`: it is one of those that broke the rule, or left it open."""

    index: int
    words: str
    is_evidence: bool


class RuleTimeline(Struct, frozen=True):
    """The events that decided a rule, with what the user said last before, and how often it was triggered."""

    entries: tuple[TimelineEntry, ...] = ()
    triggered: int = 0
