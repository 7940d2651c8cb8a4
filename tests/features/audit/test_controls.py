"""Agents that do not do the work: what they leave behind, and which cases let them pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from carob.features.audit.case_audit import controls
from carob.features.audit.operators.base import Subject
from carob.features.audit.run_audit import audit
from carob.model.trace import ToolCall, Trace
from features.audit.support import audited, bare_case, case, recorded, suite_of

SEEN = Trace(
    case_id="A",
    input="Add a tile.",
    final_message="Added.",
    tool_calls=(ToolCall("add", success=True),),
    telemetry=("{}",),
    page="- region",
    page_before="- main",
    database={"SELECT 1": [1]},
)
OTHER = Trace(case_id="B", final_message="Removed.", tool_calls=(ToolCall("remove"),), page="- list")


def left_behind(another: Trace | None) -> dict[str, Trace]:
    mine = Subject(bare_case({"must_say_any": ["x"]}, prompt="Add a tile."), SEEN)
    other = None if another is None else Subject(bare_case({"must_say_any": ["x"]}), another)
    return {control.name: control.trace for control in controls(mine, other)}


def test_an_agent_that_does_nothing() -> None:
    idle = left_behind(None)["does nothing"]
    assert (idle.final_message, idle.tool_calls, idle.telemetry, idle.database) == ("", (), (), {"SELECT 1": []})
    assert idle.page == SEEN.page_before


def test_an_agent_that_repeats_the_prompt() -> None:
    echo = left_behind(None)["repeats the prompt"]
    assert (echo.final_message, echo.tool_calls) == ("Add a tile.", ())


def test_an_agent_that_answers_another_case() -> None:
    swapped = left_behind(OTHER)["answers as in example"]
    assert (swapped.final_message, swapped.tool_calls, swapped.page) == ("Removed.", OTHER.tool_calls, "- list")
    assert swapped.database == {"SELECT 1": []}


def test_a_lone_case_is_given_an_answer_to_another_question() -> None:
    lone = left_behind(None)
    assert list(lone) == ["does nothing", "repeats the prompt", "answers another question"]


@pytest.mark.parametrize(
    ("expected", "prompt", "passing"),
    [
        pytest.param({"must_say_any": ["sunny"]}, "How is the weather?", set(), id="sound"),
        pytest.param({"must_say_any": ["weather"]}, "How is the weather?", {"repeats the prompt"}, id="in-the-prompt"),
        pytest.param({"outcome": "response_only"}, "Hm?", {"repeats the prompt", "answers as in B"}, id="any-answer"),
        pytest.param({"must_say_any": ["the"]}, "Hm?", {"answers as in B"}, id="a-common-word"),
        pytest.param({"must_not_say": ["rain"]}, "Hm?", {"repeats the prompt", "answers as in B"}, id="only-absent"),
    ],
)
def test_cases_that_let_them_pass(expected: dict[str, Any], prompt: str, passing: set[str], tmp_path: Path) -> None:
    answer = {"final_message": "The weather is sunny.", "tool_calls": []}
    assert set(audited(expected, answer, tmp_path, prompt=prompt).controls) == passing


def test_the_other_case_asks_and_answers_something_else(tmp_path: Path) -> None:
    """A question asked twice, and two questions with one right answer, are no other case."""
    words = {"must_say_any": ["four"]}
    suite = suite_of(
        case(words, "A", "Two and two?"),
        case(words, "B", "two  and TWO?"),
        case(words, "C", "Three and one?"),
        case({"must_say_any": ["red"]}, "D", "Which colour?"),
        case(words, "E", "Five minus one?"),
    )
    answers = dict.fromkeys("ABE", "It is four.") | {"C": "It is  FOUR.", "D": "Red, not four."}
    controls = {entry.case_id: entry.controls for entry in audit(recorded(suite, answers, tmp_path)).cases}
    assert controls == {"A": (), "B": (), "C": ("answers as in D",), "D": (), "E": ("answers as in D",)}
