"""What must hold in a cell, as an `expected` object: what the case forbids, and what no fault excuses.

The latter hangs on what the recorded case used: its tools with what they gave, and which of that the agent's words and
deeds hang on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from carob.checks.catalog import CheckCatalog
from carob.checks.effects.claims import NoFalseSuccess
from carob.checks.effects.outcome import Outcome
from carob.checks.effects.permitted import OnlyEffects
from carob.checks.effects.resilience import AdmitsFailure, MaxRetries, NoEffectTwice, has_request_key
from carob.checks.numbers.grounded import GroundedNumbers
from carob.checks.tools.calls import ToolCalls
from carob.features.stress.kinds import StressKind
from carob.model.faults import Fault
from carob.model.suite import Case
from carob.model.trace import ToolCall, Trace
from carob.proxy.faults.result_mutations import change
from carob.suites.formats.base import CaseExpectations
from carob.text.phrases import find
from carob.text.tool_names import effect_tools, is_any_named
from carob.text.tool_results import parse_result

SHORTEST, LONGEST = 3, 80
"""Values of so many characters can be recognised in an answer."""
MOST_VALUES = 20
AGE_KEYS = frozenset(
    "asof checkedat fetchedat lastmodified lastupdated retrievedat snapshotat updated updatedat".split()  # noqa: SIM905
)
"""Keys under which a result says when it was true."""


class ToolUse(Struct, frozen=True):
    """A tool that a case called in its judged turns, with every call that ran."""

    name: str
    calls: tuple[ToolCall, ...]
    is_effect: bool


def tools_used(trace: Trace, effects: Sequence[str]) -> tuple[ToolUse, ...]:
    """The tools of a trace in the order of their first calls."""
    by_name: dict[str, list[ToolCall]] = {}
    for call in trace.tool_calls:
        if call.called and call.kind == "tool":
            by_name.setdefault(call.name, []).append(call)
    return tuple(ToolUse(name, tuple(calls), is_any_named(effects, name)) for name, calls in by_name.items())


def calls_models(trace: Trace) -> bool:
    """Whether a run shows calls of a model: tokens that it used, a span, or traffic that was read."""
    spent = trace.tokens is not None and bool(trace.tokens.input or trace.tokens.output)
    return spent or any(span.kind == "model" for span in trace.spans)


def last_model_call(trace: Trace) -> int:
    """The number of the last call of a model, with tools used before it; 0: there is none, or it is not known.

    Without spans each message of the agent counts as one call.
    """
    models = [span.model for span in trace.spans if span.kind == "model"]
    count = len(models) or sum(message.role == "assistant" for message in trace.messages)
    used_before = count > 1 and any(call.called for call in trace.tool_calls)
    return count if used_before and len(set(models)) < 2 else 0


def applies(fault: Fault, use: ToolUse) -> bool:
    """Whether a fault would change what the tool gave; one that keeps the result away always does."""
    if fault.kind == "stale" and not any(_states_age(parse_result(call.result)) for call in use.calls):
        return False
    return fault.stage != "result" or any(changed != result for result, changed in _changes(fault, use))


def own_values(use: ToolUse, case: Case, trace: Trace) -> tuple[str, ...]:
    """The values that this tool gave, and neither the user nor another tool."""
    other_calls = [call for call in trace.tool_calls if call.name != use.name]
    inputs = [*case.user_texts, *(_text(call.arguments) for call in use.calls)]

    def is_own(value: str) -> bool:
        # A tool that was called with a value and gives it back does not bring it in.
        sources = (_text(call.result) for call in other_calls if value not in _leaves(call.arguments))
        return not any(find(text, value) for text in (*inputs, *sources))

    values = dict.fromkeys(_leaves([call.result for call in use.calls]))
    return tuple(value for value in values if is_own(value))[:MOST_VALUES]


def lost_values(fault: Fault, use: ToolUse, values: Sequence[str]) -> tuple[str, ...]:
    """Those among a tool's own values that a fault takes away."""
    if fault.stage != "result":
        return tuple(values)
    remaining = {value for _, changed in _changes(fault, use) for value in _leaves(changed)}
    return tuple(value for value in values if value not in remaining)


def vanished_values(fault: Fault, use: ToolUse, values: Sequence[str]) -> tuple[str, ...]:
    """Those among a tool's own values that what it gives with the fault does not show at all."""
    texts = [_text(changed) for _, changed in _changes(fault, use)]
    return tuple(value for value in values if not any(value in text for text in texts))


def find_values_in(values: Sequence[str], answer: str) -> list[str]:
    return [value for value in values if find(answer, value)]


def effects_on(values: Sequence[str], trace: Trace, effects: Sequence[str]) -> set[str]:
    """The effects that were called with one of these values."""
    return {
        call.name
        for call in trace.tool_calls
        if is_any_named(effects, call.full_name) and not set(values).isdisjoint(_leaves(call.arguments))
    }


def _changes(fault: Fault, use: ToolUse) -> Iterator[tuple[object, object]]:
    for number, call in enumerate(use.calls, 1):
        if call.success is True and call.result is not None:
            yield call.result, change(fault, call.result, call.arguments, None, f"{fault.seed}:{use.name}:{number}")


def _states_age(value: Any) -> bool:
    """Whether a result says how old it is: a date of something else is not its age."""
    if isinstance(value, dict):
        flat = {str(key).replace("_", "").replace("-", "").lower() for key in value}
        return not flat.isdisjoint(AGE_KEYS) or any(map(_states_age, value.values()))
    return isinstance(value, list) and any(map(_states_age, value))


