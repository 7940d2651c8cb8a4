"""Results that do not name their cases: which of them is a case's, by what the user said and by what else is known."""

from __future__ import annotations

from typing import Any

import pytest

from carob.errors import ConfigError
from carob.evidence.exports.record import RecordedCase
from carob.evidence.exports.results import restore_names
from carob.model.suite import Case, Turn
from carob.targets.recordings.result_files import ALIKE, IDENTITY, RecordedAnswers

PROVIDERS = [
    RecordedCase("", {"final_message": who}, said=("Hi",), provider=who) for who in ("exec:a.sh", "openai:gpt-4o")
]


def result(answer: str, *said: str, numbered: bool = True, **identity: object) -> RecordedCase:
    return RecordedCase(
        "", {"final_message": answer}, said=said, identity=identity, number=(0, 0) if numbered else None
    )


def case(*prompts: str, **known: object) -> Case:
    turns = tuple(Turn(prompt, ()) for prompt in prompts) if len(prompts) > 1 else ()
    return Case(id="a", prompt=prompts[0], turns=turns, checks=(), metadata={IDENTITY: known} if known else {})


def answers(results: list[RecordedCase], of: Case, repeat: int = 0) -> object:
    found = RecordedAnswers(results, None).find(of, repeat)
    return found and [turn["final_message"] for turn in found.form.get("turns", [found.form])]


@pytest.mark.parametrize(
    ("provider", "why"), [(None, "the results are of 2 providers"), ("openai:gpt-4", "no result is of the provider")]
)
def test_one_provider_is_chosen(provider: str | None, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        RecordedAnswers(PROVIDERS, provider)
    chosen = RecordedAnswers(PROVIDERS, "exec:a.sh").find(case("Hi"), 0)
    assert chosen is not None
    assert chosen.form == {"final_message": "exec:a.sh"}


TAKEN: dict[str, tuple[list[RecordedCase], Case, object]] = {
    "white space": ([result("x", " Hi\n")], case("Hi"), ["x"]),
    "JSON as it is written": ([result("x", '{"b": 1, "a": 2}')], case('{"a":2,"b":1}'), ["x"]),
    "no JSON after all": ([result("x", "[so it is")], case("[so it is"), ["x"]),
    "another prompt": ([result("x", "Hello")], case("Hi"), None),
    "what else is known": ([result("x", "Hi", n=1), result("y", "Hi", n=2)], case("Hi", n=2), ["y"]),
    "one that says nothing else": ([result("x", "Hi")], case("Hi", n=2), ["x"]),
    "the second of two alike": (
        [result("x", "Hi", n=1), result("y", "Hi", n=1)],
        case("Hi", n=1, **{ALIKE: (1, 2)}),
        ["y"],
    ),
    "the turns of a conversation": ([result("x", "Hi"), result("y", "And?")], case("Hi", "And?"), ["x", "y"]),
    "a turn that is missing": ([result("x", "Hi")], case("Hi", "And?"), None),
    "said twice": ([result("x", "Hi"), result("y", "Hi")], case("Hi", "Hi"), ["x", "y"]),
}


@pytest.mark.parametrize(("results", "of", "expected"), TAKEN.values(), ids=TAKEN)
def test_which_result_is_whose(results: list[RecordedCase], of: Case, expected: object) -> None:
    assert answers(results, of) == expected


UNCLEAR: dict[str, tuple[list[RecordedCase], Case]] = {
    "differ otherwise": ([result("x", "Hi", n=1), result("y", "Hi", n=2)], case("Hi")),
    "do not all name": ([result("x", "Hi", n=1), result("y", "Hi")], case("Hi", n=1)),
    "2 cases are the same, and which of 3": ([result(a, "Hi", n=1) for a in "xyz"], case("Hi", n=1, **{ALIKE: (0, 2)})),
    "2 cases are the same, and which of 2": (
        [result(a, "Hi", numbered=False, n=1) for a in "xy"],
        case("Hi", n=1, **{ALIKE: (0, 2)}),
    ),
}


@pytest.mark.parametrize(("why", "unclear"), UNCLEAR.items(), ids=UNCLEAR)
def test_a_result_that_may_be_of_several_cases_is_not_taken(why: str, unclear: tuple[list[RecordedCase], Case]) -> None:
    with pytest.raises(ValueError, match=why):
        answers(*unclear)


def test_names_are_restored_in_each_turn() -> None:
    form: dict[str, Any] = {"turns": [{"final_message": "x", "tool_calls": [{"name": "a", "arguments": {}}]}, {"x": 1}]}
    assert restore_names(form, ()) == form
