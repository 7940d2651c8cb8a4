"""What a shell offers at a Tab: suites, ids of cases, targets, journals. It only looks, and never complains."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable
from functools import partial
from glob import escape, glob
from pathlib import Path
from typing import TypeAlias

import click
from click.shell_completion import CompletionItem

from carob import api

Words: TypeAlias = Callable[[click.Context, str], Iterable[str]]
SUFFIXES = (".json", ".yaml", ".yml")
SEARCHED = 65_536
RUNS = ("@last", "@last-green", "@last-5", "@baseline")


def attach(command: click.Command) -> None:
    """Let the parameters of a command complete what their names stand for."""
    for parameter in command.params:
        if words := WORDS.get(parameter.name or ""):
            setattr(parameter, "shell_complete", partial(offer, words))  # noqa: B010 - click knows no later moment
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        attach(inner)


def offer(words: Words, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """What begins as the word does; files of any kind where nothing is known."""
    try:
        candidates = [word for word in words(ctx, incomplete) if word.startswith(incomplete)]
    except Exception:  # noqa: BLE001 - a suite or a configuration that is not sound yet must not print into the line
        candidates = []
    return [CompletionItem(word) for word in candidates] or [CompletionItem(incomplete, type="file")]


def suites(ctx: click.Context, incomplete: str) -> Iterable[str]:
    return [path for path in sorted(glob(f"{escape(incomplete)}*")) if path.endswith(SUFFIXES) and _has_cases(path)]


def _has_cases(path: str) -> bool:
    with open(path, "rb") as file:
        return b"cases" in file.read(SEARCHED)


def cases(ctx: click.Context, incomplete: str) -> Iterable[str]:
    """Ids of the suites that the line names; of a list, its last one."""
    before, comma, _ = incomplete.rpartition(",")
    suites = [word for word in _typed_words() if word.endswith(SUFFIXES) and os.path.isfile(word)]
    return [f"{before}{comma}{case_id}" for suite in suites for case_id, _, _ in api.list_cases(suite)]


def _typed_words() -> list[str]:
    """The words of the line. Click reads no arguments before an option that lacks its value, which is this one."""
    try:
        return shlex.split(os.environ.get("COMP_WORDS", ""))
    except ValueError:
        return os.environ.get("COMP_WORDS", "").split()


def targets(ctx: click.Context, incomplete: str) -> Iterable[str]:
    return sorted(api.find_config().targets)


def journals(ctx: click.Context, incomplete: str) -> Iterable[str]:
    """The newest first: those where the line points to, else those where runs are kept."""
    folder = os.path.dirname(incomplete) or api.default_results_dir("suite.json", api.find_config())
    paths = sorted(Path(folder).glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True)
    return map(str, paths)


def runs(ctx: click.Context, incomplete: str) -> Iterable[str]:
    return [*RUNS, *journals(ctx, incomplete)]


WORDS: dict[str, Words] = {
    "suites": suites,
    "suite": suites,
    "cases": cases,
    "target": targets,
    "journal": journals,
    "journals": journals,
    "base": runs,
    "new": runs,
    "run": runs,
    "runs": runs,
    "baseline": runs,
}
"""By the name of an argument or option, whichever command has it."""
