"""What may be a rule of recorded conversations: what was true at every call of a tool, by the values of the calls."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from carob.rules.events import ConversationEvent
from carob.rules.patterns import Occurrence
from carob.rules.reading import DEEDS
from carob.rules.values import freeze, scalars_of
from carob.text.tool_names import can_be_written

MOSTLY: Final = 0.9
"""What holds for a smaller share of the calls does not become a candidate."""
MOST_MEMBERS: Final = 40
"""So many members of arguments and of a result are compared."""
MOST_CONTENTS: Final = 5_000
"""So much of a result is looked at for where a value came from."""
MOST_SOURCES: Final = 2
"""A value that may come from more places than these is not bound to any."""
SHORTEST_ID: Final = 3
"""Shorter texts, and smaller numbers, are equal by chance."""
SMALLEST_ID: Final = 100
USER: Final = "user"
RESULT: Final = "result"
ARGUMENTS: Final = "arguments"

Candidate = dict[str, Any]
"""A rule as a suite says it."""


class Join(NamedTuple):
    """Where a call and an earlier one have the same value; empty names: nowhere."""

    name: str = ""
    part: str = ""
    of: str = ""
    """The member of that part; empty: the part itself."""


class RecordedCall(NamedTuple):
    """A call of a conversation: what was known when it was requested, and what it gave."""

    tool: str
    occurrence: Occurrence
    values: Mapping[str, Hashable]
    """Its arguments that may identify something."""
    joins: Mapping[Join, Hashable]
    """Those, and what its result holds, by how a rule names them."""
    gave: frozenset[Hashable]
    """All that its result holds."""


class RuleStatistics:
    """What is true of the calls of conversations, read one after another."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self._before: dict[str, Counter[tuple[str, Join]]] = defaultdict(Counter)
        self._origins: dict[tuple[str, str], list[frozenset[str]]] = defaultdict(list)
        self._made_twice: Counter[tuple[str, str]] = Counter()
        """Conversations with two calls of a tool that succeeded, by each argument."""
        self._repeated: Counter[tuple[str, str]] = Counter()
        """Those in which an argument had the same value twice."""
        self._followed: Counter[tuple[str, str, str]] = Counter()
        self._preceded: Counter[tuple[str, str, str]] = Counter()
        self._last: dict[str, bool] = {}
        """Whether no call ever followed one of this tool."""

    def add(self, events: Sequence[ConversationEvent]) -> None:
        calls = [*_read_calls(events)]
        texts = [(event.index, event.text) for event in events if event.kind == USER]
        for number, call in enumerate(calls):
            self.calls[call.tool] += 1
            earlier = [other for other in calls[:number] if _is_evidence(other, call)]
            self._note_earlier(call, earlier)
            self._note_origins(call, earlier, [text for index, text in texts if index < call.occurrence.horizon])
            is_last = not any(other.occurrence.horizon > call.occurrence.event.index for other in calls[number + 1 :])
            self._last[call.tool] = self._last.get(call.tool, True) and is_last
        self._note_pairs(calls)

    def _note_earlier(self, call: RecordedCall, earlier: Sequence[RecordedCall]) -> None:
        found: set[tuple[str, Join]] = set()
        for other in earlier:
            found.add((other.tool, Join()))
            for name, value in call.values.items():
                found |= {
                    (other.tool, join._replace(name=name))
                    for join, other_value in other.joins.items()
                    if other_value == value
                }
        self._before[call.tool].update(found)

    def _note_origins(self, call: RecordedCall, earlier: Sequence[RecordedCall], texts: Sequence[str]) -> None:
        arguments = call.occurrence.arguments
        for name, value in islice(arguments.items(), MOST_MEMBERS) if isinstance(arguments, dict) else ():
            for scalar in islice(scalars_of(value), MOST_MEMBERS):
                if not _may_identify(scalar):
                    continue
                words = str(scalar).casefold()
                origins = {USER} if any(words in text.casefold() for text in texts) else set()
                origins |= {other.tool for other in earlier if freeze(scalar) in other.gave}
                self._origins[call.tool, name].append(frozenset(origins))

    def _note_pairs(self, calls: Sequence[RecordedCall]) -> None:
        """Which values came twice, and which calls came after others with the same value."""
        done = [call for call in calls if call.occurrence.success]
        for tool in {call.tool for call in done}:
            same = [call for call in done if call.tool == tool]
            for name in same[0].values if len(same) > 1 else ():
                values = [call.values.get(name) for call in same]
                self._made_twice[tool, name] += 1
                self._repeated[tool, name] += len({*values}) < len(values)
        followed: set[tuple[str, str, str]] = set()
        preceded: set[tuple[str, str, str]] = set()
        for first in done:
            for later in calls:
                if later.tool == first.tool:
                    continue
                is_after = later.occurrence.event.index > first.occurrence.index
                for name, value in first.values.items():
                    if later.values.get(name) == value:
                        (followed if is_after else preceded).add((first.tool, later.tool, name))
        self._followed.update(followed)
        self._preceded.update(preceded)

    def candidates(self, effects: Sequence[str], least: int) -> Iterator[Candidate]:
        """The rules that these conversations keep, or nearly; `least`: calls of a tool without which none is made."""
        tools = [tool for tool, count in self.calls.items() if count >= least]
        before = [*self._always_before(tools, effects)]
        yield from _merge(before)
        looked_up = {(tool, join.name) for tool, _, join in before}
        for tool in tools:
            if self._last[tool]:
                yield {"id": f"nothing-after-{tool}", "each": {"call": tool}, "forbids": {"after": {"call": "*"}}}
            if tool in effects:
                yield from self._of_effect(tool, effects)
                yield from self._sources(tool, looked_up)
        if writes := [tool for tool in tools if tool in effects]:
            yield {"id": "agreed-to", "each": {"call": writes}, "needs": {"last_user": ["@yes"]}}
            yield from (
                {"id": f"agreed-to-{tool}", "each": {"call": tool}, "needs": {"last_user": ["@yes"]}} for tool in writes
            )

    def _always_before(self, tools: Sequence[str], effects: Sequence[str]) -> Iterator[tuple[str, str, Join]]:
        """Tool, the tool that always comes before, and the value that both have; without what follows from others."""
        always: dict[str, dict[str, Join]] = {}
        for tool in tools:
            enough = MOSTLY * self.calls[tool]
            kept = [key for key, count in self._before[tool].items() if count >= enough and key[0] != tool]
            by_tool: dict[str, Join] = {}
            for other, join in sorted(kept, key=_preference):
                by_tool.setdefault(other, join)
            always[tool] = {other: join for other, join in by_tool.items() if other not in effects}
        for tool, others in always.items():
            for other, join in others.items():
                implied = any(other in always.get(third, {}) for third in others if third != other)
                if join.name or not implied:
                    yield tool, other, join

    def _of_effect(self, tool: str, effects: Sequence[str]) -> Iterator[Candidate]:
        each = {"call": tool, "success": True}
        for (of, name), count in self._made_twice.items():
            if of == tool and self._repeated[of, name] <= (1 - MOSTLY) * count:
                bound = {**each, ARGUMENTS: {name: {"$as": name}}}
                yield {"id": f"{tool}-once-for-each-{name}", "each": bound, "at_most": 1}
        for (first, later, name), count in self._preceded.items():
            if first == tool and later in effects and not self._followed[first, later, name] and count > 1:
                bound = {**each, ARGUMENTS: {name: {"$as": name}}}
                after = {"call": later, ARGUMENTS: {name: {"$same": name}}}
                yield {"id": f"no-{later}-after-{tool}", "each": bound, "forbids": {"after": after}}

    def _sources(self, tool: str, looked_up: Collection[tuple[str, str]]) -> Iterator[Candidate]:
        """Where the values of arguments come from; one that was looked up before is known to be right."""
        for (of, name), origins in self._origins.items():
            sources = _cover(origins) if of == tool and (tool, name) not in looked_up else []
            if 0 < len(sources) <= MOST_SOURCES:
                path = f"each.arguments.{name}"
                yield {"id": f"{name}-of-{tool}", "each": {"call": tool}, "values_from": {path: sources}}


