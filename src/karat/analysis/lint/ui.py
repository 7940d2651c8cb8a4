"""Sentences about the page that are not understood."""

from __future__ import annotations

from collections.abc import Iterator

from karat.analysis.lint.base import LintCase, Rule, TargetInfo
from karat.checks.page.ui import Ui, grammar, resolve
from karat.suites.diagnostics import PathDiagnostic


def unread(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """Sentences that neither a vocabulary nor the built-in grammar knows."""
    worded = case.catalog.checks(resolve(case.case, around.vocabulary).checks)
    for placed, check in zip(case.checks, worded, strict=True):
        if isinstance(check, Ui) and not check.elements and not grammar(check.sentence):
            where = f"the target {around.target!r}" if around.target else "a target in karat.toml"
            message = (
                "neither the built-in grammar nor a ui_vocabulary knows this sentence, so it stays UNKNOWN. "
                f"Define it in ui_vocabulary of {where}, or write an object."
            )
            yield PathDiagnostic(placed.path, message, "unknown-ui-sentence")


RULES = (Rule("unknown-ui-sentence", unread),)
