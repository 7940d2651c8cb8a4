"""How good sessions may differ from bad ones: what all good ones did, and what only bad ones did, as expectations."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct, field

from carob.evidence.commands import edited_paths
from carob.evidence.conversation_events import read_conversation
from carob.features.coding.checks.base import deeds_of
from carob.model.trace import ToolCall, Trace
from carob.rules.events import COMMAND
from carob.text.command_lines import SimpleCommand, may_change_files, shell_line, wrapped_words
from carob.text.globs import matches_glob
from carob.text.tool_names import can_be_written, is_any_named
from carob.text.words import PUBLISHED

_PLAIN: Final = re.compile(r"[\w.+-]*\w")
_SUBCOMMAND: Final = re.compile(r"[a-z][a-z-]+(?::[a-z-]+)*")
_LETTERS: Final = re.compile(r"-[a-zA-Z]+")
OPTIONS: Final = r"(-\S+ (\S+ )?)*"
"""Options that may be before a subcommand."""

Json = dict[str, Any]
STRENGTHS: Final[Sequence[Json]] = ({"exit": 0, "after_last_edit": True}, {"exit": 0}, {})
"""How a command came out, the strongest first."""


class Candidate(Struct, frozen=True):
    """A part of a suite that expects one thing, and what it is about: `expected` of its defaults, or one of `rules`."""

    about: str
    expected: Json = field(default_factory=dict)
    rule: Json = field(default_factory=dict)


class SessionFacts(NamedTuple):
    """What one session did."""

    commands: frozenset[tuple[str, ...]]
    """Each command as its program, as program and subcommand, and as program and single letters of its options."""
    tools: frozenset[str]
    edits: frozenset[tuple[str, str, str]]
    """Tool, argument and name of each file that a call edited."""
    skills: frozenset[str]
    files: frozenset[tuple[str, str]]
    """How each file of the workspace was changed, and its path."""


def read_facts(trace: Trace) -> SessionFacts:
    """What a session did, as far as it was seen; what only reads is left out."""
    events = [event for event in read_conversation(trace).events if event.kind == "call"]
    commands = [event.arguments["argv"] for event in events if event.tool == COMMAND and event.arguments]
    called = {call.name for call in trace.tool_calls if not is_any_named(_of_agents(), call.host_name)}
    files = trace.workspace.files if trace.workspace is not None else ()
    return SessionFacts(
        frozenset(key for words in commands for key in _keys_of(words)),
        frozenset(filter(can_be_written, called)),
        frozenset(edit for call in trace.tool_calls for edit in _edits_of(call)),
        frozenset(deeds_of(trace).skills()),
        frozenset((change.change, change.path) for change in files),
    )


def _keys_of(words: list[str]) -> Iterator[tuple[str, ...]]:
    program = words[0].rpartition("/")[2]
    is_reader = not may_change_files(SimpleCommand(tuple(words)))
    if is_reader or not _PLAIN.fullmatch(program) or shell_line(words) is not None or wrapped_words(words):
        return
    yield (program,)
    if len(words) > 2 and words[1] == "-m" and _PLAIN.fullmatch(words[2]):
        yield (program, "-m", words[2])
    elif len(words) > 1 and _SUBCOMMAND.fullmatch(words[1]):
        yield (program, words[1])
    letters = {letter for word in words[1:] if _LETTERS.fullmatch(word) for letter in word[1:]}
    if letters:
        yield (program, *(f"-{letter}" for letter in sorted(letters)))


def _of_agents() -> tuple[str, ...]:
    """The tools that each coding agent has of its own: what they did is compared, not what they are called."""
    kinds = ("shell_tools", "edit_tools", "harmless_tools", "skill_tools")
    return tuple(name for kind in kinds for name in PUBLISHED.entries(kind))


def _edits_of(call: ToolCall) -> Iterator[tuple[str, str, str]]:
    paths = edited_paths(call) or ()
    for key, value in call.arguments.items() if isinstance(call.arguments, dict) else ():
        if value in paths:
            yield call.name, key, value.rpartition("/")[2]


def find_candidates(good: Sequence[SessionFacts], bad: Sequence[SessionFacts]) -> Iterator[Candidate]:
    """What all good sessions have in common, and what none of them did; of what is about the same, the strongest first.

    None of it is proved: it has to hold in every good session, and to be broken in a bad one.
    """
    common, ever, wrong = _join(good, frozenset.intersection), _join(good, frozenset.union), _join(bad, frozenset.union)
    named = (key for key in common.commands if not _LETTERS.fullmatch(key[-1]))
    for key in sorted(named, key=lambda words: (-len(words), words)):
        for how in STRENGTHS:
            yield Candidate(f"run {key[0]}", {"commands": [{"run": pattern_of(key), **how}]})
    for key in sorted(wrong.commands - ever.commands, key=lambda words: (len(words), words)):
        yield Candidate(f"never {key[0]}", {"commands": [{"run": pattern_of(key), "never": True}]})
    for name in sorted(common.skills):
        yield Candidate(f"skill {name}", {"skills": {"used": [name]}})
    for name in sorted(wrong.skills - ever.skills):
        yield Candidate(f"skill {name}", {"skills": {"not_used": [name]}})
    for change, path in sorted(common.files):
        yield Candidate(f"file {path}", {"files": {change: [path]}})
    yield from _leave_alone({path for _, path in ever.files}, {path for _, path in wrong.files - ever.files})
    for name in sorted(common.tools):
        yield Candidate(f"tool {name}", {"tool_calls": [{"tool": name}]})
    for name in sorted(wrong.tools - ever.tools):
        yield Candidate(f"tool {name}", {"tool_calls_none": [name]})
    for tool, argument, name in sorted(wrong.edits - ever.edits):
        edited = {argument: {"$regex": rf"(^|/){re.escape(name)}$"}}
        yield Candidate(f"edit {name}", {"tool_calls": [{"tool": tool, "arguments": edited, "never": True}]})


def _leave_alone(touched: Collection[str], wrong: Collection[str]) -> Iterator[Candidate]:
    """What was left alone in every good session: test files by their published patterns, others by name."""
    yield Candidate("deleted", {"files": {"deleted": []}})
    for glob in PUBLISHED.entries("test_files"):
        if any(matches_glob(glob, path) for path in wrong) and not any(matches_glob(glob, path) for path in touched):
            yield Candidate("unchanged", {"files": {"unchanged": [glob]}})
    for path in sorted(wrong):
        yield Candidate("unchanged", {"files": {"unchanged": [path]}})
    yield Candidate("outside", {"outside": []})
    yield Candidate("network", {"network": []})


def _join(sessions: Sequence[SessionFacts], join: Callable[..., frozenset[Any]]) -> SessionFacts:
    return SessionFacts(*(join(*parts) for parts in zip(*sessions, strict=True)))


def pattern_of(key: tuple[str, ...]) -> str:
    """A regex for a command, whatever options and spellings of them there are."""
    program = rf"^{re.escape(key[0])}\b"
    if len(key) == 1:
        return program
    if key[1] == "-m":
        return rf"^{re.escape(key[0])} -m {re.escape(key[2])}\b"
    if key[1].startswith("-"):
        return program + "".join(rf"(?=.* -\w*{letter[1:]})" for letter in key[1:])
    return rf"^{re.escape(key[0])} {OPTIONS}{re.escape(key[1])}\b"
