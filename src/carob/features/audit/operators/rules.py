"""Wrong conversations for rules: what a rule rests on is taken away, or what it forbids is done."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, islice, product
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import structs

from carob.checks.rules import RuleHolds, SharedRuleHolds
from carob.evidence.conversation_events import read_conversation
from carob.evidence.merge import merge_turns
from carob.features.audit.operators.base import SOMETHING_ELSE, Mutant, Operator, Subject
from carob.matchers.values import MISSING
from carob.model.trace import ToolCall, Trace
from carob.rules.clauses import After, AtMost, Before, ClausePlan, Last, LastUser, NeverAfter, NeverBefore, Same
from carob.rules.conditions import Condition
from carob.rules.contract import CompiledRule, Contract
from carob.rules.events import RuleOutcome
from carob.rules.monitor import judge_events
from carob.rules.patterns import EventPattern, Occurrence, Scope
from carob.rules.sources import Sources
from carob.rules.values import EVERY, Steps, value_at
from carob.text.tool_results import parse_result

NO_CONSENT: Final = "What would that cost?"
MOST_REPEATS: Final = 20
MOST_TRIED: Final = 200
"""So many ways of one kind are tried to break a rule and no other."""
MOST_SHOWN: Final = 8
"""So many texts that results show are tried in the place of another."""
_ALONE: Final = 2
_FLAGS: Final = frozenset(("parallel", "beside_words"))
_FAR: Final = (1_000_000, -1_000_000, 0)


class _Edit(NamedTuple):
    """One way to break a rule, as alternatives of which the first that breaks it alone is taken."""

    change: str
    traces: Iterator[Trace]


class _Conversation:
    """The calls of a trace, numbered over all turns, with their events as patterns see them."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.turns = trace.turns or (trace,)
        self.calls = [call for turn in self.turns for call in turn.tool_calls]
        events = read_conversation(trace)
        requests, self.occurrences = {}, dict[int, Occurrence]()
        for event in events.events:
            number = events.calls.get(event.index)
            if number is None:
                continue
            if event.kind == "call":
                requests[number] = event
                self.occurrences[number] = Occurrence(event, event.index)
            elif event.kind == "result" and number in requests:
                self.occurrences[number] = Occurrence(requests[number], requests[number].index, event)

    def find_fitting(self, pattern: EventPattern) -> list[int]:
        """The calls that are as a pattern wants them, its `$same` aside."""
        return [
            number
            for number, occurrence in self.occurrences.items()
            if pattern.kind == "call"
            and pattern.names(occurrence.event.tool)
            and pattern.fits(occurrence) is True
            and not isinstance(pattern.bind(occurrence), str)
        ]

    def find_joined(self, pattern: EventPattern, scope: Scope) -> list[int]:
        """The calls that are as a pattern wants them, with these values where it has `$same`."""
        if any(place.name not in scope for place in pattern.sames):
            return self.find_fitting(pattern)
        key = pattern.wanted_key(scope)
        return [number for number in self.find_fitting(pattern) if pattern.key(self.occurrences[number]) == key]

    def turn_of(self, number: int) -> int:
        """The turn that a call is in."""
        first = 0
        for turn, trace in enumerate(self.turns):
            first += len(trace.tool_calls)
            if number < first:
                return turn
        raise IndexError(number)

    def edit(self, change: Callable[[int, ToolCall], Sequence[ToolCall]]) -> Trace:
        """The trace with other calls in the place of each."""
        numbers = iter(range(len(self.calls)))
        turns = []
        for turn in self.turns:
            calls = [other for call in turn.tool_calls for other in change(next(numbers), call)]
            turns.append(structs.replace(turn, tool_calls=tuple(calls)))
        return self.with_turns(turns)

    def with_turns(self, turns: Sequence[Trace]) -> Trace:
        return merge_turns(turns) if self.trace.turns else turns[0]

    def replace(self, number: int, call: ToolCall) -> Trace:
        return self.edit(lambda other, old: [call] if other == number else [old])

    def add(self, call: ToolCall, *, first: bool) -> Trace:
        """The trace with one call more, at its beginning or its end, requested by a message of its own."""
        turns = [*self.turns]
        place = 0 if first else -1
        calls = turns[place].tool_calls
        turns[place] = structs.replace(turns[place], tool_calls=(call, *calls) if first else (*calls, call))
        return self.with_turns(turns)


