"""The monitor: judges one conversation event by event, and remembers only what its rules need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import structs

from carob.rules.clauses import AtMost, Clause, Last, Memory, NeverAfter, Same, StoredEvent, Trigger
from carob.rules.contract import NO_SLOTS, CompiledRule, Contract, NameDoubt, Slots
from carob.rules.events import (
    APPROVALS,
    BEFORE_ALL,
    BY_ITSELF,
    ConversationEnd,
    ConversationEvent,
    Facts,
    RuleFinding,
    RuleOutcome,
    RuleVerdict,
)
from carob.rules.patterns import EventPattern, Fit, Occurrence

KEPT_MESSAGES = 256
"""For so many of the latest messages it is known where they began."""
MOST_FINDINGS = 20
"""So many findings of a rule are kept: the first decides, the others are shown."""
_CALL_KINDS = frozenset(("call", "start", "result", "cancelled"))
CONTRADICTS = "what came of a call was reported twice, and the reports contradict each other"


class Foreseen(NamedTuple):
    """What a call would do to a rule if it were made and succeeded."""

    rule: CompiledRule
    finding: RuleFinding


class _RuleState:
    """One rule in one conversation."""

    __slots__ = ("_clauses", "_memory", "findings", "hidden", "is_broken", "rule", "triggered")

    def __init__(self, rule: CompiledRule, memory: Memory) -> None:
        self.rule = rule
        self._memory = memory
        self._clauses: tuple[Clause, ...] | None = None
        self.findings: list[RuleFinding] = []
        self.triggered = 0
        self.hidden = ""
        """Why an event that would trigger it may not have been seen."""
        self.is_broken = False

    @property
    def clauses(self) -> tuple[Clause, ...]:
        if self._clauses is None:
            self._clauses = tuple([plan.clause(plan, self._memory) for plan in self.rule.clauses])
        return self._clauses

    @property
    def used_clauses(self) -> tuple[Clause, ...]:
        """Those that remember anything."""
        return self._clauses or ()

    def add(self, finding: RuleFinding) -> None:
        if finding.broken and not self.is_broken:
            self.is_broken = True
            self.findings.insert(0, finding)
        elif len(self.findings) < MOST_FINDINGS:
            self.findings.append(finding)

    def verdict(self) -> RuleVerdict:
        findings = tuple(self.findings)
        if self.is_broken:
            outcome = RuleOutcome.BROKEN
        elif findings or self.hidden:
            outcome = RuleOutcome.UNKNOWN
            findings = findings or (RuleFinding(False, self.hidden),)
        else:
            outcome = RuleOutcome.HELD if self.triggered else RuleOutcome.NOT_TRIGGERED
        return RuleVerdict(self.rule.id, outcome, self.triggered, findings)


class _OpenCall:
    """A call that has not ended."""

    __slots__ = ("has_started", "occurrence", "slots")

    def __init__(self, occurrence: Occurrence, slots: Slots) -> None:
        self.occurrence = occurrence
        self.slots = slots
        self.has_started = False


class Monitor:
    """Judges one conversation. `feed` it every event in order, then `finish`; `verdicts` can be asked at any time."""

    def __init__(self, contract: Contract, facts: Facts | None = None) -> None:
        facts = facts or Facts()
        self._contract = contract
        self._reading = contract.reading or None
        self._idle = frozenset([n for n in contract.narrowed if not contract.rules[n].concerns(facts)])
        self._states: dict[int, _RuleState] = {}
        self._memory = Memory()
        self._talk = self._memory.talk
        self._open: dict[str, _OpenCall] = {}
        self._ended: dict[str, tuple[str, str, bool | None]] = {}
        """The calls that have ended: their tools, and how."""
        self._messages: dict[str, int] = {}
        self.last_index = -1

    def feed(self, event: ConversationEvent) -> None:
        """Take the next event of the conversation."""
        if event.index <= self.last_index and not (event.index == BEFORE_ALL and event.kind == "gap"):
            raise ValueError(f"event {event.index} comes after event {self.last_index}: indexes must grow")
        self.last_index = event.index
        if self._reading is not None:
            event = self._read(event)
        kind = event.kind
        if kind in _CALL_KINDS:
            self._talk.is_open = False
            self._feed_call(event)
            return
        if kind == "gap":
            self._talk.hear(event)
            self._note_gap(event)
            return
        if kind == "user":
            self._talk.hear(event)
        else:
            self._talk.is_open = False
        if kind in self._contract.ignored:
            return
        if (slots := self._contract.slots(kind, event.full_name)) is not NO_SLOTS:
            occurrence = Occurrence(event, self._horizon(event))
            self._trigger(slots.requested, occurrence)
            self._forbid(slots.forbidden, occurrence)
            self._record(0, slots.recorded_request, slots.stored_request, occurrence)
            if slots.doubt is not None:
                self._note_doubt(slots.doubt, event)

    def _read(self, event: ConversationEvent) -> ConversationEvent:
        """An event as the author of the rules reads it: what the tool is called, and whether its call succeeded."""
        reading = self._contract.reading
        if event.kind == "result":
            call = self._open.get(event.call)
            tool = call.occurrence.event.full_name if call else self._ended.get(event.call, ("",))[0]
            if not tool or event.error is not None:
                return event
            success = reading.judge_success(tool, event.success, event.result)
            return event if success is event.success else structs.replace(event, success=success)
        name = event.full_name
        tool = reading.rename(name)
        return event if tool == name or event.kind == "handoff" else structs.replace(event, tool=tool, server="")

    def finish(self, ending: ConversationEnd = BY_ITSELF) -> None:
        """The conversation is over: what had to come later did not come, and calls that have not ended never did."""
        for call in self._open.values():
            self._end_call(call, call.occurrence)
        self._open.clear()
        for state in self._states.values():
            for clause in state.used_clauses:
                for finding in clause.end(ending):
                    state.add(finding)

    def verdicts(self) -> list[RuleVerdict]:
        """The verdict of every rule on what was fed so far, in the order of the contract."""
        verdicts = list(self._contract.untriggered)
        for number, state in self._states.items():
            verdicts[number] = state.verdict()
        return verdicts

    def keep_ready(self) -> None:
        """Put what happened in order now, so that the next event that triggers a rule is judged at once."""
        for pattern in self._contract.looked_back:
            self._memory.store(pattern).put_in_order()
        self._talk.keep_ready(self._contract.consents)

    @property
    def open_calls(self) -> tuple[str, ...]:
        """The ids of calls that have not ended, the latest last."""
        return tuple(self._open)

    def preview(self, call: ConversationEvent) -> list[Foreseen]:
        """What this call would break, or may break, if it were made next and succeeded; nothing is remembered."""
        if self._reading is not None:
            call = self._read(call)
        slots = self._contract.slots("call", call.full_name)
        if not (slots.requested or slots.ended or slots.forbidden or slots.forbidden_ended or slots.doubt):
            return []
        requested = Occurrence(call, self._messages.get(call.message, call.index) if call.message else call.index)
        ended = requested.with_end(ConversationEvent(kind="result", index=call.index, tool=call.tool, success=True))
        foreseen: list[Foreseen] = []
        for numbers, occurrence in ((slots.requested, requested), (slots.ended, ended)):
            for number in numbers:
                if number in self._idle or (occurrence is ended and number in self._contract.known_afterwards):
                    continue
                rule = self._contract.rules[number]
                if (fit := rule.each.fits(occurrence)) is not False:
                    findings = self._foresee(self._state(number), occurrence, fit)
                    foreseen += [Foreseen(rule, finding) for finding in findings]
        for clauses, occurrence in ((slots.forbidden, requested), (slots.forbidden_ended, ended)):
            for number, clause_index in clauses:
                if number in self._states:
                    state = self._states[number]
                    finding = state.clauses[clause_index].find_violation(occurrence)
                    if finding is None and state.hidden:
                        finding = RuleFinding(False, f"{occurrence}: {state.hidden}", (call.index,))
                    foreseen += [Foreseen(state.rule, finding)] if finding else []
        return [*foreseen, *self._foresee_doubt(slots.doubt, requested)] if slots.doubt else foreseen

    def _foresee_doubt(self, doubt: NameDoubt, call: Occurrence) -> Iterator[Foreseen]:
        """The rules of which it is not known whether the call would break them, since its name does not tell."""
        forbidding = [n for n, index in doubt.clauses if self._contract.rules[n].clauses[index].clause is NeverAfter]
        numbers = [*self._find_doubted(doubt, call), *(n for n in forbidding if n in self._states)]
        for number in dict.fromkeys(numbers):
            yield Foreseen(self._contract.rules[number], RuleFinding(False, doubt.why, (call.index,)))

    def _find_doubted(self, doubt: NameDoubt, call: Occurrence) -> list[int]:
        """The rules that a call may trigger."""
        rules = self._contract.rules
        return [n for n in doubt.rules if n not in self._idle and rules[n].each.fits(call) is not False]

    def _note_doubt(self, doubt: NameDoubt, event: ConversationEvent) -> None:
        """An event may be of a tool that rules name: to them it is a place where one may be hidden."""
        gap = ConversationEvent(kind="gap", index=event.index, text=doubt.why, is_setup=event.is_setup)
        self._hide(self._find_doubted(doubt, Occurrence(event, event.index)), doubt.clauses, gap)

    def _foresee(self, state: _RuleState, occurrence: Occurrence, fit: Fit) -> list[RuleFinding]:
        trigger = _read_trigger(state.rule.each, occurrence)
        if trigger is None:
            return []
        if isinstance(trigger, RuleFinding):
            return [trigger]
        findings: list[RuleFinding] = []
        lacks = False
        for clause in state.clauses:
            applies = clause.always_applies or clause.applies(trigger)
            if applies is False or (lacks and clause.plan.depends):
                continue
            if self._open and state.rule.each.at_end and isinstance(clause, AtMost):
                finding = clause.judge_with(trigger, self._pending(state))
            else:
                finding = clause.judge(trigger)
            if finding is None and state.hidden and isinstance(clause, AtMost | Same):
                finding = trigger.report_doubt(f"earlier ones may not have been seen: {state.hidden}")
            if finding is not None:
                lacks = lacks or isinstance(clause, Last)
                findings.append(_make_doubtful(finding, fit if isinstance(fit, str) else applies))
        return findings

    def _pending(self, state: _RuleState) -> Iterator[Trigger]:
        """Calls that would trigger a rule if they succeed, and have not ended."""
        for call in self._open.values():
            event = call.occurrence.event
            if not state.rule.each.names(event.full_name):
                continue
            possible = call.occurrence.with_end(ConversationEvent(kind="result", index=event.index, success=True))
            trigger = _read_trigger(state.rule.each, possible) if state.rule.each.fits(possible) is not False else None
            if isinstance(trigger, Trigger):
                yield trigger

    def _feed_call(self, event: ConversationEvent) -> None:
        call = self._open.get(event.call)
        if event.kind == "call":
            if call is None and event.call not in self._ended:
                self._request(event)
            elif call is not None and event.started:
                self._start(call)
        elif call is None:
            self._compare_ends(event)
        elif event.kind == "start":
            self._start(call)
        else:
            del self._open[event.call]
            self._ended[event.call] = (call.occurrence.event.full_name, event.kind, event.success)
            if event.kind == "cancelled" and not event.started:
                self._memory.forget(event.call)
            if event.kind == "result" and call.slots is not NO_SLOTS:
                if event.success and not call.has_started:
                    self._start(call)
                if call.slots.needs_end:
                    self._end_call(call, call.occurrence.with_end(event))

    def _compare_ends(self, event: ConversationEvent) -> None:
        """Of a call that ended in two ways it is not known what came of it."""
        tool, *how = self._ended.get(event.call, ("", "", None))
        if tool and event.kind != "start" and how != [event.kind, event.success]:
            self._memory.forget(event.call)
            self._note_gap(ConversationEvent(kind="gap", index=event.index, hides="call", tool=tool, text=CONTRADICTS))

    def _request(self, event: ConversationEvent) -> None:
        occurrence = Occurrence(event, self._horizon(event))
        slots = self._contract.slots("call", event.full_name)
        call = self._open[event.call] = _OpenCall(occurrence, slots)
        if slots is NO_SLOTS:
            call.has_started = True
            return
        if slots.requested:
            self._trigger(slots.requested, occurrence)
        if slots.forbidden:
            self._forbid(slots.forbidden, occurrence)
        if slots.recorded_request or slots.stored_request:
            self._record(0, slots.recorded_request, slots.stored_request, occurrence)
        if event.started:
            self._start(call)
        if slots.doubt is not None:
            self._note_doubt(slots.doubt, event)

    def _start(self, call: _OpenCall) -> None:
        if not call.has_started:
            call.has_started, slots = True, call.slots
            if slots.recorded_start or slots.stored_start:
                self._record(1, slots.recorded_start, slots.stored_start, call.occurrence)

    def _end_call(self, call: _OpenCall, occurrence: Occurrence) -> None:
        slots = call.slots
        if slots.ended:
            self._trigger(slots.ended, occurrence)
        if slots.forbidden_ended:
            self._forbid(slots.forbidden_ended, occurrence)
        if slots.recorded_end or slots.stored_end:
            self._record(2, slots.recorded_end, slots.stored_end, occurrence)

    def _horizon(self, event: ConversationEvent) -> int:
        """The index before which everything was known when the event was requested."""
        if not event.message:
            return event.index
        horizon = self._messages.setdefault(event.message, event.index)
        if len(self._messages) > KEPT_MESSAGES:
            del self._messages[next(iter(self._messages))]
        return horizon

    def _state(self, number: int) -> _RuleState:
        state = self._states.get(number)
        if state is None:
            state = self._states[number] = _RuleState(self._contract.rules[number], self._memory)
        return state

    def _trigger(self, numbers: Iterable[int], occurrence: Occurrence) -> None:
        if occurrence.event.is_setup:
            return
        tests, states = self._contract.tests, self._states
        for number in numbers:
            if number in self._idle:
                continue
            pattern, condition, flag = tests[number]
            fit = True if pattern is None else pattern.fits(occurrence)
            if fit is False:
                continue
            state = states[number] if number in states else self._state(number)
            if fit is True and (
                getattr(occurrence.event, flag) is False
                if flag
                else condition is not None and condition.holds({"each": occurrence}) is True
            ):
                state.triggered += 1
                continue
            self._judge(state, occurrence, fit)

    def _judge(self, state: _RuleState, occurrence: Occurrence, fit: Fit) -> None:
        trigger = _read_trigger(state.rule.each, occurrence)
        if trigger is None:
            return
        if isinstance(trigger, RuleFinding):
            state.triggered += 1
            state.add(trigger)
            return
        was_triggered = lacks = False
        for clause in state.clauses:
            applies = clause.always_applies or clause.applies(trigger)
            if applies is False or (lacks and clause.plan.depends):
                continue
            was_triggered = True
            doubt = fit if isinstance(fit, str) else applies if isinstance(applies, str) else ""
            finding = clause.judge(trigger)
            clause.commit(trigger, doubt)
            if finding is not None:
                lacks = lacks or isinstance(clause, Last)
                state.add(_make_doubtful(finding, doubt or True))
            elif doubt and clause.plan.once:
                state.add(trigger.report_doubt(doubt))
        # An event that may not have triggered the rule, and broke nothing, does not test it.
        state.triggered += was_triggered and fit is True

    def _forbid(self, clauses: Iterable[tuple[int, int]], occurrence: Occurrence) -> None:
        for number, clause_index in clauses:
            state = self._states.get(number)
            if state is not None and not occurrence.event.is_setup:
                finding = state.clauses[clause_index].find_violation(occurrence)
                if finding is not None:
                    state.add(finding)

    def _record(
        self, stage: int, clauses: Iterable[tuple[int, int]], patterns: frozenset[int], occurrence: Occurrence
    ) -> None:
        if patterns:
            self._memory.events[stage].append(StoredEvent(occurrence, patterns))
        for number, clause_index in clauses:
            if number not in self._idle:
                self._state(number).clauses[clause_index].record(occurrence)

    def _note_gap(self, gap: ConversationEvent) -> None:
        if gap.hides == APPROVALS and not self._contract.reads_approvals:
            return
        self._hide(*self._contract.find_hidden(gap), gap)

    def _hide(self, rules: Iterable[int], clauses: Iterable[tuple[int, int]], gap: ConversationEvent) -> None:
        """What triggers these rules, and what these clauses look for, may be hidden here."""
        for number in rules:
            if number not in self._idle and not gap.is_setup:
                state = self._state(number)
                state.hidden = state.hidden or gap.text
        for number, clause_index in clauses:
            if number not in self._idle:
                self._state(number).clauses[clause_index].note_gap(gap)


def _read_trigger(each: EventPattern, occurrence: Occurrence) -> Trigger | RuleFinding | None:
    """The values that a rule takes from an event; a finding where one is not known, None if they do not agree."""
    scope = each.bind(occurrence) if each.binds else {}
    if isinstance(scope, str):
        return RuleFinding(False, scope, (occurrence.index,))
    fit = each.own_fit(occurrence, scope) if each.own_sames else True
    if fit is False:
        return None
    if isinstance(fit, str):
        return RuleFinding(False, fit, (occurrence.index,))
    return Trigger(occurrence, scope, {"each": occurrence})


def _make_doubtful(finding: RuleFinding, fit: Fit) -> RuleFinding:
    """A finding at an event that may not have triggered the rule is not a breach."""
    return RuleFinding(False, f"{finding.why} ({fit})", finding.events) if isinstance(fit, str) else finding


def judge_events(
    contract: Contract,
    events: Iterable[ConversationEvent],
    ending: ConversationEnd = BY_ITSELF,
    facts: Facts | None = None,
) -> list[RuleVerdict]:
    """The verdict of every rule on a whole conversation."""
    monitor = Monitor(contract, facts)
    for event in events:
        monitor.feed(event)
    monitor.finish(ending)
    return monitor.verdicts()
