"""The rules that a guard holds calls to: read from a file with every problem reported, or from what was read before."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct, structs

from carob.errors import ConfigError
from carob.rules.clauses import After, NeverAfter
from carob.rules.conditions import CelCondition
from carob.rules.contract import NO_SLOTS, CompiledRule, Contract
from carob.rules.events import COMMAND, EDIT
from carob.rules.patterns import EventPattern
from carob.rules.reading import Surroundings, read_rule
from carob.system.portable import NO_WAIT
from carob.text.tool_names import is_every_tool, is_named, is_same_tool
from carob.text.tool_reading import ToolReading
from carob.text.wording import did_you_mean

Seam: TypeAlias = Literal["python", "serve", "hook", "mcp"]
"""Where a guard sits; each sees other events."""

DELIVERED: Final[Mapping[Seam, frozenset[str]]] = {
    "python": frozenset(("user", "says", "call", "asks_approval", "approved", "denied", "handoff")),
    "serve": frozenset(("user", "says", "call", "asks_approval", "approved", "denied", "handoff")),
    "hook": frozenset(("user", "call", "denied")),
    "mcp": frozenset(("call", "denied")),
}
"""The kinds of events that each seam can see."""
KNOWS_MESSAGES: Final = frozenset(("python", "serve"))
"""The seams that can know which message requested a call, and what the conversation is about."""
CHANGED: Final = "guard-policy-changed"
LARGEST_POLICY: Final = 64 << 20


class PackedRule(Struct, frozen=True):
    """A rule with all that it needs to be read without its file."""

    rule: dict[str, Any]
    tools: dict[str, list[str]] = {}
    words: dict[str, list[str]] = {}
    reading: ToolReading = ToolReading()


class PolicyFile(Struct, frozen=True):
    """A file that rules were read from, and what it held."""

    path: str
    sha256: str


class GuardPolicy(Struct, frozen=True, dict=True):
    """The rules of a contract, ready to be asked."""

    rules: tuple[PackedRule, ...]
    files: tuple[PolicyFile, ...]
    conditions: dict[str, bytes] = {}
    """What the library for CEL made of conditions, by their texts, where it was asked before."""

    @cached_property
    def contract(self) -> Contract:
        """The compiled rules. Raises ConfigError if one cannot be read."""
        compiled: list[CompiledRule] = []
        for packed in self.rules:
            rule, problems = read_rule(
                packed.rule, Surroundings(packed.tools, packed.words, packed.reading, self.conditions)
            )
            if rule is None:
                raise ConfigError(f"a rule cannot be read: {problems[0].message}", where=self.name, slug="guard-policy")
            compiled.append(rule)
        if len({msgspec.json.encode(packed.reading, order="deterministic") for packed in self.rules}) > 1:
            message = "its files say different things of `success`, `tool_names` or `plain_text`."
            raise ConfigError(message, where=self.name, fix="Say the same in each of them.", slug="guard-policy")
        return Contract(compiled)

    def with_conditions(self) -> GuardPolicy:
        """The same with its conditions compiled, for processes that are started for one decision each."""
        found = (plan.where for rule in self.contract.rules for plan in rule.clauses)
        compiled = {where.text: where.serialized for where in found if isinstance(where, CelCondition)}
        return structs.replace(self, conditions=compiled)

    @property
    def name(self) -> str:
        return self.files[0].path if self.files else "the policy"

    @cached_property
    def sha256(self) -> str:
        """What the rules are, in one text."""
        return hashlib.sha256(msgspec.json.encode(self.rules, order="deterministic")).hexdigest()

    @cached_property
    def not_guarded(self) -> dict[str, str]:
        """The rules that no call can be stopped by, and why."""
        return {rule.id: why for rule in self.contract.rules if (why := _why_not_guarded(rule))}

    @cached_property
    def guarded(self) -> frozenset[int]:
        """The numbers of the rules that can stop a call, and are to."""
        return frozenset(
            number
            for number, rule in enumerate(self.contract.rules)
            if rule.id not in self.not_guarded and rule.mode != "observe"
        )

    def names(self, tool: str) -> bool:
        """Whether a rule that can stop calls speaks of this tool."""
        name = self.contract.reading.rename(tool)
        slots = self.contract.slots("call", name)
        rules, clauses = (slots.doubt.rules, slots.doubt.clauses) if slots.doubt else ((), ())
        numbers = {*slots.requested, *slots.ended, *rules}
        numbers |= {number for number, _ in (*slots.forbidden, *slots.forbidden_ended, *clauses)}
        return not self.guarded.isdisjoint(numbers)

    def concerns(self, tool: str) -> bool:
        """Whether a rule speaks of calls of this tool: it stops them, looks back at them, or only watches them."""
        name = self.contract.reading.rename(tool)
        return self.contract.slots("call", name) is not NO_SLOTS

    def mentions(self, tool: str) -> bool:
        """Whether a rule says this name, and not only `*`."""
        return any(is_named(name, tool) or is_same_tool(name, tool) for name in self.tools if not is_every_tool(name))

    def did_you_mean(self, tool: str) -> str:
        """The name in a rule that this one may be meant for, as a question; empty: there is none."""
        return did_you_mean(tool, [name for name in self.tools if "*" not in name])

    @cached_property
    def tools(self) -> tuple[str, ...]:
        """The names of tools that rules say."""
        patterns = (pattern for rule in self.contract.rules for pattern in _patterns_of(rule))
        return tuple(sorted({name for pattern in patterns for name in pattern.tools}))

    def refuse_seam(self, seam: Seam) -> None:
        """Raise ConfigError if a rule needs what this seam never sees: it would block every call, or none."""
        for rule in self.contract.rules:
            if rule.id not in self.not_guarded and (missing := next(_find_undelivered(rule, seam), "")):
                raise ConfigError(
                    f"the rule {rule.id!r} needs {missing}, which {_SEAMS[seam]} never sees.",
                    where=self.name,
                    fix="Guard it where that is seen (`carob help guard` says where), or take the rule out "
                    "of this file.",
                    slug="guard-seam",
                )
        if len(self.not_guarded) == len(self.contract.rules):
            rule_id, why = next(iter(self.not_guarded.items()), ("", "there is none"))
            message = f"no rule can stop a call before it is made ({rule_id}: {why})."
            raise ConfigError(message, where=self.name, fix="Add a rule about calls.", slug="guard-policy")

    def refuse_changed(self) -> None:
        """Raise ConfigError if a file is no longer what it was when the rules were read."""
        for file in self.files:
            try:
                digest = hashlib.sha256(read_plain_file(file.path)).hexdigest()
            except OSError as error:
                message = f"the rules cannot be read: {error.strerror}."
                raise ConfigError(message, where=file.path, fix="Restore the file.", slug=CHANGED) from None
            if digest != file.sha256:
                message = "the rules are not those that were installed."
                fix = "Restore the file; or read it, and run `carob guard install` again."
                raise ConfigError(message, where=file.path, fix=fix, slug=CHANGED)


_SEAMS: Final[Mapping[Seam, str]] = {
    "python": "the guard in Python",
    "serve": "`carob guard serve`",
    "hook": "a hook of a coding agent",
    "mcp": "a guard in front of an MCP server",
}


def read_plain_file(path: str | Path) -> bytes:
    """What is in a file. Raises OSError also for one that never ends, and for one that waits for somebody to write."""
    with open(os.open(path, os.O_RDONLY | NO_WAIT), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST_POLICY:
            raise OSError(errno.EINVAL, "it is not a plain file, or too large")
        return file.read()


def load_policy(path: str | Path) -> GuardPolicy:
    """Read a contract. Raises SuiteError with every problem, and ConfigError if it has no rules.

    Only the file counts: what carob.toml says, and code that it names, is not used.
    """
    # What reads and validates files takes a while to be loaded, and hooks read rules that were read before.
    from carob.checks.catalog import catalog_for
    from carob.model.check import Declared
    from carob.model.suite import MEETS
    from carob.plugins.project import Project
    from carob.suites.declared import read_declared
    from carob.suites.documents.source import read_bytes
    from carob.suites.formats.base import SuiteFile
    from carob.suites.reading import read_file
    from carob.suites.rules import read_suite_rules

    full = Path(os.path.realpath(path))
    file = SuiteFile(read_bytes(full), str(full))
    suite = read_file(file, catalog_for(Project())).suite
    tree = file.tree if isinstance(file.tree, dict) else {}
    defaults = tree.get("defaults") or {}
    if MEETS in defaults.get("expected", ()) or any(
        spec.name == MEETS for case in suite.cases for _, spec in case.all_checks
    ):
        message = "it has criteria under `meets`, and a guard cannot wait for a reader."
        fix = "Keep the rules in a file of their own."
        raise ConfigError(message, where=str(path), fix=fix, slug="guard-policy")
    read = read_suite_rules(file, read_declared(tree, Declared()))
    if not read.rules:
        message = "the file has no rules, so a guard would stop nothing."
        raise ConfigError(message, where=str(path), fix="`carob help rules` shows how to write one.", slug="no-rules")
    files = [(str(full), file.data), *((str(Path(name).resolve()), data) for name, data in file.others.items())]
    return GuardPolicy(
        tuple(_pack(rule.args, rule.needs_tags, rule.excepts_tags) for rule in read.rules),
        tuple(PolicyFile(name, hashlib.sha256(data).hexdigest()) for name, data in files),
    )


def _pack(args: Mapping[str, Any], tags: Sequence[str], excepted: Sequence[str]) -> PackedRule:
    """A rule as its file has it: suites take the tags out of it, which a guard looks at itself."""
    rule = dict(args["rule"])
    if tags:
        rule["when"] = {**rule.get("when", {}), "tags": [*tags]}
    if excepted:
        rule["except"] = {"tags": [*excepted]}
    reading = msgspec.convert(args.get("reading", {}), ToolReading)
    return PackedRule(rule, args.get("tools", {}), args.get("words", {}), reading)


def _why_not_guarded(rule: CompiledRule) -> str:
    if any(deed in pattern.tools for pattern in _patterns_of(rule) for deed in (COMMAND, EDIT)):
        return "a guard sees calls of tools, not commands: name the shell tool, with `arguments: {command: …}`"
    if any(plan.clause is NeverAfter and plan.patterns[0].kind == "call" for plan in rule.clauses):
        return ""
    if rule.each.kind != "call":
        return f"it is judged at {rule.each.words}, which no guard can stop"
    if rule.is_known_afterwards:
        return "only the result of the call shows whether it holds"
    if all(plan.clause is After for plan in rule.clauses):
        return "only the end of the conversation shows whether it holds"
    return ""


def _find_undelivered(rule: CompiledRule, seam: Seam) -> Iterator[str]:
    """What a rule needs and a seam never sees."""
    delivered = DELIVERED[seam]
    for pattern in _patterns_of(rule):
        if pattern.kind not in delivered:
            yield pattern.words
        if pattern.flags and seam not in KNOWS_MESSAGES:
            yield f"`{pattern.flags[0][0]}`"
    for plan in rule.clauses:
        if plan.consent is not None and "user" not in delivered:
            yield "what the user said"
        for path in plan.where.paths if plan.where is not None else ():
            if path.steps[:1] in (("parallel",), ("beside_words",)) and seam not in KNOWS_MESSAGES:
                yield f"`{path.steps[0]}`"
    if rule.when is not None and seam not in KNOWS_MESSAGES:
        yield "tags or metadata of the conversation"


def _patterns_of(rule: CompiledRule) -> Iterator[EventPattern]:
    yield rule.each
    for plan in rule.clauses:
        if plan.clause is not After:
            yield from plan.patterns
        for _, sources in plan.sources:
            yield from (source.pattern for source in sources)