def break_rule(contract: Contract, number: int, trace: Trace) -> Iterator[Mutant]:
    """Traces that should break a rule that holds in this one, each in one way, and no other rule if there is a way."""
    rule = contract.rules[number]
    conversation = _Conversation(trace)
    triggers = conversation.find_fitting(rule.each)
    if not triggers:
        return
    broken_before = _find_broken(contract, trace)
    for plan in rule.clauses:
        for edit in _edits(rule, plan, conversation, triggers[-1]):
            chosen, rank = None, -1
            for mutant in islice(edit.traces, MOST_TRIED):
                broken = _find_broken(contract, mutant) - broken_before
                mutant_rank = (rule.id in broken) + (broken == {rule.id})
                if mutant_rank > rank:
                    chosen, rank = mutant, mutant_rank
                if rank == _ALONE:
                    break
            if chosen is not None:
                yield Mutant(chosen, f"{rule.id}: {edit.change}")


def _find_broken(contract: Contract, trace: Trace) -> set[str]:
    conversation = read_conversation(trace)
    verdicts = judge_events(contract, conversation.events, conversation.end)
    return {verdict.rule for verdict in verdicts if verdict.outcome is RuleOutcome.BROKEN}


def _edits(rule: CompiledRule, plan: ClausePlan, talk: _Conversation, trigger: int) -> Iterator[_Edit]:
    clause = plan.clause
    scope = rule.each.bind(talk.occurrences[trigger])
    if isinstance(scope, str):
        return
    if clause in (Before, Last, After):
        pattern = plan.patterns[0]
        needed = talk.find_joined(pattern, scope)
        needed = [n for n in needed if (n > trigger if clause is After else n < trigger)]
        yield _Edit(f"there is no {pattern.words}", _take_away(needed, talk))
        if pattern.sames:
            for name, steps in rule.each.binds:
                yield _Edit(f"another {name}", _vary(talk, trigger, steps))
    elif clause is LastUser:
        yield _Edit("the user did not agree", _withhold_consent(talk, trigger))
    elif clause in (NeverBefore, NeverAfter):
        yield _Edit(
            f"{plan.patterns[0].words} as well",
            _do_forbidden(plan.patterns[0], scope, talk, trigger, clause is NeverBefore),
        )
    elif clause is AtMost:
        yield _Edit("once more than allowed", _repeat(plan, scope, talk, trigger))
    elif clause is Same and plan.path is not None:
        yield _Edit(f"another {plan.path.words}", _repeat_with(plan.path.steps, talk, trigger))
    elif clause is Sources:
        for path, _ in plan.sources:
            yield _Edit(f"another {path.words}", _vary(talk, trigger, path.steps))
    if plan.where is not None:
        yield _Edit(f"not `{plan.where.words}`", _deny(plan.where, rule, scope, talk, trigger))


def _deny(where: Condition, rule: CompiledRule, scope: Scope, talk: _Conversation, trigger: int) -> Iterator[Trace]:
    """The trace with other values where a condition reads them: one changed, then two, then more."""
    places: list[tuple[int, Steps]] = []
    for path in where.paths:
        if path.steps and path.steps[0] in _FLAGS:
            yield from _set_flag(talk, trigger, str(path.steps[0]))
        elif path.root == "each":
            places.append((trigger, path.steps))
        else:
            patterns = [plan.patterns[0] for plan in rule.clauses if plan.name == path.root and plan.patterns]
            earlier = [n for pattern in patterns for n in talk.find_joined(pattern, scope) if n < trigger]
            places += [(number, path.steps) for number in earlier[-1:]]
    spelled = [*_constants(where.words), *_shown_texts(talk, trigger, [_value_of(talk.calls[n], s) for n, s in places])]
    for count in range(1, len(places) + 1):
        for together in combinations(places, count):
            values = [[*_others(_value_of(talk.calls[n], steps), spelled)] for n, steps in together]
            for choice in product(*values):
                calls: dict[int, ToolCall | None] = {}
                for (number, steps), value in zip(together, choice, strict=True):
                    call = calls.get(number, talk.calls[number])
                    calls[number] = None if call is None else _with_value(call, steps, value)
                if changed := {number: call for number, call in calls.items() if call is not None}:
                    yield talk.edit(lambda n, old, changed=changed: [changed.get(n, old)])  # type: ignore[misc]


