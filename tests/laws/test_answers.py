"""Wrong answers fail and right ones pass: `answers/` holds both, written from the docs before the checks were read.

A wrong answer that passes and a right one that fails is marked in the data, with the reason and where it is documented.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from carob.engine.authoring import read_trace
from carob.model.suite import Case
from carob.model.verdict import CaseStatus, Status, Verdict
from laws.coverage import LAW
from laws.samples import HERE, judge, read_suite
from yaml_files import read_yaml

DATA = tuple(sorted((HERE / "answers").glob("*.yaml")))
CALL = re.compile(r"(?P<name>\S+) (?P<arguments>\{.*?\})(?: (?P<end>->|!!) (?P<value>.*))?")
DOCS = Path(__file__).parents[2]
DOCUMENTED = re.compile(r"\((?P<page>docs/[\w-]+\.md)#(?P<anchor>[\w-]+)\)")
HEADING = re.compile(r"(?m)^#+ (.+)$")
FEWEST_WRONG, FEWEST_RIGHT = 400, 300
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
    domain = read_yaml(path)
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


KEYS = {key for path in DATA for contract in read_yaml(path)["contracts"] for key in contract["expected"]}
ANSWERS = tuple(answer for path in DATA for answer in _read_answers(path))


def find_misjudged(answers: Iterable[Answer]) -> tuple[list[str], Counter[str]]:
    """What is judged otherwise than the data says, and how many of the wrong and of the right ones are excused."""
    surprises: list[str] = []
    excused: Counter[str] = Counter()
    for answer in answers:
        verdict = answer.judge()
        is_misjudged = answer.right is not (verdict.status is CaseStatus.PASS)
        excused["right" if answer.right else "wrong"] += is_misjudged
        if is_misjudged is not bool(answer.excuse):
            found = [f"{one.name}: {one.found}" for one in verdict.checks if one.status is not Status.PASSED]
            surprises.append(f"{answer.place} is {verdict.status.value} {found}")
    return surprises, excused


def test_wrong_answers_fail_and_right_ones_pass(record_property: Callable[[str, object], None]) -> None:
    surprises, excused = find_misjudged(ANSWERS)
    assert not surprises, f"{len(surprises)}\n" + "\n".join(surprises)
    right = sum(answer.right for answer in ANSWERS)
    wrong = len(ANSWERS) - right
    assert (wrong >= FEWEST_WRONG, right >= FEWEST_RIGHT) == (True, True)
    assert excused["wrong"] <= MOST_WRONG_THAT_PASS * wrong
    assert excused["right"] <= MOST_RIGHT_THAT_FAIL * right
    line = f"answers: {excused['wrong']} of {wrong} wrong ones pass, {excused['right']} of {right} right ones fail"
    record_property(LAW, f"{line}, over {len(DATA)} domains and {len(KEYS)} keys; each of these is documented")


def test_every_excuse_is_documented() -> None:
    for answer in ANSWERS:
        if answer.excuse:
            place = DOCUMENTED.search(answer.excuse)
            assert place, answer.place
            headings = HEADING.findall((DOCS / place["page"]).read_text())
            assert place["anchor"] in {slugify(heading) for heading in headings}, answer.excuse


def test_an_answer_that_is_judged_otherwise_is_noticed() -> None:
    """Planted: a right answer among the wrong ones, a wrong one among the right ones, and an excuse for neither."""
    right = next(answer for answer in ANSWERS if answer.right)
    wrong = next(answer for answer in ANSWERS if not answer.right)
    planted = (right._replace(right=False), wrong._replace(right=True), right._replace(excuse="none is needed"))
    assert len(find_misjudged(planted)[0]) == len(planted)


def slugify(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")
