"""Drafting what all good sessions did and a bad one did not, proved by judging the drafted suite on all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct, field

from carob.checks.catalog import CheckCatalog
from carob.checks.effects.outcome import Outcome
from carob.errors import UsageError
from carob.evidence.commands import edited_paths
from carob.evidence.conversation_events import read_conversation
from carob.features.coding.checks.base import deeds_of
from carob.features.draft.cases import name_prompts
from carob.features.draft.draft import DraftOptions
from carob.features.draft.expectations import Noted
from carob.features.draft.proving import read_cases
from carob.features.draft.rule_candidates import RuleStatistics
from carob.features.draft.trace_groups import SourceTrace, user_texts
from carob.features.draft.writing import comment, lines, plain_value
from carob.model.suite import Case
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import Status
from carob.redaction.personal_data import Masker
from carob.rules.events import COMMAND
from carob.scoring.verdicts import case_results
from carob.text.command_lines import SimpleCommand, may_change_files, shell_line, wrapped_words
from carob.text.globs import matches_glob
from carob.text.tool_effects import known_effects
from carob.text.tool_names import can_be_written, effect_tools, is_any_named
from carob.text.wording import pluralize
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


NO_PROMPT = "Write here what the agent is asked: the sessions do not show it."
NO_SESSION = "none of the {} can be judged: they broke off, or nothing was done in them."
NO_CONTRAST = "nothing that {} did is broken in {}, so there is nothing to draft."
MORE = "Name other sessions of the same task. What agents say in prose is not compared."

Traces = Iterable[Trace | SourceTrace]


class ContrastLine(NamedTuple):
    """What every good session meets, and the numbers of the bad ones that it catches."""

    candidate: Candidate
    caught: frozenset[int]

    @property
    def words(self) -> str:
        """As one line of the suite."""
        return msgspec.json.encode(self.candidate.rule or self.candidate.expected).decode()


class ContrastDraft(NamedTuple):
    """A drafted suite: its text and its lines, how many sessions of each side were judged, and how many broke off."""

    yaml: str
    lines: tuple[ContrastLine, ...]
    good: int
    bad: int
    left_out: int

    @property
    def caught(self) -> int:
        """How many bad sessions break a line."""
        return len({number for line in self.lines for number in line.caught})


def draft_contrast(good: Traces, bad: Traces, catalog: CheckCatalog, options: DraftOptions) -> ContrastDraft:
    """Draft a suite. The sessions are read several times, one after the other, so that they need not fit into memory.

    Raises UsageError where a side has no session, or where they differ in nothing.
    """
    drafting = _Contrasting(_Side(good, "good"), _Side(bad, "bad"), catalog, options)
    kept = tuple(_without_repeats(drafting.prove(drafting.find())))
    return drafting.write(kept)


class _Side:
    """The sessions of one side that came to an end."""

    def __init__(self, sources: Traces, name: str) -> None:
        self._sources = sources
        self._name = name
        self.count = self.left_out = 0

    def __iter__(self) -> Iterator[Trace]:
        self.count = self.left_out = 0
        for source in self._sources:
            trace = source.trace if isinstance(source, SourceTrace) else source
            if trace.error is None:
                self.count += 1
                yield trace
            else:
                self.left_out += 1
        if not self.count:
            raise UsageError(NO_SESSION.format(self), fix="Name others.", slug="no-traces")

    def __str__(self) -> str:
        return pluralize(self.count or self.left_out, f"{self._name} session")


class _Contrasting:
    """One draft in the making."""

    def __init__(self, good: _Side, bad: _Side, catalog: CheckCatalog, options: DraftOptions) -> None:
        self._good = good
        self._bad = bad
        self._catalog = catalog
        self._options = options
        self._prompts: dict[str, tuple[str, ...]] = {}
        """What the user said in good sessions, by how it began."""

    def find(self) -> list[Candidate]:
        """What may be the difference."""
        statistics, facts = RuleStatistics(), []
        for trace in self._good:
            texts = user_texts(trace)
            if all(text.strip() for text in texts) and len(self._prompts) < self._options.max_cases:
                self._prompts.setdefault(texts[0], texts)
            statistics.add([event for event in read_conversation(trace).events if not event.tool.startswith("@")])
            facts.append(read_facts(trace))
        tools = [*statistics.calls]
        changing = effect_tools(known_effects(tools, self._options.effects))
        effects = [tool for tool in tools if is_any_named(changing, tool)]
        rules = statistics.candidates(effects, least=len(facts))
        return [
            *find_candidates(facts, [read_facts(trace) for trace in self._bad]),
            *(Candidate(f"rule {rule['id']}", rule=rule) for rule in rules),
        ]

    def prove(self, candidates: Sequence[Candidate]) -> Iterator[ContrastLine]:
        """Those that every good session meets and a bad one breaks."""
        cases = [self._read_case(_document([candidate])) for candidate in candidates]
        alive = dict(enumerate(cases))
        proved: set[int] = set()
        for trace in self._good:
            judged = {number: self._judge(case, trace) for number, case in alive.items()}
            alive = {number: alive[number] for number, found in judged.items() if found <= _HELD}
            proved |= {number for number, found in judged.items() if Status.PASSED in found}
        caught: dict[int, set[int]] = {number: set() for number in alive.keys() & proved}
        for session, trace in enumerate(self._bad):
            for number, sessions in caught.items():
                if Status.FAILED in self._judge(alive[number], trace):
                    sessions.add(session)
        yield from (ContrastLine(candidates[number], frozenset(caught[number])) for number in sorted(caught))

    def _read_case(self, document: Json) -> Case:
        top = {key: value for key, value in document.items() if key != "cases"}
        (case,) = read_cases(plain_value(top), [{"id": "session", "prompt": NO_PROMPT}], self._catalog)  # type: ignore[arg-type]
        return case

    def _judge(self, case: Case, trace: Trace) -> set[Status]:
        """How what was drafted came out; `outcome` is judged in every case, whether or not it is asked for."""
        results = case_results(case, trace, self._catalog)
        return {result.status for result in results if result.name != Outcome.name}

    def write(self, kept: Sequence[ContrastLine]) -> ContrastDraft:
        """The suite, once it has judged every session as it should."""
        masker = Masker(self._options.keep_personal_data)
        if not kept:
            raise UsageError(NO_CONTRAST.format(f"all {self._good}", self._bad), fix=MORE, slug="no-contrast")
        support = f"kept by {self._good.count} of {self._good}, broken by {{}} of {self._bad}"
        notes = [support.format(len(line.caught)) for line in kept]
        document = _document([line.candidate for line in kept], notes)
        case = self._read_case(document)
        passed = sum(self._judge(case, trace) <= _HELD for trace in self._good)
        failed = sum(Status.FAILED in self._judge(case, trace) for trace in self._bad)
        names = name_prompts([*self._prompts]) or {"task": NO_PROMPT}
        cases = [_case(name, self._prompts.get(first, (first,)), masker) for name, first in names.items()]
        top = {"carob": 1, "draft": True, "name": self._options.name or "Contrast", **document, "cases": cases}
        left_out = self._good.left_out + self._bad.left_out
        head = [
            comment(f"Drafted by Carob from {self._good} and {self._bad}. No model was involved."),
            comment(f"Judged by this suite, {passed} of {self._good} passed, and {failed} of {self._bad} failed."),
            comment("What they differ in need not be what made them good: read each line, remove what is chance."),
            *([comment(f"Left out: {pluralize(left_out, 'session')} that broke off.")] if left_out else []),
        ]
        text = "\n".join([*head, *lines(top), ""])
        return ContrastDraft(text, tuple(kept), self._good.count, self._bad.count, left_out)


_HELD = frozenset((Status.PASSED, Status.NOT_TRIGGERED))


def _without_repeats(proved: Iterable[ContrastLine]) -> list[ContrastLine]:
    """The lines that catch something, but for those that catch no more than another one about the same."""
    kept: list[ContrastLine] = []
    for line in proved:
        others = (other for other in kept if other.candidate.about == line.candidate.about)
        if line.caught and not any(line.caught <= other.caught for other in others):
            kept.append(line)
    return sorted(kept, key=lambda line: -len(line.caught))


def _document(candidates: Sequence[Candidate], notes: Sequence[str] = ()) -> Json:
    """What these candidates expect together, each with its note."""
    expected: Json = {}
    rules = []
    for number, candidate in enumerate(candidates):
        note = notes[number] if notes else ""
        _add(expected, candidate.expected, note)
        if candidate.rule:
            rules.append(Noted(candidate.rule, note))
    return ({"defaults": {"expected": expected}} if expected else {}) | ({"rules": rules} if rules else {})


def _add(expected: Json, more: Json, note: str) -> None:
    for key, value in more.items():
        if isinstance(value, dict):
            _add(expected.setdefault(key, {}), value, note)
        elif value:
            expected.setdefault(key, []).extend(Noted(entry, note) for entry in value)
        else:
            expected[key] = Noted(value, note)


def _case(name: str, texts: Sequence[str], masker: Masker) -> Json:
    masked = [masker.text(text) for text in texts]
    if len(masked) == 1:
        return {"id": name, "prompt": masked[0]}
    return {"id": name, "turns": [{"prompt": text} for text in masked]}