def _shown_texts(talk: _Conversation, trigger: int, values: Sequence[Any]) -> list[str]:
    """Texts that earlier results show and that begin as no value does: they come from where a value may come from."""
    starts = {value.split("_")[0] for value in values if isinstance(value, str)}
    shown: dict[str, str] = {}
    for call in talk.calls[:trigger]:
        for text in _texts_of(parse_result(call.result)):
            start = text.split("_")[0]
            if "_" in text and start not in starts:
                shown.setdefault(start, text)
    return [*shown.values()][:MOST_SHOWN]


def _texts_of(value: Any) -> Iterator[str]:
    """The texts of a value and the names of its members."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from (str(name), *_texts_of(member))
    elif isinstance(value, list):
        for member in value:
            yield from _texts_of(member)
    elif isinstance(value, str):
        yield value


def _constants(condition: str) -> list[Any]:
    """The texts and numbers that a condition compares with, and numbers next to them."""
    texts = [first or second for first, second in re.findall(r'"([^"]*)"|\'([^\']*)\'', condition)]
    numbers = [int(number) for number in re.findall(r"(?<![\w.])\d+(?![\w.])", condition)]
    return [*texts, *(n + step for n in numbers for step in (0, 1, -1))]


def _take_away(needed: Sequence[int], talk: _Conversation) -> Iterator[Trace]:
    """The trace without calls, and with calls that failed."""
    if needed:
        yield talk.edit(lambda number, call: [] if number in needed else [call])
        yield talk.edit(lambda n, call: [structs.replace(call, success=False, result=None)] if n in needed else [call])


def _withhold_consent(talk: _Conversation, trigger: int) -> Iterator[Trace]:
    last = talk.turn_of(trigger)
    yield talk.with_turns(
        [structs.replace(turn, input=NO_CONSENT) if place == last else turn for place, turn in enumerate(talk.turns)]
    )


def _do_forbidden(
    pattern: EventPattern, scope: Scope, talk: _Conversation, trigger: int, first: bool
) -> Iterator[Trace]:
    arguments = {
        str(steps[1]): scope[name].value for name, steps in pattern.sames if len(steps) == 2 and steps[0] == "arguments"
    }
    for tool in (pattern.tools or ("*",)) if pattern.kind == "call" else ():
        forbidden = _invent(tool.replace("*", "x"), arguments)
        yield talk.add(forbidden, first=first)
        if not first:
            yield _continue(talk, trigger, [*_look_again(scope, talk, trigger), forbidden])


def _look_again(scope: Scope, talk: _Conversation, trigger: int) -> list[ToolCall]:
    """The latest earlier call of another tool about the same thing, once more: it shows what it showed before."""
    wanted = [bound.value for bound in scope.values()]
    name = talk.calls[trigger].name
    for call in reversed(talk.calls[:trigger]):
        arguments = parse_result(call.arguments)
        if call.name != name and isinstance(arguments, dict) and any(arguments[key] in wanted for key in arguments):
            return [structs.replace(call, id=None, message="look-again", started_at=None, ended_at=None)]
    return []


def _with_message(calls: Sequence[ToolCall], before: ToolCall) -> list[ToolCall]:
    """Calls that a message of their own requests, just before that of another call."""
    return [structs.replace(call, message=f"before {before.message}") for call in calls]


def _continue(talk: _Conversation, trigger: int, calls: Sequence[ToolCall]) -> Trace:
    """The trace with calls just after the one that triggers a rule, before anybody says anything more."""
    return talk.edit(lambda number, old: [old, *calls] if number == trigger else [old])


def _repeat(plan: ClausePlan, scope: Scope, talk: _Conversation, trigger: int) -> Iterator[Trace]:
    call = talk.calls[trigger]
    if plan.path is not None:
        for value in (float(plan.most) + 1,):
            if (changed := _with_value(call, plan.path.steps, value)) is not None:
                yield talk.replace(trigger, changed)
        return
    times = min(int(plan.most) + 1, MOST_REPEATS)
    copies = [
        structs.replace(call, id=None, message=f"repeat-{n}", started_at=None, ended_at=None) for n in range(times)
    ]
    yield _continue(talk, trigger, copies)
    if again := _look_again(scope, talk, trigger):
        yield _continue(talk, trigger, [call for copy in copies for call in (*_with_message(again, copy), copy)])


def _repeat_with(steps: Steps, talk: _Conversation, trigger: int) -> Iterator[Trace]:
    call = structs.replace(talk.calls[trigger], id=None, message="repeat", started_at=None, ended_at=None)
    value = _value_of(call, steps)
    for other in _others(value):
        if (changed := _with_value(call, steps, other)) is not None:
            yield talk.edit(lambda number, old, changed=changed: [old, changed] if number == trigger else [old])  # type: ignore[misc]


def _set_flag(talk: _Conversation, trigger: int, flag: str) -> Iterator[Trace]:
    call = talk.calls[trigger]
    if flag == "beside_words":
        yield talk.replace(trigger, structs.replace(call, with_words=not call.with_words))
    else:
        sibling = structs.replace(call, id=None)
        yield talk.edit(lambda number, old: [old, sibling] if number == trigger else [old])


def _vary(talk: _Conversation, number: int, steps: Steps) -> Iterator[Trace]:
    """The trace with another value at some steps of a call."""
    call = talk.calls[number]
    if EVERY in steps:
        steps = steps[: steps.index(EVERY)]
    value = _value_of(call, steps)
    for other in _others(value):
        if (changed := _with_value(call, steps, other)) is not None:
            yield talk.replace(number, changed)


def _invent(tool: str, arguments: dict[str, Any]) -> ToolCall:
    return ToolCall(tool, arguments, success=True, result={}, message="forbidden", with_words=False)


def _value_of(call: ToolCall, steps: Steps) -> Any:
    return value_at(parse_result(getattr(call, str(steps[0]), MISSING)), steps[1:]) if steps else MISSING


def _with_value(call: ToolCall, steps: Steps, value: object) -> ToolCall | None:
    """The call with another value at some steps from it."""
    part = str(steps[0])
    if part not in ("arguments", "result"):
        return None
    if len(steps) == 1:
        return structs.replace(call, **{part: value})
    data = msgspec.json.decode(msgspec.json.encode(parse_result(getattr(call, part))))
    holder = value_at(data, steps[1:-1])
    if not isinstance(holder, dict | list):
        return None
    holder[steps[-1]] = value  # type: ignore[index]
    return structs.replace(call, **{part: data})


def _others(value: Any, spelled: Sequence[Any] = ()) -> Iterator[Any]:
    """Other values of the same kind, near ones first; `spelled` are values that a condition names."""
    if value is MISSING:
        return
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1, *(n for n in spelled if isinstance(n, int)), *_FAR)
    elif isinstance(value, str):
        yield from (SOMETHING_ELSE, *(text for text in spelled if isinstance(text, str)), "0000", "~")
    elif isinstance(value, list):
        yield [_disturb(member) for member in value]
        yield from ([], value * 7 if value else [SOMETHING_ELSE], value[:-1])
        for text in spelled:
            yield [_disturb(member, text) for member in value * 7]
    elif isinstance(value, dict):
        yield from ({}, {key: _disturb(member) for key, member in value.items()})


def _disturb(value: Any, text: object = SOMETHING_ELSE) -> Any:
    """A value with every text in it replaced, and every number changed."""
    if isinstance(value, dict):
        return {key: _disturb(member, text) for key, member in value.items()}
    if isinstance(value, list):
        return [_disturb(member, text) for member in value]
    return text if isinstance(value, str) else next(_others(value), value)


def _broken_rules(subject: Subject) -> Iterator[Mutant]:
    rules = [
        rule
        for check, args in subject.checks
        if check in (RuleHolds.name, SharedRuleHolds.name)
        for rule in msgspec.convert(args, RuleHolds).contract.rules
    ]
    contract = Contract(rules)
    for number in range(len(rules)):
        yield from break_rule(contract, number, subject.trace)


OPERATORS = (
    Operator(
        "rule-broken",
        "what a rule rests on is missing, or what it forbids was done",
        "no rule noticed it",
        _broken_rules,
        ("rules",),
        of_rules=True,
    ),
)
