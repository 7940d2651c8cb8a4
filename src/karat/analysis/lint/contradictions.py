"""Expectations of one case that exclude each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import regex

from karat.analysis.lint.base import LintCase, PlacedCheck, Rule, TargetInfo
from karat.checks.answer.phrases import (
    ExpectedContains,
    MustMatchRegex,
    MustNotContain,
    MustNotMatchRegex,
    MustNotSay,
    MustSayAny,
    ReasonContains,
    RequiredSource,
)
from karat.checks.effects.allocation import AllocationValid, indicators
from karat.checks.page.elements import Element
from karat.checks.page.ui import Ui
from karat.checks.telemetry import Telemetry, shorthand
from karat.checks.tools.calls import ToolCalls
from karat.checks.tools.names import ToolCallsAny, ToolCallsNone, ToolsUsed
from karat.checks.tools.order import ToolOrder
from karat.evidence.logs.events import PREFIX
from karat.suites.diagnostics import Path, PathDiagnostic, render
from karat.text import phrases
from karat.text.regexes import safe_regex
from karat.text.wording import quoted
from karat.text.words import WordLists

SLUG = "contradiction"
NEEDS_A_CALL = frozenset(("tool_success", "tool_started", "graceful_error"))
CLOSED = frozenset(("exact", "ordered", "set", "subset"))
"""Ways to match `tools_used` that allow no other tool."""
NEVER_AT_ALL = {"tool", "never"}
"""An entry of `tool_calls` that forbids every call of its tool."""
PLAIN_WORDS = regex.compile(r"[\w ,:'-]+")
ANCHOR = regex.compile(r"[\^$]|\\[AZzbB]|\(\?[=!<]")


class WantedText(NamedTuple):
    """Words that the answer must hold; `choice` if others may replace them."""

    path: Path
    words: str
    choice: bool = False


def words(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """The answer must say what it must not."""
    wanted = list(_wanted_texts(case))
    for path, words, choice in wanted:
        for ban in case.of(MustNotSay, MustNotContain, MustNotMatchRegex):
            if _forbids(ban, words):
                clash = f"{_short_path(ban)} forbids {quoted(words)}"
                message = "this alternative can never be used." if choice else "no answer can satisfy both."
                yield PathDiagnostic(path, f"{clash}: {message}", SLUG)
    for placed in case.of(AllocationValid):
        for path, words, choice in wanted:
            valid = placed.args["valid"]
            kind = "failure" if valid else "success"
            good, bad = (placed.args.get(f"{name}_indicators", ()) for name in ("success", "failure"))
            found = indicators(words, good, bad, WordLists.of(placed.args.get("words", {})), valid)
            if not choice and (getattr(found, kind) or (kind == "failure" and found.denied)):
                yield PathDiagnostic(
                    path, f"{quoted(words)} is a word of {kind}, which allocation_valid forbids.", SLUG
                )


def tools(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """A tool must be called and must not."""
    bans = (*case.of(ToolCallsNone), *(placed for placed in case.of(ToolCalls) if set(placed.args) == NEVER_AT_ALL))
    banned = {placed.args["tool"]: _short_path(placed) for placed in bans}
    for path, tool, choice in expected_calls(case):
        if tool in banned:
            message = "this alternative can never be used." if choice else "no agent can satisfy both."
            yield PathDiagnostic(path, f"{banned[tool]} forbids {quoted(tool)}: {message}", SLUG)
    for placed in case.of(ToolsUsed):
        allowed = set(placed.args["tools"])
        if placed.args.get("match", "exact") not in CLOSED:
            continue
        if not allowed and case.case.outcome in NEEDS_A_CALL:
            message = f"the outcome {case.case.outcome} needs a tool call, and tools_used allows none."
            yield PathDiagnostic(placed.path, message, SLUG)
        for path, tool, choice in expected_calls(case):
            if tool not in allowed and not choice:
                yield PathDiagnostic(
                    path, f"tools_used does not allow {quoted(tool)}: no agent can satisfy both.", SLUG
                )
        for listed in case.of(ToolCallsAny):
            if allowed.isdisjoint(listed.args["tools"]):
                yield PathDiagnostic(
                    listed.path, "tools_used allows none of these tools: no agent can satisfy both.", SLUG
                )


def outcomes(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """No tool may succeed, and one must."""
    if case.case.outcome != "graceful_block":
        return
    for placed in case.of(ToolCalls, Telemetry):
        pattern = shorthand(placed.args["entry"]) if "entry" in placed.args else None
        if placed.args.get("success") is True or (pattern is not None and pattern.success is True):
            yield PathDiagnostic(placed.path, "no tool may succeed with the outcome graceful_block.", SLUG)


def elements(case: LintCase, around: TargetInfo) -> Iterator[PathDiagnostic]:
    """The page must show more of something than it may."""
    seen: dict[Element, tuple[int, int | None, str]] = {}
    for placed in case.of(Ui):
        for element in placed.check.elements if isinstance(placed.check, Ui) else ():
            key, (low, high) = element.subject, element.bounds
            if key in seen:
                other_low, other_high, where = seen[key]
                if (other_high is not None and low > other_high) or (high is not None and other_low > high):
                    yield PathDiagnostic(placed.path, f"{where} asks for the opposite: no page can satisfy both.", SLUG)
            seen[key] = (low, high, _short_path(placed))


def _wanted_texts(case: LintCase) -> Iterator[WantedText]:
    for placed in case.of(ExpectedContains, ReasonContains):
        yield WantedText(placed.path, placed.args["phrase"])
    for placed in case.of(MustSayAny):
        several = len(placed.args["phrases"]) > 1
        yield from (WantedText((*placed.path, i), phrase, several) for i, phrase in enumerate(placed.args["phrases"]))
    for placed in case.of(MustMatchRegex):
        if PLAIN_WORDS.fullmatch(placed.args["pattern"]):
            yield WantedText(placed.path, placed.args["pattern"])
    for placed in case.of(RequiredSource):
        several = len(placed.args["phrases"]) > 1
        yield from (WantedText(placed.path, phrase, several) for phrase in placed.args["phrases"])


def expected_calls(case: LintCase) -> Iterator[tuple[Path, str, bool]]:
    """Tools of which a call is expected, each at its place; whether others may replace it."""
    for placed in case.of(ToolCallsAny):
        several = len(placed.args["tools"]) > 1
        yield from (((*placed.path, i), tool, several) for i, tool in enumerate(placed.args["tools"]))
    for placed in case.of(ToolsUsed):
        if placed.args.get("match", "exact") != "subset":
            yield from (((*placed.path, i), tool, False) for i, tool in enumerate(placed.args["tools"]))
    for placed in case.of(ToolCalls):
        if isinstance(placed.check, ToolCalls) and placed.check.asks_for_a_call:
            yield (*placed.path, "tool"), placed.args["tool"], False
    for placed in case.of(ToolOrder):
        yield from (((*placed.path, i), tool, False) for i, tool in enumerate(placed.args["tools"]))
    for placed in case.of(Telemetry):
        pattern = shorthand(placed.args["entry"])
        if pattern is not None and pattern.source is not None:
            yield placed.path, pattern.source.removeprefix(PREFIX), False


def _forbids(ban: PlacedCheck, words: str) -> bool:
    if "phrase" in ban.args:
        return phrases.find(words, ban.args["phrase"]) is not None
    # The text around the words decides about anchors and lookarounds.
    if ANCHOR.search(ban.args["pattern"]):
        return False
    try:
        return safe_regex.search(ban.args["pattern"], words) is not None
    except safe_regex.RegexTimeout:
        return False


def _short_path(placed: PlacedCheck) -> str:
    """The field and entry alone: it is in the same case."""
    start = next((i for i, step in enumerate(placed.path) if step == placed.check.name), 0)
    return render(placed.path[start:])


RULES = (Rule(SLUG, words), Rule(SLUG, tools), Rule(SLUG, outcomes), Rule(SLUG, elements))
