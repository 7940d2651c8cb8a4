"""What a rule asks at each event that triggers it, with what it must remember for that.

`judge` changes nothing, so that a guard can ask before a call is made; `commit` and `record` remember.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from decimal import Decimal
from itertools import islice
from typing import Any, ClassVar, Final, NamedTuple

from msgspec import Struct

from carob.matchers.values import MISSING, format_value
from carob.rules.conditions import Condition
from carob.rules.events import BEFORE_ALL, ConversationEnd, ConversationEvent, RuleFinding
from carob.rules.patterns import LOST, BoundValue, EventPattern, Fit, Occurrence
from carob.rules.talk import ConsentWords, Talk
from carob.rules.values import ValuePath, freeze, holds_removed

MOST_CANDIDATES = 64
"""So many events are tried against a condition; if there are more, it is not known whether another one fits."""
MOST_SHOWN = 8
BEGINNING = BEFORE_ALL - 1
"""Before all that may be missing."""
ORDER_UNSEEN = (
    "the order was not seen: neither the message that requested the calls nor their times are known, so the first may "
    "not have ended before the second was requested"
)
TOO_MANY = f"more than {MOST_CANDIDATES} earlier events could be meant"


class ValueSource(Struct, frozen=True):
    """Where a value may come from: what the user said, or the results of a tool."""

    name: str
    pattern: EventPattern


class Trigger(Struct, frozen=True):
    """An event at which a rule is judged, the values that it binds, and the events that conditions can name."""

    occurrence: Occurrence
    scope: dict[str, BoundValue]
    events: dict[str, Occurrence]

    @property
    def index(self) -> int:
        return self.occurrence.index

    def report_breach(self, why: str, *events: int) -> RuleFinding:
        return RuleFinding(True, f"{self.occurrence}: {why}", (*events, self.index))

    def report_doubt(self, why: str, *events: int) -> RuleFinding:
        return RuleFinding(False, f"{self.occurrence}: {why}", (*events, self.index))


class ClausePlan(Struct, frozen=True, kw_only=True):
    """One clause as the rule says it: which kind, and what it needs."""

    clause: type[Clause]
    name: str = ""
    """What conditions call the event that it looks for."""
    patterns: tuple[EventPattern, ...] = ()
    where: Condition | None = None
    once: bool = False
    path: ValuePath | None = None
    most: Decimal = Decimal(0)
    consent: ConsentWords | None = None
    sources: tuple[tuple[ValuePath, tuple[ValueSource, ...]], ...] = ()
    within_text: bool = False
    depends: bool = False
    """Whether it speaks of the events of other clauses, and cannot be judged without them."""


class Clause:
    """One clause in one conversation. `looks_back`: it reads events of its patterns from the memory that all share."""

    __slots__ = ("_gaps", "plan", "talk")
    looks_back: ClassVar = False
    always_applies: ClassVar = True
    """Whether there is something to judge at every event that triggers the rule."""

    def __init__(self, plan: ClausePlan, memory: Memory) -> None:
        self.plan = plan
        self.talk = memory.talk
        self._gaps: list[ConversationEvent] = []

    @property
    def pattern(self) -> EventPattern:
        return self.plan.patterns[0]

    def applies(self, trigger: Trigger) -> Fit:
        """Whether there is anything to judge at this event."""
        return True

    def judge(self, trigger: Trigger) -> RuleFinding | None:
        """What is wrong at this event, if anything is."""
        return None

    def commit(self, trigger: Trigger, doubt: str = "") -> None:
        """Remember an event that triggered the rule. `doubt`: why it may not have."""

    def record(self, occurrence: Occurrence) -> None:
        """Remember an event of one of its patterns."""

    def find_violation(self, occurrence: Occurrence) -> RuleFinding | None:
        """What an event of its pattern breaks that was triggered before."""
        return None

    def note_gap(self, gap: ConversationEvent) -> None:
        """Remember that events of its patterns may be missing here."""
        self._gaps.append(gap)

    def end(self, ending: ConversationEnd) -> Iterator[RuleFinding]:
        """What only the end of the conversation shows."""
        return iter(())

    def _gap_between(self, after: int, before: int) -> str:
        """Why an event of its patterns may be missing between two others."""
        return next((gap.text for gap in reversed(self._gaps) if after < gap.index < before), "") if self._gaps else ""


class Memory:
    """What the clauses of one conversation share: what the user said, and the events that they look back at."""

    __slots__ = ("events", "stores", "talk", "values")

    def __init__(self) -> None:
        self.talk = Talk()
        self.events: tuple[list[StoredEvent], ...] = ([], [], [])
        """Events of patterns that a clause looks back at: when requested, when started and when ended."""
        self.stores: dict[int, EventStore] = {}
        self.values: dict[Hashable, Any] = {}
        """What was worked out from stored events, by those who need it."""

    def store(self, pattern: EventPattern) -> EventStore:
        """The events of a pattern; a contract has one object for all patterns that are equal."""
        store = self.stores.get(id(pattern))
        if store is None:
            store = self.stores[id(pattern)] = EventStore(pattern, self.events[recording_stage(pattern)])
        return store

    def forget(self, call: str) -> None:
        """That a call started and ended; it was requested all the same."""
        for events in self.events[1:]:
            events[:] = [stored for stored in events if stored.occurrence.event.call != call]
        for store in self.stores.values():
            store.begin_again()


class StoredEvent(NamedTuple):
    """An event, and the patterns that name its tool, by their ids."""

    occurrence: Occurrence
    patterns: frozenset[int]


def recording_stage(pattern: EventPattern) -> int:
    """When an event is remembered: what is forbidden when it is requested, what is needed when it has started."""
    if pattern.at_end:
        return 2
    return 0 if pattern.wide or pattern.kind != "call" else 1


class Possible(NamedTuple):
    """An event that may be what is looked for."""

    at: int
    why: str


class EventStore:
    """The events that fit a pattern, by the values at its `$same`. They are put in order when somebody looks."""

    __slots__ = ("_certain", "_events", "_loose", "_pattern", "_possible", "_read")

    def __init__(self, pattern: EventPattern, events: list[StoredEvent]) -> None:
        self._pattern = pattern
        self._events = events
        self.begin_again()

    def begin_again(self) -> None:
        """Forget what was put in order."""
        self._read = 0
        self._certain: dict[Hashable, list[Occurrence]] = {}
        self._possible: dict[Hashable, list[Possible]] = {}
        self._loose: list[Possible] = []
        """Events whose values are not known."""

    def find(self, key: Hashable) -> list[Occurrence]:
        """The events with these values, in order."""
        if self._read != len(self._events):
            self.put_in_order()
        return self._certain.get(key, [])

    def put_in_order(self) -> None:
        """Take what was added since somebody looked."""
        pattern = self._pattern
        number, takes_all = id(pattern), pattern.takes_all
        for occurrence, patterns in islice(self._events, self._read, None):
            if number not in patterns:
                continue
            fit = True if takes_all else pattern.fits(occurrence)
            key = False if fit is False else pattern.key(occurrence)
            if isinstance(key, str):
                self._loose.append(Possible(occurrence.index, f"{occurrence}: {key}"))
            elif key is False:
                continue
            elif isinstance(fit, str):
                self._possible.setdefault(key, []).append(Possible(occurrence.index, f"{occurrence}: {fit}"))
            else:
                self._certain.setdefault(key, []).append(occurrence)
        self._read = len(self._events)

    def doubt_between(self, key: Hashable, after: int, before: int) -> str:
        """Why an event between two others may be what is looked for."""
        if self._read != len(self._events):
            self.put_in_order()
        if not self._possible and not self._loose:
            return ""
        for listed in (self._possible.get(key, ()), self._loose):
            for possible in reversed(listed):
                if possible.at < before:
                    if possible.at > after:
                        return possible.why
                    break
        return ""


def is_order_unseen(earlier: Occurrence, later: Occurrence) -> bool:
    stretch = later.event.stretch
    return bool(stretch) and earlier.event.stretch == stretch


class WithStore(Clause):
    """A clause that looks back at events of its pattern."""

    __slots__ = ("_spent", "store")
    looks_back: ClassVar = True

    def __init__(self, plan: ClausePlan, memory: Memory) -> None:
        super().__init__(plan, memory)
        self.store = memory.store(plan.patterns[0])
        self._spent: dict[Hashable, int] = {}

    def _doubt_between(self, key: Hashable, after: int, before: int) -> str:
        return self.store.doubt_between(key, after, before) or self._gap_between(after, before)

    def _candidates(self, trigger: Trigger, key: Hashable) -> list[Occurrence]:
        """The events that were known when the trigger was requested, in order."""
        listed = self.store.find(key)
        horizon = trigger.occurrence.horizon
        end = len(listed)
        while end and listed[end - 1].index >= horizon:
            end -= 1
        return listed if end == len(listed) else listed[:end]

    def _choose(self, trigger: Trigger, listed: list[Occurrence]) -> tuple[Occurrence | None, str]:
        """The candidate with which the condition holds; else why one may."""
        where, doubt = self.plan.where, ""
        if where is None:
            if not listed:
                return None, ""
            return (None, ORDER_UNSEEN) if is_order_unseen(listed[0], trigger.occurrence) else (listed[0], "")
        for candidate in listed[: -MOST_CANDIDATES - 1 : -1]:
            fit = where.holds({**trigger.events, self.plan.name: candidate})
            if fit is True and not is_order_unseen(candidate, trigger.occurrence):
                return candidate, ""
            if fit is not False:
                doubt = fit if isinstance(fit, str) else ORDER_UNSEEN
        return None, doubt or (TOO_MANY if len(listed) > MOST_CANDIDATES else "")


class Before(WithStore):
    """`needs: {before}`: some earlier event."""

    __slots__ = ()

    def judge(self, trigger: Trigger) -> RuleFinding | None:
        key = self.pattern.wanted_key(trigger.scope)
        listed = self._candidates(trigger, key)
        unspent = listed[self._spent.get(key, 0) :] if self.plan.once else listed
        chosen, doubt = self._choose(trigger, unspent)
        if chosen is not None:
            trigger.events[self.plan.name] = chosen
            return None
        if doubt := doubt or self._doubt_between(key, BEGINNING, trigger.occurrence.horizon):
            return trigger.report_doubt(f"it is not known whether there was an earlier {self._words(trigger)}: {doubt}")
        more = " that no other one used" if self.plan.once and listed else ""
        return trigger.report_breach(f"no earlier {self._words(trigger).removeprefix('a ')}{more}")

    def commit(self, trigger: Trigger, doubt: str = "") -> None:
        if self.plan.once and self.plan.name in trigger.events:
            key = self.pattern.wanted_key(trigger.scope)
            self._spent[key] = self._spent.get(key, 0) + 1

    def _words(self, trigger: Trigger) -> str:
        where = f" for which `{self.plan.where.words}`" if self.plan.where else ""
        return self.pattern.wanted_words(trigger.scope) + where


class Last(WithStore):
    """`needs: {last}`: the latest event of its kind, which replaces what earlier ones said."""

    __slots__ = ()

    def judge(self, trigger: Trigger) -> RuleFinding | None:
        pattern, occurrence = self.pattern, trigger.occurrence
        key = pattern.wanted_key(trigger.scope)
        listed = self._candidates(trigger, key)
        last = listed[-1] if listed else None
        if doubt := self._doubt_between(key, BEGINNING if last is None else last.index, occurrence.horizon):
            return trigger.report_doubt(
                f"it is not known which the latest {pattern.wanted_words(trigger.scope)} was: {doubt}"
            )
        if last is None:
            return trigger.report_breach(f"no earlier {pattern.wanted_words(trigger.scope).removeprefix('a ')}")
        if is_order_unseen(last, occurrence):
            return trigger.report_doubt(f"{ORDER_UNSEEN} ({last})", last.index)
        trigger.events[self.plan.name] = last
        scope = pattern.bind(last)
        if isinstance(scope, str):
            return trigger.report_doubt(scope, last.index)
        trigger.scope.update(scope)
        return judge_where(self.plan.where, trigger, last)


class LastUser(Clause):
    """`needs: {last_user}`: what the user said last gives consent."""

    __slots__ = ("_spent",)

    def __init__(self, plan: ClausePlan, memory: Memory) -> None:
        super().__init__(plan, memory)
        self._spent: dict[int, int] = {}

    def judge(self, trigger: Trigger) -> RuleFinding | None:
        assert self.plan.consent is not None
        words = self.talk.before(trigger.occurrence.horizon)
        last = -1 if words is None else words.index
        if doubt := self.talk.gap_between(last, trigger.occurrence.horizon):
            return trigger.report_doubt(f"it is not known what the user said last: {doubt}")
        if words is None:
            return trigger.report_breach("the user has said nothing before")
        if not words.gives(self.plan.consent):
            said = f"the user's last message, {format_value(words.text)},"
            return trigger.report_breach(f"{said} does not count as {self.plan.consent.words}", words.index)
        if self.plan.once and words.number in self._spent:
            spent = self._spent[words.number]
            return trigger.report_breach(f"event {spent} used the consent already", words.index, spent)
        return None

    def commit(self, trigger: Trigger, doubt: str = "") -> None:
        words = self.talk.before(trigger.occurrence.horizon) if self.plan.once else None
        if words is not None:
            self._spent.setdefault(words.number, trigger.index)


class Duty:
    """A trigger that waits for a later event. `doubt`: why it may have come."""

    __slots__ = ("doubt", "trigger")

    def __init__(self, trigger: Trigger, doubt: str) -> None:
        self.trigger = trigger
        self.doubt = doubt


class After(Clause):
    """`needs: {after}`: a later event by the end of the conversation."""

    __slots__ = ("_duties", "_loose")

    def __init__(self, plan: ClausePlan, memory: Memory) -> None:
        super().__init__(plan, memory)
        self._duties: dict[Hashable, list[Duty]] = {}
        self._loose: list[Possible] = []

    def commit(self, trigger: Trigger, doubt: str = "") -> None:
        self._duties.setdefault(self.pattern.wanted_key(trigger.scope), []).append(Duty(trigger, doubt))

    def record(self, occurrence: Occurrence) -> None:
        fit = self.pattern.fits(occurrence)
        if fit is False or not self._duties:
            return
        key = self.pattern.key(occurrence)
        if isinstance(key, str):
            self._loose.append(Possible(occurrence.horizon, key))
        elif key is not False and key in self._duties:
            unfulfilled = [duty for duty in self._duties[key] if not self._is_done(duty, occurrence, fit)]
            if unfulfilled:
                self._duties[key] = unfulfilled
            else:
                del self._duties[key]

    def _is_done(self, duty: Duty, occurrence: Occurrence, fit: Fit) -> bool:
        if duty.trigger.index >= occurrence.horizon:
            return False
        if self.plan.where is not None and fit is not False:
            holds = self.plan.where.holds({**duty.trigger.events, self.plan.name: occurrence})
            if holds is False:
                return False
            fit = fit if holds is True else holds
        if is_order_unseen(duty.trigger.occurrence, occurrence):
            fit = ORDER_UNSEEN
        if isinstance(fit, str):
            duty.doubt = fit
            return False
        return True

    def end(self, ending: ConversationEnd) -> Iterator[RuleFinding]:
        loose = self._loose[-1] if self._loose else Possible(-1, "")
        for duties in self._duties.values():
            for duty in duties:
                trigger = duty.trigger
                doubt = duty.doubt or ending.doubt or (loose.why if loose.at > trigger.index else "")
                missing = f"no later {self._words(trigger)}"
                if doubt := doubt or self._gap_after(trigger.index):
                    yield trigger.report_doubt(f"{missing} was seen: {doubt}")
                else:
                    yield trigger.report_breach(f"{missing} by the end of the conversation")

    def _gap_after(self, index: int) -> str:
        return self._gaps[-1].text if self._gaps and self._gaps[-1].index > index else ""

    def _words(self, trigger: Trigger) -> str:
        where = f" for which `{self.plan.where.words}`" if self.plan.where else ""
        return self.pattern.wanted_words(trigger.scope) + where


class NeverBefore(WithStore):
    """`forbids: {before}`: no earlier event; decided where the rule is triggered."""

    __slots__ = ()

    def judge(self, trigger: Trigger) -> RuleFinding | None:
        key = self.pattern.wanted_key(trigger.scope)
        chosen, doubt = self._choose(trigger, self._candidates(trigger, key))
        if chosen is not None:
            return trigger.report_breach(f"after {chosen}, which must not come before it", chosen.index)
        if doubt := doubt or self._doubt_between(key, BEGINNING, trigger.occurrence.horizon):
            words = self.pattern.wanted_words(trigger.scope)
            return trigger.report_doubt(f"it is not known whether {words} came before it: {doubt}")
        return None


class NeverAfter(Clause):
    """`forbids: {after}`: no later event, be it only requested."""

    __slots__ = ("_first", "_triggers")

    def __init__(self, plan: ClausePlan, memory: Memory) -> None:
        super().__init__(plan, memory)
        self._triggers: dict[Hashable, list[Duty]] = {}
        self._first: Duty | None = None

    def commit(self, trigger: Trigger, doubt: str = "") -> None:
        duty = Duty(trigger, doubt)
        self._first = self._first or duty
        listed = self._triggers.setdefault(self.pattern.wanted_key(trigger.scope), [])
        # Without a condition the earliest one decides, and a certain one decides more than one in doubt.
        if self.plan.where is not None or not listed or (listed[-1].doubt and not doubt):
            listed.append(duty)

    def find_violation(self, occurrence: Occurrence) -> RuleFinding | None:
        if self._first is None or self._first.trigger.index >= occurrence.horizon:
            return None
        fit = self.pattern.fits(occurrence)
        if fit is False:
            return None
        key = self.pattern.key(occurrence)
        if isinstance(key, str):
            return self._first.trigger.report_doubt(f"{occurrence} may be what must not come after it: {key}")
        doubtful: RuleFinding | None = None
        listed = self._triggers.get(key, [])
        if len(listed) > MOST_CANDIDATES:
            doubtful = self._first.trigger.report_doubt(f"{occurrence} may be what must not come after it: {TOO_MANY}")
        for duty in listed[-MOST_CANDIDATES:]:
            trigger = duty.trigger
            doubt = self._doubt(duty, occurrence, fit)
            if doubt == "":
                return RuleFinding(
                    True,
                    f"{occurrence}: after {trigger.occurrence}, which forbids it",
                    (trigger.index, occurrence.index),
                )
            if doubt is not None:
                why = f"{occurrence} may be what must not come after it: {doubt}"
                doubtful = trigger.report_doubt(why, occurrence.index)
        return doubtful

    def _doubt(self, duty: Duty, occurrence: Occurrence, fit: Fit) -> str | None:
        """Why an event may be forbidden by a trigger; empty if it is, None if it is not."""
        if duty.trigger.index >= occurrence.horizon:
            return None
        where = self.plan.where
        holds = True if where is None else where.holds({**duty.trigger.events, self.plan.name: occurrence})
        if holds is False:
            return None
        if is_order_unseen(duty.trigger.occurrence, occurrence):
            return ORDER_UNSEEN
        return next((doubt for doubt in (fit, holds) if isinstance(doubt, str)), duty.doubt)

    def end(self, ending: ConversationEnd) -> Iterator[RuleFinding]:
        gap = self._gaps[-1] if self._gaps else None
        if self._first is not None and gap is not None and gap.index > self._first.trigger.index:
            words = self.pattern.words
            yield self._first.trigger.report_doubt(f"it is not known whether {words} came after it: {gap.text}")


def judge_where(where: Condition | None, trigger: Trigger, other: Occurrence | None = None) -> RuleFinding | None:
    """What is wrong with a condition on the events of a trigger."""
    if where is None:
        return None
    fit = where.holds(trigger.events)
    if fit is True:
        return None
    events = () if other is None else (other.index,)
    if isinstance(fit, str):
        return trigger.report_doubt(fit, *events)
    return trigger.report_breach(f"`{where.words}` does not hold{f' with {other}' if other else ''}", *events)


class Where(Clause):
    """`where` alone: a condition on the event itself, or on all events of a list of `needs`."""

    __slots__ = ()

    def judge(self, trigger: Trigger) -> RuleFinding | None:
        return judge_where(self.plan.where, trigger)


class RunningTotal:
    """What was counted or added up for one binding; `possible`: what may have to be added."""

    __slots__ = ("certain", "events", "possible", "why")

    def __init__(self) -> None:
        self.certain = Decimal(0)
        self.possible = Decimal(0)
        self.events: list[int] = []
        self.why = ""


ONE: Final = Decimal(1)
NOTHING_YET: Final = RunningTotal()
"""What is read where nothing was counted."""


class AtMost(Clause):
    """`at_most`: how often, or with `total` how much, for each binding of `$as`."""

    __slots__ = ("_tallies",)

    def __init__(self, plan: ClausePlan, memory: Memory) -> None:
        super().__init__(plan, memory)
        self._tallies: dict[Hashable, RunningTotal] = {}

    def judge(self, trigger: Trigger) -> RuleFinding | None:
        return self._judge(trigger, ())

    def judge_with(self, trigger: Trigger, pending: Iterable[Trigger]) -> RuleFinding | None:
        """The same if calls whose results are not there yet may succeed."""
        return self._judge(trigger, [other for other in pending if _binding(other) == _binding(trigger)])

    def _judge(self, trigger: Trigger, pending: Iterable[Trigger]) -> RuleFinding | None:
        amount = self._amount(trigger)
        if isinstance(amount, str):
            return trigger.report_doubt(amount)
        tally = self._tallies.get(_binding(trigger), NOTHING_YET)
        certain, possible, why = tally.certain + amount, tally.possible, tally.why
        for other in pending:
            more = self._amount(other)
            why = f"{other.occurrence} has not ended"
            possible += Decimal("Infinity") if isinstance(more, str) else more
        most = self.plan.most
        if certain + possible <= most:
            return None
        events = tally.events[:MOST_SHOWN]
        measure = "the total" if self.plan.path else "the number"
        if certain > most:
            return trigger.report_breach(f"{measure} is {certain:f}, at most {most:f} allowed", *events)
        return trigger.report_doubt(f"{measure} may be more than {most:f}: {why}", *events)

    def commit(self, trigger: Trigger, doubt: str = "") -> None:
        tally = self._tallies.setdefault(_binding(trigger), RunningTotal())
        amount = self._amount(trigger)
        if isinstance(amount, str):
            tally.possible, tally.why = Decimal("Infinity"), amount
        elif doubt:
            tally.possible, tally.why = tally.possible + amount, doubt
        else:
            tally.certain += amount
        if len(tally.events) < MOST_SHOWN:
            tally.events.append(trigger.index)

    def _amount(self, trigger: Trigger) -> Decimal | str:
        path = self.plan.path
        if path is None:
            return ONE
        value = trigger.occurrence.at(path.steps)
        if value is MISSING:
            return f"there is no {path.words}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            is_lost = trigger.occurrence.doubt and holds_removed(value)
            return LOST if is_lost else f"{path.words} is {format_value(value)}, not a number"
        amount = Decimal(value) if value.__class__ is int else Decimal(repr(value))
        if not amount.is_finite() or amount < 0:
            return f"{path.words} is {value}, which cannot be added up"
        return amount


def _binding(trigger: Trigger) -> Hashable:
    scope = trigger.scope
    if len(scope) < 2:
        return tuple([(name, value.key) for name, value in scope.items()])
    return tuple([(name, scope[name].key) for name in sorted(scope)])


class Same(Clause):
    """`same`: the value is the same at every event, for each binding of `$as`."""

    __slots__ = ("_values",)

    def __init__(self, plan: ClausePlan, memory: Memory) -> None:
        super().__init__(plan, memory)
        self._values: dict[Hashable, tuple[Hashable, Any, int, str]] = {}

    def judge(self, trigger: Trigger) -> RuleFinding | None:
        value = self._value(trigger)
        if isinstance(value, str):
            return trigger.report_doubt(value)
        first = self._values.get(_binding(trigger))
        if first is None or first[0] == value.key:
            return None
        path = self.plan.path.words if self.plan.path else ""
        why = f"{path} is {format_value(value.value)}, and was {format_value(first[1])} at event {first[2]}"
        return (
            trigger.report_doubt(f"{why}: {first[3]}", first[2]) if first[3] else trigger.report_breach(why, first[2])
        )

    def commit(self, trigger: Trigger, doubt: str = "") -> None:
        value, binding = self._value(trigger), _binding(trigger)
        first = self._values.get(binding)
        if isinstance(value, BoundValue) and (first is None or (first[3] and not doubt)):
            self._values[binding] = value.key, value.value, trigger.index, doubt

    def _value(self, trigger: Trigger) -> BoundValue | str:
        assert self.plan.path is not None
        value = trigger.occurrence.at(self.plan.path.steps)
        if value is MISSING:
            return f"there is no {self.plan.path.words}"
        is_lost = trigger.occurrence.doubt and holds_removed(value)
        return LOST if is_lost else BoundValue(freeze(value), value)
