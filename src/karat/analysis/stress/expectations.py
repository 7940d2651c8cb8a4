"""What must hold in a cell, as an `expected` object: what the case forbids, and what no fault excuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from karat.analysis.stress.kinds import StressKind
from karat.analysis.stress.uses import ToolUse, effects_on, find_values_in, lost_values, vanished_values
from karat.checks.catalog import CheckCatalog
from karat.checks.effects.claims import NoFalseSuccess, OnlyEffects
from karat.checks.effects.outcome import Outcome
from karat.checks.effects.resilience import AdmitsFailure, MaxRetries, NoEffectTwice, has_request_key
from karat.checks.numbers.grounded import GroundedNumbers
from karat.checks.tools.calls import ToolCalls
from karat.model.faults import Fault
from karat.model.trace import Trace
from karat.suites.formats.base import CaseExpectations
from karat.text.tool_names import effect_tools, is_any_named

RETRIES = 3
"""How often a call that failed may be made again, where that can help."""
DECLARED = ("effects", "words")
"""What a suite declares for all of its cases; it comes with each `expected`."""

Expected = dict[str, Any]


class Forbidden(Struct, frozen=True):
    """What a case forbids as a whole, and in each turn of a conversation."""

    whole: Expected
    turns: tuple[Expected, ...] = ()

    @property
    def declared(self) -> Expected:
        return {key: self.whole[key] for key in DECLARED if key in self.whole}

    @property
    def effects(self) -> list[str]:
        return effect_tools(self.whole.get("effects", {}))


def forbidden_part(given: CaseExpectations, catalog: CheckCatalog) -> Forbidden:
    """What a case forbids: what it asks for does not count where something is broken."""
    return Forbidden(
        _keep_forbidden(given.expected, catalog), tuple(_keep_forbidden(one.expected, catalog) for one in given.turns)
    )


def _keep_forbidden(expected: Mapping[str, Any], catalog: CheckCatalog) -> Expected:
    kept: Expected = {key: expected[key] for key in DECLARED if key in expected}
    for asked in catalog.read(expected):
        field, *rest = str(asked.path[0]), *asked.path[1:]
        if field not in expected or not catalog.checks([asked.spec])[0].prohibits:
            continue
        value = expected[field]
        if rest and isinstance(value, list) and isinstance(rest[0], int):
            kept.setdefault(field, []).append(value[rest[0]])
        elif rest and isinstance(value, dict):
            kept.setdefault(field, {})[rest[0]] = value[rest[0]]
        else:
            kept[field] = value
        companions = [one.name for one in catalog.fields_of(asked.spec.name) if one.name in expected]
        kept |= {name: expected[name] for name in companions if name not in kept}
    return kept


def always_expected(trace: Trace, effects: Sequence[str]) -> Expected:
    """What holds whatever is broken, given what the agent did when nothing was."""
    done = dict.fromkeys(call.name for call in trace.tool_calls if call.started and is_any_named(effects, call.name))
    of_effects: Expected = {NoFalseSuccess.name: True, OnlyEffects.name: [*done]} if effects else {}
    outcome: Expected = {} if trace.final_message.strip() else {Outcome.name: "completed"}
    return {**outcome, GroundedNumbers.name: True, NoEffectTwice.name: True, MaxRetries.name: RETRIES, **of_effects}


def expect_of_kind(
    kind: StressKind, fault: Fault, use: ToolUse, trace: Trace, own: Sequence[str], always: Mapping[str, Any]
) -> Expected:
    """What a tool's fault of this kind adds to what always holds. `own`: the values that only this tool gave."""
    expected: Expected = {MaxRetries.name: 0} if fault.is_permanent else {}
    usual_effects = always.get(OnlyEffects.name, ())
    blind = effects_on(own, trace, usual_effects) - {use.name}
    if kind.leaves == "some":
        blind = effects_on(vanished_values(fault, use, own), trace, usual_effects) - {use.name}
    if kind.leaves in ("nothing", "wrong", "some") and blind:
        expected[OnlyEffects.name] = [tool for tool in usual_effects if tool not in blind]
    if fault.stage == "lost" and use.is_effect:
        expected |= at_most_as_usual([use], always)
    admits = _admission(kind, fault, use, trace, own, depends=bool(blind))
    return expected if admits is None else {**expected, AdmitsFailure.name: admits or True}


def at_most_as_usual(uses: Sequence[ToolUse], always: Mapping[str, Any], *, done: bool = False) -> Expected:
    """That effects are not called more often than without the fault, or with `done` do not succeed more often.

    An agent that tries again may spell the arguments in another way. Those that name their request are left out.
    """
    most = [
        {"tool": use.name, **({"success": True} if done else {}), "times": {"min": 0, "max": len(use.calls)}}
        for use in uses
        if use.is_effect and not any(map(has_request_key, use.calls))
    ]
    return {ToolCalls.name: [*always.get(ToolCalls.name, ()), *most]} if most else {}


def _admission(
    kind: StressKind, fault: Fault, use: ToolUse, trace: Trace, own: Sequence[str], *, depends: bool
) -> Expected | None:
    """What the answer has to admit; None if nothing. `depends`: an effect was made of what this tool gave."""
    answer = trace.final_message
    usual: Expected = {"usual": answer} if answer.strip() else {}
    lost = find_values_in(lost_values(fault, use, own), answer)
    if fault.stage != "result":
        return {**usual, **({"lost": lost} if lost else {})} if kind.leaves != "all" else None
    if kind.leaves not in ("nothing", "wrong", "old"):
        return None
    tools: Expected = {"tools": [use.name], **({"old": True} if kind.leaves == "old" else {})}
    if use.is_effect:  # it may have done its work and just not have said so
        return tools if kind.leaves == "nothing" else None
    if kind.leaves == "old":  # the answer reports the deed, not the data that it was made of
        lost, depends = [], False
        own = [value for value in own if not effects_on([value], trace, ["*"])]
    if find_values_in(own, answer) or depends:
        return {**tools, **usual, **({"lost": lost} if lost else {})}
    return None
