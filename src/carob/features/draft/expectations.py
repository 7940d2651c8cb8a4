"""What is expected of a kind of case: what its traces agree on, each line with its support."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from carob.features.audit.operators.measures import budget_for, round_up
from carob.features.draft.origins import CLOCK, ID, PROMPT, is_stable
from carob.features.draft.trace_statistics import Path, Slot, TraceStatistics, Values
from carob.text.free_text import is_free_text
from carob.text.wording import pluralize

PINNED = 4
"""Runs in which a value must have been the same before it is asked for as it is."""
SEEN = 2
"""The same, where the value was seen in an earlier result."""
MOST_CHOICES = 5
PER_CHOICE = 5
"""Runs for each value of a short list before the list is asked for."""
MOST_NUMBERS = 3
MOST_ENTRIES = 4
MOST_SHOWN = 8
CERTAIN_NUMBER = 10
"""A smaller whole number may be in an answer by chance."""
RUNS = "{runs}"
"""In a note: in how many runs it held, which is known once all were judged."""
FROM = "result of "
NOT_DONE = ("graceful_error", "needs_input")
"""Outcomes that are of the tools of `effects`, unless others are named."""
MOST_ECHOES = 6

_CODE = re.compile(r"[A-Za-z]+(?:[_.-][A-Za-z0-9]+)+|[A-Z]\w*Error|[A-Z0-9_]{3,}|\d{3}")
"""An error that is a name, and not words."""

_VARIABLE = re.compile(r"\{\w+\}")

Expected = dict[str, Any]


class Noted(NamedTuple):
    """A value of the suite, and the comment after it."""

    value: Any
    note: str


class RowVariable(NamedTuple):
    """A value that each row of the case has its own of, because it comes from the prompt."""

    name: str


class AllKinds(NamedTuple):
    """What is known of all kinds of cases together."""

    effects: Mapping[str, tuple[str, ...]]
    most: Mapping[str, float]
    """The most that any run took of each measure that all of them have."""
    is_effect: frozenset[str]


class CaseContract:
    """What is expected of a case, the variables of its rows by the argument they are, and what varied.

    It asks for all that the traces of a kind support; what of it is worth a line is decided by an audit.
    Of one turn of a conversation it asks for what was looked up in it: deeds are asked of the whole.
    """

    def __init__(self, learned: TraceStatistics, around: AllKinds, *, of_turn: bool = False) -> None:
        self._learned = learned
        self._around = around
        self.variables: dict[str, tuple[str, int, Path]] = {}
        self.varied: list[str] = []
        self.expected: Expected = {"outcome": self._outcome()}
        entries = self._tool_calls()
        if of_turn:
            entries = [entry for entry in entries if entry["tool"] not in around.is_effect]
        self.expected |= {"tool_calls": entries} if entries else {}
        if not of_turn:
            self._name_failing_tools()
        self.expected |= self._tools_used()
        if requires := _requires(learned):
            self.expected["tool_requires"] = requires
        if around.effects and not of_turn and "tools" not in learned.unobserved:
            used = sorted(learned.tools & around.is_effect)
            never = sorted(around.is_effect - learned.tools)
            note = f"{RUNS}; never used: {', '.join(never[:6]) or 'none'}"
            self.expected["only_effects"] = Noted(used, note)
        if numbers := _numbers(learned):
            self.expected["must_ground_numbers"] = numbers
        self.expected |= _expect_shown(learned) if of_turn else _expect_of_whole(learned, around)
        _leave_unseen(self.expected, learned)

    def _outcome(self) -> Noted:
        outcomes = self._learned.outcomes
        if len(outcomes) == 1:
            return Noted(next(iter(outcomes)), RUNS)
        came_out = ", ".join(f"{name} in {count}" for name, count in outcomes.most_common())
        self.varied.append(f"the outcome: {came_out}")
        return Noted("completed", f"{RUNS}; {came_out}")

    def _name_failing_tools(self) -> None:
        tools, around = self._learned.tools, self._around
        if self.expected["outcome"].value in NOT_DONE and tools - around.is_effect and around.effects:
            self.expected["tool_calls_any"] = Noted(sorted(tools), f"what failed in {RUNS}")

    def _tool_calls(self) -> list[Expected]:
        learned, entries = self._learned, []
        for tool in sorted(learned.calls, key=lambda name: _first_place(learned, name)):
            counts = learned.calls[tool]
            least, most = min(counts), max(counts)
            if least == 0:
                self.varied.append(f"{tool} was called in {learned.count - counts[0]} of {learned.count} runs")
                continue
            together = _merge_slots(learned, tool)
            if len(together.success) > 1:
                succeeded = together.success[True]
                self.varied.append(f"{tool} succeeded in {succeeded} of {pluralize(together.count, 'call')}")
            if len(counts) == 1 and most <= MOST_ENTRIES:
                times = Noted(1, RUNS) if most == 1 else None
                for number in range(most):
                    slot = learned.slots[tool, number]
                    entries.append(_entry(tool, self._arguments(tool, number, slot), slot, times))
            else:
                room = most if tool in self._around.is_effect else most * 2
                often = Noted(
                    {"min": least, "max": room} if least > 1 else {"max": room}, f"{least} to {most} calls in a run"
                )
                entries.append(_entry(tool, {}, together, often))
                self.varied.append(f"{tool} was called {least} to {most} times")
        return entries

    def _arguments(self, tool: str, number: int, slot: Slot) -> Expected:
        arguments: Expected = {}
        for path, values in slot.arguments.items():
            if values.count < slot.count:
                name = ".".join(path)
                self.varied.append(f"`{name}` of {tool} was given in {values.count} of {slot.count} calls")
            elif not self._learned.has_one_script and values.origin == PROMPT and values.distinct > 1:
                variable = _variable_name(path, tool, self.variables)
                self.variables[variable] = (tool, number, path)
                note = f"from the prompt, {RUNS}, {values.shown_distinct} values"
                _put(arguments, path, Noted(RowVariable(variable), note))
            elif (matched := generalize(values)) is not None:
                _put(arguments, path, matched)
        return arguments

    def _tools_used(self) -> Expected:
        learned = self._learned
        if "tools" in learned.unobserved:
            return {}
        multisets = {tuple(sorted(names)) for names in learned.sequences}
        if len(multisets) == 1 and learned.count >= PINNED:
            names = learned.sequences.most_common(1)[0][0]
            return {"tools_used": Noted([*names], RUNS)}
        if len(learned.sequences) > 1:
            self.varied.append(f"the calls: {len(learned.sequences)} different orders or numbers of calls")
        used = Noted(sorted(learned.tools), f"no other tool in {RUNS}")
        return {"tools_used": used, "tools_match": "subset"} if learned.count >= PINNED else {}


def _expect_of_whole(learned: TraceStatistics, around: AllKinds) -> Expected:
    """What is asked of a whole case and not of each turn: how it answers, what it changes, what it costs."""
    expected: Expected = {}
    if learned.most.get("words"):
        expected["min_words"] = Noted(1, f"the answer is not empty in {RUNS}")
    expected["grounded_numbers"] = Noted(True, f"every number has a source in {RUNS}")
    if around.effects:
        expected["no_false_success"] = Noted(True, f"every claim was backed by a tool in {RUNS}")
    if logged := [tool for tool, count in sorted(learned.logged.items()) if count == learned.count]:
        expected["telemetry"] = [Noted(f"tool.{tool} start", RUNS) for tool in logged]
    expected |= _places(learned)
    if learned.schemas == learned.count:
        expected["valid_arguments"] = Noted(True, RUNS)
    if learned.ended == learned.count:
        expected["ended"] = Noted(True, RUNS)
    return expected | _budgets(around, learned)


def _leave_unseen(expected: Expected, learned: TraceStatistics) -> None:
    """Ask for no number of calls where a run did not show all of them: it would stay unknown."""
    if "tools" in learned.unobserved:
        for entry in expected.get("tool_calls", ()):
            entry.pop("times", None)
        for field in ("tools_used", "tools_match", "max_tool_calls"):
            expected.pop(field, None)


def loosen(expected: Expected, around: AllKinds) -> None:
    """Ask less where the user spoke otherwise in each run: not how often something was looked up."""
    for entry in expected.get("tool_calls", ()):
        if entry["tool"] not in around.is_effect:
            entry.pop("times", None)
    for field in ("tools_used", "tools_match", "must_ground_numbers"):
        expected.pop(field, None)


def _first_place(learned: TraceStatistics, tool: str) -> tuple[int, str]:
    sequence = learned.sequences.most_common(1)[0][0] if learned.sequences else ()
    return (sequence.index(tool) if tool in sequence else len(sequence), tool)


def _merge_slots(learned: TraceStatistics, tool: str) -> Slot:
    all_calls = Slot()
    for (name, _), slot in learned.slots.items():
        if name == tool:
            all_calls.merge(slot)
    return all_calls


def _entry(tool: str, arguments: Expected, slot: Slot, times: Noted | None) -> Expected:
    entry: Expected = {"tool": tool}
    if arguments:
        entry["arguments"] = arguments
    if len(slot.success) == 1 and None not in slot.success:
        entry["success"] = Noted(next(iter(slot.success)), RUNS)
        if slot.success[True]:
            entry |= _echoes(slot) or _expect_entries(slot)
        elif slot.errors.count == slot.count and slot.errors.distinct == 1 and _CODE.fullmatch(str(slot.errors.only)):
            entry["error"] = Noted(slot.errors.only, RUNS)
    return entry | ({"times": times} if times else {})


def _echoes(slot: Slot) -> Expected:
    """Members of the result that are what the user asked for, in every run."""
    result: Expected = {}
    constant = [(path, values) for path, values in slot.echoes.items() if values.count == slot.count]
    for path, values in constant[:MOST_ECHOES]:
        if values.distinct == 1:
            _put(result, tuple(path.removeprefix("$.").split(".")), Noted(values.only, f"as in the prompt, {RUNS}"))
    return {"result": result} if result else {}


def _expect_entries(slot: Slot) -> Expected:
    """That a list which had entries in every run is not empty."""
    if slot.listed < max(PINNED, slot.count):
        return {}
    return {"result": {"$type": "array", "$length": Noted({"$gte": 1}, f"never empty, {RUNS}")}}


def _variable_name(path: Path, tool: str, used_names: Mapping[str, object]) -> str:
    plain = "".join(char if char.isalnum() else "_" for char in path[-1]).strip("_") or "value"
    plain = plain if plain[0].isalpha() else f"v_{plain}"
    names = [plain, f"{plain}_of_{''.join(c if c.isalnum() else '_' for c in tool)}"]
    names += [f"{plain}_{number}" for number in range(2, 99)]
    return next(name for name in names if name not in used_names and name not in ("asked", "row"))


def _put(tree: Expected, path: Path, value: Noted) -> None:
    for step in path[:-1]:
        tree = tree.setdefault(step, {})
    tree[path[-1]] = value


def generalize(values: Values) -> Noted | None:
    """What may be asked of a value: by where it came from first, then by its type."""
    origin, support = values.origin, f"{RUNS}, {values.shown_distinct} value{'s' * (values.distinct != 1)}"
    from_prompt = origin == PROMPT
    where = f"from the {origin}, " if from_prompt or origin.startswith(FROM) else ""
    if values.distinct == 1 and origin not in (CLOCK, ID):
        value = values.only
        enough = values.count >= (SEEN if where else PINNED) and not is_free_text(value)
        # What quotes many words of the prompt may say them otherwise the next time.
        quoted = from_prompt and (values.count >= PINNED or not is_free_text(value))
        # What a table of rows would replace cannot be written down as it is.
        if (quoted or (enough and not isinstance(value, dict))) and not _VARIABLE.search(str(value)):
            return Noted(value, f"{where}{RUNS}") if _is_plain(value) else Noted({"$eq": value}, f"{where}{RUNS}")
    if origin == CLOCK:
        return Noted({"$regex": r"^\d{4}-\d\d-\d\d"}, f"from the clock, {support}")
    few = 1 < values.distinct <= MOST_CHOICES and values.count >= PER_CHOICE * values.distinct
    if few and origin != ID and not origin.startswith(FROM):
        choices = [value for value, _ in values.known.values()]
        if all(isinstance(value, str | int | float | bool) and not is_free_text(value) for value in choices):
            return Noted({"$in": choices}, f"{where}{support}")
    shape = next(iter(values.shapes)) if len(values.shapes) == 1 else ""
    if shape and values.distinct > 1 and origin != ID and set(values.types) == {"string"}:
        return Noted({"$regex": shape}, f"{where}{support}")
    types = sorted(values.types)
    types = ["number"] if set(types) == {"integer", "number"} else types
    why = "worded freely" if any(is_free_text(value) for value, _ in values.known.values()) else "too few runs to pin"
    why = where.removesuffix(", ") or (why if values.distinct == 1 or why == "worded freely" else "it varied")
    return Noted({"$type": types[0] if len(types) == 1 else types}, f"{support}: {why}")


def _is_plain(value: object) -> bool:
    """Whether a value means itself in a suite: a `$` key would be a matcher."""
    if isinstance(value, dict):
        return False
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return True


def _requires(learned: TraceStatistics) -> Expected:
    """What comes first, where its result fed an argument in every run."""
    required: dict[str, list[str]] = {}
    for (first, then), count in sorted(learned.feeds.items()):
        runs = learned.count - learned.calls[then][0]
        if count == runs and (then, first) not in learned.feeds:
            required.setdefault(then, []).append(first)
    return {then: Noted(firsts, f"its result is used as an argument in {RUNS}") for then, firsts in required.items()}


def _numbers(learned: TraceStatistics) -> list[Noted]:
    """Numbers that the answer states as the tool gave them, in every run."""
    entries = []
    for (tool, path), values in learned.numbers.items():
        sure = values.distinct >= 3 or all(
            isinstance(value, float) or abs(value) >= CERTAIN_NUMBER  # type: ignore[arg-type]  # only numbers are kept
            for value, _ in values.known.values()
        )
        if values.count == learned.count and sure and learned.calls[tool][0] == 0:
            label = path.rpartition(".")[2].strip("$[]'") or tool
            entries.append((values.distinct, Noted({"label": label, "from_tool": tool, "at": path}, RUNS)))
    entries.sort(key=lambda pair: -pair[0])
    return [noted for _, noted in entries[:MOST_NUMBERS]]


def _expect_shown(learned: TraceStatistics) -> Expected:
    """What is new on the page, in every run."""
    new_elements = [key for key, count in learned.elements.items() if count == learned.count >= 2]
    entries = [Noted({"role": role, "name": name}, f"new in {RUNS}") for role, name in new_elements[:MOST_SHOWN]]
    return {"ui": entries} if entries else {}


def _places(learned: TraceStatistics) -> Expected:
    """The state that it leaves, what is new on the page, the members of a JSON answer."""
    expected: Expected = {}
    state = {
        f"$.{path[0]}" if path[0].isidentifier() else f"$[{json.dumps(path[0])}]": Noted(values.only, RUNS)
        for path, values in learned.state.items()
        if values.count == learned.count >= PINNED and values.distinct == 1 and is_stable(values.only)
    }
    if state:
        expected["state"] = state
    expected |= _expect_shown(learned)
    database = {query: Noted(values.only, RUNS) for query, values in learned.database.items() if values.distinct == 1}
    if database and all(learned.database[query].count == learned.count for query in database):
        expected["database"] = database
    members = {name: values for name, values in learned.members.items() if values.count == learned.count}
    if members:
        properties = {name: _describe_member(values) for name, values in members.items()}
        schema = {"type": "object", "required": [*members], "properties": properties}
        expected["answer_json"] = Noted(schema, RUNS)
    return expected


def _describe_member(values: Values) -> Expected:
    """What a field of a structured answer is: its one value, where enough runs agree on it, else its type."""
    is_word = isinstance(values.only, str | bool | int) and is_stable(values.only) and not is_free_text(values.only)
    if values.distinct == 1 and values.count >= PINNED and is_word:
        return {"const": values.only}
    types = sorted(values.types)
    return {"type": types[0] if len(types) == 1 else types}


def _budgets(around: AllKinds, learned: TraceStatistics) -> Expected:
    """What a run may cost, with room: five times the longest time, three times the rest, and never a tight figure.

    How long an answer is, and how many calls it takes, depends on what is asked; the rest holds for all cases.
    """
    of_case = {name: learned.most[name] for name in ("words", "calls") if learned.most.get(name)}
    most = {name: value for name, value in around.most.items() if name not in ("words", "calls")} | of_case
    rows: tuple[tuple[str, str, float, float, str], ...] = (
        ("max_seconds", "seconds", 5, 10, "the longest run took {:.1f} s"),
        ("max_first_token_seconds", "first", 5, 10, "the slowest first word took {:.1f} s"),
        ("max_steps", "steps", 2, 4, "{:.0f} at most"),
        ("max_cost_usd", "cost", 3, 0.001, "{:.4f} at most"),
        ("max_words", "words", 3, 50, "the longest answer has {:.0f} words"),
        ("max_tool_calls", "calls", 2, 3, "{:.0f} at most"),
    )
    budgets: Expected = {
        field: Noted(round_up(max(most[name] * room, least)), note.format(most[name]))
        for field, name, room, least, note in rows
        if name in most
    }
    if most.get("tokens"):
        budgets["max_tokens"] = Noted({"total": budget_for(most["tokens"])}, f"{most['tokens']:.0f} at most")
    return budgets


def most_of_all(kinds: list[TraceStatistics]) -> dict[str, float]:
    """The most of each measure that every run has."""
    counted: Counter[str] = Counter()
    runs = sum(kind.count for kind in kinds)
    highest: dict[str, float] = {}
    for kind in kinds:
        counted.update(kind.measured)
        for name, value in kind.most.items():
            highest[name] = max(highest.get(name, 0), value)
    return {name: value for name, value in highest.items() if counted[name] == runs and value > 0}
