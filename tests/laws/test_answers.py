"""Wrong answers fail and right ones pass: `answers/` holds both, written from the docs before the checks were read.

A wrong answer that passes and a right one that fails is marked in the data, with the reason and where it is documented.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from karat.engine.authoring import read_trace
from karat.model.suite import Case
from karat.model.verdict import Status, Verdict
from laws.samples import HERE, judge, read_suite

DATA = tuple(sorted((HERE / "answers").glob("*.yaml")))
CALL = re.compile(r"(?P<name>\S+) (?P<arguments>\{.*?\})(?: (?P<end>->|!!) (?P<value>.*))?")
MOST_WRONG_THAT_PASS = 0.03
MOST_RIGHT_THAT_FAIL = 0.02


class Answer(NamedTuple):
    """An answer with its calls, whether it is right, and why it is judged otherwise nevertheless."""

    place: str
    case: Case
    recording: Mapping[str, Any]
    right: bool
    excuse: str

    def judge(self) -> Verdict:
        return judge(self.case, read_trace(dict(self.recording), self.case))


def _read_call(text: str) -> dict[str, Any]:
    """Read `name {arguments} -> result` or `name {arguments} !! error`; without an end, it was only requested."""
    parts = CALL.fullmatch(text)
    assert parts, text
    call: dict[str, Any] = {"name": parts["name"], "arguments": json.loads(parts["arguments"])}
    if parts["end"]:
        call["result" if parts["end"] == "->" else "error"] = json.loads(parts["value"])
    return call


def _read_answers(path: Path) -> Iterator[Answer]:
    domain = yaml.safe_load(path.read_text())
    for contract in domain["contracts"]:
        words = {"words": contract["words"]} if "words" in contract else {}
        effects = contract.get("effects", domain["effects"])
        prompt_and_expected = {"id": "A", "prompt": contract["prompt"], "expected": contract["expected"]}
        (case,) = read_suite(prompt_and_expected, effects=effects, **words)
        for kind in ("wrong", "right"):
            for number, entry in enumerate(contract[kind], start=1):
                row = {"say": entry} if isinstance(entry, str) else entry
                calls = [_read_call(text) for text in row.get("calls", contract["calls"])]
                more = {**contract.get("more", {}), **row.get("more", {})}
                recording = {"final_message": row["say"], "tool_calls": calls, **more}
                place = f"{path.stem}/{contract['id']}/{kind} {number}: {row['say'].strip()!r}"
                yield Answer(place, case, recording, kind == "right", row.get("passes") or row.get("fails") or "")


ANSWERS = tuple(answer for path in DATA for answer in _read_answers(path))


def test_wrong_answers_fail_and_right_ones_pass(record_property: Callable[[str, object], None]) -> None:
    surprises, misjudged = [], {True: 0, False: 0}
    for answer in ANSWERS:
        verdict = answer.judge()
        as_it_should = answer.right is (verdict.status.value == "PASS")
        misjudged[answer.right] += not as_it_should
        if as_it_should is bool(answer.excuse):
            found = [
                f"{one.name} {one.status.value}: {one.found}"
                for one in verdict.checks
                if one.status is not Status.PASSED
            ]
            surprises.append(f"{answer.place} is {verdict.status.value} {found}")
    assert not surprises, f"{len(surprises)}\n" + "\n".join(surprises)
