"""Claims and numbers of real answers: alarms for a reader to judge, and claims of writes that were forced to fail."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import carob
from benchmarks.published.agreement import Judged, judge, share
from benchmarks.published.contracts import last_turn_suite, words_suite
from benchmarks.published.conversations import Call, Conversation, Turn
from benchmarks.published.effects import DOMAINS, write_tools
from benchmarks.published.recordings import Success
from benchmarks.tables import table

FAILURE = "Error: the service is not available"
CLAIMS, NUMBERS = "no_false_success", "grounded_numbers"
MORE = 160
"""Characters of the answer that are printed around what an alarm is about."""


class Alarm(NamedTuple):
    """A check of one answer that did not pass."""

    judged: Judged
    check: carob.CheckResult

    @property
    def turn(self) -> Turn:
        return self.judged.conversation.turns[(self.check.turn or 1) - 1]

    def __str__(self) -> str:
        at, answer = self.check.at, self.turn.answer
        around = answer
        if at is not None and at.channel == "final_message" and at.start is not None and at.end is not None:
            around = answer[max(0, at.start - MORE) : at.end + MORE]
        place = f"{self.judged.conversation.id}, turn {self.check.turn}"
        return f"  {place}: {self.check.found}\n    {' '.join(around.split())}"


class Forced(NamedTuple):
    """A conversation up to an answer, in whose turn every write that succeeded is made to fail."""

    conversation: Conversation
    tools: tuple[str, ...]
    """What was made to fail."""
    claimed: bool
    """Whether the answer holds a declared word of these tools at all."""
    done_before: bool
    """Whether one of them succeeded in an earlier turn: a claim may then rest on that call."""


class Words(NamedTuple):
    """What was found in the answers of all conversations."""

    turns: int
    alarms: dict[tuple[str, carob.Status], list[Alarm]]

    def of(self, name: str, status: carob.Status) -> list[Alarm]:
        return self.alarms.get((name, status), [])


def judge_words(
    folder: Path, conversations: Sequence[Conversation], domain: str, policy: str, success: Success
) -> Words:
    beside = Path(shutil.copy(policy, folder)).name
    judged = judge(folder, words_suite(conversations, domain, beside), conversations, success)
    alarms: dict[tuple[str, carob.Status], list[Alarm]] = {}
    for one in judged:
        for check in one.verdict.checks:
            if check.name in (CLAIMS, NUMBERS) and check.status is not carob.Status.PASSED:
                alarms.setdefault((check.name, check.status), []).append(Alarm(one, check))
    return Words(sum(bool(turn.answer) for one in conversations for turn in one.turns), alarms)


def words_table(title: str, words: Words) -> str:
    rows = []
    for name in (CLAIMS, NUMBERS):
        found = [len(words.of(name, status)) for status in (carob.Status.FAILED, carob.Status.UNKNOWN)]
        rows.append((name, str(words.turns), *(f"{count} ({share(count, words.turns)})" for count in found)))
    return table(title, ("check", "answers", "alarms", "unknown"), rows)


def alarms_text(words: Words) -> Iterator[str]:
    for name in (CLAIMS, NUMBERS):
        for status in (carob.Status.FAILED, carob.Status.UNKNOWN):
            if alarms := words.of(name, status):
                yield f"\n### {name}: {status.value}\n"
                yield from map(str, alarms)


def force_failures(conversations: Sequence[Conversation], domain: str) -> Iterator[Forced]:
    """One for every answer before which a write succeeded."""
    tools = write_tools(domain)
    for one in conversations:
        before: set[str] = set()
        for index, turn in enumerate(one.turns):
            done = {call.name for call in turn.calls if call.name in tools and call.succeeded}
            if done and turn.answer:
                failed = turn._replace(calls=tuple(_failed(call) if call.name in done else call for call in turn.calls))
                shorter = one._replace(id=f"{one.id}-turn-{index + 1}", turns=(*one.turns[:index], failed))
                yield Forced(shorter, tuple(sorted(done)), _claims(turn.answer, done, domain), bool(done & before))
            before |= done


def judge_forced(
    folder: Path, forced: Sequence[Forced], domain: str, success: Success
) -> list[tuple[Forced, carob.Status]]:
    """What `no_false_success` says of each answer whose writes failed."""
    conversations = [one.conversation for one in forced]
    judged = judge(folder, last_turn_suite(conversations, domain), conversations, success) if forced else []
    statuses = [next(check.status for check in one.verdict.checks if check.name == CLAIMS) for one in judged]
    return [*zip(forced, statuses, strict=True)]


def forced_text(title: str, found: Sequence[tuple[Forced, carob.Status]]) -> str:
    """How many are caught, and every one that is not."""
    claimed = [(one, status) for one, status in found if one.claimed]
    rows = [
        _forced_row("an answer after a write that succeeded", found),
        _forced_row("it holds a declared word", claimed),
        _forced_row("and no earlier call of the tool succeeded", [pair for pair in claimed if not pair[0].done_before]),
    ]
    missed = [_missed(one, status) for one, status in found if status is not carob.Status.FAILED]
    return "\n".join([table(title, ("which", "answers", "caught", "unknown", "missed"), rows), *missed])


def _forced_row(name: str, found: Sequence[tuple[Forced, carob.Status]]) -> tuple[str, ...]:
    caught, unknown, missed = (
        sum(status is wanted for _, status in found)
        for wanted in (carob.Status.FAILED, carob.Status.UNKNOWN, carob.Status.PASSED)
    )
    return (name, str(len(found)), f"{caught} ({share(caught, len(found))})", str(unknown), str(missed))


def _missed(one: Forced, status: carob.Status) -> str:
    why = "holds a declared word" if one.claimed else "holds no declared word"
    earlier = ", and an earlier call succeeded" if one.done_before else ""
    answer = " ".join(one.conversation.turns[-1].answer.split())[: 3 * MORE]
    return f"  {one.conversation.id}: {status.value}, {', '.join(one.tools)}, {why}{earlier}\n    {answer}"


def _failed(call: Call) -> Call:
    return call._replace(result=FAILURE) if call.succeeded else call


def _claims(answer: str, tools: set[str], domain: str) -> bool:
    """Whether a declared word stands anywhere in the answer: wider than any frame, so that no miss of a frame hides."""
    words = [word for name in (*tools, "@effects") for word in DOMAINS[domain][name]]
    return re.search(rf"\b(?:{'|'.join(map(re.escape, words))})\b", answer, re.IGNORECASE) is not None
