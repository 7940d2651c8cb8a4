"""What a grader is tried on: wrong traces, traces that may be right, right ones in another form, and idle agents.

The wrong traces are those of `carob audit`. An operator changes one thing of a trace and cannot know the task, so that
for some mutants it is not certain that they are wrong: they are counted apart, until a person has reviewed them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec import structs

from carob.features.audit import case_audit
from carob.features.audit.operators.answers import REFUSAL, SUCCESS_CLAIM
from carob.features.audit.operators.base import Mutant, Operator, Subject
from carob.features.audit.operators.catalog import EVERY_OPERATOR
from carob.features.audit.operators.measures import PADDING
from carob.model.suite import Case
from carob.model.trace import ToolCall, Trace
from carob.text.folding import fold
from carob.text.free_text import is_free_text
from carob.text.tool_effects import known_effects
from carob.text.tool_names import is_any_named

CALLS, ANSWER, NUMBERS, COST, SURROUNDINGS, RULES = "calls", "answer", "numbers", "cost", "surroundings", "rules"
CLAIMS: Final[Mapping[str, str]] = {
    CALLS: "which tools are called, with which arguments, how often and in which order, and how they come out",
    ANSWER: "what the answer says",
    NUMBERS: "the numbers of the answer and where they come from",
    COST: "what a conversation may cost, and how long it may be",
    SURROUNDINGS: "telemetry, page, database, state and spans",
    RULES: "rules that hold in every conversation",
}
"""The kinds of claims that a grader may gate."""
PURPOSES: Final[Mapping[str, tuple[str, ...]]] = {
    "tools": ("tool-dropped", "tool-renamed", "tool-forbidden", "calls-gone", "precondition-dropped"),
    "arguments": ("tool-arguments",),
    "order": ("tool-moved", "precondition-dropped"),
    "often": ("tool-doubled", "tool-retried"),
    "outcomes": ("tool-outcome", "tool-result-denied", "tool-result-missing", "answer-claims-success"),
    "amounts": ("number-changed", "number-off-by-one", "number-borrowed", "result-changed"),
    "phrases": ("answer-emptied", "answer-cut", "answer-refused", "answer-forbidden", "words-hollow"),
    "sources": ("source-removed",),
    "doubts": ("assumptions-removed",),
    "length": ("answer-padded", "answer-bullets"),
}
"""What a grader may be for, finer than a kind of claims: of these changes, none may be right."""
_PREFIXES: Final = {
    "tool": CALLS, "calls": CALLS, "precondition": CALLS, "turn": CALLS, "rule": RULES, "number": NUMBERS,
    "result": NUMBERS, "budget": COST, "cut-off": COST, "answer-padded": COST, "spans": SURROUNDINGS,
    "telemetry": SURROUNDINGS, "element": SURROUNDINGS, "database": SURROUNDINGS, "state": SURROUNDINGS,
}  # fmt: skip
"""The claim of an operator by how its name begins; all others change what the answer says."""
MAY_BE_RIGHT: Final[Mapping[str, str]] = {
    "tool-moved": "another order may do as well",
    "tool-retried": "a call that failed may be made again",
    "answer-padded": "a long answer may be right",
    "answer-bullets": "a shorter answer may be right",
    "answer-forbidden": "an unpleasant answer may be right",
    "source-removed": "the source may not be needed",
    "assumptions-removed": "the doubt may not be needed",
    "budget-spent": "a slow or dear conversation may be right",
    "spans-changed": "other spans may be right",
    "telemetry-missing": "what is logged may not matter",
}
"""Operators of which no mutant is certainly wrong."""
LOOKUP: Final = "only calls that change nothing differ: another way may do as well"
WORDING: Final = "the argument is wording, and other words may do as well"
EARLIER: Final = "the words of an earlier turn may not matter"
FAILED_BEFORE: Final = "the call failed, and a success may be right"
VERIFIED: Final = "I have verified this carefully, and everything is correct and complete."
NEUTRAL: Final = "I have written this sentence here, and another one may come in its place."
"""As long as the one before it, and no reason to accept anything."""


class GraderMutant(NamedTuple):
    """A trace that differs from a recorded one. With a `doubt` it is not certain that it is wrong."""

    operator: str
    change: str
    trace: Trace
    doubt: str = ""


class Decorated(NamedTuple):
    """A bad trace, and the same with something that makes it no better; `control`: with as much that says nothing."""

    bias: str
    base: str
    trace: Trace
    decorated: Trace
    control: Trace


def claim_of(operator: str) -> str:
    """The kind of claim that an operator makes wrong."""
    return next((claim for prefix, claim in _PREFIXES.items() if operator.startswith(prefix)), ANSWER)


def bare_subject(trace: Trace, number: int, seed: int) -> Subject:
    """A recorded trace of which no case says what is expected."""
    name = trace.case_id or f"trace {number}"
    return Subject(Case(id=name, prompt=trace.input, checks=()), trace, seed)


class MutantMaker:
    """Makes the traces that a grader is tried on; `declared`: the effects that the project declares.

    `purposes`: what the grader is for, by names of PURPOSES, of claims or of operators; without any, everything.
    """

    def __init__(self, declared: Mapping[str, tuple[str, ...]], purposes: Sequence[str] = ()) -> None:
        self._is_effect = _effect_test(declared)
        self._purposes = frozenset(purposes)
        self._meant = {name for purpose in purposes for name in PURPOSES.get(purpose, (purpose,))}

    def _is_tried(self, operator: str) -> bool:
        return not self._purposes or operator in self._meant or claim_of(operator) in self._purposes

    def make_wrong(self, subject: Subject) -> Iterator[GraderMutant]:
        """What every operator makes of it, and all calls gone at once."""
        pieces = list(case_audit.parts(subject))
        is_bare = not subject.case.all_checks
        for operator in filter(lambda each: self._is_tried(each.name), EVERY_OPERATOR):
            tried = [(part, mutant) for part in pieces for mutant in case_audit.mutants(operator, part.subject)]
            if is_bare and len(tried) > case_audit.PER_OPERATOR:
                tried = [tried[at] for at in sorted(subject.chance.sample(range(len(tried)), case_audit.PER_OPERATOR))]
            for part, mutant in tried:
                is_last = part.turn is None or part.turn == len(subject.trace.turns)
                doubt = "" if operator.name in self._meant else self._find_doubt(operator, part, mutant, is_last)
                yield GraderMutant(operator.name, part.with_turn(mutant.change), part.within(mutant.trace), doubt)
        if subject.trace.tool_calls and self._is_tried("calls-gone"):
            gone = case_audit.everywhere(subject.trace, lambda turn: structs.replace(turn, tool_calls=(), telemetry=()))
            doubt = "" if any(self._is_effect(call.name) for call in subject.trace.tool_calls) else LOOKUP
            yield GraderMutant("calls-gone", "no tool was called, and the answer is the same", gone, doubt)

    def make_right(self, subject: Subject) -> Iterator[GraderMutant]:
        """The same trace in other forms."""
        for part in case_audit.parts(subject):
            for equivalent, trace in case_audit.equivalent_traces(part):
                yield GraderMutant(equivalent.name, part.with_turn(equivalent.about), part.within(trace))

    def make_idle(self, subject: Subject, another: Subject | None) -> Iterator[GraderMutant]:
        """Agents that do no work."""
        for control in case_audit.controls(subject, another):
            yield GraderMutant(f"idle: {control.name}", f"an agent that {control.name}", control.trace)

    def decorate(self, subject: Subject) -> Iterator[Decorated]:
        """Bad traces, and the same made longer, or with a word that sounds sure."""
        idle = next(iter(case_audit.controls(subject, None))).trace
        bases = {
            "nothing done": idle,
            "a refusal": with_answer(idle, lambda _: REFUSAL),
            "a claim of success, nothing done": with_answer(idle, lambda _: SUCCESS_CLAIM),
            "another answer": with_answer(subject.trace, lambda _: "I am not sure."),
        }
        for name, base in bases.items():
            padded, verified, neutral = (_with_more(base, words) for words in (PADDING, VERIFIED, NEUTRAL))
            yield Decorated("length", name, base, padded, base)
            yield Decorated("verified", name, base, verified, neutral)

    def _find_doubt(self, operator: Operator, part: case_audit.CasePart, mutant: Mutant, is_last: bool) -> str:
        """Why a mutant may be right; nothing if it is certainly wrong."""
        if reason := MAY_BE_RIGHT.get(operator.name, ""):
            return reason
        before, after = part.subject.trace.tool_calls, mutant.trace.tool_calls
        if operator.of_answer and before is after:
            return "" if is_last else EARLIER
        removed, added = _difference(before, after), _difference(after, before)
        if not removed and not added:
            return ""
        if not any(self._is_effect(call.name) for call in (*removed, *added)):
            return LOOKUP
        if operator.name == "tool-outcome" and all(call.success is False for call in removed):
            return FAILED_BEFORE
        if operator.name != "tool-arguments":
            return ""
        changed = [value for pair in zip(removed, added, strict=False) for value in _changed_values(*pair)]
        known = _known_texts(part.subject.trace) if changed else ""
        return WORDING if changed and all(_is_wording(value, known) for value in changed) else ""


def with_answer(trace: Trace, change: Callable[[str], str]) -> Trace:
    """The trace with another final answer."""

    def replace(turn: Trace) -> Trace:
        return structs.replace(turn, final_message=change(turn.final_message))

    if not trace.turns:
        return replace(trace)
    last = replace(trace.turns[-1])
    return structs.replace(trace, turns=(*trace.turns[:-1], last), final_message=last.final_message)


def _with_more(trace: Trace, words: str) -> Trace:
    return with_answer(trace, lambda text: f"{text} {words}".strip())


def _difference(calls: tuple[ToolCall, ...], others: tuple[ToolCall, ...]) -> list[ToolCall]:
    """The calls that the others do not have, or have less often."""
    left = Counter(id(call) for call in others)
    missing = []
    for call in calls:
        left[id(call)] -= 1
        if left[id(call)] < 0:
            missing.append(call)
    return missing


def _changed_values(call: ToolCall, changed: ToolCall) -> list[object]:
    """The values of arguments that are others in the changed call."""
    before, after = call.arguments, changed.arguments
    if not isinstance(before, dict) or not isinstance(after, dict):
        return []
    return [before.get(key) for key in after if before.get(key) != after[key]]


def _is_wording(value: object, known: str) -> bool:
    """Whether a value is words of the agent: a long text, or one of several words that it was not given."""
    if is_free_text(value):
        return True
    return isinstance(value, str) and len(value.split()) > 1 and fold(value) not in known


def _known_texts(trace: Trace) -> str:
    """What the user said and the tools returned, folded."""
    return fold("\n".join([trace.input, *trace.setup_prompts, *(str(call.result) for call in trace.tool_calls)]))


def _effect_test(declared: Mapping[str, tuple[str, ...]]) -> Callable[[str], bool]:
    @lru_cache(maxsize=4096)
    def is_effect(tool: str) -> bool:
        return is_any_named([*known_effects((tool,), declared)], tool)

    return is_effect