def _preference(key: tuple[str, Join]) -> tuple[bool, bool, bool, str]:
    """The best join of two tools first: the same argument, then a member of a result, then any."""
    _, join = key
    return not join.name, join.name != join.of, join.part != ARGUMENTS, f"{join.name} {join.of}"


def _merge(found: Iterable[tuple[str, str, Join]]) -> Iterator[Candidate]:
    """One rule for all tools that need the same."""
    groups: dict[tuple[str, Join], list[str]] = {}
    for tool, other, join in found:
        groups.setdefault((other, join), []).append(tool)
    for (other, join), tools in groups.items():
        each: Candidate = {"call": tools if len(tools) > 1 else tools[0]}
        before: Candidate = {"call": other, "success": True}
        if join.name:
            each[ARGUMENTS] = {join.name: {"$as": join.name}}
            same = {"$same": join.name}
            before[join.part] = {join.of: same} if join.of else same
        name = f"{other}-before-{tools[0]}{f'-and-{len(tools) - 1}-more' if len(tools) > 1 else ''}"
        yield {"id": f"{name}-by-{join.name}" if join.name else name, "each": each, "needs": {"before": before}}


def may_break(rule: Candidate, events: Sequence[ConversationEvent]) -> bool:
    """Whether a conversation that triggers a rule could have broken it: by a second call, or by the forbidden one."""
    tools = [event.tool for event in events if event.kind == "call" and not event.is_setup]
    if "at_most" in rule:
        return tools.count(rule["each"]["call"]) > 1
    later = rule["forbids"]["after"]["call"] if "forbids" in rule else "*"
    return later == "*" or later in tools


