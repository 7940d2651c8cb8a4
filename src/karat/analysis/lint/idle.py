"""Expectations that no case of the suite brings about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from karat.analysis.lint.base import LintCase
from karat.analysis.lint.contradictions import NEEDS_A_CALL, expected_calls
from karat.checks.answer.json import AnswerAt
from karat.checks.numbers.grounded import GroundedNumbers
from karat.checks.numbers.required import MustGroundNumber
from karat.checks.page.ui import Ui
from karat.checks.tools.order import ToolRequires
from karat.suites.diagnostics import PathDiagnostic
from karat.text.wording import quoted

IDLE = "idle-expectation"
JUDGES_NUMBERS = (MustGroundNumber, AnswerAt, Ui)


def find_unused(cases: Sequence[LintCase]) -> Iterator[PathDiagnostic]:
    """Preconditions of tools that no case expects to be called, and numbers that no case asks for."""
    parts = [part for case in cases for part in (case, *case.turns)]
    tools = {tool for part in parts for _, tool, _ in expected_calls(part)}
    is_observed = bool(tools) or any(
        part.case.outcome in NEEDS_A_CALL or any(part.of(*JUDGES_NUMBERS)) for part in parts
    )
    for part in parts:
        for placed in part.of(ToolRequires):
            if placed.args["tool"] not in tools:
                named = quoted(placed.args["tool"])
                message = f"no case expects a call to {named}: agents that never call it satisfy this. Expect one."
                yield PathDiagnostic(placed.path, message, IDLE)
        for placed in part.of(GroundedNumbers):
            if not is_observed:
                message = (
                    "no case expects a tool, a page or a number: answers without numbers satisfy this. Expect one."
                )
                yield PathDiagnostic(placed.path, message, IDLE)
