"""Faults that never take effect in a case that passes."""

from __future__ import annotations

from collections.abc import Iterator

from karat.analysis.lint.base import LintCase, Rule, TargetInfo
from karat.analysis.lint.contradictions import NEVER_AT_ALL, SLUG
from karat.checks.tools.calls import ToolCalls
from karat.checks.tools.names import ToolCallsNone
from karat.model.faults import Fault
from karat.suites.diagnostics import PathDiagnostic
from karat.text.tool_names import is_named
from karat.text.wording import quoted

HIDDEN = "hidden-fault"


def find_forbidden_faults(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """A fault lands only if its tool is called, which the case forbids."""
    never = (placed for placed in case.of(ToolCalls) if set(placed.args) == NEVER_AT_ALL)
    banned = [placed.args["tool"] for placed in (*case.of(ToolCallsNone), *never)]
    for path, fault in _own_faults(case):
        if fault.hits == "tool" and any(is_named(one, fault.name) for one in banned):
            message = f"the case forbids {quoted(fault.name)}, and the fault lands only if it is called."
            yield PathDiagnostic(path, f"{message} No agent can satisfy both.", SLUG)


def find_hidden_faults(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """One fault a call: after one that hits every call, no other has its turn."""
    for index, (path, fault) in enumerate(_own_faults(case)):
        for _, earlier in [*_own_faults(case)][:index]:
            same = (earlier.hits, earlier.name) == (fault.hits, fault.name)
            if same and earlier.times is None and earlier.from_call <= fault.from_call:
                message = (
                    f"an earlier fault ({earlier.kind}) hits every call already: it is never reached. Set `times`."
                )
                yield PathDiagnostic(path, message, HIDDEN)
                break


def _own_faults(case: LintCase) -> Iterator[tuple[tuple[str | int, ...], Fault]]:
    """The faults of the case itself, at their places; those of the suite come after them."""
    for index, fault in enumerate(case.case.faults):
        yield (*case.path, "faults", index), fault


RULES = (Rule(SLUG, find_forbidden_faults), Rule(HIDDEN, find_hidden_faults))
