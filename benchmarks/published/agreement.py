"""Carob's verdict next to the published reward, and why they differ where they do."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import carob
from benchmarks.published.conversations import Conversation
from benchmarks.published.database import Database
from benchmarks.published.recordings import Success, write_recordings
from benchmarks.tables import table

CUT_OFF = "the step limit cut it off: no reward, whatever was done"
GOLD_REFUSED = "gold names a write that the benchmark's own tool refuses"
GOLD_UNKNOWN = "gold names a tool that does not exist"
SAME_STATE = "other calls than gold, same database"
OTHER_STATE = "the calls of gold, another database: their order or the spelling of a number"
OTHER_SPELLING = "an output stands inside a longer number, or is spelled in another way"
NOT_REPRODUCED = "the clone's own environment gives another reward than the published one"
SUCCESS_UNKNOWN = "Carob cannot tell whether a write succeeded"
UNEXPLAINED = "not explained"
NO_DATABASE = "not explained without the database of the clone"


class Judged(NamedTuple):
    """A conversation with its verdict."""

    conversation: Conversation
    verdict: carob.Verdict

    @property
    def agrees(self) -> bool:
        return self.verdict.status == ("PASS" if self.conversation.rewarded else "FAIL")

    def checks(self, status: carob.Status) -> list[carob.CheckResult]:
        return [check for check in self.verdict.checks if check.status is status]


class Difference(NamedTuple):
    """A conversation on which Carob and the published reward differ."""

    judged: Judged
    kind: str
    reason: str


class Facts(NamedTuple):
    """What the environment of the benchmark says of a conversation."""

    same_state: bool
    refused: list[str]
    """Gold writes that its tools refuse, with their words."""
    unknown: list[str]
    """Gold writes that name no tool."""


def judge(folder: Path, suite: dict[str, Any], conversations: Sequence[Conversation], success: Success) -> list[Judged]:
    """Record the conversations, replay them, and judge them by the suite."""
    recording = folder / "recording.jsonl"
    write_recordings(recording, conversations, success)
    file = folder / "suite.yaml"
    file.write_text(json.dumps(suite))
    records = {record.case.id: record for record in carob.run(file, f"replay:{recording}")}
    return [Judged(one, records[one.id].verdict) for one in conversations]


def find_facts(database: Database, one: Conversation, tools: Sequence[str]) -> Facts:
    gold = one.task.writes(tools)
    after_gold = database.play(gold)
    answered = [action._replace(result=result) for action, result in zip(gold, after_gold.results, strict=True)]
    return Facts(
        same_state=database.play(one.writes(tools)).state == after_gold.state,
        refused=[f"{action.name}: {action.result}" for action in answered if not action.succeeded],
        unknown=sorted({action.name for action in gold if not database.has(action.name)}),
    )


def recomputed_reward(one: Conversation, facts: Facts) -> bool:
    """The reward as the clone would give it today."""
    said = all(one.turn_that_says(output) is not None for output in one.task.outputs)
    return one.ended and facts.same_state and said


def explain(judged: Judged, facts: Facts | None) -> Difference:
    """Name the class of a disagreement, with the words of the check that decided."""
    one = judged.conversation
    failed = judged.checks(carob.Status.FAILED)
    calls = [check for check in failed if check.name.startswith("tool_calls")]
    deciding = next(iter(calls or failed or judged.checks(carob.Status.UNKNOWN)), None)
    reason = str(deciding) if deciding else "every check passed"
    if judged.verdict.status == "ERROR":
        return Difference(judged, UNEXPLAINED, str(judged.verdict.reason))
    if judged.verdict.status == "PARTIAL":
        return Difference(judged, SUCCESS_UNKNOWN, reason)
    if not one.rewarded and not one.ended:
        return Difference(judged, CUT_OFF, f"{len(one.turns)} turns, {len(list(one.calls()))} calls")
    if facts is None:
        return Difference(judged, NO_DATABASE, reason)
    if recomputed_reward(one, facts) != one.rewarded:
        return Difference(judged, NOT_REPRODUCED, reason)
    if one.rewarded and calls:
        return _explain_calls(judged, facts, reason)
    if not one.rewarded and not facts.same_state:
        return Difference(judged, OTHER_STATE, ", ".join(action.name for action in one.task.actions))
    if one.task.outputs and (failed or not one.rewarded):
        return Difference(judged, OTHER_SPELLING, f"{', '.join(one.task.outputs)}; {reason}")
    return Difference(judged, UNEXPLAINED, reason)


def _explain_calls(judged: Judged, facts: Facts, reason: str) -> Difference:
    if facts.unknown:
        return Difference(judged, GOLD_UNKNOWN, ", ".join(facts.unknown))
    if facts.refused:
        return Difference(judged, GOLD_REFUSED, "; ".join(facts.refused))
    return Difference(judged, SAME_STATE if facts.same_state else UNEXPLAINED, reason)


def agreement_table(title: str, rows: dict[str, list[Judged]]) -> str:
    head = ("success", "conversations", "PASS, reward 1", "FAIL, reward 0", "agree", "PASS, reward 0", "FAIL, reward 1")
    return table(title, (*head, "PARTIAL", "ERROR"), [_row(name, judged) for name, judged in rows.items()])


def _row(name: str, judged: Sequence[Judged]) -> tuple[str, ...]:
    count = Counter((one.verdict.status.value, one.conversation.rewarded) for one in judged)
    agree = sum(one.agrees for one in judged)
    either = {status: count[status, True] + count[status, False] for status in ("PARTIAL", "ERROR")}
    cells = (
        len(judged),
        count["PASS", True],
        count["FAIL", False],
        f"{agree} ({share(agree, len(judged))})",
        count["PASS", False],
        count["FAIL", True],
        either["PARTIAL"],
        either["ERROR"],
    )
    return (name, *map(str, cells))


def differences_text(title: str, differences: Sequence[Difference]) -> str:
    """Every disagreement, class by class."""
    lines = [f"\n### {title}\n"]
    for kind, number in Counter(difference.kind for difference in differences).most_common():
        lines.append(f"{number} × {kind}")
        for judged, _, reason in (one for one in differences if one.kind == kind):
            one = judged.conversation
            lines.append(f"  {one.id}: {judged.verdict.status}, reward {one.reward:g}: {_in_short(reason)}")
    return "\n".join(lines if differences else [*lines, "none"])


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def _in_short(text: str, most: int = 400) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
