"""Expectations of one case that exclude each other, and what never takes effect in it: faults, scripted replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import regex

from carob.checks.answer.phrases import (
    ExpectedContains,
    MustMatchRegex,
    MustNotContain,
    MustNotMatchRegex,
    MustNotSay,
    MustSayAny,
    ReasonContains,
    RequiredSource,
)
from carob.checks.effects.allocation import AllocationValid, indicators
from carob.checks.page.elements import Element
from carob.checks.page.ui import Ui
from carob.checks.telemetry import Telemetry, shorthand
from carob.checks.tools.calls import ToolCalls
from carob.checks.tools.names import ToolCallsAny, ToolCallsNone, ToolsUsed
from carob.features.lint.base import LintCase, PlacedCheck, Rule, Smell, TargetInfo
from carob.features.lint.phrases import is_match
from carob.features.lint.tools import NEEDS_A_CALL, expected_calls
from carob.suites.diagnostics import Path, render
from carob.targets.conversation import MAX_TURNS
from carob.text import phrases
from carob.text.tool_names import is_named
from carob.text.wording import pluralize, quoted
from carob.text.words import WordLists

SLUG = "contradiction"
CLOSED = frozenset(("exact", "ordered", "set", "subset"))
"""Ways to match `tools_used` that allow no other tool."""
NEVER_AT_ALL = {"tool", "never"}
"""An entry of `tool_calls` that forbids every call of its tool."""
PLAIN_WORDS = regex.compile(r"[\w ,:'-]+")
ANCHOR = regex.compile(r"[\^$]|\\[AZzbB]|\(\?[=!<]")
NO_ANSWER = "no answer can satisfy both."
NO_AGENT = "no agent can satisfy both."
NEVER_USED = "this alternative can never be used."


class RequiredText(NamedTuple):
    """Words that the answer must hold; `choice` if others may replace them."""

    path: Path
    words: str
    choice: bool = False


def find_text_clashes(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """The answer must say what it must not."""
    required = list(_required_texts(case))
    for path, words, choice in required:
        for ban in case.of(MustNotSay, MustNotContain, MustNotMatchRegex):
            if _forbids(ban, words):
                yield path, f"{_short_path(ban)} forbids {quoted(words)}: {NEVER_USED if choice else NO_ANSWER}"
    for placed in case.of(AllocationValid):
        valid = placed.args["valid"]
        kind = "failure" if valid else "success"
        good, bad = (placed.args.get(f"{name}_indicators", ()) for name in ("success", "failure"))
        lists = WordLists.of(placed.args.get("words", {}))
        for path, words, choice in required:
            matches = indicators(words, good, bad, lists, valid)
            if not choice and (getattr(matches, kind) or (kind == "failure" and matches.denied)):
                yield path, f"{quoted(words)} is a word of {kind}, which allocation_valid forbids."


def _required_texts(case: LintCase) -> Iterator[RequiredText]:
    for placed in case.of(ExpectedContains, ReasonContains):
        yield RequiredText(placed.path, placed.args["phrase"])
    for placed in case.of(MustSayAny, RequiredSource):
        listed = placed.args["phrases"]
        for index, phrase in enumerate(listed):
            path = (*placed.path, index) if isinstance(placed.check, MustSayAny) else placed.path
            yield RequiredText(path, phrase, choice=len(listed) > 1)
    for placed in case.of(MustMatchRegex):
        if PLAIN_WORDS.fullmatch(placed.args["pattern"]):
            yield RequiredText(placed.path, placed.args["pattern"])


def _forbids(ban: PlacedCheck, words: str) -> bool:
    if "phrase" in ban.args:
        return phrases.find(words, ban.args["phrase"]) is not None
    # The text around the words decides about anchors and lookarounds.
    return not ANCHOR.search(ban.args["pattern"]) and is_match(ban.args["pattern"], words)


def find_tool_clashes(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """A tool must be called and must not."""
    banned = {placed.args["tool"]: _short_path(placed) for placed in _banned_tools(case)}
    calls = list(expected_calls(case))
    for path, tool, choice in calls:
        if tool in banned:
            yield path, f"{banned[tool]} forbids {quoted(tool)}: {NEVER_USED if choice else NO_AGENT}"
    for placed in case.of(ToolsUsed):
        allowed = set(placed.args["tools"])
        if placed.args.get("match", "exact") not in CLOSED:
            continue
        if not allowed and case.case.outcome in NEEDS_A_CALL:
            yield placed.path, f"the outcome {case.case.outcome} needs a tool call, and tools_used allows none."
        for path, tool, choice in calls:
            if tool not in allowed and not choice:
                yield path, f"tools_used does not allow {quoted(tool)}: {NO_AGENT}"
        for alternatives in case.of(ToolCallsAny):
            if allowed.isdisjoint(alternatives.args["tools"]):
                yield alternatives.path, f"tools_used allows none of these tools: {NO_AGENT}"


def _banned_tools(case: LintCase) -> Iterator[PlacedCheck]:
    yield from case.of(ToolCallsNone)
    yield from (placed for placed in case.of(ToolCalls) if set(placed.args) == NEVER_AT_ALL)


def find_outcome_clashes(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """No tool may succeed, and one must."""
    if case.case.outcome != "graceful_block":
        return
    for placed in case.of(ToolCalls, Telemetry):
        pattern = shorthand(placed.args["entry"]) if "entry" in placed.args else None
        if placed.args.get("success") is True or (pattern is not None and pattern.success is True):
            yield placed.path, "no tool may succeed with the outcome graceful_block."


def find_element_clashes(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """The page must show more of something than it may."""
    earlier: dict[Element, tuple[int, int | None, str]] = {}
    for placed in case.of(Ui):
        for element in placed.check.elements if isinstance(placed.check, Ui) else ():
            key, (low, high) = element.subject, element.bounds
            if key in earlier:
                earlier_low, earlier_high, where = earlier[key]
                if (earlier_high is not None and low > earlier_high) or (high is not None and earlier_low > high):
                    yield placed.path, f"{where} asks for the opposite: no page can satisfy both."
            earlier[key] = (low, high, _short_path(placed))


def find_forbidden_faults(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """A fault lands only if its tool is called, which the case forbids."""
    banned = [placed.args["tool"] for placed in _banned_tools(case)]
    for index, fault in enumerate(case.case.faults):
        if fault.hits == "tool" and any(is_named(tool, fault.name) for tool in banned):
            message = f"the case forbids {quoted(fault.name)}, and the fault lands only if it is called."
            yield (*case.path, "faults", index), f"{message} No agent can satisfy both."


def find_hidden_faults(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """One fault a call: after one that hits every call, no other has its turn."""
    faults = case.case.faults
    for index, fault in enumerate(faults):
        for earlier in faults[:index]:
            is_alike = (earlier.hits, earlier.name) == (fault.hits, fault.name)
            if is_alike and earlier.times is None and earlier.from_call <= fault.from_call:
                message = f"an earlier fault ({earlier.kind}) hits every call already: it is never reached."
                yield (*case.path, "faults", index), f"{message} Set `times`."
                break


def find_unreachable_replies(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Replies to one thing are sent one after another: after `max_turns` no turn is left for them."""
    most = case.case.max_turns or MAX_TURNS
    replies: Counter[tuple[str, ...]] = Counter()
    for index, reply in enumerate(case.case.replies):
        replies[reply.asks_for] += 1
        if replies[reply.asks_for] >= most:
            message = f"it can never be used: the conversation has only {pluralize(most, 'turn')}."
            yield (*case.path, "replies", index), f"{message} Increase 'max_turns'."


def _short_path(placed: PlacedCheck) -> str:
    """The field and entry alone: it is in the same case."""
    start = next((i for i, step in enumerate(placed.path) if step == placed.check.name), 0)
    return render(placed.path[start:])


RULES = (
    Rule("unreachable-reply", find_unreachable_replies),
    Rule(SLUG, find_text_clashes),
    Rule(SLUG, find_tool_clashes),
    Rule(SLUG, find_outcome_clashes),
    Rule(SLUG, find_element_clashes),
    Rule(SLUG, find_forbidden_faults),
    Rule("hidden-fault", find_hidden_faults),
)
