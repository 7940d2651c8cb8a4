"""A run as its journal holds it: a header, one record per finished case, a footer; and the keys of its cases."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from carob.errors import ExitCode
from carob.model.cost import NOTHING_SPENT, Spent
from carob.model.sequential import SequentialTest
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.model.verdict import CaseStatus, Criteria, Verdict

FORMAT = 1
PACE = "pace"
"""The entry of the header that says how fast cases were run: what a continued run takes over."""
MATRIX = "matrix"
"""The entry of the header of a run that is a column of a matrix: what was set for it."""
RECORDED_CHECK = "check"
"""The entry of the header of a journal of recorded conversations: where they are from."""


class Revision(Struct, frozen=True, omit_defaults=True):
    """Which commit a folder or file was at. `dirty`: it held changes that no commit has."""

    commit: str
    dirty: bool = False
    tags: tuple[str, ...] = ()


class Header(Struct, frozen=True, kw_only=True, tag="header", tag_field="kind"):
    """What was run, against what, with which versions. Written in full: a later reader must not guess the format.

    `project` is the state of the folder that the run was started in, `suite_revision` that of the suite's file;
    `target_version` is what the target says of itself.
    """

    format: int = FORMAT
    run_id: str
    suite: str
    suite_format: str
    suite_version: str = ""
    suite_sha256: str
    target: str
    options: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    started_at: str
    total: int
    repeat: int = 1
    derived_from: str = ""
    project: Revision | None = None
    suite_revision: Revision | None = None
    target_version: str = ""
    until: SequentialTest | None = None
    """What decided how often each case was run, `repeat` times at most; without it, each was run so often."""
    confirm: int = 0
    """Of the `repeat` runs of a case, how many it has only if it fell from a baseline in those before."""
    deterministic: bool = False
    """Whether the target says that it answers the same each time, so that one run shows what a case comes to."""
    suite_name: str | UnsetType = UNSET
    """What the suite calls itself, where it does."""
    draft: bool | UnsetType = UNSET
    """Whether the suite was a draft, which no person had approved."""
    at_most: bool | UnsetType = UNSET
    """Whether `repeat` is the most that any case was run: others were not run again."""


class Item(Struct, frozen=True):
    """One run of one case."""

    index: int
    repeat: int
    key: str
    case: Case
    until: SequentialTest | None = None


class CaseRecord(Struct, frozen=True, omit_defaults=True, kw_only=True, tag="case", tag_field="kind"):
    """One finished case: what was asked, what happened, how it was judged.

    `key` is a hash of the case and of the target's options: a resumed run keeps records whose key is unchanged.
    `attempts` holds the traces of earlier attempts that ended in an error.
    """

    index: int
    repeat: int = 0
    key: str = ""
    case: Case
    trace: Trace
    verdict: Verdict
    duration_ms: float = 0.0
    attempts: tuple[Trace, ...] = ()
    until: SequentialTest | None = None

    @property
    def status(self) -> CaseStatus:
        return self.verdict.status


class GuardSummary(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a guard refused in a run, and what came of that."""

    calls: int
    cases: int
    """Those in which it refused a call."""
    by_rule: dict[str, int]
    """How many calls of which tool were refused by which rule: `pay by look-first`."""
    compared: int = 0
    """Of these cases, those that came to something in a run without the guard."""
    wrong: tuple[str, ...] = ()
    """Those that passed without the guard, and do not with it."""
    saved: tuple[str, ...] = ()
    """Those that pass with the guard, and did not without it."""


