"""What the keys of a suite cannot see: a write that is made twice, an invented number. Suggestions, by tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from carob.features.lint.base import LintCase
from carob.features.lint.tools import expected_calls, looks_like_write
from carob.suites.diagnostics import PathDiagnostic
from carob.text.tool_names import effect_tools, is_any_named
from carob.text.wording import pluralize

REPEATED = "propose-bound"
UNGROUNDED = "propose-grounded"
COUNT_CALLS = frozenset(
    ("tools_used", "tool_call_f1", "max_calls", "max_tool_calls", "no_effect_twice", "database", "state")
)
"""Keys by which a second call can fail."""
LOOSE = frozenset(("set", "superset"))
"""Values of `tools_match` that count no calls."""
NEED_DATA = frozenset(("must_ground_numbers", "required_sources"))
"""Keys of answers that state data."""
SEE_NUMBERS = frozenset(("grounded_numbers", "answer_equals", "answer_text"))
"""Keys by which a number that nothing gave can fail."""


def suggestions(cases: Sequence[LintCase]) -> Iterator[PathDiagnostic]:
    """One for each kind, at the first case that it is about."""
    if repeatable := [(case, tool) for case in cases if (tool := _repeatable_tool(case))]:
        case, tool = repeatable[0]
        message = f"a second call to {tool} would pass in {pluralize(len(repeatable), 'case')}."
        yield PathDiagnostic(case.path, f"{message} Add max_calls: {{{tool}: 1}}, or tools_used.", REPEATED)
    if open_to := [case for case in cases if _any(case, _needs_data) and not _any(case, _sees_numbers)]:
        message = f"an invented number next to the required ones would pass in {pluralize(len(open_to), 'case')}."
        yield PathDiagnostic(open_to[0].path, f"{message} Add grounded_numbers: true.", UNGROUNDED)


def _any(case: LintCase, holds: Callable[[LintCase], bool]) -> bool:
    return any(holds(part) for part in (case, *case.turns))


def _repeatable_tool(case: LintCase) -> str:
    """A tool that changes something and that the case expects, without a word on how often."""
    if _any(case, _counts_calls):
        return ""
    declared = effect_tools(case.expected.get("effects", {}))
    tools = (tool for part in (case, *case.turns) for _, tool, _ in expected_calls(part))
    changes = (lambda tool: is_any_named(declared, tool)) if declared else looks_like_write
    return next(filter(changes, tools), "")


def _counts_calls(part: LintCase) -> bool:
    expected = part.expected
    counting = COUNT_CALLS - ({"tools_used"} if expected.get("tools_match") in LOOSE else set())
    times = any("times" in entry for entry in expected.get("tool_calls", ()))
    return times or bool(counting & expected.keys()) or expected.get("only_effects") == "exactly"


def _needs_data(part: LintCase) -> bool:
    return bool(NEED_DATA & part.expected.keys())


def _sees_numbers(part: LintCase) -> bool:
    return bool(SEE_NUMBERS & part.expected.keys())
