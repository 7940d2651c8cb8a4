"""Similar traces together: repeats of a case, or all that did the same; what fits no group is a finding."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct

from carob.checks.base import excerpt
from carob.evidence.exports.record import UNREAD
from carob.features.draft.draft import DraftOptions, Finding
from carob.features.draft.origins import folded
from carob.features.draft.trace_statistics import TraceKind, TraceStatistics, kind_of
from carob.model.trace import BY_ITSELF, Trace
from carob.text.tool_effects import known_effects
from carob.text.tool_names import can_be_written

MOST_IDENTITIES = 300
"""Different cases or prompts up to which repeats of each are looked at alone."""
HELD_OUT = 5
"""One trace of so many is not learned from, and must pass."""
RARE = 200
"""Of so many traces, less than one is rare."""
ODD_RUN = 10
"""Of so many repeats of a case, fewer than one that did something else is a question, not a variant."""
APART = -1
MOST_FINDINGS = 200
LOOP = 3
"""The same call so often in a row is a loop."""


class SourceTrace(NamedTuple):
    """A trace, and what was done before its first prompt."""

    trace: Trace
    setup_prompts: tuple[str, ...] = ()
    preconditions: tuple[str, ...] = ()


class TraceGroup(Struct):
    """The traces that a case is drafted from."""

    name: str
    """The id of the case that they are repeats of; nothing for traces that only did the same."""
    kinds: list[TraceKind]
    learned: TraceStatistics
    total: int = 0
    setup_prompts: tuple[str, ...] = ()
    preconditions: tuple[str, ...] = ()


class Findings:
    """What looks wrong in the traces, or is a question for a person: counted by text, with one example of each."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[str, int]] = {}

    def add(self, kind: str, text: str, example: str = "", count: int = 1) -> None:
        first_example, before = self._found.get((kind, text), (example, 0))
        if before or len(self._found) < MOST_FINDINGS:
            self._found[kind, text] = first_example, before + count

    def all(self) -> tuple[Finding, ...]:
        return tuple(
            Finding(kind, f"{text}, such as {example}" if example else text, count)
            for (kind, text), (example, count) in self._found.items()
        )

    def add_error(self, trace: Trace, user: tuple[str, ...]) -> None:
        if trace.error is not None:
            where = f" at {trace.case_id}" if trace.error.kind == UNREAD else ""
            self.add("error", f"{trace.error.kind}{where}: {excerpt(trace.error.message)}", _quoted(user))
        elif _lacks_name(trace):
            self.add("error", "a suite cannot write the name of a tool that was called", _quoted(user))
        else:
            self.add("error", "no prompt was recorded, so the run cannot be repeated", _quoted(user))

    def is_stuck(self, trace: Trace, user: tuple[str, ...]) -> bool:
        """Whether a run went round in a loop, or was cut off by a limit: nothing is learned from it."""
        in_a_row, before = 1, None
        for call in trace.tool_calls:
            now = (call.name, call.arguments)
            in_a_row = in_a_row + 1 if now == before else 1
            before = now
            if in_a_row == LOOP:
                self.add("loop", f"{call.name} was called with the same arguments again and again", _quoted(user))
                return True
        if trace.ended_by in ("", BY_ITSELF):
            return False
        self.add("loop", f"a limit cut the run off: {excerpt(trace.ended_by)}", _quoted(user))
        return True

    def add_group(self, kind: str, group: TraceGroup, why: str) -> None:
        self.add(kind, f"{_describe(group)}{why}", _quoted(next(iter(group.learned.prompts), ())), group.total)

    def add_odd(self, group: TraceGroup, total: int) -> None:
        text = f"{group.total} of {total} runs of {group.name}: {_describe(group)}. Is this intended?"
        self.add("odd", text, "", group.total)


class TracePlaces(NamedTuple):
    """Which group each trace is of, in the order of the traces, and whether it was held out."""

    groups: array[int]
    held_out: bytearray


