"""What the traces of one kind have in common, kept in figures: a trace is looked at once and let go."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from carob.checks.effects.outcome import Name as OutcomeName
from carob.checks.effects.outcome import Outcome
from carob.checks.tools.patterns import part_of
from carob.features.audit.operators.observations import new_elements
from carob.features.draft.origins import PROMPT, Origins, scalars, shape_of
from carob.features.lint.phrases import COMMON_WORDS
from carob.model.cost import reported_cost
from carob.model.suite import Case, Reply
from carob.model.trace import BY_ITSELF, ToolCall, Trace
from carob.model.verdict import Status
from carob.targets.conversation import ScriptedUser
from carob.text.free_text import is_free_text
from carob.text.json_answers import json_answer
from carob.text.numbers.claimed import numbers_in
from carob.text.prose.asking import find_request_for
from carob.text.tool_names import effect_tools
from carob.text.tool_results import parse_result
from carob.text.words import PUBLISHED

MOST_VALUES = 24
"""Different values of an argument that are kept; of more it is only known that there are many."""
MOST_SLOTS = 8
"""Calls of one tool in a trace that are looked at each alone."""
MOST_EXAMPLES = 4
MOST_PROMPTS = 200
MOST_PATHS = 400
LONGEST_PROMPT = 4000
WORDLESS = "completed"
DONE: tuple[OutcomeName, ...] = ("tool_success", "graceful_error")
SAID: tuple[OutcomeName, ...] = ("needs_input", "graceful_block", "response_only")

_encode = msgspec.json.Encoder(order="sorted").encode
Path = tuple[str, ...]
Key = TypeVar("Key")


class TraceKind(NamedTuple):
    """What similar traces share: how they came out, the tools that were called, and how long the conversation was."""

    outcome: str
    tools: tuple[str, ...]
    turns: str


def kind_of(trace: Trace, effects: Mapping[str, tuple[str, ...]]) -> TraceKind:
    tools = tuple(sorted({call.name for call in trace.tool_calls if call.called}))
    turns = len(trace.turns) or 1
    return TraceKind(outcome_of(trace, effects), tools, "1" if turns == 1 else "2 to 4" if turns < 5 else "5 or more")


def outcome_of(trace: Trace, effects: Mapping[str, tuple[str, ...]]) -> str:
    """The most that can be said of how a trace came out; calls come before words."""
    called = [call for call in trace.tool_calls if call.called]
    lacks = any(call.missing_fields for call in called)
    for name in (DONE[0], SAID[0], *DONE[1:]) if lacks else DONE if called else SAID:
        check = Outcome(name, tools=tuple(effect_tools(effects)) if name == "graceful_error" else ())
        if check.judge(trace).status is Status.PASSED:
            return name
    return WORDLESS


class Values:
    """The values that one argument, or one place of the state, was seen to have."""

    __slots__ = ("count", "known", "many", "origins", "shapes", "types")

    def __init__(self) -> None:
        self.count = 0
        self.known: dict[bytes, tuple[object, int]] = {}
        self.many = False
        self.origins: Counter[str] = Counter()
        self.types: Counter[str] = Counter()
        self.shapes: Counter[str] = Counter()

    def add(self, value: object, origin: str = "") -> None:
        self.count += 1
        self.origins[origin] += 1
        self.types[json_type(value)] += 1
        if isinstance(value, str) and len(self.shapes) < MOST_VALUES:
            self.shapes[shape_of(value)] += 1
        self._keep(_encode(value), value, 1)

    def _keep(self, key: bytes, value: object, count: int) -> None:
        if key in self.known:
            self.known[key] = (value, self.known[key][1] + count)
        elif len(self.known) < MOST_VALUES:
            self.known[key] = (value, count)
        else:
            self.many = True

    def merge(self, other: Values) -> None:
        self.count += other.count
        self.origins += other.origins
        self.types += other.types
        self.shapes += other.shapes
        self.many |= other.many
        for key, (value, count) in other.known.items():
            self._keep(key, value, count)

    @property
    def distinct(self) -> int:
        return len(self.known) + self.many

    @property
    def shown_distinct(self) -> str:
        return f"{len(self.known)}{'+' if self.many else ''}"

    @property
    def origin(self) -> str:
        """Where every value came from, if from one place."""
        return next(iter(self.origins)) if len(self.origins) == 1 else ""

    @property
    def only(self) -> object:
        """The one value."""
        return next(iter(self.known.values()))[0]


class Slot:
    """The first, second ... call of a tool in a trace."""

    def __init__(self) -> None:
        self.count = 0
        self.arguments: dict[Path, Values] = {}
        self.success: Counter[bool | None] = Counter()
        self.echoes: dict[str, Values] = {}
        """Members of results that are what the user asked for."""
        self.listed = 0
        """Results that are lists with something in them."""
        self.errors = Values()

    def add(self, call: ToolCall, origins: Origins) -> None:
        self.count += 1
        self.success[call.success] += 1
        if (error := part_of(call, "error")) is not None:
            self.errors.add(error)
        result = parse_result(call.result)
        self.listed += isinstance(result, list) and bool(result)
        for result_path, value in scalars(result) if call.success else ():
            telling = len(value) > 2 if isinstance(value, str) else isinstance(value, int) and value > 9
            if telling and "[" not in result_path and not is_free_text(value) and origins.in_prompt(value):
                self.echoes.setdefault(result_path, Values()).add(value, PROMPT)
        for path, value in argument_values(call.arguments):
            if len(self.arguments) < MOST_PATHS or path in self.arguments:
                self.arguments.setdefault(path, Values()).add(value, origins.of(value))

    def merge(self, other: Slot) -> None:
        self.count += other.count
        self.success += other.success
        self.listed += other.listed
        self.errors.merge(other.errors)
        _merge_values(self.echoes, other.echoes)
        _merge_values(self.arguments, other.arguments)


def argument_values(arguments: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """The arguments of a call by their paths; a list is one value, and so is a query such as `{"$gt": 3}`."""
    if isinstance(arguments, dict) and arguments and not any(str(key).startswith("$") for key in arguments):
        for key, value in arguments.items():
            yield from argument_values(value, (*path, str(key)))
    elif path:
        yield path, arguments


def json_type(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = ((str, "string"), (int, "integer"), (float, "number"), (dict, "object"), (list, "array"))
    return next((name for kind, name in names if isinstance(value, kind)), "null")


def _merge_values(mine: dict[Key, Values], its: Mapping[Key, Values]) -> None:
    for key, values in its.items():
        mine.setdefault(key, Values()).merge(values)


class TraceStatistics:
    """All that is kept of the traces of a kind."""

    def __init__(self) -> None:
        self.count = 0
        self.prompts: Counter[tuple[str, ...]] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.sequences: Counter[tuple[str, ...]] = Counter()
        self.calls: dict[str, Counter[int]] = {}
        self.slots: dict[tuple[str, int], Slot] = {}
        self.feeds: Counter[tuple[str, str]] = Counter()
        self.numbers: dict[tuple[str, str], Values] = {}
        self.state: dict[Path, Values] = {}
        self.database: dict[str, Values] = {}
        self.members: dict[str, Values] = {}
        self.elements: Counter[tuple[str, str]] = Counter()
        self.most: dict[str, float] = {}
        self.measured: Counter[str] = Counter()
        self.ended = 0
        self.logged: Counter[str] = Counter()
        self.schemas = 0
        self.unobserved: dict[str, str] = {}
        self.examples: list[Trace] = []
        self.turns: list[TraceStatistics] = []
        self.replies = Replies()

    def add(
        self,
        trace: Trace,
        outcome: str,
        user: tuple[str, ...],
        effects: Mapping[str, tuple[str, ...]],
        earlier: Sequence[Trace] = (),
    ) -> None:
        """Look at a trace; `earlier` are the turns before it, from which values may come."""
        self.count += 1
        self.outcomes[outcome] += 1
        if user not in self.prompts and len(self.examples) < MOST_EXAMPLES:
            self.examples.append(trace)
        if user in self.prompts or len(self.prompts) < MOST_PROMPTS:
            self.prompts[user] += 1
        self._add_calls(trace, "\n".join((*(turn.input for turn in earlier), *user)), earlier)
        self._add_measures(trace)
        self.unobserved.update(trace.unobserved)
        for key, value in trace.state.items():
            if isinstance(value, str | int | float | bool):
                self.state.setdefault((key,), Values()).add(value)
        for query, rows in trace.database.items():
            self.database.setdefault(query, Values()).add(rows)
        if trace.page is not None:
            self.elements.update(set(new_elements(trace)))
        answer = json_answer(trace.final_message).value if trace.final_message[:1] in "{[`" else None
        for key, value in answer.items() if isinstance(answer, dict) else ():
            self.members.setdefault(key, Values()).add(value)
        if trace.turns:
            self.replies.add(trace.turns)
            self._add_turns(trace, effects)

    def _add_turns(self, trace: Trace, effects: Mapping[str, tuple[str, ...]]) -> None:
        """Each turn alone: only where every trace has as many turns do they say anything."""
        if self.count == 1:
            self.turns = [TraceStatistics() for _ in trace.turns]
        elif len(self.turns) != len(trace.turns):
            self.turns = []
        for number, (learned, turn) in enumerate(zip(self.turns, trace.turns, strict=False)):
            learned.add(turn, outcome_of(turn, effects), (turn.input,), effects, trace.turns[:number])

    def _add_calls(self, trace: Trace, user_text: str, earlier: Sequence[Trace]) -> None:
        origins = Origins(trace, user_text)
        for call in (call for turn in earlier for call in turn.tool_calls if call.success is not False):
            origins.add_result(call.name, call.result)
        calls_so_far: Counter[str] = Counter()
        fed: set[tuple[str, str]] = set()
        results: dict[str, object] = {}
        for call in trace.tool_calls:
            if not call.called:
                continue
            number = min(calls_so_far[call.name], MOST_SLOTS)
            slot = self.slots.setdefault((call.name, number), Slot())
            calls_so_far[call.name] += 1
            slot.add(call, origins)
            for _, value in argument_values(call.arguments):
                origin = origins.of(value)
                if origin.startswith("result of "):
                    fed.add((origin.removeprefix("result of "), call.name))
            if call.success is not False and call.result is not None:
                result = parse_result(call.result)
                origins.add_result(call.name, result)
                results[call.name] = result
        names = tuple(call.name for call in trace.tool_calls if call.called)
        if names in self.sequences or len(self.sequences) < MOST_PROMPTS:
            self.sequences[names] += 1
        for tool in self.calls.keys() | calls_so_far.keys():
            counts = self.calls.setdefault(tool, Counter({0: self.count - 1} if self.count > 1 else {}))
            counts[calls_so_far[tool]] += 1
        self.feeds.update((feeder, other) for feeder, other in fed if feeder != other)
        self._add_numbers(trace, results, origins)

    def _add_numbers(self, trace: Trace, results: Mapping[str, object], origins: Origins) -> None:
        """The numbers of results that the answer states, and the user did not."""
        if not results:
            return
        stated = {float(number) for number in numbers_in(trace.final_message)}
        for tool, result in results.items() if stated else ():
            for path, value in scalars(result):
                if isinstance(value, bool) or not isinstance(value, int | float) or "[*]" in path:
                    continue
                if float(value) in stated and not origins.in_prompt(value) and len(self.numbers) < MOST_PATHS:
                    self.numbers.setdefault((tool, path), Values()).add(value)

    def _add_measures(self, trace: Trace) -> None:
        tokens = trace.tokens
        measures: dict[str, float | None] = {
            "seconds": None if trace.duration_ms is None else trace.duration_ms / 1000,
            "first": None if (first := trace.timings.get("first_token_ms")) is None else first / 1000,
            "steps": trace.steps,
            "tokens": (tokens.input + tokens.output) if tokens and tokens.input and tokens.output else None,
            "cost": reported_cost(trace.metadata),
            "words": len(trace.final_message.split()),
            "calls": sum(call.called for call in trace.tool_calls),
        }
        for name, value in measures.items():
            if value is not None:
                self.measured[name] += 1
                self.most[name] = max(self.most.get(name, 0), value)
        self.ended += trace.ended_by == BY_ITSELF
        for tool in {call.name for call in trace.tool_calls} if trace.telemetry else ():
            self.logged[tool] += any(f'"tool.{tool}"' in line for line in trace.telemetry)
        self.schemas += bool(trace.tool_schemas)

    def merge(self, other: TraceStatistics) -> None:
        """Take in what another kind has learned."""
        if not other.count:
            return
        for tool in self.calls.keys() | other.calls.keys():
            counts = self.calls.setdefault(tool, Counter({0: self.count}))
            counts += other.calls.get(tool, Counter({0: other.count}))
            self.calls[tool] = counts
        same_turns = len(self.turns) == len(other.turns)
        self.count += other.count
        for name in ("prompts", "outcomes", "sequences", "feeds", "elements", "measured", "logged"):
            getattr(self, name).update(getattr(other, name))
        for key, slot in other.slots.items():
            self.slots.setdefault(key, Slot()).merge(slot)
        for name in ("numbers", "state", "members", "database"):
            _merge_values(getattr(self, name), getattr(other, name))
        for name, value in other.most.items():
            self.most[name] = max(self.most.get(name, 0), value)
        self.ended += other.ended
        self.schemas += other.schemas
        self.unobserved.update(other.unobserved)
        self.examples = (self.examples + other.examples)[:MOST_EXAMPLES]
        self.replies.merge(other.replies)
        if not same_turns:
            self.turns = []
        for turn, its_turn in zip(self.turns, other.turns, strict=False):
            turn.merge(its_turn)

    @property
    def tools(self) -> set[str]:
        return set(self.calls)

    @property
    def has_one_script(self) -> bool:
        """Whether the user said the same in every trace."""
        return len(self.prompts) == 1


MOST_REPLIES = 8
MOST_QUESTIONS = 12
"""Questions before one reply that are kept."""
LEAST_SEEN = 2
"""Conversations in which a reply must have been given before a script is made of it."""
_WORD = re.compile(r"[^\W\d_]{4,}")

Script = list[dict[str, Any]]


class Replies:
    """What a user said to the questions of an agent, in all traces of a kind; let go once he said anything else."""

    def __init__(self) -> None:
        self._questions: dict[str, dict[str, None]] | None = {}
        self._seen: dict[str, int] = {}
        self._orders: dict[tuple[str, ...], list[str]] = {}
        self._firsts: set[str] = set()

    def add(self, turns: Sequence[Trace]) -> None:
        if self._questions is None:
            return
        replies = tuple(turn.input for turn in turns[1:])
        self._firsts.add(turns[0].input)
        self._orders.setdefault(replies, [turn.final_message for turn in turns])
        for before, reply in zip(turns, replies, strict=False):
            questions = self._questions.setdefault(reply, {})
            if before.final_message not in questions and len(questions) < MOST_QUESTIONS:
                questions[before.final_message] = None
        for reply in {*replies}:
            self._seen[reply] = self._seen.get(reply, 0) + 1
        if len(self._questions) > MOST_REPLIES or len(self._firsts) > 1:
            self._questions = None

    def merge(self, other: Replies) -> None:
        if self._questions is None or other._questions is None:
            self._questions = None
            return
        for reply, questions in other._questions.items():
            self._questions[reply] = dict([*self._questions.get(reply, {}).items(), *questions.items()])
            self._seen[reply] = self._seen.get(reply, 0) + other._seen[reply]
        self._orders = {**other._orders, **self._orders}
        self._firsts |= other._firsts

    def script(self) -> Script:
        """The replies of a case; none unless he gave the same in another order, and a script would say just that."""
        if self._questions is None or len(self._orders) < 2 or len(self._firsts) > 1:
            return []
        if min(self._seen.values(), default=0) < LEAST_SEEN:
            return []
        replies = []
        for reply, questions in self._questions.items():
            others = [question for other in self._questions.items() if other[0] != reply for question in other[1]]
            if not (things := _things(reply, questions, others)):
                return []
            replies.append(Reply(tuple(things), reply))
        case = Case(id="", prompt="?", replies=tuple(replies), checks=())
        is_reproduced = all(tuple(_says(case, answers)) == spoken for spoken, answers in self._orders.items())
        return [{"asks_for": [*reply.asks_for], "say": reply.say} for reply in replies] if is_reproduced else []


def _says(case: Case, answers: Iterable[str]) -> Iterator[str]:
    """What the scripted user says to these answers."""
    user = ScriptedUser(case)
    for answer in answers:
        if (reply := user.next(Trace(case_id="", final_message=answer, tool_calls=()))) is None:
            return
        yield reply


def _things(reply: str, questions: Mapping[str, None], others: Sequence[str]) -> list[str]:
    """The fewest words that all of these questions ask for one of, and no other question does."""
    asks = {question: _asked_words(question) for question in questions}
    elsewhere = {word for question in others for word in _asked_words(question)}
    unanswered = [*questions]
    chosen: list[str] = []
    while unanswered:
        words = sorted({word for question in unanswered for word in asks[question]} - elsewhere)
        if not words:
            return []
        spoken = set(_WORD.findall(reply.lower()))
        best = max(words, key=lambda word: (sum(word in asks[each] for each in unanswered), word in spoken, len(word)))
        chosen.append(best)
        unanswered = [question for question in unanswered if best not in asks[question]]
    return chosen


def _asked_words(question: str) -> set[str]:
    words = _WORD.findall(PUBLISHED.pattern("request").sub(" ", question.lower()))
    return {word for word in {*words} - COMMON_WORDS if find_request_for(question, (word,))}