def _leaves(value: Any) -> list[str]:
    """Texts and numbers that are in a value, as an answer would write them."""
    value = parse_result(value)
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list | tuple):
        return [leaf for inner in value for leaf in _leaves(inner)]
    if value is None or isinstance(value, bool):
        return []
    text = f"{value:g}" if isinstance(value, float) and value.is_integer() else str(value).strip()
    return [text] if SHORTEST <= len(text) <= LONGEST or (text.isdigit() and len(text) > 1) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()


RETRIES = 3
"""How often a call that failed may be made again, where that can help."""
DECLARED = ("effects", "words")
"""What a suite declares for all of its cases; it comes with each `expected`."""

Expected = dict[str, Any]


class Forbidden(Struct, frozen=True):
    """What a case forbids, as `expected` of all of it and of each turn of a conversation."""

    expected: Expected
    turns: tuple[Expected, ...] = ()

    @property
    def declared(self) -> Expected:
        return {key: self.expected[key] for key in DECLARED if key in self.expected}

    @property
    def effects(self) -> list[str]:
        return effect_tools(self.expected.get("effects", {}))


def forbidden_part(expectations: CaseExpectations, catalog: CheckCatalog) -> Forbidden:
    """What a case forbids: what it asks for does not count where something is broken."""
    turns = tuple(_keep_forbidden(turn.expected, catalog) for turn in expectations.turns)
    return Forbidden(_keep_forbidden(expectations.expected, catalog), turns)


def _keep_forbidden(expected: Mapping[str, Any], catalog: CheckCatalog) -> Expected:
    forbidden: Expected = {key: expected[key] for key in DECLARED if key in expected}
    for request in catalog.read(expected):
        field, *inner = str(request.path[0]), *request.path[1:]
        if field not in expected or not catalog.checks([request.spec])[0].prohibits:
            continue
        value = expected[field]
        if inner and isinstance(value, list) and isinstance(inner[0], int):
            forbidden.setdefault(field, []).append(value[inner[0]])
        elif inner and isinstance(value, dict):
            forbidden.setdefault(field, {})[inner[0]] = value[inner[0]]
        else:
            forbidden[field] = value
        companions = [companion.name for companion in catalog.fields_of(request.spec.name)]
        forbidden |= {name: expected[name] for name in companions if name in expected and name not in forbidden}
    return forbidden


def always_expected(trace: Trace, effects: Sequence[str]) -> Expected:
    """What holds whatever is broken, given what the agent did when nothing was."""
    usual = dict.fromkeys(
        call.name for call in trace.tool_calls if call.started and is_any_named(effects, call.full_name)
    )
    of_effects: Expected = {NoFalseSuccess.name: True, OnlyEffects.name: [*usual]} if effects else {}
    outcome: Expected = {} if trace.final_message.strip() else {Outcome.name: "completed"}
    return {**outcome, GroundedNumbers.name: True, NoEffectTwice.name: True, MaxRetries.name: RETRIES, **of_effects}


def expect_of_kind(
    kind: StressKind, fault: Fault, use: ToolUse, trace: Trace, values: Sequence[str], always: Mapping[str, Any]
) -> Expected:
    """What a tool's fault of this kind adds to what always holds. `values`: those that only this tool gave."""
    expected: Expected = {MaxRetries.name: 0} if fault.is_permanent else {}
    usual_effects = always.get(OnlyEffects.name, ())
    affected = vanished_values(fault, use, values) if kind.leaves == "some" else values
    blind = effects_on(affected, trace, usual_effects) - {use.name}
    if kind.leaves in ("nothing", "wrong", "some") and blind:
        expected[OnlyEffects.name] = [tool for tool in usual_effects if tool not in blind]
    if fault.stage == "lost" and use.is_effect:
        expected |= at_most_as_usual([use], always)
    admits = _admission(kind, fault, use, trace, values, depends=bool(blind))
    return expected if admits is None else {**expected, AdmitsFailure.name: admits or True}


def at_most_as_usual(uses: Sequence[ToolUse], always: Mapping[str, Any], *, succeeded: bool = False) -> Expected:
    """That effects are not called more often than without the fault; `succeeded`: do not succeed more often.

    An agent that tries again may spell the arguments in another way. Those that name their request are left out.
    """
    most = [
        {"tool": use.name, **({"success": True} if succeeded else {}), "times": {"min": 0, "max": len(use.calls)}}
        for use in uses
        if use.is_effect and not any(map(has_request_key, use.calls))
    ]
    return {ToolCalls.name: [*always.get(ToolCalls.name, ()), *most]} if most else {}


def _admission(
    kind: StressKind, fault: Fault, use: ToolUse, trace: Trace, values: Sequence[str], *, depends: bool
) -> Expected | None:
    """What the answer has to admit; None if nothing. `depends`: an effect was made of what this tool gave."""
    answer = trace.final_message
    usual: Expected = {"usual": answer} if answer.strip() else {}
    lost = find_values_in(lost_values(fault, use, values), answer)
    if fault.stage != "result":
        return {**usual, **({"lost": lost} if lost else {})} if kind.leaves != "all" else None
    if kind.leaves not in ("nothing", "wrong", "old"):
        return None
    tools: Expected = {"tools": [use.name], **({"old": True} if kind.leaves == "old" else {})}
    if use.is_effect:  # it may have done its work and just not have said so
        return tools if kind.leaves == "nothing" else None
    if kind.leaves == "old":  # the answer reports the deed, not the data that it was made of
        lost, depends = [], False
        values = [value for value in values if not effects_on([value], trace, ["*"])]
    if find_values_in(values, answer) or depends:
        return {**tools, **usual, **({"lost": lost} if lost else {})}
    return None
