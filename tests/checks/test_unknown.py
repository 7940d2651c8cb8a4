"""What a check cannot judge is unknown, and its finding says why; what only seems to be a check is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

import carob
from carob.checks.answer.json import LONGEST_PATH, path_problems
from carob.checks.answer.text import ResponseMatch
from carob.checks.base import Check
from carob.checks.catalog import why_not_a_check
from carob.checks.combined import ScoreOf
from carob.checks.telemetry import Spans
from carob.checks.tools.validity import ValidArguments
from carob.model.trace import REMOVED, SpanNode, TextLoss, ToolCall, Trace
from carob.model.verdict import Status

SAID = {"check": "answer_text", "args": {"contains": "a"}}
SCHEMAS = {"book": {"type": "object", "properties": {"day": {"type": "integer"}}}}


def check(kind: type[Check], **args: Any) -> Check:
    return msgspec.convert(args, kind)


def booking(**more: Any) -> Trace:
    return Trace(case_id="a", final_message="a", tool_schemas=SCHEMAS, **more)


UNKNOWN: dict[str, tuple[Check, Trace, str]] = {
    "a turn that is missing": (
        check(ScoreOf, threshold=0.5, of=[{**SAID, "turn": 2}]),
        booking(turns=(booking(),)),
        "the trace has no turn 2",
    ),
    "turns without a reference": (
        check(ResponseMatch, texts=["a"], threshold=0.5),
        booking(turns=(booking(), booking())),
        "the trace has 2 turns, and there are 1 references",
    ),
    "a span that has not ended": (
        check(Spans, max_ms=10),
        booking(spans=(SpanNode("s1", "chat", started_at=1.0),)),
        "there are no times for 'chat'",
    ),
    "a secret in the place of an argument": (
        check(ValidArguments),
        booking(tool_calls=(ToolCall("book", {"day": REMOVED}),), cuts={"tool_results": TextLoss("removed", 1, "ff")}),
        "secrets were removed there",
    ),
}


@pytest.mark.parametrize(("judging", "trace", "why"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_cannot_be_judged_is_unknown(judging: Check, trace: Trace, why: str) -> None:
    result = judging.judge(trace)
    assert (result.status, why in result.found) == (Status.UNKNOWN, True), result


def test_a_handoff_has_no_arguments_to_be_valid() -> None:
    calls = (ToolCall("book", {"day": "x"}, kind="handoff"), ToolCall("book", {"day": 1}))
    assert ValidArguments().judge(booking(tool_calls=calls)).status is Status.PASSED


def test_a_part_that_is_no_check_is_refused() -> None:
    (problem,) = check(ScoreOf, threshold=0.5, of=[{**SAID, "check": "answer_txt"}]).validate()
    assert (problem.slug, problem.path) == ("unknown-check", ("of", 0, "check"))


@pytest.mark.parametrize(("length", "slugs"), [(LONGEST_PATH, []), (LONGEST_PATH + 1, ["bad-jsonpath"])])
def test_a_path_is_of_a_length_that_can_be_read(length: int, slugs: list[str]) -> None:
    assert [problem.slug for problem in path_problems("$." + "a" * (length - 2), ())] == slugs


@dataclass
class Nameless(carob.Check):
    group = "own"


@dataclass
class Blank(carob.Check):
    name = " \n"
    group = "own"


@dataclass
class Fieldless(carob.Check):
    name = "fieldless"
    group = "own"
    fields = ()


@dataclass
class WrongFields(Fieldless):
    fields = ("mine",)  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("candidate", "why"),
    [
        (3, "not a subclass"),
        (Nameless, "it has no `name`"),
        (Blank, "it has no `name`"),
        (Fieldless, "it has no `fields`"),
        (WrongFields, "it has no `fields`"),
        (Spans, ""),
    ],
)
def test_what_only_seems_to_be_a_check_is_none(candidate: object, why: str) -> None:
    assert why_not_a_check(candidate).startswith(why if why.startswith("it") else f"it is {why}" if why else "")
    assert bool(why_not_a_check(candidate)) == bool(why)