def _cover(origins: Sequence[frozenset[str]]) -> list[str]:
    """Few sources of which one had each value, nearly always; none if there are not."""
    waiting, chosen = [names for names in origins if names], list[str]()
    if len(waiting) < MOSTLY * len(origins):
        return []
    while waiting:
        [(best, _)] = Counter(name for names in waiting for name in sorted(names)).most_common(1)
        chosen.append(best)
        waiting = [names for names in waiting if best not in names]
    return chosen


def _read_calls(events: Sequence[ConversationEvent]) -> Iterator[RecordedCall]:
    ends = {event.call: event for event in events if event.kind == "result"}
    horizons: dict[str, int] = {}
    for event in events:
        if event.kind != "call" or event.is_setup or not (can_be_written(event.tool) or event.tool in DEEDS):
            continue
        horizon = horizons.setdefault(event.message, event.index) if event.message else event.index
        occurrence = Occurrence(event, horizon, ends.get(event.call))
        values = _identifying(occurrence.arguments)
        joins = {Join("", ARGUMENTS, name): value for name, value in values.items()}
        joins |= {Join("", RESULT, name): value for name, value in _identifying(occurrence.result).items()}
        if isinstance(occurrence.result, str | int) and _may_identify(occurrence.result):
            joins[Join("", RESULT)] = freeze(occurrence.result)
        yield RecordedCall(event.tool, occurrence, values, joins, _contents(occurrence.result))


def _is_evidence(other: RecordedCall, call: RecordedCall) -> bool:
    return other.occurrence.success is True and other.occurrence.index < call.occurrence.horizon


def _identifying(data: object) -> dict[str, Hashable]:
    members = islice(data.items(), MOST_MEMBERS) if isinstance(data, dict) else ()
    return {str(name): freeze(value) for name, value in members if _may_identify(value)}


def _may_identify(value: object) -> bool:
    """Whether a value is seldom equal to another by chance."""
    if isinstance(value, str):
        return len(value) >= SHORTEST_ID
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) >= SMALLEST_ID


def _contents(result: Any) -> frozenset[Hashable]:
    """The values of a result, and the names of its members: records are often kept by their ids."""
    contents: set[Hashable] = set()
    waiting = [result]
    while waiting and len(contents) < MOST_CONTENTS:
        value = waiting.pop()
        if isinstance(value, dict):
            contents.update(value)
            waiting.extend(value.values())
        elif isinstance(value, list | tuple):
            waiting.extend(value)
        elif value is not None:
            contents.add(freeze(value))
    return frozenset(contents)
