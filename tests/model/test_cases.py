"""Cases as journals hold them."""

from __future__ import annotations

import msgspec

from carob.model.check import CheckSpec
from carob.model.run import Keys
from carob.model.suite import Case, Reply, Scoring, Turn

RECORDED = (
    b'{"id":"A","prompt":"p","category":"k","setup_prompts":["s"],"outcome":"response_only","checks":[["must_not_say",'
    b'{"phrase":"x"},"must_not_say[0]"]],"scoring":{"threshold":0.5},"metadata":{"x-n":1}}'
)
KEY = "252dc8881fd13ae2f39881a09e5b6265"
"""The key of that case as it was before cases had turns: a run that was recorded then is resumed, not begun anew."""


def test_a_case_of_one_prompt_is_recorded_as_ever() -> None:
    case = msgspec.json.decode(RECORDED, type=Case)
    assert (case.turns, case.tags, case.scoring) == ((), (), Scoring(threshold=0.5))
    assert msgspec.json.encode(case) == RECORDED
    assert Keys({"type": "python"}).of(case) == KEY


def test_a_case_of_one_prompt_is_a_conversation_of_one_turn() -> None:
    case = msgspec.json.decode(RECORDED, type=Case)
    assert case.user_texts == ("s", "p")


def test_a_conversation_survives_the_journal() -> None:
    spec = CheckSpec("outcome", msgspec.Raw(b"{}"))
    case = Case(
        id="A",
        prompt="p",
        checks=(),
        turns=(Turn("p"), Turn("q", (spec,))),
        replies=(Reply(("order",), "A-17"),),
        max_turns=3,
        tags=("smoke",),
        skip="later",
        xfail="known",
    )
    again = msgspec.json.decode(msgspec.json.encode(case), type=Case)
    assert msgspec.json.encode(again) == msgspec.json.encode(case)
    assert again.user_texts == ("p", "q")
    assert Keys({}).of(case) != Keys({}).of(msgspec.structs.replace(case, turns=(Turn("p"), Turn("q"))))
