"""Expectations that the prompt itself satisfies, and duplicate prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import structs

from karat.analysis.lint.base import LintCase, PlacedCheck, Rule, TargetInfo
from karat.checks.answer.brief import ClaimEvidenceAlignment, EvidenceFreshness, MustAllowOverrideAction, RequiredLevers
from karat.checks.answer.phrases import (
    ExpectedContains,
    MustLabelAssumptions,
    MustMatchRegex,
    MustSayAny,
    ReasonContains,
    RequiredSource,
)
from karat.checks.answer.text import AnswerEquals
from karat.checks.base import excerpt
from karat.checks.effects.allocation import AllocationValid
from karat.checks.effects.outcome import Outcome
from karat.checks.numbers.required import MustGroundNumber
from karat.model.trace import Trace
from karat.model.verdict import CaseStatus, Status
from karat.scoring import verdicts
from karat.suites.diagnostics import PathDiagnostic
from karat.text import phrases
from karat.text.folding import fold
from karat.text.wording import quoted

DUPLICATE = "duplicate-prompt"
SAID = (
    AnswerEquals,
    MustSayAny,
    MustMatchRegex,
    MustLabelAssumptions,
    RequiredLevers,
    ClaimEvidenceAlignment,
    EvidenceFreshness,
    MustAllowOverrideAction,
    ExpectedContains,
    ReasonContains,
    AllocationValid,
)
NAMED = (RequiredSource, MustGroundNumber)
"""An answer may well take up names and numbers of the prompt: a smell only where nothing else is asked of it."""


def find_prompt_satisfied(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """Checks that an agent satisfies by repeating the prompt."""
    echo = _echo(case)
    asked = [placed for placed in case.checks if isinstance(placed.check, (*SAID, *NAMED)) or _asks_back(case, placed)]
    # A refusal that needs no words because no tool was called does not depend on the prompt.
    by_words = structs.replace(echo, unobserved={"tools": "only the words of the prompt count"})
    found = [
        (placed, verdicts.run_check(placed.check, by_words if isinstance(placed.check, AllocationValid) else echo))
        for placed in asked
    ]
    holds = [(placed, result) for placed, result in found if result.status is Status.PASSED]
    for placed, result in holds:
        if isinstance(placed.check, SAID) or placed.args.get("regex") or len(holds) == len(found):
            path, said = _place(placed, case.case.prompt, result.found)
            what = f"the prompt itself holds {quoted(said)}" if said else "the prompt itself satisfies this"
            message = f"{what}: repeating it is enough. Expect something that only a right answer has."
            yield PathDiagnostic(path, message, "prompt-satisfies")


def find_echo_passes(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """Cases that pass with the prompt for an answer."""
    checks = [placed.check for placed in case.checks]
    if verdicts.judge(checks, case.case.scoring, _echo(case)).status is CaseStatus.PASS:
        message = (
            "an agent that repeats the prompt and calls no tool passes. Expect something that only a right answer has."
        )
        yield PathDiagnostic((*case.path, "id"), message, "echo-passes")


def duplicates(cases: Sequence[LintCase]) -> Iterator[PathDiagnostic]:
    """Prompts that an earlier case asks in the same words."""
    first: dict[tuple[str, ...], str] = {}
    for case in cases:
        words = tuple(map(fold, (*case.case.user_texts, *(reply.say for reply in case.case.replies))))
        earlier = first.setdefault(words, case.case.id)
        if earlier != case.case.id:
            message = f"case {quoted(earlier)} asks the same. Ask something else, or expect all of it in one case."
            yield PathDiagnostic((*case.path, "prompt" if case.path[0] == "cases" else "input"), message, DUPLICATE)


def _asks_back(case: LintCase, placed: PlacedCheck) -> bool:
    """Whether this check wants a question, which is a thing to say as well."""
    return isinstance(placed.check, Outcome) and case.case.outcome == "needs_input"


def _echo(case: LintCase) -> Trace:
    return Trace(case_id=case.case.id, input=case.case.prompt, final_message=case.case.prompt, tool_calls=())


def _place(placed: PlacedCheck, prompt: str, found: str) -> tuple[tuple[str | int, ...], str]:
    """The path of the satisfied expectation, and the words of the prompt that satisfy it."""
    if isinstance(placed.check, MustSayAny):
        held = [i for i, phrase in enumerate(placed.args["phrases"]) if phrases.find(prompt, phrase)]
        return (*placed.path, held[0]), placed.args["phrases"][held[0]]
    return placed.path, "" if isinstance(placed.check, RequiredLevers | AllocationValid) else excerpt(found, 60)


RULES = (Rule("prompt-satisfies", find_prompt_satisfied), Rule("echo-passes", find_echo_passes))