class Summary(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The printed verdict of a run; the exit code is a function of it and nothing else.

    `incomplete` says why cases are missing, `interrupted` that a person or a deadline stopped the run, `broken`
    that it could not continue, `misconfigured` that the target refused access as configured. Of the `partial` cases,
    `partial_failed` counts those in which a check failed although the threshold held, `partial_unknown` those with an
    unknown check, `partial_unjudged` those with an expectation that only another tool can judge; `unjudged` counts such
    expectations in all cases. Cases that were skipped, or failed as expected, are counted apart. Over repeats,
    `pass_all` and `pass_any` are the shares of cases that passed every time and at least once (pass^N, pass@N), among
    those that lack no run, and `runs` counts every run.
    """

    passed: int = 0
    failed: int = 0
    partial: int = 0
    partial_failed: int = 0
    partial_unknown: int = 0
    partial_unjudged: int = 0
    unjudged: int = 0
    rules: int = 0
    untested_rules: tuple[str, ...] = ()
    """The rules that nothing in the run triggered."""
    is_untested: bool = False
    """Whether the suite has rules of its own, of which nothing in the run triggered any."""
    error: int = 0
    skipped: int = 0
    xfailed: int = 0
    total: int = 0
    avg_soft_score: float | None = None
    incomplete: str = ""
    interrupted: bool = False
    broken: bool = False
    misconfigured: bool = False
    repeat: int = 1
    pass_all: float | None = None
    pass_any: float | None = None
    flaky: int = 0
    runs: int = 0
    undecided: int = 0
    saved: int = 0
    """Runs that were not needed, because the cases were decided before."""
    fewest: int = 0
    most: int = 0
    """Over repeats, how often the case was run that was run least, and the one that was run most."""
    clusters: int = 0
    rate_low: float = 0.0
    rate_high: float = 1.0
    rate_method: str = "Clopper-Pearson"
    """Of the cases that count for the pass rate: how many clusters they are, and its 95 % interval and its method."""
    spent: Spent = NOTHING_SPENT
    guard: GuardSummary | None = None
    """None: no guard refused a call."""
    criteria: Criteria | None = None
    """None: there was no criterion."""

    @property
    def judged(self) -> int:
        """The cases that count for the pass rate: all but those that were skipped or failed as expected."""
        return self.total - self.skipped - self.xfailed

    def exit_code(self, *, allow_partial: bool = False, allow_unknown: bool = False) -> ExitCode:
        """Only `allow_unknown` lets an unknown pass, and `allow_partial` only what failed above its threshold.

        What is not judged is refused here: where it was left to another tool, the case is not PARTIAL for it.
        """
        if self.interrupted:
            return ExitCode.INTERRUPTED
        if self.broken:
            return ExitCode.INTERNAL
        if self.misconfigured:
            return ExitCode.USAGE
        untold = self.partial and not (self.partial_failed or self.partial_unknown or self.partial_unjudged)
        refused = (not allow_partial and (self.partial_failed or untold)) or (
            not allow_unknown and (self.partial_unknown or untold)
        )
        refused = refused or self.partial_unjudged
        if self.failed or self.error or self.incomplete or refused:
            return ExitCode.FAILED
        if self.is_untested:
            # A guard that refused every call that a rule is about left nothing to judge: that is a failure.
            return ExitCode.FAILED if self.guard is not None else ExitCode.NOTHING_SELECTED
        return ExitCode.OK if self.passed or self.partial or self.xfailed else ExitCode.NOTHING_SELECTED


class Footer(Struct, frozen=True, omit_defaults=True, kw_only=True, tag="footer", tag_field="kind"):
    """The end of a run that was not killed."""

    finished_at: str
    summary: Summary


KNOWN = 16
"""Keys that are remembered: repeats of a case come in a row, and two runs of a suite are read side by side."""

_encode = msgspec.json.Encoder(order="deterministic").encode


class Keys:
    """Keys of cases that are run against one target."""

    def __init__(self, target: Mapping[str, object]) -> None:
        self._target = hashlib.sha256(msgspec.json.encode(target, order="sorted")).digest()

    def of(self, case: Case) -> str:
        return self.of_content(_encode(case))

    def of_content(self, case: bytes) -> str:
        """The key of a case of which only its content is at hand."""
        return _key(self._target, case)


@lru_cache(KNOWN)
def _key(target: bytes, case: bytes) -> str:
    return hashlib.sha256(target + case).hexdigest()[:32]


def content(case: Case) -> bytes:
    """What the key of a case is made of."""
    return _encode(case)


def target_identity(identity: Mapping[str, object]) -> dict[str, object]:
    """What makes a target the same one: all that identifies it but its name, which may change."""
    return {key: value for key, value in identity.items() if key != "name"}
