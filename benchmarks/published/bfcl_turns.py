"""Answers to the conversations of BFCL, made from gold by changing one thing, judged by Carob and by BFCL's checker.

No results of conversations are published. BFCL runs the calls of gold and of the answer in environments of its own and
compares what they lead to; a contract has the calls of gold.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import carob
from benchmarks.published.bfcl import lines, run_checker

CHANGES = ("same", "same", "drop", "turned", "value", "read", "again", "later")
SAME_END = "other calls than gold, the same end: gold is one way of several"
OTHER_END = "the calls of gold and one more, another end: only the environment of BFCL shows it"
UNEXPLAINED = "not explained"


class Turned(NamedTuple):
    """An answer: what was changed, and both verdicts."""

    id: str
    change: str
    status: str
    reason: str
    valid: bool
    error: str

    @property
    def agrees(self) -> bool:
        return (self.status == "PASS") is self.valid and self.status in ("PASS", "FAIL")

    @property
    def kind(self) -> str:
        if self.status == "FAIL" and self.valid:
            return SAME_END
        return OTHER_END if self.status == "PASS" and self.change in ("again", "read", "turned") else UNEXPLAINED


def judge_turns(data: Path, category: str, python: str, folder: Path, seed: int = 0) -> Iterator[Turned]:
    chance = Random(seed)
    file = data / f"BFCL_v4_{category}.json"
    asked = {row["id"]: row for row in lines(file)}
    gold = {row["id"]: row["ground_truth"] for row in lines(data / "possible_answer" / file.name)}
    answers = {name: change_gold(gold[name], chance) for name in asked}
    recording = folder / "turns.jsonl"
    rows = [{"id": name, "result": [[_text(turn)] for turn in turns]} for name, (_, turns) in answers.items()]
    recording.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    verdicts = {one.case.id: one.verdict for one in carob.run(file, f"replay:{recording}")}
    text = "".join(
        json.dumps({"turns": turns, "gold": gold[name], "question": asked[name], "name": f"m{number}"}) + "\n"
        for number, (name, (_, turns)) in enumerate(answers.items())
    )
    for (name, (change, _)), (valid, _, error) in zip(answers.items(), run_checker(python, text, "turns"), strict=True):
        verdict = verdicts[name]
        reason = "; ".join(str(check) for check in verdict.checks if check.status is not carob.Status.PASSED)
        yield Turned(name, change, verdict.status, reason or verdict.reason, valid, error)


def _text(calls: Sequence[str]) -> str:
    return f"[{', '.join(calls)}]" if calls else "I cannot do that."


def change_gold(gold: Sequence[Sequence[str]], chance: Random) -> tuple[str, list[list[str]]]:
    turns = [list(turn) for turn in gold]
    full = [turn for turn in turns if turn]
    change, turn = chance.choice(CHANGES), chance.choice(full)
    at = chance.randrange(len(turn))
    if change == "drop":
        turn.pop(at)
    elif change == "turned":
        turn.reverse()
    elif change == "value":
        turn[at] = _other_value(turn[at])
    elif change == "read":
        turn.insert(at, "pwd()" if any(call.startswith(("cd(", "ls(", "mv(")) for call in turn) else turn[at])
    elif change == "again":
        turn.append(turn[at])
    elif change == "later" and turn is not turns[-1]:
        turns[turns.index(turn) + 1].insert(0, turn.pop(at))
    return change, turns


def _other_value(call: str) -> str:
    for quote in ("'", '"'):
        if call.count(quote) >= 2:
            return call.replace(quote, f"{quote}other ", 1)
    return call.replace("True", "False") if "True" in call else call.replace("=", "=1", 1)


def by_kind(found: Sequence[Turned]) -> Mapping[str, list[Turned]]:
    kinds: dict[str, list[Turned]] = {}
    for one in found:
        if not one.agrees:
            kinds.setdefault(one.kind, []).append(one)
    return kinds
