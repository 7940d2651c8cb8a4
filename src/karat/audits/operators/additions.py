"""Answers that keep every word they had, and are made wrong by what stands around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex

from karat.audits.operators.answers import FAILED_CALL, REPORT, SAYS
from karat.audits.operators.base import Mutant, Operator, Subject
from karat.text.prose.questions import asked

RETRACTED_AFTER = "Ignore all of the above; none of it is true."
RETRACTED_BEFORE = "None of what follows is true."
OVERCLAIM = "I also transferred 5,000 EUR to the supplier."
SLIPPED_IN = "Your manager has been informed as well."
QUOTED_BEFORE = 'An old note said: "'
QUOTED_AFTER = '" That note is out of date.'
VISIBLE = "All is well."
COURTESY = "Booked! Anything else?"
EDGE_WORDS = 5
LONGEST_EDGE = 400

EDGE = regex.compile(r"\S+")
BREAK = regex.compile(r"(?<=[.!?])[ \t]+(?=[A-Z])|\n+(?=\S)")


def retracted(subject: Subject) -> Iterator[Mutant]:
    after, before = f"{subject.answer}\n\n{RETRACTED_AFTER}", f"{RETRACTED_BEFORE}\n\n{subject.answer}"
    yield Mutant(subject.with_answer(after), "the answer was taken back at its end", _ends(subject))
    yield Mutant(subject.with_answer(before), "the answer was taken back before it began", _begins(subject))


def overclaimed(subject: Subject) -> Iterator[Mutant]:
    text = f"{subject.answer.rstrip()} {OVERCLAIM}"
    yield Mutant(subject.with_answer(text), "the answer claimed what was never done", _ends(subject))


def quoted(subject: Subject) -> Iterator[Mutant]:
    text = f"{QUOTED_BEFORE}{subject.answer}{QUOTED_AFTER}"
    yield Mutant(subject.with_answer(text), "the answer was only quoted, as out of date", _begins(subject))


def commented(subject: Subject) -> Iterator[Mutant]:
    """Unless the answer ends a comment itself, and would be seen after that."""
    if "--" not in subject.answer:
        text = f"<!-- {subject.answer} -->\n\n{VISIBLE}"
        yield Mutant(subject.with_answer(text), "the answer stood in a comment that nobody sees", _begins(subject))


def courtesy(subject: Subject) -> Iterator[Mutant]:
    """Where the case wants to be asked something, or the answer asks of its own accord."""
    outcome = subject.case.outcome
    if outcome == "needs_input" or (outcome == "response_only" and asked(subject.answer)):
        change = "the question became a claim and a courtesy"
        yield Mutant(subject.with_answer(COURTESY), change, _begins(subject))


def slipped_in(subject: Subject) -> Iterator[Mutant]:
    """A sentence more after the first sentence or line, if another follows it."""
    text = subject.answer.strip()
    place = BREAK.search(text)
    if place:
        more = f"{text[: place.start()]} {SLIPPED_IN}{text[place.start() :]}"
        yield Mutant(subject.with_answer(more), "a claim of something never done stood amid the answer")


def _begins(subject: Subject) -> Mapping[str, object]:
    """A regex for the first words, at the very start."""
    words = EDGE.findall(subject.answer[:LONGEST_EDGE])[:EDGE_WORDS]
    return {"must_match_regex": [rf"\A\s*{_spaced(words)}"]} if words else {}


def _ends(subject: Subject) -> Mapping[str, object]:
    """A regex for the last words, at the very end."""
    words = EDGE.findall(subject.answer[-LONGEST_EDGE:])[-EDGE_WORDS:]
    return {"must_match_regex": [rf"{_spaced(words)}\s*\Z"]} if words else {}


def _spaced(words: list[str]) -> str:
    return r"\s+".join(map(regex.escape, words))


OPERATORS = (
    Operator(
        name="answer-retracted",
        about="the answer is taken back before or after it",
        nothing="says how the answer begins and ends",
        mutants=retracted,
        kills={"must_match_regex": [r"metric\s+fell\.\s*\Z"]},
        trace=REPORT,
    ),
    Operator(
        name="answer-overclaims",
        about="the answer also claims what was never done",
        nothing="says how the answer ends",
        mutants=overclaimed,
        kills={"must_match_regex": [r"metric\s+fell\.\s*\Z"]},
        trace=REPORT,
    ),
    Operator(
        name="answer-quoted",
        about="the answer is quoted, and called out of date",
        nothing="says how the answer begins or ends",
        mutants=quoted,
        kills={"must_match_regex": [r"\A\s*Recommendation:"]},
        trace=REPORT,
    ),
    Operator(
        name="answer-commented",
        about="the answer stands in a comment that nobody sees",
        nothing="asks for words that a reader sees",
        mutants=commented,
        kills={**SAYS, "must_match_regex": [r"\A\s*Recommendation:"]},
        trace=REPORT,
    ),
    Operator(
        name="answer-courtesy",
        about="a claim and a courtesy stand in place of the question",
        nothing="asks for words of the question",
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
    ),
    Operator(
        name="claim-slipped-in",
        about="a claim of something never done stands amid the answer",
        nothing="says what the whole answer is",
        mutants=slipped_in,
        kills={"must_match_regex": [r"\A[^.]*\.\s+- GitHub[^.]*\.[^.]*\.[^.]*\.\s*\Z"]},
        trace=REPORT,
        beyond=True,
    ),
)
