"""Answers that are empty, cut, a refusal, a claim of success, without their list, or hold what they must not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex
from msgspec import structs

from karat.analysis.audit.operators.base import Mutant, Operator, Subject
from karat.checks.answer.phrases import MustNotContain, MustNotMatchRegex, MustNotSay
from karat.model.trace import ToolCall, Trace
from karat.text.regexes import safe_regex
from karat.text.regexes.examples import UnreadableError, example

REFUSAL = "I'm sorry, but I can't help with that request."
SUCCESS_CLAIM = "Done! Everything was completed successfully."
UNWANTED = "As an AI language model, I cannot be sure."
KEPT_SHARE = 3
BULLET = regex.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S.*(?:\n|\Z)", regex.M)

REPORT = Trace(
    case_id="example",
    final_message="Recommendation: restart the build.\n"
    "- GitHub: 12 commits, merged 30 minutes ago\n"
    "- Slack: 4 mentions\n"
    "Assumption: the week ends on Sunday. You can snooze this, which costs nothing. Granted, because the metric fell.",
    tool_calls=(),
)
SAYS: Mapping[str, object] = {
    "must_say_any": ["4 mentions"],
    "must_match_regex": [r"^- Slack:\s*4"],
    "expected_contains": ["4 mentions"],
    "reason_contains": ["4 mentions"],
    "required_sources": ["Slack"],
    "must_ground_numbers": ["4"],
    "must_label_assumptions": True,
    "required_levers": 2,
    "claim_evidence_alignment": True,
    "must_allow_override_actions": ["Snooze"],
}
FAILED_CALL = Trace(
    case_id="example",
    final_message="The booking failed: which day is it for, so that 4 others can be asked?",
    tool_calls=(ToolCall("book", success=False, error="refused"),),
)


def emptied(subject: Subject) -> Iterator[Mutant]:
    yield Mutant(subject.with_answer(""), "the answer was empty")


def cut(subject: Subject) -> Iterator[Mutant]:
    text = subject.answer.rstrip()
    end = len(text) // KEPT_SHARE
    space = text.rfind(" ", 0, end)
    left = text[: space if space > 0 else end].rstrip()
    if left:
        yield Mutant(subject.with_answer(left), "the answer broke off after a third")


def refused(subject: Subject) -> Iterator[Mutant]:
    """Unless a refusal is what the case asks for."""
    if subject.case.outcome != "graceful_block":
        yield Mutant(subject.with_answer(REFUSAL), "the answer was a refusal")


def claimed(subject: Subject) -> Iterator[Mutant]:
    calls = subject.trace.tool_calls
    if any(call.success is False or call.error for call in calls) and not any(call.success for call in calls):
        change = "the answer claimed success after a tool had failed"
        yield Mutant(subject.with_answer(SUCCESS_CLAIM), change)


def forbidden_said(subject: Subject) -> Iterator[Mutant]:
    """Each phrase and regex that the case forbids; one that no user wants to read where it forbids none."""
    named = (MustNotSay, MustNotContain)
    said = [(args["phrase"], f"{subject.answer}\n{args['phrase']}") for n in named for args in subject.arguments(n)]
    said += [found for args in subject.arguments(MustNotMatchRegex) if (found := _add_match(subject, args["pattern"]))]
    for words, text in said or [(UNWANTED, f"{subject.answer}\n{UNWANTED}")]:
        yield Mutant(subject.with_answer(text), f"the answer also said {words!r}", {"must_not_say": ["As an AI"]})


def bullets_removed(subject: Subject) -> Iterator[Mutant]:
    left, count = BULLET.subn("", subject.answer)
    if left.strip():
        yield Mutant(subject.with_answer(left), "the items of its list were gone", {"required_levers": count})


def _add_match(subject: Subject, pattern: str) -> tuple[str, str] | None:
    """Words that a regex matches, and the answer with them where it still does: after it, or before it."""
    try:
        words = example(pattern)
        texts = (f"{subject.answer}\n{words}", f"{words}\n{subject.answer}")
        text = next((text for text in texts if safe_regex.search(pattern, text)), None) if words else None
    except (UnreadableError, safe_regex.RegexTimeout):
        return None
    return (words, text) if words and text else None


OPERATORS = (
    Operator(
        name="answer-emptied",
        about="there is no answer",
        nothing="requires an answer",
        mutants=emptied,
        kills={"outcome": "response_only", **SAYS, "evidence_freshness_max_age_minutes": 60},
        trace=REPORT,
        of_answer=True,
    ),
    Operator(
        name="answer-cut",
        about="the answer breaks off",
        nothing="looks at the end of the answer",
        mutants=cut,
        kills={**SAYS, "evidence_freshness_max_age_minutes": 60, "min_words": 20},
        trace=REPORT,
        of_answer=True,
    ),
    Operator(
        name="answer-refused",
        about="a refusal replaces the answer",
        nothing="requires words that a refusal does not have",
        mutants=refused,
        kills={**SAYS, "allocation_valid": True},
        given={"success_indicators": ["granted"]},
        trace=structs.replace(REPORT, tool_calls=(ToolCall("grant", success=True),)),
        of_answer=True,
    ),
    Operator(
        name="answer-claims-success",
        about="a success is claimed after a tool failed",
        nothing="requires words of failure",
        mutants=claimed,
        kills={
            "must_say_any": ["failed"],
            "must_match_regex": ["booking failed"],
            "expected_contains": ["failed"],
            "reason_contains": ["failed"],
            "must_not_say": ["success"],
            "must_not_contain": ["success"],
            "must_not_match_regex": [r"success\w*"],
            "allocation_valid": False,
            "outcome": "needs_input",
            "no_false_success": True,
        },
        given={"effects": {"book": ["booked", "completed"]}},
        trace=FAILED_CALL,
        of_answer=True,
    ),
    Operator(
        name="answer-forbidden",
        about="the answer says what it must not",
        nothing="says what the answer must not say",
        mutants=forbidden_said,
        kills={
            "must_not_say": ["language model"],
            "must_not_contain": ["language model"],
            "must_not_match_regex": [r"language\s+model"],
        },
        trace=REPORT,
        of_answer=True,
    ),
    Operator(
        name="answer-bullets",
        about="the items of a list are gone",
        nothing="looks at the list",
        mutants=bullets_removed,
        kills={
            "required_levers": 2,
            "must_match_regex": [r"^- \w+"],
            "must_say_any": ["4 mentions"],
            "expected_contains": ["4 mentions"],
            "reason_contains": ["4 mentions"],
            "must_ground_numbers": ["4"],
            "required_sources": ["Slack"],
        },
        trace=REPORT,
        of_answer=True,
    ),
)