class TraceGroups:
    """All traces, read once: what was learned of each kind, and which trace is of which."""

    def __init__(self, options: DraftOptions, findings: Findings) -> None:
        self._options = options
        self._findings = findings
        self._numbers: dict[tuple[str, TraceKind], int] = {}
        self._learned: list[TraceStatistics] = []
        self._totals: list[int] = []
        self._about: list[SourceTrace] = []
        self._identities: set[str] | None = set()
        self._first_seen: Counter[TraceKind] = Counter()
        self._waiting: dict[int, tuple[int, SourceTrace]] = {}
        """The first traces of every fifth case or prompt of a kind: held out, unless each becomes a case of its own."""
        self.places = TracePlaces(array("i"), bytearray())
        self.tools: set[str] = set()

    def read(self, recorded_traces: Iterable[SourceTrace]) -> None:
        for recorded in recorded_traces:
            self._add(recorded)

    @property
    def count(self) -> int:
        return len(self.places.groups)

    def effects_of(self, trace: Trace) -> Mapping[str, tuple[str, ...]]:
        return known_effects({call.name for call in trace.tool_calls}, self._options.effects)

    def _add(self, recorded: SourceTrace) -> None:
        trace = recorded.trace
        user = user_texts(trace)
        broke = trace.error is not None or not all(text.strip() for text in user) or _lacks_name(trace)
        if broke:
            self._findings.add_error(trace, user)
        if broke or self._findings.is_stuck(trace, user):
            self.places.groups.append(APART)
            self.places.held_out.append(0)
            return
        self.tools |= {*filter(can_be_written, trace.tool_schemas), *(call.name for call in trace.tool_calls)}
        effects = self.effects_of(trace)
        kind = kind_of(trace, effects)
        identity = self._identity(trace, user)
        key = (identity, kind)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._learned)
            self._learned.append(TraceStatistics())
            self._totals.append(0)
            self._about.append(recorded._replace(trace=Trace(case_id=trace.case_id, tool_calls=())))
            self._first_seen[kind] += 1
        self._totals[number] += 1
        is_another = self._totals[number] == 1 and self._first_seen[kind] % HELD_OUT == 0 and self._identities
        is_held_out = self._totals[number] % HELD_OUT == 0 or bool(is_another)
        if is_another:
            self._waiting[len(self.places.groups)] = number, recorded
        elif not is_held_out:
            self._learned[number].add(trace, kind.outcome, user, effects)
        self.places.groups.append(number)
        self.places.held_out.append(is_held_out)

    def _identity(self, trace: Trace, user: tuple[str, ...]) -> str:
        """The case that a trace is a run of: its id, or its prompt; nothing once there are too many of them."""
        if self._identities is None:
            return ""
        name = trace.case_id.strip() or folded(user[0])
        self._identities.add(name)
        if len(self._identities) <= MOST_IDENTITIES:
            return name
        self._identities = None
        self._merge_by_kind()
        return ""

    def _merge_by_kind(self) -> None:
        """Forget whose repeats they were: what did the same is one kind."""
        self._waiting.clear()
        numbers: dict[tuple[str, TraceKind], int] = {}
        into: dict[int, int] = {}
        for (_, kind), number in self._numbers.items():
            first = numbers.setdefault(("", kind), number)
            into[number] = first
            if first != number:
                self._learned[first].merge(self._learned[number])
                self._totals[first] += self._totals[number]
        self._numbers = numbers
        self.places.groups[:] = array("i", [into.get(number, number) for number in self.places.groups])

    def groups(self) -> list[TraceGroup]:
        """The groups that cases are drafted from, the most frequent first; `places` then has their numbers."""
        total = sum(self._totals[number] for number in self._numbers.values())
        names = len(self._identities or ())
        by_name = bool(self._identities) and (names <= self._options.max_cases or total >= 2 * names)
        if not by_name and self._identities is not None:
            self._merge_by_kind()
        self._learn_waiting()
        candidates = self._by_name() if by_name else self._by_kind(total)
        candidates.sort(key=lambda pair: -pair[0].total)
        drafted = candidates[: self._options.max_cases]
        for group, _ in candidates[self._options.max_cases :]:
            self._findings.add_group("rare", group, ": over --max-cases, not drafted")
        if by_name:  # as the source has them
            drafted.sort(key=lambda pair: pair[1][0])
        into = {number: index for index, (_, numbers) in enumerate(drafted) for number in numbers}
        self.places.groups[:] = array("i", [into.get(number, APART) for number in self.places.groups])
        return [group for group, _ in drafted]

    def _learn_waiting(self) -> None:
        for index, (number, recorded) in self._waiting.items():
            trace = recorded.trace
            effects = self.effects_of(trace)
            self._learned[number].add(trace, kind_of(trace, effects).outcome, user_texts(trace), effects)
            self.places.held_out[index] = 0

    def _by_kind(self, total: int) -> list[tuple[TraceGroup, list[int]]]:
        candidates = []
        for (_, kind), number in self._numbers.items():
            group = TraceGroup("", [kind], self._learned[number], self._totals[number])
            if self._totals[number] * RARE < total:
                self._findings.add_group("rare", group, ": is this intended?")
            elif _is_failure(kind):
                self._findings.add_group("failed", group, ", and the answer does not say that it failed")
            else:
                candidates.append((group, [number]))
        return candidates

    def _by_name(self) -> list[tuple[TraceGroup, list[int]]]:
        repeats: dict[str, list[tuple[TraceKind, int]]] = {}
        for (name, kind), number in self._numbers.items():
            repeats.setdefault(name, []).append((kind, number))
        candidates = []
        for name, variants in repeats.items():
            total = sum(self._totals[number] for _, number in variants)
            usual = []
            for kind, number in sorted(variants, key=lambda pair: -self._totals[pair[1]]):
                group = TraceGroup(name, [kind], self._learned[number], self._totals[number])
                if _is_failure(kind):
                    self._findings.add_group("failed", group, ", and the answer does not say that it failed")
                elif self._totals[number] * ODD_RUN < total:
                    self._findings.add_odd(group, total)
                else:
                    usual.append((kind, number))
            if usual:
                candidates.append((self._merge_variants(name, usual), [number for _, number in usual]))
        return candidates

    def _merge_variants(self, name: str, variants: list[tuple[TraceKind, int]]) -> TraceGroup:
        (_, first), *others = variants
        learned, about = self._learned[first], self._about[first]
        for _, number in others:
            learned.merge(self._learned[number])
        total = sum(self._totals[number] for _, number in variants)
        kinds = [kind for kind, _ in variants]
        return TraceGroup(name, kinds, learned, total, about.setup_prompts, about.preconditions)


def _describe(group: TraceGroup) -> str:
    kind = group.kinds[0]
    tools = ", ".join(kind.tools[:6]) + (" ..." if len(kind.tools) > 6 else "")
    turns = f" in {kind.turns} turns" if kind.turns != "1" else ""
    return f"{kind.outcome} with {tools or 'no tool'}{turns}"


def _lacks_name(trace: Trace) -> bool:
    """Whether a call has a name that no suite can write."""
    return not all(can_be_written(call.name) for call in trace.tool_calls)


def _quoted(user: tuple[str, ...]) -> str:
    return repr(excerpt(user[0])) if user and user[0] else ""


def _is_failure(kind: TraceKind) -> bool:
    """Whether tools were called, none succeeded, and the answer does not admit it."""
    return bool(kind.tools) and kind.outcome == "completed"


def user_texts(trace: Trace) -> tuple[str, ...]:
    """What the user said, turn by turn."""
    return tuple(turn.input for turn in trace.turns) if trace.turns else (trace.input,)
