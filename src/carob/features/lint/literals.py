"""Texts and names that are looked for as they are written, and were meant as something else: patterns, placeholders."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from carob.checks.answer.leaks import NoLeak
from carob.checks.answer.phrases import ExpectedContains, MustNotContain, MustNotSay, MustSayAny, ReasonContains
from carob.checks.effects.permitted import OnlyEffects
from carob.features.lint.base import LintCase, Rule, Smell, TargetInfo
from carob.features.lint.tools import tools_at
from carob.suites.diagnostics import Path
from carob.text.tool_names import OR
from carob.text.wording import quoted

PHRASES = (MustSayAny, MustNotSay, ExpectedContains, MustNotContain, ReasonContains, NoLeak)
PATTERN = regex.compile(
    r"\.[*+]|\\[bBdDsSwW.$^?*+]|\(\?|\[[^\]\s]-[^\]\s]|(?<=\w)\|(?=\w)|\A\^\w|(?<=[a-z])\$\Z|\w\{\d+,?\d*\}", regex.I
)
"""What a regex has and a sentence has not."""
QUOTED = regex.compile(r"""\A(["'`])[^"'`]*\w[^"'`]*\1\Z""")
PLACEHOLDER = regex.compile(
    r"\$\{?[A-Z_][A-Z0-9_]*\}?|%[A-Z_][A-Z0-9_]*%|\{\{.*\}\}|<[^<>/]*[ _-][^<>/]*>|<[A-Z]+>"
    r"|\[[A-Z_ ]+\]|[*xX•.…_-]{4,}|.*(?:\.\.\.|…)"
)
"""A text in the place of another one, which was not filled in."""
VARIABLE = regex.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
"""The name of a variable of the environment, where its value was meant."""
NO_NAME = regex.compile(r"[|,;()\[\]{}^$?+\\\"'`<>=!]|\s|\.\*")
LONGEST_PROHIBITION = 15
"""An answer hardly has more words than these in a row that somebody thought of before."""


def find_patterns(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Regexes that were written as phrases, and phrases in quotation marks."""
    for path, text, _kind in _texts(case):
        if PATTERN.search(text):
            message = f"{quoted(text)} is looked for as it is written, and looks like a regex."
            yield path, f"{message} Use must_match_regex or must_not_match_regex, or list the phrases one by one."
        elif QUOTED.match(text):
            message = f"the quotation marks of {quoted(text)} are part of the phrase."
            yield path, f"{message} Remove them, unless the answer has them as well."


def find_placeholders(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Texts that were to be filled in, where they are forbidden: no answer holds them as they are."""
    for path, text, kind in _texts(case):
        is_name = issubclass(kind, NoLeak) and VARIABLE.fullmatch(text.strip())
        is_unfilled = issubclass(kind, NoLeak | MustNotSay | MustNotContain) and PLACEHOLDER.fullmatch(text.strip())
        if is_name or is_unfilled:
            message = f"{quoted(text)} is a placeholder or a name, and no variable is filled in here."
            yield path, f"{message} Write the text itself, or one that is made up for the test."


def find_long_prohibitions(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Forbidden sentences that no answer holds word for word."""
    for path, text, kind in _texts(case):
        if issubclass(kind, MustNotSay | MustNotContain) and len(text.split()) > LONGEST_PROHIBITION:
            message = "an answer hardly holds so long a text word for word."
            yield path, f"{message} Forbid the few words that matter, or use must_not_match_regex."


def _texts(case: LintCase) -> Iterator[tuple[Path, str, type]]:
    for placed in case.of(*PHRASES):
        listed = placed.args.get("phrases")
        if listed is None:
            yield (
                placed.path,
                placed.args["text"] if "text" in placed.args else placed.args["phrase"],
                type(placed.check),
            )
        else:
            yield from (((*placed.path, index), text, type(placed.check)) for index, text in enumerate(listed))


def find_tool_patterns(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Names of tools that no tool has: only `*` is a wildcard."""
    for placed in case.checks:
        names = list(tools_at(placed))
        if isinstance(placed.check, OnlyEffects):
            names += [((*placed.path, index), tool) for index, tool in enumerate(placed.args["tools"])]
        for path, tool in names:
            for name in tool.split(OR):
                if NO_NAME.search(name):
                    message = f"no tool is called {quoted(name)}: only `*` is a wildcard."
                    yield path, f"{message} Write each name by itself."


RULES = (
    Rule("regex-as-phrase", find_patterns),
    Rule("placeholder", find_placeholders),
    Rule("vacuous-prohibition", find_long_prohibitions),
    Rule("tool-pattern", find_tool_patterns),
)
