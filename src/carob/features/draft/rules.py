"""Drafting rules: learned from half of the conversations, checked on the other half, written with their support."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct, field

from carob.errors import UsageError
from carob.evidence.conversation_events import ConversationEvents, read_conversation
from carob.features.draft.rule_candidates import Candidate, RuleStatistics, may_break
from carob.features.draft.trace_groups import SourceTrace
from carob.features.draft.writing import comment
from carob.model.trace import Trace
from carob.rules.contract import Contract
from carob.rules.events import Facts, RuleOutcome
from carob.rules.monitor import judge_events
from carob.rules.reading import Surroundings, read_rules
from carob.suites.documents.yaml_text import item, text
from carob.text.tool_effects import known_effects
from carob.text.tool_names import effect_tools, is_any_named
from carob.text.wording import pluralize

LEAST: Final = 3
"""So many conversations of each half must have been able to break a rule."""
ALMOST: Final = 0.95
"""A rule that fewer conversations keep is not even asked about."""
FEW: Final = "there are too few conversations to draft rules from: at least {} are needed, found {}."
MORE: Final = "Name more journals, recordings or exports with runs of the agent."
MOST_QUESTIONS: Final = 20


class RuleSupport(Struct):
    """How a rule came out in conversations that could have broken it: in those learned from, and in the others."""

    judged: list[int] = field(default_factory=lambda: [0, 0])
    broken: int = 0
    unknown: int = 0

    @property
    def total(self) -> int:
        return sum(self.judged)

    @property
    def is_kept(self) -> bool:
        return not self.broken and min(self.judged) >= LEAST

    @property
    def is_nearly_kept(self) -> bool:
        """Kept but for a few conversations, which are bugs, or show that the rule does not exist."""
        return 0 < self.broken <= (1 - ALMOST) * self.total and min(self.judged) >= LEAST

    @property
    def words(self) -> str:
        learned, checked = self.judged
        unknown = f"; not known in {self.unknown} more" if self.unknown else ""
        return (
            f"could have been broken in {self.total}, and was kept: {learned} learned from, {checked} checked{unknown}"
        )


class DraftedRule(NamedTuple):
    """A rule with its support."""

    rule: Candidate
    support: RuleSupport


class RulesDraft(NamedTuple):
    """A drafted contract: its text, its rules, and rules that a few conversations break."""

    yaml: str
    rules: tuple[DraftedRule, ...]
    questions: tuple[DraftedRule, ...]
    conversations: int


def draft_rules(
    traces: Iterable[Trace | SourceTrace], effects: dict[str, tuple[str, ...]], name: str = ""
) -> RulesDraft:
    """Draft rules that all conversations keep. They are read twice, so that they need not fit into memory.

    Raises UsageError if there are too few.
    """
    statistics, count = RuleStatistics(), 0
    for number, conversation in enumerate(_conversations(traces)):
        count += 1
        if number % 2 == 0:
            statistics.add(conversation.events)
    if count < 2 * LEAST:
        raise UsageError(FEW.format(2 * LEAST, count), fix=MORE, slug="no-traces")
    called = [*statistics.calls]
    changing = effect_tools(known_effects(called, effects))
    candidates = [*statistics.candidates([tool for tool in called if is_any_named(changing, tool)], LEAST)]
    drafted = _judge(candidates, traces)
    kept = tuple(_without_parts([rule for rule in drafted if rule.support.is_kept]))
    questions = tuple(_without_parts([rule for rule in drafted if rule.support.is_nearly_kept]))[:MOST_QUESTIONS]
    return RulesDraft(_write(kept, questions, count, name), kept, questions, count)


def _conversations(traces: Iterable[Trace | SourceTrace]) -> Iterator[ConversationEvents]:
    for source in traces:
        yield read_conversation(source.trace if isinstance(source, SourceTrace) else source)


def _judge(candidates: Sequence[Candidate], traces: Iterable[Trace | SourceTrace]) -> list[DraftedRule]:
    """Each candidate with how it came out in every conversation, as the monitor of a run judges it."""
    _, problems = read_rules(candidates, Surroundings())
    unsayable = {problem.path[0] for problem in problems}  # by the name of an argument that no path can hold
    candidates = [candidate for number, candidate in enumerate(candidates) if number not in unsayable]
    rules, problems = read_rules(candidates, Surroundings())
    assert not problems, problems
    contract = Contract(rules)
    drafted = [DraftedRule(rule, RuleSupport()) for rule in candidates]
    for number, conversation in enumerate(_conversations(traces)):
        verdicts = judge_events(contract, conversation.events, conversation.end, Facts())
        for (rule, support), verdict in zip(drafted, verdicts, strict=True):
            if verdict.outcome is RuleOutcome.UNKNOWN:
                support.unknown += 1
            elif verdict.outcome is RuleOutcome.BROKEN:
                support.broken += 1
                support.judged[number % 2] += 1
            elif verdict.outcome is RuleOutcome.HELD:
                support.judged[number % 2] += may_break(rule, conversation.events)
    return drafted


def _without_parts(drafted: Sequence[DraftedRule]) -> Iterator[DraftedRule]:
    """The rules but for those that another one says of more tools."""
    for candidate in drafted:
        tools = _tools(candidate.rule)
        wider = (
            other
            for other in drafted
            if other is not candidate and _rest(other.rule) == _rest(candidate.rule) and tools < _tools(other.rule)
        )
        if next(wider, None) is None:
            yield candidate


def _tools(rule: Candidate) -> frozenset[str]:
    tools = rule["each"]["call"]
    return frozenset(tools if isinstance(tools, list) else [tools])


def _rest(rule: Candidate) -> dict[str, Any]:
    each = {key: value for key, value in rule["each"].items() if key != "call"}
    return {**{key: value for key, value in rule.items() if key != "id"}, "each": each}


def _write(kept: Sequence[DraftedRule], questions: Sequence[DraftedRule], count: int, name: str) -> str:
    lines = [
        comment(f"Drafted by Carob from {pluralize(count, 'conversation')}. No model was involved."),
        comment("What was true so far is not always a rule: read each, give it a `why`, and remove what is chance."),
        "carob: 1",
        f"name: {text(name or 'Drafted rules')}",
        "rules:" if kept else "rules: []",
    ]
    for drafted in kept:
        lines += [comment(drafted.support.words, 2), *item(drafted.rule, 2)]
    if questions:
        lines += ["", comment("Nearly always kept. Where they are rules, these conversations are bugs:")]
    for drafted in questions:
        lines.append(comment(f"broken in {drafted.support.broken} of {drafted.support.total} conversations:"))
        lines += [f"# {line}" for line in item(drafted.rule, 2)]
    return "\n".join([*lines, ""])
