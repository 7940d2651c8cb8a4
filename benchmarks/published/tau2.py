"""Results of tau2, judged by Carob by the tasks that they hold, next to the rewards that tau2 gave.

The reward is taken apart: what Carob judges is held against the parts DB, COMMUNICATE and ACTION of it. Assertions on
the environment and in natural language are not judged by Carob.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import carob
from carob.features.importers.tau.results import ENDS
from carob.model.verdict import ACCEPTED

PARTS = ("DB", "COMMUNICATE", "ACTION")
CUT_OFF = "a limit cut it off: no reward, whatever was done"
SAME_STATE = "other calls than gold, same database"
OTHER_STATE = "the calls of gold, another database: their order, or the spelling of a value"
OTHER_WORDS = "an output is inside a longer number, or is spelled in another way"
NOT_EXECUTED = "tau2 found what Carob sees, and gave its reward by another part"
SUCCESS_UNKNOWN = "Carob cannot tell whether a call succeeded"
UNEXPLAINED = "not explained"


class Simulated(NamedTuple):
    """A simulation: Carob's verdict on what it judges, and the parts of the reward."""

    file: str
    task: str
    status: str
    reason: str
    parts: Mapping[str, bool]
    ended: bool

    @property
    def rewarded(self) -> bool:
        return self.ended and all(self.parts.values())

    @property
    def agrees(self) -> bool:
        return self.status == ("PASS" if self.rewarded else "FAIL")

    @property
    def kind(self) -> str:
        if self.status == "PARTIAL":
            return SUCCESS_UNKNOWN
        if not self.ended:
            return CUT_OFF
        if self.status == "FAIL" and "in one answer" in self.reason and "call of" not in self.reason:
            return OTHER_WORDS
        if self.status == "FAIL" and self.parts.get("DB"):
            return SAME_STATE
        if self.status == "PASS" and not self.parts.get("DB", True):
            return OTHER_STATE
        return OTHER_WORDS if self.status == "PASS" and not self.parts.get("COMMUNICATE", True) else UNEXPLAINED


def judge_file(path: Path) -> Iterator[Simulated]:
    """Every simulation of a file. One that only others can judge is left out."""
    content = json.loads(path.read_text(encoding="utf-8"))
    runs: dict[str, list[Any]] = {}
    for run in content["simulations"]:
        runs.setdefault(str(run["task_id"]), []).append(run)
    records = carob.run(path, f"replay:{path}", repeat=max(map(len, runs.values())))
    for record in records:
        trials = runs.get(record.case.id, [])
        if record.repeat >= len(trials):
            continue
        run = trials[record.repeat]
        parts = _parts(run.get("reward_info") or {})
        judged = [check for check in record.verdict.checks if check.status is not carob.Status.UNJUDGED]
        if not parts or len(judged) < 3:  # that it ended, and how, alone
            continue
        bad = [check for check in judged if check.status not in ACCEPTED]
        failed = [check for check in bad if check.status is carob.Status.FAILED]
        status = "FAIL" if failed else "PARTIAL" if bad else "PASS"
        reason = "; ".join(map(str, failed or bad))
        yield Simulated(path.name, record.case.id, status, reason, parts, run.get("termination_reason") in ENDS)


def _parts(reward: Mapping[str, Any]) -> dict[str, bool]:
    breakdown = reward.get("reward_breakdown") or {}
    found = {part: breakdown[part] > 1 - 1e-6 for part in PARTS if part in breakdown}
    if not found and (reward.get("db_check") or {}).get("db_match") is not None:
        found["DB"] = bool(reward["db_check"]["db_match"])
    return found
