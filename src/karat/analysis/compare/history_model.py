"""The last runs of a suite, case by case."""

from __future__ import annotations

from msgspec import Struct

from karat.analysis.compare.model import Bounds

STRIP = {"passed": "P", "failed": "F", "flickered": "~", "erred": "E", "set apart": "s", "absent": "-"}
"""One letter for what a case came to in a run."""


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
