"""Answers that keep every word they had, and are made wrong by what is around them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from karat.analysis.audit.operators.answers import FAILED_CALL, REPORT, SAYS
from karat.analysis.audit.operators.base import Mutant, Operator, Subject
from karat.checks.effects.claims import NoFalseSuccess, calls_so_far
from karat.model.trace import ToolCall
from karat.text.prose.asking import find_request
from karat.text.tool_names import NO_TOOL, effect_tools, is_any_named

RETRACTED_AFTER = "Ignore all of the above; none of it is true."
RETRACTED_BEFORE = "None of what follows is true."
OVERCLAIM = "I also transferred 5,000 EUR to the supplier."
QUOTED_BEFORE = 'An old note said: "'
QUOTED_AFTER = '" That note is out of date.'
VISIBLE = "All is well."
COURTESY = "Booked! Anything else?"


def retracted(subject: Subject) -> Iterator[Mutant]:
    after, before = f"{subject.answer}\n\n{RETRACTED_AFTER}", f"{RETRACTED_BEFORE}\n\n{subject.answer}"
    yield Mutant(subject.with_answer(after), "the answer was retracted at its end")
    yield Mutant(subject.with_answer(before), "the answer was retracted before it began")


def overclaimed(subject: Subject) -> Iterator[Mutant]:
    """Each deed that the suite declares and that no call did; where it declares none, one that no agent here does."""
    for claim in [f"It has been {word} as well." for word in declared_words(subject)] or [OVERCLAIM]:
        text = f"{subject.answer.rstrip()} {claim}"
        yield Mutant(subject.with_answer(text), f"the answer also claimed {claim!r}")


def declared_words(subject: Subject) -> Iterator[str]:
    """A word for each declared deed which no call of the conversation did."""
    effects: dict[str, list[str]] = next(
        (args["effects"] for args in subject.arguments(NoFalseSuccess) if args.get("effects")), {}
    )
    done = [call.name for call in calls_so_far(subject.trace) if call.success is True]
    for tool in (*effect_tools(effects), *([NO_TOOL] if NO_TOOL in effects else [])):
        word = next((word for word in effects[tool] if " " not in word), None)
        if word and not any(is_any_named([tool], name) for name in done):
            yield word


def quoted(subject: Subject) -> Iterator[Mutant]:
    text = f"{QUOTED_BEFORE}{subject.answer}{QUOTED_AFTER}"
    yield Mutant(subject.with_answer(text), "the answer was only quoted, as out of date")


def commented(subject: Subject) -> Iterator[Mutant]:
    """Unless the answer ends a comment itself, and would be seen after that."""
    if "--" not in subject.answer:
        text = f"<!-- {subject.answer} -->\n\n{VISIBLE}"
        yield Mutant(subject.with_answer(text), "the answer was in a hidden comment")


def courtesy(subject: Subject) -> Iterator[Mutant]:
    """Where the case wants to be asked something, or the answer asks of its own accord."""
    outcome = subject.case.outcome
    if outcome == "needs_input" or (outcome == "response_only" and find_request(subject.answer)):
        change = "the question became a claim and a courtesy"
        yield Mutant(subject.with_answer(COURTESY), change)


OPERATORS = (
    Operator(
        name="answer-retracted",
        about="the answer is retracted, before or after it",
        nothing="says how the answer begins and ends",
        mutants=retracted,
        kills={"must_match_regex": [r"metric\s+fell\.\s*\Z"]},
        trace=REPORT,
        of_answer=True,
    ),
    Operator(
        name="answer-overclaims",
        about="the answer also claims what was never done, in the words of `effects` where they are declared",
        nothing="says how the answer ends or checks what it claims",
        mutants=overclaimed,
        kills={"must_match_regex": [r"metric\s+fell\.\s*\Z"], "no_false_success": True},
        given={"effects": {"pay": ["paid"]}},
        trace=structs.replace(REPORT, tool_calls=(ToolCall("find", success=True),)),
        of_answer=True,
    ),
    Operator(
        name="answer-quoted",
        about="the answer is quoted, and called out of date",
        nothing="says how the answer begins or ends",
        mutants=quoted,
        kills={"must_match_regex": [r"\A\s*Recommendation:"]},
        trace=REPORT,
        of_answer=True,
    ),
    Operator(
        name="answer-commented",
        about="the answer is in a hidden comment",
        nothing="requires visible words",
        mutants=commented,
        kills={**SAYS, "must_match_regex": [r"\A\s*Recommendation:"]},
        trace=REPORT,
        of_answer=True,
    ),
    Operator(
        name="answer-courtesy",
        about="a claim and a courtesy replace the question",
        nothing="requires words of the question",
        mutants=courtesy,
        kills={
            "must_say_any": ["which day"],
            "must_match_regex": [r"which\s+day"],
            "must_not_say": ["booked"],
            "must_not_match_regex": [r"\bbooked\b"],
            "must_ground_numbers": ["4"],
            "expected_contains": ["which day"],
            "reason_contains": ["which day"],
            "must_not_contain": ["booked"],
            "outcome": "needs_input",
        },
        trace=FAILED_CALL,
        of_answer=True,
    ),
)
