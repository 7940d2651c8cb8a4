"""The spans of one turn → what they show of it, and whether they show all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from carob.evidence.logs.spellings import without_marks_of_code
from carob.evidence.merge import TurnEvidence
from carob.evidence.spans.facts import SpanFacts, TurnSpans, final_state, final_words, read_facts
from carob.evidence.spans.otlp import SpanRecord
from carob.evidence.spans.trace_context import TurnContext
from carob.model.trace import SpanNode, Tokens, ToolCall
from carob.providers.base import read_ending, tool_schemas
from carob.providers.messages import find_prompts, since_last_prompt
from carob.text.tool_names import is_helper
from carob.text.tool_results import parse_result

NODES = 2_000
NAME_CAP = 200


class Advice(NamedTuple):
    """What to do about spans that are missing, by where the spans come from."""

    lost: str
    """About spans that have not arrived."""
    unproved: str
    """About model calls that do not tell of every call."""
    in_words: str
    """About calls in the words of a model."""


IN_WORDS = "the model does not ask for tools by structured calls, but its text names one that no span shows."
LIVE = Advice(
    "Have the agent flush its exporter at the end of a turn (force_flush), or raise `telemetry.otlp.wait_ms`.",
    "so a call whose span was lost would go unnoticed. Have the instrumentation capture messages, name the attribute "
    "of the root that counts the calls, telemetry = { otlp = { tool_count = ... } }, or vouch that no span is lost, "
    "telemetry = { otlp = { complete = true } }.",
    f"{IN_WORDS} Have the agent make a span of each call, name the attribute of the root that counts them, "
    "telemetry = { otlp = { tool_count = ... } }, or vouch that each call has a span, "
    "telemetry = { otlp = { complete = true } }.",
)
DEFINITIONS = ("gen_ai.tool.definitions", "llm.tools.", "llm.request.functions.", "model_request_parameters")
"""Attributes of a model call that was given tools to ask for by structured calls."""


def read_turn(
    records: Sequence[SpanRecord],
    carob_spans: Collection[str] = (),
    tool_count: str = "",
    answer: str = "",
    *,
    advice: Advice = LIVE,
    is_answered: bool = False,
    known: Mapping[str, SpanFacts] | None = None,
) -> TurnEvidence:
    """What a turn's spans show; `carob_spans` are the ids of spans around the turn, such as those that Carob began.

    `tool_count` is the attribute of a root that says how many tools were called, `answer` what the agent answered,
    where that is known from elsewhere. `is_answered`: the messages show what became of each call that was asked for.
    `known` are facts of these records that were read before, by their ids.
    """
    # An exporter that tries again, or two of them, send a span twice.
    ordered = sorted({record.span_id: record for record in records}.values(), key=lambda record: record.started)
    if known is None:
        known = {record.span_id: entry for record in ordered if (entry := read_facts(record)) is not None}
    turn = TurnSpans([known[record.span_id] for record in ordered if record.span_id in known])
    roots = [entry for entry in turn.entries if _is_root(entry.span, carob_spans)]
    calls, unseen = turn.tool_calls(), turn.unseen_calls(answer)
    counts = [count for entry in roots if (count := entry.span.attributes.get(tool_count)) is not None]
    requested = [
        ToolCall(call.name, call.arguments, id=call.id or None, started=False, unfinished=True) for call in unseen
    ]
    names = [] if is_answered else [call.name for call in unseen]
    doubt = _why_incomplete(ordered, carob_spans, advice)
    doubt = doubt or _why_call_missing(turn, names, len(calls), advice, is_answered)
    return TurnEvidence(
        calls=(*calls, *requested),
        nodes=_nodes(turn.entries, carob_spans),
        tokens=_tokens(turn),
        cost_usd=_cost(turn),
        model_calls=len(turn.models),
        answer=next(filter(None, map(final_words, (*roots, *reversed(turn.models)))), ""),
        prompt=_prompt((*roots, *turn.models)),
        state=next(filter(None, map(final_state, roots)), {}),
        doubt=doubt or _miscount(counts, len(calls), advice),
        tool_schemas={name: schema for entry in turn.entries for name, schema in tool_schemas(entry.tools).items()},
        plugins=frozenset(entry.plugin for entry in turn.entries if entry.plugin),
        ended_by=next(map(read_ending, turn.models[-1].finish), "") if turn.models else "",
        gap="" if counts else _gap(turn.models, calls, answer, advice),
        structured=any(map(_is_structured, turn.models)),
        words="" if counts else _words(turn),
        why_in_words=advice.in_words,
    )


def _words(turn: TurnSpans) -> str:
    """What the models said. Where code that hands over the answer has a span of that call, each call in it has one."""
    words = "\n".join(message.text for entry in turn.models for message in entry.output or ())
    return without_marks_of_code(words) if any(is_helper(entry.name) for entry in turn.tools) else words


def _gap(models: Sequence[SpanFacts], calls: Sequence[ToolCall], answer: str, advice: Advice) -> str:
    """Why the model calls do not tell of every tool call of the turn, or the empty string."""
    if not models:
        return f"no span shows a model call or how many tools were called, {advice.unproved}"
    nested = TurnSpans(models)
    chains = [[entry, *nested.ancestors(entry)] for entry in models]
    carried = {outer.span.span_id for chain in chains if _has_messages(chain[0]) for outer in chain}
    for chain in chains:
        if carried.isdisjoint([outer.span.span_id for outer in chain]):
            return f"the model call {chain[0].span.name[:NAME_CAP]!r} does not carry its messages, {advice.unproved}"
    words = [text for entry in models for text in _words_of(entry)]
    if not is_said(answer, words, calls):
        return f"no model call of the turn contains the answer, so one may be missing, {advice.unproved}"
    return ""


def _has_messages(entry: SpanFacts) -> bool:
    return entry.input is not None and (entry.output is not None or entry.span.failed)


def _words_of(entry: SpanFacts) -> Iterator[str]:
    """What a model call said, as words or as the arguments of a call."""
    yield from (message.text for message in entry.output or ())
    yield from (leaf for call in entry.requested_calls for leaf in leaves(call.arguments))


def is_said(answer: str, words: Iterable[str], calls: Sequence[ToolCall]) -> bool:
    """Whether the answer, if there is one, is what a model said, or what the last tool gave.

    Agents that do not ask the model again hand on the result of a tool.
    """
    folded = _fold(answer)
    if not folded or any(text and (text in folded or folded in text) for text in map(_fold, words)):
        return True
    return bool(calls) and calls[-1].result is not None and parse_result(answer) == parse_result(calls[-1].result)


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()


def leaves(value: object) -> Iterator[str]:
    """The values within a value, as text."""
    if isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from leaves(item)
    elif value is not None:
        yield str(value)


def _is_structured(entry: SpanFacts) -> bool:
    messages = (*(entry.input or ()), *(entry.output or ()))
    if entry.ends_by_call or any(message.calls or message.results for message in messages) or tool_schemas(entry.tools):
        return True
    attributes = entry.span.attributes
    return '"tools"' in str(attributes.get("llm.invocation_parameters", "")) or any(
        key.startswith(DEFINITIONS) for key in attributes
    )


def _cost(turn: TurnSpans) -> float | None:
    """What the model calls cost together; unknown where one of them does not say it."""
    calls = _each_once(turn, lambda entry: entry.cost)
    costs = [entry.cost for entry in calls if entry.cost is not None]
    return sum(costs) if costs and len(costs) == len(calls) else None


def _tokens(turn: TurnSpans) -> Tokens | None:
    counts = [entry.tokens for entry in _each_once(turn, lambda entry: entry.tokens) if entry.tokens is not None]
    return add_tokens(counts) if counts else None


def add_tokens(counts: Sequence[Tokens]) -> Tokens:
    return Tokens(sum(count.input or 0 for count in counts), sum(count.output or 0 for count in counts))


def _each_once(turn: TurnSpans, reported: Callable[[SpanFacts], object]) -> list[SpanFacts]:
    """The model calls; of one within another, which is the same one seen again, the outer that reports something."""
    models = {entry.span.span_id: entry for entry in turn.models}
    around = {
        span_id: [outer.span.span_id for outer in turn.ancestors(entry) if outer.kind == "model"]
        for span_id, entry in models.items()
    }
    reporting = {span_id for span_id, entry in models.items() if reported(entry) is not None}
    reported_within = {outer for span_id in reporting for outer in around[span_id]}
    return [
        models[span_id]
        for span_id, outers in around.items()
        if reporting.isdisjoint(outers) and (span_id in reporting or span_id not in reported_within)
    ]


def _is_root(span: SpanRecord, carob_spans: Collection[str]) -> bool:
    return not span.parent_id or span.parent_id in carob_spans


def _why_incomplete(records: Sequence[SpanRecord], carob_spans: Collection[str], advice: Advice) -> str:
    """Why spans of a trace are missing, or the empty string."""
    span_ids = {record.span_id for record in records}
    for trace_id in dict.fromkeys(record.trace_id for record in records):
        trace = [record for record in records if record.trace_id == trace_id]
        below = [record for record in trace if not _is_root(record, carob_spans)]
        if len(below) == len(trace):
            name = trace[0].name[:NAME_CAP]
            return f"the root span of the turn has not arrived, only spans such as {name!r}. {advice.lost}"
        orphan = next((record for record in below if record.parent_id not in span_ids), None)
        if orphan is not None:
            return f"the span around {orphan.name[:NAME_CAP]!r} has not arrived. {advice.lost}"
    return ""


def _why_call_missing(turn: TurnSpans, unseen: list[str], calls: int, advice: Advice, is_answered: bool) -> str:
    if unseen:
        hint = "" if calls else " If its tools never have spans, use an instrumentation that creates them."
        return f"the model asked for {unseen[0]!r}, but no span shows what happened to the call. {advice.lost}{hint}"
    asking = (entry for entry in turn.models if not (is_answered and entry.requested_calls))
    if any(entry.asks_for_tools for entry in asking) and not calls:
        return f"the model ended by asking for a tool, but no span shows a call. {advice.lost}"
    shown = [message for entry in turn.models for message in since_last_prompt(entry.input or (), entry.output_tools)]
    nameless = not any(message.calls for message in shown)  # of a call by name it is known whether a span shows it
    if not calls and nameless and any(message.results for message in shown):
        return f"a model call was given the result of a tool, but no span shows a call. {advice.lost}"
    return ""


def _miscount(counts: list[object], calls: int, advice: Advice) -> str:
    """What is wrong with the number of calls, as far as roots count them."""
    counted = sum(count for count in counts if isinstance(count, int))
    if not counts or counted == calls:
        return ""
    return f"the root span counts {counted} tool calls, but spans of {calls} have arrived. {advice.lost}"


def _prompt(entries: Sequence[SpanFacts]) -> str:
    """What the person said last, as the first span that knows it reports."""
    prompts = (find_prompts(entry.input or (), entry.output_tools) for entry in entries)
    return next((texts[-1] for texts in prompts if texts), "")


def _nodes(entries: Sequence[SpanFacts], carob_spans: Collection[str]) -> tuple[SpanNode, ...]:
    return tuple(
        SpanNode(
            entry.span.span_id,
            entry.span.name[:NAME_CAP],
            entry.kind,
            None if _is_root(entry.span, carob_spans) else entry.span.parent_id,
            entry.span.started,
            entry.span.ended,
            (entry.span.status or "error")[:NAME_CAP] if entry.span.failed else None,
            entry.model[:NAME_CAP],
            entry.tokens,
            entry.cost,
        )
        for entry in entries[:NODES]
    )


def spans_by_turn(records: Sequence[SpanRecord], turns: Sequence[TurnContext]) -> list[list[SpanRecord]]:
    """The spans of each turn, root by root: by the trace that was sent with it, by number, else by when it began.

    By number where nothing could be sent with a turn: an agent in a process of its own may have begun the next turn
    before its answer to the last one was read.
    """
    by_turn: list[list[SpanRecord]] = [[] for _ in turns]
    trace_ids, carob_spans = [turn.trace_id for turn in turns], {turn.span_id for turn in turns}
    loose: list[list[SpanRecord]] = []
    for tree in span_trees(records, carob_spans) if turns else ():
        if trace_ids.count(tree[0].trace_id) == 1:
            by_turn[trace_ids.index(tree[0].trace_id)] += tree
        elif is_of_a_turn(tree, carob_spans):
            loose.append(tree)
    shared = [index for index, trace_id in enumerate(trace_ids) if trace_ids.count(trace_id) > 1]
    by_number = len(loose) == len(shared) > 0
    for number, tree in enumerate(sorted(loose, key=lambda tree: tree[0].started)):
        started = [index for index, turn in enumerate(turns) if turn.began <= tree[0].started]
        by_turn[shared[number] if by_number else max(started, default=0)] += tree
    return by_turn


def is_of_a_turn(tree: Sequence[SpanRecord], carob_spans: Collection[str] = ()) -> bool:
    """Whether spans are part of a turn, and not a root without one, such as that of the making of an agent."""
    if not _is_root(tree[0], carob_spans):
        return True
    return any((entry := read_facts(record)) is not None and entry.kind != "other" for record in tree)


def span_trees(records: Sequence[SpanRecord], carob_spans: Collection[str] = ()) -> list[list[SpanRecord]]:
    """Each root, or span whose parent is not there, with all that is below it, in the order of time."""
    by_id = {record.span_id: record for record in records}
    trees: dict[str, list[SpanRecord]] = {}
    for record in sorted(records, key=lambda record: record.started):
        top = record
        for _ in records:
            if top.parent_id in carob_spans or (above := by_id.get(top.parent_id)) is None:
                break
            top = above
        trees.setdefault(top.span_id, []).append(record)
    return [sorted(tree, key=lambda record: record.span_id != top) for top, tree in trees.items()]
