"""Rules that are ready to judge, and which of them an event concerns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct, structs

from carob.matchers.matcher import Matcher
from carob.matchers.values import MISSING
from carob.rules.clauses import ClausePlan, NeverAfter, Where, recording_stage
from carob.rules.conditions import CelCondition, Condition
from carob.rules.events import APPROVAL_KINDS, APPROVALS, TEXT_KINDS, ConversationEvent, Facts, RuleOutcome, RuleVerdict
from carob.rules.patterns import OF_RESULT, EventPattern
from carob.rules.talk import ConsentWords
from carob.text.tool_names import is_every_tool, is_named_in, may_be_same_tool, why_may_be
from carob.text.tool_reading import ToolReading

Mode: TypeAlias = Literal["block", "ask", "observe"]
"""What a guard does with a call that would break the rule."""
KEPT_TOOLS: Final = 4096
"""For so many names of tools it is remembered which rules they concern."""
ClauseNumber: TypeAlias = tuple[int, int]
"""A rule by its number, and one of its clauses."""


class When(Struct, frozen=True):
    """The conversations that a rule is for: one of these tags, and metadata like this."""

    tags: tuple[str, ...] = ()
    metadata: tuple[tuple[str, Matcher], ...] = ()

    def holds(self, facts: Facts) -> bool:
        if self.tags and not set(self.tags) & set(facts.tags):
            return False
        return all(matcher.holds(facts.metadata.get(name, MISSING)) for name, matcher in self.metadata)


class CompiledRule(Struct, frozen=True, kw_only=True):
    """One rule, compiled: the events that trigger it, and what it asks of each."""

    id: str
    why: str = ""
    each: EventPattern
    clauses: tuple[ClausePlan, ...]
    when: When | None = None
    excepted: tuple[str, ...] = ()
    """Tags of cases that it is not for."""
    reading: ToolReading = ToolReading()
    """How its file says that calls are read."""
    mode: Mode = "block"
    allow_unknown: bool = False
    """Whether a guard lets a call through of which it is not known whether it breaks the rule."""

    def concerns(self, facts: Facts) -> bool:
        """Whether the rule is for this conversation."""
        return (self.when is None or self.when.holds(facts)) and not set(self.excepted) & set(facts.tags)

    @property
    def is_known_afterwards(self) -> bool:
        """Whether only the result of a call triggers it, so that no guard can stop the call."""
        each = self.each
        return each.at_end and (each.success is not True or any(part in OF_RESULT for part in each.read_parts))


class Test(NamedTuple):
    """How an event of a tool that a rule names is tested before anything is remembered for the rule."""

    pattern: EventPattern | None
    """None: any event of such a tool triggers it."""
    condition: Condition | None
    """All that the rule asks, where it binds nothing and asks nothing else."""
    flag: str
    """The flag that such a condition says must not be set."""


class NameDoubt(NamedTuple):
    """A tool that may be one that rules name: why, the rules that it may trigger, the clauses that may look for it."""

    why: str
    rules: tuple[int, ...]
    clauses: tuple[ClauseNumber, ...]


class Slots(NamedTuple):
    """What one kind of event of one tool concerns: rules that it triggers, and clauses that look for it.

    A call concerns some when it is requested, others when it starts, and others when it ends.
    """

    requested: tuple[int, ...]
    ended: tuple[int, ...]
    forbidden: tuple[ClauseNumber, ...]
    forbidden_ended: tuple[ClauseNumber, ...]
    recorded_request: tuple[ClauseNumber, ...]
    recorded_start: tuple[ClauseNumber, ...]
    recorded_end: tuple[ClauseNumber, ...]
    stored_request: frozenset[int]
    """The ids of patterns whose events clauses look back at."""
    stored_start: frozenset[int]
    stored_end: frozenset[int]
    doubt: NameDoubt | None = None
    """Whom it concerns if the name of its tool means one that they name."""

    @property
    def needs_end(self) -> bool:
        """Whether the end of such a call concerns any rule."""
        return bool(self.ended or self.forbidden_ended or self.recorded_end or self.stored_end)


NO_SLOTS: Final = Slots((), (), (), (), (), (), (), frozenset(), frozenset(), frozenset())
"""Those of an event that concerns no rule."""


class Contract:
    """Rules that are judged together. It is shared by the monitors of many conversations, and holds nothing of them."""

    def __init__(self, rules: Sequence[CompiledRule]) -> None:
        shared: dict[str, EventPattern] = {}
        self.rules = tuple(_share_patterns(rule, shared) for rule in rules)
        self.narrowed = tuple(n for n, rule in enumerate(self.rules) if rule.when is not None or rule.excepted)
        """The rules that are not for every conversation."""
        self.known_afterwards = frozenset(n for n, rule in enumerate(self.rules) if rule.is_known_afterwards)
        """The rules that only the result of a call triggers."""
        self.tests = tuple(map(_find_test, self.rules))
        self.untriggered = tuple(RuleVerdict(rule.id, RuleOutcome.NOT_TRIGGERED) for rule in self.rules)
        """The verdicts on a conversation in which nothing concerns a rule."""
        self.reading = rules[0].reading if rules else ToolReading()
        """How calls are read, which is the same for all of its rules."""
        if any(rule.reading != self.reading for rule in rules):
            raise ValueError("the rules read calls in different ways")
        self._slots: dict[tuple[str, str], Slots] = {}

    def slots(self, kind: str, tool: str) -> Slots:
        """What an event of this kind concerns."""
        key = kind, "" if kind in TEXT_KINDS else tool
        slots = self._slots.get(key)
        if slots is None:
            if len(self._slots) >= KEPT_TOOLS:
                self._slots.clear()
            slots = self._slots[key] = self._find_slots(kind, tool)
        return slots

    def _why_doubtful(self, pattern: EventPattern, tool: str) -> str | None:
        """Why it is not known whether a pattern names this tool: it may be one that it names or excepts."""
        if pattern.kind == "handoff" or tool in self.reading.tool_names.values():
            return None
        return why_may_be(pattern.excluded if pattern.names(tool) else pattern.tools, tool)

    def _find_doubt(self, kind: str, tool: str) -> NameDoubt | None:
        def why(pattern: EventPattern) -> str | None:
            return self._why_doubtful(pattern, tool) if pattern.kind == kind else None

        rules = {number: words for number, rule in enumerate(self.rules) if (words := why(rule.each))}
        clauses = {
            (number, clause_index): words
            for number, rule in enumerate(self.rules)
            for clause_index, plan in enumerate(rule.clauses)
            for pattern in plan.patterns
            if (words := why(pattern))
        }
        if not (rules or clauses):
            return None
        return NameDoubt(next(iter((*rules.values(), *clauses.values()))), tuple(rules), tuple(clauses))

    @cached_property
    def ignored(self) -> frozenset[str]:
        """The kinds of texts that no rule speaks of."""
        return frozenset(kind for kind in TEXT_KINDS if self.slots(kind, "") is NO_SLOTS)

    @cached_property
    def looked_back(self) -> tuple[EventPattern, ...]:
        """The patterns of events that a rule looks back at, each once."""
        plans = (plan for rule in self.rules for plan in rule.clauses if plan.clause.looks_back)
        return tuple({id(pattern): pattern for plan in plans for pattern in plan.patterns[:1]}.values())

    @cached_property
    def consents(self) -> tuple[ConsentWords, ...]:
        """The words that a user is to give consent by, each once."""
        plans = (plan for rule in self.rules for plan in rule.clauses)
        return tuple(dict.fromkeys(plan.consent for plan in plans if plan.consent is not None))

    @cached_property
    def reads_approvals(self) -> bool:
        """Whether any rule speaks of approvals."""
        patterns = [p for rule in self.rules for p in (rule.each, *(p for plan in rule.clauses for p in plan.patterns))]
        return any(pattern.kind in APPROVAL_KINDS for pattern in patterns)

    def find_hidden(self, gap: ConversationEvent) -> tuple[tuple[int, ...], tuple[ClauseNumber, ...]]:
        """The rules whose triggers a gap may hide, and the clauses whose events it may."""
        rules = [number for number, rule in enumerate(self.rules) if _may_hide(gap, rule.each)]
        clauses = [
            (number, clause_index)
            for number, rule in enumerate(self.rules)
            for clause_index, plan in enumerate(rule.clauses)
            if any(_may_hide(gap, pattern) for pattern in plan.patterns)
        ]
        return tuple(rules), tuple(clauses)

    def _find_slots(self, kind: str, tool: str) -> Slots:
        def concerns(pattern: EventPattern) -> bool:
            return pattern.kind == kind and pattern.names(tool) and not self._why_doubtful(pattern, tool)

        triggers: tuple[list[int], list[int]] = ([], [])
        clauses: tuple[list[ClauseNumber], ...] = ([], [], [], [], [])
        stored: tuple[set[int], ...] = (set(), set(), set())
        for number, rule in enumerate(self.rules):
            if concerns(rule.each):
                triggers[rule.each.at_end].append(number)
            for clause_index, plan in enumerate(rule.clauses):
                for pattern in plan.patterns:
                    if not concerns(pattern):
                        continue
                    if plan.clause.looks_back:
                        stored[recording_stage(pattern)].add(id(pattern))
                        continue
                    at = int(pattern.at_end) if plan.clause is NeverAfter else 2 + recording_stage(pattern)
                    if (number, clause_index) not in clauses[at]:
                        clauses[at].append((number, clause_index))
        slots = Slots(*map(tuple, triggers), *map(tuple, clauses), *map(frozenset, stored))  # type: ignore[arg-type]
        slots = slots._replace(doubt=self._find_doubt(kind, tool))
        return slots if any(slots) else NO_SLOTS


def _find_test(rule: CompiledRule) -> Test:
    first = rule.clauses[0]
    is_alone = first.clause is Where and len(rule.clauses) == 1 and not (rule.each.binds or rule.each.own_sames)
    condition = first.where if is_alone else None
    flag = condition.denied_flag if isinstance(condition, CelCondition) else ""
    return Test(None if rule.each.takes_all else rule.each, None if flag else condition, flag)


def _share_patterns(rule: CompiledRule, shared: dict[str, EventPattern]) -> CompiledRule:
    """The rule with one object for each pattern that others have too, so that its events are remembered once."""

    def share(pattern: EventPattern) -> EventPattern:
        return shared.setdefault(repr(pattern), pattern)

    plans = []
    for plan in rule.clauses:
        sources = tuple(
            (path, tuple(structs.replace(source, pattern=share(source.pattern)) for source in listed))
            for path, listed in plan.sources
        )
        plans.append(structs.replace(plan, patterns=tuple(map(share, plan.patterns)), sources=sources))
    return structs.replace(rule, clauses=tuple(plans))


def _may_hide(gap: ConversationEvent, pattern: EventPattern) -> bool:
    if pattern.kind == "handoff":  # it is seen as a call is, by the name of an agent
        return gap.hides == "" or (gap.hides == "call" and not (gap.tool or gap.within))
    hides_kind = pattern.kind in APPROVAL_KINDS if gap.hides == APPROVALS else gap.hides in ("", pattern.kind)
    if not hides_kind:
        return False
    if not (gap.tool or gap.within) or pattern.kind in TEXT_KINDS:
        return True
    names = [name for part in pattern.tools for name in part.split(" | ")]
    if gap.within:
        spellings = (name for name in names if name not in gap.known_tools)
        return not names or any(is_every_tool(name) or is_named_in(name, gap.within) for name in spellings)
    return pattern.names(gap.tool) or any(may_be_same_tool(name, gap.tool) for name in names)
