"""Commands of coding agents that are expected or forbidden by less than they seem to be."""

from __future__ import annotations

from collections.abc import Iterator

from carob.features.coding.checks.claims import Claims
from carob.features.coding.checks.commands import CommandRuns
from carob.features.lint.base import LintCase, Rule, Smell, TargetInfo
from carob.text.regexes import safe_regex
from carob.text.regexes.examples import UnreadableError, example
from carob.text.wording import quoted

OTHERS = ("grep -r {} .", "pip install {}", "which {}")
"""Commands that name another one, and do not run it."""
WITH_SUBCOMMANDS = frozenset(("git", "npm", "pnpm", "yarn", "uv", "pip", "docker", "kubectl", "gh", "cargo"))
OPTION = {"git": "-C .", "kubectl": "-n x", "docker": "--context x", "npm": "--prefix .", "gh": "-R a/b"}


def find_unasked_exit(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Commands that may fail."""
    for placed in case.of(CommandRuns):
        if not placed.args.get("never") and "exit" not in placed.args:
            yield placed.path, "a command that fails passes it as well. Add `exit: 0`, or the exit code that is right."


def find_loose(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Regexes that other commands match which only name the one that is meant."""
    for placed in case.of(CommandRuns):
        if not placed.args.get("never") and (other := _other_command(placed.args["run"])):
            yield (*placed.path, "run"), f"it is also found in {quoted(other)}. Begin it with `^`."
    for placed in case.of(Claims):
        for name, claim in placed.args.get("claims", {}).items():
            if other := _other_command(claim["run"]):
                message = f"the command of {quoted(name)} is also found in {quoted(other)}. Begin its `run` with `^`."
                yield placed.path, message


def find_evaded(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """Prohibitions that the same command evades in another spelling."""
    for placed in case.of(CommandRuns):
        if placed.args.get("never") and (other := _other_spelling(placed.args["run"])):
            message = f"{quoted(other)} does the same, and is not found. Write a regex that finds both."
            yield (*placed.path, "run"), message


def _example(pattern: str) -> str:
    """The shortest command that it finds; empty where none can be made."""
    try:
        return " ".join((example(pattern) or "").split())
    except UnreadableError:
        return ""


def _other_command(pattern: str) -> str:
    name = _example(pattern)
    others = [form.format(name) for form in OTHERS] if name and not name.startswith("-") else []
    return next((other for other in others if safe_regex.search(pattern, other)), "")


def _other_spelling(pattern: str) -> str:
    """What a shell runs in the same way, and the regex does not find; it is searched in words without quotes."""
    line = _example(pattern)
    words = line.split()
    if any(mark in pattern for mark in ("'", '"')) or not words:
        return line.replace("'", "").replace('"', "") if words and _is_lost(pattern, line) else ""
    spellings = []
    if len(words) > 1 and words[0] in WITH_SUBCOMMANDS and not words[1].startswith("-"):
        spellings.append(" ".join((words[0], OPTION.get(words[0], "--quiet"), *words[1:])))
    for index, word in enumerate(words):
        if len(word) > 2 and word[0] == "-" and word[1:].isalpha() and word[1] != "-":
            turned, split = f"-{word[:0:-1]}", " ".join(f"-{letter}" for letter in word[1:])
            spellings += [" ".join((*words[:index], other, *words[index + 1 :])) for other in (turned, split)]
    return next((other for other in spellings if safe_regex.search(pattern, other) is None), "")


def _is_lost(pattern: str, line: str) -> bool:
    plain = line.replace("'", "").replace('"', "")
    return plain != line and safe_regex.search(pattern, plain) is None


RULES = (
    Rule("exit-not-asked", find_unasked_exit),
    Rule("loose-command", find_loose),
    Rule("evaded-command", find_evaded),
)
