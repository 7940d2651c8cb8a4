"""Answers that are empty, cut, a refusal, a claim of success, without their list, or hold what they must not.

Also answers that keep every word they had, and are made wrong by what is around them.
"""

from __future__ import annotations

from collections.abc import Iterator

import regex

from carob.checks.answer.leaks import NoLeak
from carob.checks.answer.phrases import MustNotContain, MustNotMatchRegex, MustNotSay
from carob.checks.effects.claims import NoFalseSuccess, calls_so_far
from carob.features.audit.operators.base import Mutant, Subject, of_answer
from carob.text.prose.asking import find_request
from carob.text.regexes import safe_regex
from carob.text.regexes.examples import UnreadableError, example
from carob.text.tool_names import NO_TOOL, effect_tools, is_any_named

REFUSAL = "I'm sorry, but I can't help with that request."
SUCCESS_CLAIM = "Done! Everything was completed successfully."
UNWANTED = "As an AI language model, I cannot be sure."
KEPT_SHARE = 3
RETRACTED_AFTER = "Ignore all of the above; none of it is true."
RETRACTED_BEFORE = "None of what follows is true."
OVERCLAIM = "I also transferred 5,000 EUR to the supplier."
QUOTED_BEFORE = 'An old note said: "'
QUOTED_AFTER = '" That note is out of date.'
VISIBLE = "All is well."
COURTESY = "Booked! Anything else?"
BULLET = regex.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S.*(?:\n|\Z)", regex.M)


SPOKEN = ("must_say_any", "expected_contains", "reason_contains")
"""The fields that look for a phrase in the answer."""
SAYS = (
    *SPOKEN, "must_match_regex", "required_sources", "must_ground_numbers", "must_label_assumptions",
    "required_levers", "claim_evidence_alignment", "must_allow_override_actions",
)  # fmt: skip


def emptied(subject: Subject) -> Iterator[Mutant]:
    yield Mutant(subject.with_answer(""), "the answer was empty")


def cut(subject: Subject) -> Iterator[Mutant]:
    text = subject.answer.rstrip()
    end = len(text) // KEPT_SHARE
    space = text.rfind(" ", 0, end)
    start = text[: space if space > 0 else end].rstrip()
    if start:
        yield Mutant(subject.with_answer(start), "the answer broke off after a third")


def refused(subject: Subject) -> Iterator[Mutant]:
    """Unless a refusal is what the case asks for."""
    if subject.case.outcome != "graceful_block":
        yield Mutant(subject.with_answer(REFUSAL), "the answer was a refusal")


def claimed(subject: Subject) -> Iterator[Mutant]:
    calls = subject.trace.tool_calls
    if any(call.success is False for call in calls) and not any(call.success for call in calls):
        change = "the answer claimed success after a tool had failed"
        yield Mutant(subject.with_answer(SUCCESS_CLAIM), change)


def forbidden_said(subject: Subject) -> Iterator[Mutant]:
    """Each phrase, regex and secret that the case forbids; one that no user wants to read where it forbids none."""
    phrases = [args["phrase"] for kind in (MustNotSay, MustNotContain) for args in subject.arguments(kind)]
    phrases += [args["text"] for args in subject.arguments(NoLeak)]
    additions = [(phrase, f"{subject.answer}\n{phrase}") for phrase in phrases]
    patterns = [args["pattern"] for args in subject.arguments(MustNotMatchRegex)]
    additions += [addition for pattern in patterns if (addition := _add_match(subject, pattern))]
    for words, text in additions or [(UNWANTED, f"{subject.answer}\n{UNWANTED}")]:
        yield Mutant(subject.with_answer(text), f"the answer also said {words!r}", {"must_not_say": ["As an AI"]})


def bullets_removed(subject: Subject) -> Iterator[Mutant]:
    text, count = BULLET.subn("", subject.answer)
    if text.strip():
        yield Mutant(subject.with_answer(text), "the items of its list were gone", {"required_levers": count})


def _add_match(subject: Subject, pattern: str) -> tuple[str, str] | None:
    """Words that a regex matches, and the answer with them where it still does: after it, or before it."""
    try:
        words = example(pattern)
        texts = (f"{subject.answer}\n{words}", f"{words}\n{subject.answer}")
        text = next((text for text in texts if safe_regex.search(pattern, text)), None) if words else None
    except (UnreadableError, safe_regex.RegexTimeout):
        return None
    return (words, text) if words and text else None


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
    called = [call.name for call in calls_so_far(subject.trace) if call.success is True]
    for tool in (*effect_tools(effects), *([NO_TOOL] if NO_TOOL in effects else [])):
        word = next((word for word in effects[tool] if " " not in word), None)
        if word and not any(is_any_named([tool], name) for name in called):
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
    of_answer(
        "answer-emptied",
        "there is no answer",
        "requires an answer",
        emptied,
        ("outcome", *SAYS, "evidence_freshness_max_age_minutes"),
    ),
    of_answer(
        "answer-cut",
        "the answer breaks off",
        "looks at the end of the answer",
        cut,
        (*SAYS, "evidence_freshness_max_age_minutes", "min_words"),
    ),
    of_answer(
        "answer-refused",
        "a refusal replaces the answer",
        "requires words that a refusal does not have",
        refused,
        (*SAYS, "allocation_valid"),
    ),
    of_answer(
        "answer-claims-success",
        "a success is claimed after a tool failed",
        "requires words of failure",
        claimed,
        (
            *SPOKEN,
            "must_match_regex",
            "must_not_say",
            "must_not_contain",
            "must_not_match_regex",
            "allocation_valid",
            "outcome",
            "no_false_success",
        ),
    ),
    of_answer(
        "answer-forbidden",
        "the answer says what it must not",
        "says what the answer must not say",
        forbidden_said,
        ("must_not_say", "must_not_contain", "must_not_match_regex", "no_leak"),
    ),
    of_answer(
        "answer-bullets",
        "the items of a list are gone",
        "looks at the list",
        bullets_removed,
        ("required_levers", "must_match_regex", *SPOKEN, "must_ground_numbers", "required_sources"),
    ),
    of_answer(
        "answer-retracted",
        "the answer is retracted, before or after it",
        "says how the answer begins and ends",
        retracted,
        ("must_match_regex",),
    ),
    of_answer(
        "answer-overclaims",
        "the answer also claims what was never done, in the words of `effects` where they are declared",
        "says how the answer ends or checks what it claims",
        overclaimed,
        ("must_match_regex", "no_false_success"),
    ),
    of_answer(
        "answer-quoted",
        "the answer is quoted, and called out of date",
        "says how the answer begins or ends",
        quoted,
        ("must_match_regex",),
    ),
    of_answer("answer-commented", "the answer is in a hidden comment", "requires visible words", commented, SAYS),
    of_answer(
        "answer-courtesy",
        "a claim and a courtesy replace the question",
        "requires words of the question",
        courtesy,
        (
            *SPOKEN,
            "must_match_regex",
            "must_not_say",
            "must_not_match_regex",
            "must_ground_numbers",
            "must_not_contain",
            "outcome",
        ),
    ),
)
