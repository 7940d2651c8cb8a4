"""Rules of a contract that say less than they seem to: names of tools, bindings, and rules that others imply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from carob.features.lint.base import TargetInfo
from carob.model.check import Declared
from carob.rules.clauses import AtMost, Before, ClausePlan, Last, Same
from carob.rules.contract import CompiledRule
from carob.rules.patterns import EventPattern
from carob.rules.reading import Surroundings, read_rule
from carob.suites.declared import read_declared
from carob.suites.diagnostics import Path, PathDiagnostic
from carob.text.tool_names import effect_tools
from carob.text.wording import did_you_mean, quoted

SLUGS = ("unknown-tool", "unused-binding", "implied-rule")
_COUNTING = (AtMost, Same)


def find_rule_smells(tree: Any, target: TargetInfo) -> Iterator[PathDiagnostic]:
    """What is doubtful about the rules that a file itself has."""
    rules = [*_read_rules(tree)] if isinstance(tree, dict) else []
    for path, rule in rules:
        if target.tools is not None:
            yield from _find_unknown_tools(path, rule, target.tools)
        yield from _find_unused_bindings(path, rule)
    for path, rule in rules:
        others = (other for _, other in rules if other is not rule and _implies(other, rule))
        if (other := next(others, None)) is not None:
            message = f"whatever breaks this rule breaks {quoted(other.id)} too. Remove it, or keep it for its 'why'."
            yield PathDiagnostic((*path, "id"), message, "implied-rule")


def _read_rules(tree: dict[str, Any]) -> Iterator[tuple[Path, CompiledRule]]:
    declared = read_declared(tree, Declared())
    groups = {"effects": effect_tools(declared.effects), **declared.tools}
    listed = tree.get("rules", ())
    for number, raw in enumerate(listed if isinstance(listed, list) else ()):
        rule, _ = read_rule(raw, Surroundings(groups)) if isinstance(raw, dict) else (None, [])
        if rule is not None:
            yield ("rules", number), rule


def _patterns(rule: CompiledRule) -> Iterator[EventPattern]:
    yield rule.each
    for plan in rule.clauses:
        yield from plan.patterns


def _find_unknown_tools(path: Path, rule: CompiledRule, tools: frozenset[str]) -> Iterator[PathDiagnostic]:
    named = {name for pattern in _patterns(rule) if pattern.kind == "call" for name in pattern.tools}
    for name in sorted(named):
        if not any(EventPattern(kind="call", tools=(name,), wide=True).names(tool) for tool in tools):
            hint = did_you_mean(name, sorted(tools)) or f"Known: {', '.join(sorted(tools)[:8])}."
            yield PathDiagnostic(path, f"no tool of the target is called {quoted(name)}. {hint}", "unknown-tool")


def _find_unused_bindings(path: Path, rule: CompiledRule) -> Iterator[PathDiagnostic]:
    if any(plan.clause in _COUNTING for plan in rule.clauses):
        return  # these count for each binding
    used = {place.name for pattern in _patterns(rule) for place in (*pattern.sames, *pattern.own_sames)}
    for place in rule.each.binds:
        if place.name not in used:
            message = f"nothing compares with {quoted(place.name)}. Write $same: {place.name}, or remove the binding."
            yield PathDiagnostic((*path, "each", *place.steps), message, "unused-binding")


def _implies(stronger: CompiledRule, weaker: CompiledRule) -> bool:
    """Whether a conversation that breaks the second breaks the first: only where their texts show it."""
    is_same = stronger.when == weaker.when and stronger.excepted == weaker.excepted
    if not is_same or not _covers(stronger.each, weaker.each):
        return False
    implied = all(any(_demands(plan, other) for plan in stronger.clauses) for other in weaker.clauses)
    return implied and (not _covers(weaker.each, stronger.each) or stronger.clauses != weaker.clauses)


def _covers(wide: EventPattern, narrow: EventPattern) -> bool:
    """Whether the first is triggered by all that triggers the second, with the same values."""
    tools = narrow.tools and all(wide.names(tool) for tool in narrow.tools if "*" not in tool or tool in wide.tools)
    rest = [(p.kind, p.success, p.parts, p.text, p.flags, p.binds, p.own_sames) for p in (wide, narrow)]
    listed = all(tool in wide.tools for tool in narrow.tools if "*" in tool)
    return bool(wide.tools == narrow.tools or (tools and listed)) and rest[0] == rest[1]


def _demands(stronger: ClausePlan, weaker: ClausePlan) -> bool:
    if stronger == weaker:
        return True
    if stronger.clause is weaker.clause is AtMost:
        return stronger.path == weaker.path and stronger.most <= weaker.most
    looks_back = stronger.clause in (Before, Last) and weaker.clause is Before and weaker.where is None
    return looks_back and stronger.patterns == weaker.patterns and not (weaker.once and not stronger.once)
