"""Counting what runs show of the tools, effects, rules and faults that are declared, and the gaps to act on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from carob.checks.base import excerpt
from carob.checks.catalog import CheckCatalog
from carob.checks.effects.claims import NoFalseSuccess
from carob.checks.effects.outcome import Outcome
from carob.evidence.exports.record import UNREAD
from carob.features.coverage import model
from carob.features.coverage.assertions import CaseMention, find_mentions, settle_mention, spec_key
from carob.features.coverage.kinds import KindsOfSuite
from carob.features.coverage.model import Gap, ToolCoverage
from carob.features.coverage.schema_classes import OUTSIDE, SchemaArgument, read_arguments
from carob.model.check import CheckSpec
from carob.model.faults import FAULT_KINDS, STUBBED, Fault
from carob.model.run import CaseRecord
from carob.model.suite import Suite
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import RULE_CHECKS, Status
from carob.reports.escaping import encode
from carob.suites.formats.carob1 import Carob1
from carob.text.prose.claims import claims
from carob.text.tool_names import (
    ANY_EFFECT,
    GROUP_MARK,
    effect_tools,
    find_spellings,
    is_any_named,
    is_helper,
    is_named,
)
from carob.text.wording import count, pluralize
from carob.text.words import WordLists

MOST_TOOLS: Final = 2000
"""Names of tools that are kept; traces of others may hold any number of them."""
MOST_REASONS: Final = 20
RULES, KEYS, OUTCOMES = "rules", "keys", "outcomes"
NO_RUN = model.UnobservedPart("calls", "no run was given", "name the journal of a run after the suite")
NO_SCHEMAS = model.UnobservedPart(
    "offered tools",
    "no conversation recorded which tools the agent is offered",
    "add valid_arguments: true to a case, and run it again",
)


class Label(NamedTuple):
    """A row of rules, keys or outcomes."""

    table: str
    name: str


class CoverageMeter:
    """Takes one conversation after the other, and keeps nothing of them but figures."""

    def __init__(self, suite: Suite, catalog: CheckCatalog) -> None:
        self._suite = suite
        self._mentions = [mention for case in suite.cases for mention in find_mentions(case, catalog)]
        self._specs = {case.id: {spec_key(spec): spec for _, spec in case.all_checks} for case in suite.cases}
        self._effects, words = _find_effects(suite, catalog)
        self._words = WordLists.of(words)
        self.kinds = KindsOfSuite(self._mentions)
        self._decided: set[tuple[str, tuple[str, bytes]]] = set()
        self._statuses: Counter[tuple[Label, Status]] = Counter()
        self._calls: dict[str, Counter[str]] = {}
        self._full_names: dict[str, set[str]] = {}
        """Of each tool that was called: itself, and with the MCP servers that it was called at."""
        self._called_in: dict[str, str] = {}
        self._schemas: dict[str, list[SchemaArgument]] = {}
        self._classes: Counter[tuple[str, str, str]] = Counter()
        self._effect_counts: Counter[tuple[str, str]] = Counter()
        self._landed: Counter[str] = Counter()
        self._unobserved: Counter[model.UnobservedPart] = Counter()
        self._is_listed_whole = False
        self._conversations = self._others = 0

    def add_offered(self, tools: Mapping[str, object], why_in_part: str = "") -> None:
        """The tools that a list has, with their schemas: to be taken before any call."""
        for name, schema in tools.items():
            if name not in self._schemas and len(self._schemas) < MOST_TOOLS:
                self._schemas[name] = read_arguments(schema)
        if tools:
            self._is_listed_whole = self._is_listed_whole or not why_in_part
            if why_in_part:
                self._note("offered tools", why_in_part)

    def add_schemas(self, trace: Trace) -> None:
        """The tools that a conversation says are offered."""
        self.add_offered(trace.tool_schemas, trace.why_unobserved("tool_schemas") or "")

    def add_record(self, record: CaseRecord) -> None:
        """A recorded case: what was seen of it, and how the checks that the suite still has came out."""
        if record.case.skip:
            return
        self.add_trace(record.trace, record.case.id)
        if record.case.id in self._specs:
            self.kinds.add(record.trace)
        specs = self._specs.get(record.case.id, {})
        for (_, spec), result in zip(record.case.all_checks, record.verdict.checks, strict=False):
            key = spec_key(spec)
            if key not in specs:
                continue
            if result.status in (Status.PASSED, Status.FAILED):
                self._decided.add((record.case.id, key))
            for label in _labels(spec.name, key[1]):
                self._statuses[label, result.status] += 1

    def add_trace(self, trace: Trace, case_id: str = "") -> None:
        """A conversation that nothing judged."""
        case_id = case_id or trace.case_id
        is_own = case_id in self._specs
        self._conversations += 1
        self._others += not is_own
        if trace.error is not None and trace.error.kind == UNREAD:
            self._note("a row of a recording", f"{trace.case_id}: {trace.error.message}")
            return
        if why := trace.why_incomplete("tools"):
            self._note("calls", why)
        if trace.error is not None:
            self._note("the end", f"an error ended the conversation: {trace.error.kind}")
        for call in trace.tool_calls:
            if not is_helper(call.name):
                self._add_call(call, case_id if is_own else "")
        for altered in trace.altered_calls:
            if altered.kind != STUBBED:
                self._landed[_fault_name(altered.kind, altered.hits)] += 1
        for turn in trace.turns or (trace,):
            for claim in claims(turn.final_message, self._effects, self._words):
                for name in {name for name, wordings in self._effects.items() if claim.wording in wordings}:
                    self._effect_counts[name, "claimed"] += 1

    def result(self, runs: tuple[str, ...]) -> model.Coverage:
        """The rows, once every conversation was taken."""
        tools = self._count_tools()
        statuses = self._count_statuses()
        faults, untried = self._count_faults()
        return model.Coverage(
            suite=self._suite.file,
            cases=len(self._suite.cases),
            runs=runs,
            conversations=self._conversations,
            others=self._others,
            tools=tools,
            effects=tuple(
                model.EffectCoverage(
                    name, *(self._effect_counts[name, kind] for kind in ("done", "not_done", "claimed"))
                )
                for name in self._effects
                if name != ANY_EFFECT
            ),
            rules=statuses[RULES],
            keys=statuses[KEYS],
            outcomes=statuses[OUTCOMES],
            faults=faults,
            untried_faults=untried,
            unasserted=tuple(find_unasserted(tools, self._suite)),
            uncalled=tuple(find_uncalled(tools, self._suite)),
            unobserved=tuple(self._find_unobserved(tools, bool(runs))),
        )

    def _add_call(self, call: ToolCall, case_id: str) -> None:
        if call.name not in self._calls and len(self._calls) == MOST_TOOLS:
            self._note("calls", f"there are calls of over {MOST_TOOLS} tools, and the rest is not counted")
            return
        counts = self._calls.setdefault(call.name, Counter())
        self._full_names.setdefault(call.name, set()).add(call.full_name)
        how = (
            "refused"
            if not call.called
            else "failed"
            if call.success is False
            else "succeeded"
            if call.success
            else "open"
        )
        counts[how] += 1
        for name in effect_tools(self._effects):
            if is_named(name, call.full_name):
                self._effect_counts[name, "done" if how == "succeeded" else "not_done"] += how != "open"
        if not call.called:
            return
        if case_id:
            self._called_in.setdefault(call.name, case_id)
        if not isinstance(call.arguments, Mapping) or "arguments" in call.unobserved:
            counts["arguments_unseen"] += 1
            return
        for argument in self._schemas.get(call.name, ()):
            value = argument.value_in(call.arguments)
            for entry in argument.classes if value is not OUTSIDE else ():
                self._classes[call.name, argument.name, entry.name] += entry.holds(value)

    def _note(self, what: str, why: str) -> None:
        entry = model.UnobservedPart(what, excerpt(why))
        if entry in self._unobserved or len(self._unobserved) < MOST_REASONS:
            self._unobserved[entry] += 1

    def _count_tools(self) -> tuple[model.ToolCoverage, ...]:
        named = {
            name
            for entry in self._mentions
            for name in (*entry.mention.tools, *entry.mention.besides)
            if "*" not in name and not name.startswith(GROUP_MARK)
        }
        effects = {name for name in effect_tools(self._effects) if "*" not in name}
        called = {spelling for full in self._full_names.values() for name in full for spelling in find_spellings(name)}
        names = sorted({*self._schemas, *self._calls, *((named | effects) - called)})
        known = {name: self._full_names.get(name, {name}) for name in names}
        mentioned = {entry.mention for entry in self._mentions}
        settled = {mention: settle_mention(mention, known.values()) for mention in mentioned}
        mentions = [entry._replace(mention=settled[entry.mention]) for entry in self._mentions]
        return tuple(
            self._count_tool(name, [m for m in mentions if m.mention.names(full)]) for name, full in known.items()
        )

    def _count_tool(self, name: str, mentions: list[CaseMention]) -> model.ToolCoverage:
        counts = self._calls.get(name, Counter[str]())
        cases = {role: {m.case_id for m in mentions if m.mention.role == role} for role in ("required", "forbidden")}
        judged = {m.case_id for m in mentions if m.mention.role == "required" and (m.case_id, m.key) in self._decided}
        others = {m.case_id for m in mentions if m.mention.role == "alternative"} - cases["required"]
        offered = True if name in self._schemas else False if self._is_listed_whole else None
        arguments = Counter(
            argument for _, argument in {(m.case_id, argument) for m in mentions for argument in m.mention.arguments}
        )
        return model.ToolCoverage(
            name=name,
            offered=offered,
            called=counts["succeeded"] + counts["failed"] + counts["open"],
            succeeded=counts["succeeded"],
            failed=counts["failed"],
            refused=counts["refused"],
            arguments_unseen=counts["arguments_unseen"],
            asserted=len(cases["required"]),
            judged=len(judged),
            alternative=len(others),
            forbidden=len(cases["forbidden"]),
            is_effect=is_any_named(effect_tools(self._effects), name),
            called_in=self._called_in.get(name, ""),
            arguments=tuple(
                model.ArgumentCoverage(
                    name=argument.name,
                    classes=tuple(
                        model.ValueClass(entry.name, self._classes[name, argument.name, entry.name])
                        for entry in argument.classes
                    ),
                    asserted=arguments[argument.path[0]],
                )
                for argument in self._schemas.get(name, ())
            ),
        )

    def _count_statuses(self) -> dict[str, tuple[model.JudgedCoverage, ...]]:
        cases: dict[Label, set[str]] = {Label(RULES, rule): set() for rule in self._suite.rules}
        for case_id, specs in self._specs.items():
            for name, raw in specs:
                for label in _labels(name, raw):
                    cases.setdefault(label, set()).add(case_id)
        tables: dict[str, list[model.JudgedCoverage]] = {RULES: [], KEYS: [], OUTCOMES: []}
        for label, ids in cases.items():
            passed, failed, not_triggered = (
                self._statuses[label, status] for status in (Status.PASSED, Status.FAILED, Status.NOT_TRIGGERED)
            )
            judged = sum(self._statuses[label, status] for status in Status)
            row = model.JudgedCoverage(
                name=label.name,
                cases=len(ids),
                passed=passed,
                failed=failed,
                unknown=judged - passed - failed - not_triggered,
                not_triggered=not_triggered,
            )
            tables[label.table].append(row)
        return {table: tuple(rows) for table, rows in tables.items()}

    def _count_faults(self) -> tuple[tuple[model.FaultCoverage, ...], tuple[str, ...]]:
        declared = Counter(name for case in self._suite.cases for name in {_name_of(fault) for fault in case.faults})
        names = [*dict.fromkeys((*declared, *self._landed))]
        known = {_fault_name(kind.name, hits): None for kind in FAULT_KINDS for hits in kind.hits if hits != "service"}
        rows = tuple(model.FaultCoverage(name, declared[name], self._landed[name]) for name in names)
        return rows, tuple(name for name in known if name not in names)

    def _find_unobserved(self, tools: tuple[model.ToolCoverage, ...], has_runs: bool) -> Iterator[model.UnobservedPart]:
        if not has_runs:
            yield NO_RUN
            return
        if not self._schemas:
            yield NO_SCHEMAS
        for entry, conversations in self._unobserved.items():
            yield model.UnobservedPart(
                entry.what, f"{entry.why} ({pluralize(conversations, 'conversation')})", entry.fix
            )
        for tool in tools:
            if tool.arguments_unseen:
                why = f"the arguments of {pluralize(tool.arguments_unseen, 'call')} were not observed"
                yield model.UnobservedPart(tool.name, why)
            if tool.asserted and not tool.judged:
                why = f"required by {pluralize(tool.asserted, 'case')}, and no run decided it"
                yield model.UnobservedPart(
                    tool.name, why, "run these cases as they are now, and see why a check is UNKNOWN"
                )


@lru_cache(maxsize=65536)
def _labels(name: str, raw: bytes) -> tuple[Label, ...]:
    """The rows that a check counts for."""
    if name in RULE_CHECKS:
        return (Label(RULES, str(msgspec.json.decode(raw)["rule"].get("id", ""))),)
    if name == Outcome.name:
        return Label(KEYS, name), Label(OUTCOMES, str(msgspec.json.decode(raw).get(Outcome.name, "")))
    return (Label(KEYS, name),)


def _find_effects(suite: Suite, catalog: CheckCatalog) -> tuple[dict[str, tuple[str, ...]], dict[str, Any]]:
    """The effects that the checks of a suite know, or else carob.toml declares, and the word lists next to them."""
    effects: dict[str, list[str]] = {}
    words: dict[str, Any] = {}
    for spec in {spec_key(spec): spec for case in suite.cases for _, spec in case.all_checks}.values():
        for tool, wordings in _effects_of(spec):
            effects.setdefault(tool, []).extend(wordings)
        words |= _words_of(spec)
    declared = catalog.declared
    if not effects:
        effects = {tool: [*wordings] for tool, wordings in declared.effects.items()}
    return {tool: tuple(dict.fromkeys(listed)) for tool, listed in effects.items()}, words or dict(declared.words)


def _effects_of(spec: CheckSpec) -> Iterator[tuple[str, list[str]]]:
    if b'"effects"' not in bytes(spec.args):
        return
    effects = msgspec.json.decode(spec.args).get("effects")
    if isinstance(effects, Mapping):
        yield from effects.items()
    elif isinstance(effects, list):
        yield from ((tool, []) for tool in effects)


def _words_of(spec: CheckSpec) -> dict[str, Any]:
    return msgspec.json.decode(spec.args).get("words", {}) if spec.name == NoFalseSuccess.name else {}


def _fault_name(kind: str, hits: str) -> str:
    return f"{kind} of a {hits}"


def _name_of(fault: Fault) -> str:
    return _fault_name(fault.kind, fault.hits)


def find_unasserted(tools: Iterable[ToolCoverage], suite: Suite) -> Iterator[Gap]:
    """Tools that were called, and of which no case requires a call."""
    for tool in tools:
        if tool.called and not tool.asserted:
            seen = f"called {count(tool.called)} times" if tool.called > 1 else "called once"
            if tool.alternative:
                seen += f", one of several that will do in {pluralize(tool.alternative, 'case')}"
            yield Gap(tool.name, seen, tool.called_in or "a new case", _line_to_add(tool, suite))


def find_uncalled(tools: Iterable[ToolCoverage], suite: Suite) -> Iterator[Gap]:
    """Tools that the agent is offered, and that no recorded conversation called."""
    for tool in tools:
        if tool.offered and not tool.called:
            seen = "requested, never run" if tool.refused else "never called"
            if tool.asserted:
                seen += f", though required by {pluralize(tool.asserted, 'case')}"
            elif tool.forbidden:
                seen += f", forbidden in {pluralize(tool.forbidden, 'case')}"
            yield Gap(tool.name, seen, "a new case", _line_to_add(tool, suite))


def _line_to_add(tool: ToolCoverage, suite: Suite) -> str:
    """The key of `expected` that requires a call, as the format of the suite knows it."""
    name = encode(tool.name).decode()
    if suite.format != Carob1.name:
        return f"tool_calls_any: [{name}]"
    success = ", success: true" if tool.succeeded or not tool.called else ""
    return f"tool_calls: [{{tool: {name}{success}}}]"
