"""The spans of one turn → what they tell of it, and whether they tell all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from karat.evidence.logs.spellings import without_marks_of_code
from karat.evidence.merge import TurnEvidence
from karat.evidence.spans.calls import ancestors, find_unseen_calls, tool_calls, tool_spans
from karat.evidence.spans.facts import SpanFacts, facts, final_state, final_words
from karat.evidence.spans.messages import prompts
from karat.evidence.spans.record import SpanRecord
from karat.evidence.spans.trace_context import TurnContext
from karat.model.trace import SpanNode, Tokens, ToolCall
from karat.providers.base import read_ending, tool_schemas
from karat.text.tool_names import is_helper
from karat.text.tool_results import parse_result

NODES = 2_000
NAME_CAP = 200
UNPROVED = (
    "so a call whose span was lost would go unnoticed. Have the instrumentation capture messages, name the attribute "
    "of the root that counts the calls, telemetry = { otlp = { tool_count = ... } }, or vouch that no span is lost, "
    "telemetry = { otlp = { complete = true } }."
)
IN_WORDS = (
    "the model does not ask for tools by structured calls, but its text names one that no span shows. Have the "
    "agent make a span of each call, name the attribute of the root that counts them, telemetry = { otlp = "
    "{ tool_count = ... } }, or vouch that each call has a span, telemetry = { otlp = { complete = true } }."
)
DEFINITIONS = ("gen_ai.tool.definitions", "llm.tools.", "llm.request.functions.", "model_request_parameters")
"""Attributes of a model call that was given tools to ask for by structured calls."""
FLUSH = "Have the agent flush its exporter at the end of a turn (force_flush), or raise `telemetry.otlp.wait_ms`."


def read_turn(
    records: Sequence[SpanRecord], sent: Collection[str] = (), tool_count: str = "", answer: str = ""
) -> TurnEvidence:
    """What a turn's spans tell; `sent` are the ids of the spans that Karat itself spoke of.

    `tool_count` is the attribute of a root that says how many tools were called, `answer` what the agent answered,
    where that is known from elsewhere.
    """
    ordered = sorted(records, key=lambda record: record.started)
    turn = [entry for record in ordered if (entry := facts(record)) is not None]
    roots = [entry for entry in turn if _is_root(entry.span, sent)]
    models = [entry for entry in turn if entry.kind == "model"]
    calls, missing = tool_calls(turn), find_unseen_calls(turn, answer)
    counts = [count for entry in roots if (count := entry.span.attributes.get(tool_count)) is not None]
    asked = [ToolCall(one.name, one.arguments, id=one.id or None, started=False, unfinished=True) for one in missing]
    return TurnEvidence(
        calls=(*calls, *asked),
        nodes=_nodes(turn, sent),
        tokens=_tokens(turn),
        cost_usd=_cost(turn),
        model_calls=len(models),
        answer=next(filter(None, map(final_words, (*roots, *reversed(models)))), ""),
        prompt=_prompt((*roots, *models)),
        state=next(filter(None, map(final_state, roots)), {}),
        doubt=_doubt(ordered, sent, [one.name for one in missing], models, len(calls)) or _miscount(counts, len(calls)),
        tool_schemas={name: schema for entry in turn for name, schema in tool_schemas(entry.offered).items()},
        plugins=frozenset(entry.plugin for entry in turn if entry.plugin),
        ended_by=next(map(read_ending, models[-1].finish), "") if models else "",
        gap="" if counts else _gap(models, calls, answer),
        structured=any(map(_is_structured, models)),
        words="" if counts else _words(turn),
        why_in_words=IN_WORDS,
    )


def _words(turn: Sequence[SpanFacts]) -> str:
    """What the models said. Where code that hands over the answer has a span of that call, each call in it has one."""
    said = "\n".join(one.text for entry in turn if entry.kind == "model" for one in entry.said or ())
    return without_marks_of_code(said) if any(is_helper(entry.name) for entry in tool_spans(turn)) else said


def _gap(models: Sequence[SpanFacts], calls: Sequence[ToolCall], answer: str) -> str:
    """Why the model calls do not tell of every tool call of the turn, or the empty string."""
    if not models:
        return f"no span shows a model call or how many tools were called, {UNPROVED}"
    within = {entry.span.span_id: entry for entry in models}
    known = {entry.span.span_id for entry in models if _has_messages(entry)}
    known |= {outer.span.span_id for entry in models if _has_messages(entry) for outer in ancestors(entry, within)}
    for entry in models:
        if not known.intersection([entry.span.span_id, *(outer.span.span_id for outer in ancestors(entry, within))]):
            return f"the model call {entry.span.name[:NAME_CAP]!r} does not carry its messages, {UNPROVED}"
    words = [text for entry in models for text in _words_of(entry)]
    if not is_said(answer, words, calls):
        return f"no model call of the turn contains the answer, so one may be missing, {UNPROVED}"
    return ""


def _has_messages(entry: SpanFacts) -> bool:
    return entry.given is not None and (entry.said is not None or entry.span.failed)


def _words_of(entry: SpanFacts) -> Iterator[str]:
    """What a model call said, as words or as the arguments of a call."""
    yield from (one.text for one in entry.said or ())
    yield from (leaf for call in entry.asked for leaf in leaves(call.arguments))


def is_said(answer: str, words: Iterable[str], calls: Sequence[ToolCall]) -> bool:
    """Whether the answer, if there is one, is what a model said, or what the last tool gave.

    Agents hand that on that do not ask the model again.
    """
    folded = _fold(answer)
    if not folded or any(said and (said in folded or folded in said) for said in map(_fold, words)):
        return True
    return bool(calls) and calls[-1].result is not None and parse_result(answer) == parse_result(calls[-1].result)


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()


def leaves(value: object) -> Iterator[str]:
    """The values within a value, as text."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif value is not None:
        yield str(value)


def _is_structured(entry: SpanFacts) -> bool:
    heard = (*(entry.given or ()), *(entry.said or ()))
    if entry.asks or any(one.calls or one.hands_back for one in heard) or tool_schemas(entry.offered):
        return True
    attributes = entry.span.attributes
    return '"tools"' in str(attributes.get("llm.invocation_parameters", "")) or any(
        key.startswith(DEFINITIONS) for key in attributes
    )


def _cost(turn: Sequence[SpanFacts]) -> float | None:
    """What the model calls cost together; not known where one of them does not tell."""
    calls = _each_once(turn, lambda entry: entry.cost)
    costs = [entry.cost for entry in calls if entry.cost is not None]
    return sum(costs) if costs and len(costs) == len(calls) else None


def _each_once(turn: Sequence[SpanFacts], reported: Callable[[SpanFacts], object]) -> list[SpanFacts]:
    """The model calls; of one within another, which is the same one seen again, the outer that reports something."""
    within = {entry.span.span_id: entry for entry in turn}
    around = {
        entry.span.span_id: [outer.span.span_id for outer in ancestors(entry, within) if outer.kind == "model"]
        for entry in turn
        if entry.kind == "model"
    }
    reporting = {span_id for span_id in around if reported(within[span_id]) is not None}
    reported_within = {outer for span_id in reporting for outer in around[span_id]}
    return [
        within[span_id]
        for span_id, outers in around.items()
        if reporting.isdisjoint(outers) and (span_id in reporting or span_id not in reported_within)
    ]


def _is_root(span: SpanRecord, sent: Collection[str]) -> bool:
    return not span.parent_id or span.parent_id in sent


def _doubt(
    records: Sequence[SpanRecord], sent: Collection[str], missing: list[str], models: list[SpanFacts], calls: int
) -> str:
    known = {record.span_id for record in records}
    for trace_id in dict.fromkeys(record.trace_id for record in records):
        trace = [record for record in records if record.trace_id == trace_id]
        if not any(_is_root(record, sent) for record in trace):
            return (
                f"the root span of the turn has not arrived, only spans such as {trace[0].name[:NAME_CAP]!r}. {FLUSH}"
            )
        orphan = next((r for r in trace if not _is_root(r, sent) and r.parent_id not in known), None)
        if orphan is not None:
            return f"the span around {orphan.name[:NAME_CAP]!r} has not arrived. {FLUSH}"
    if missing:
        shown = "" if calls else " If its tools never have spans, use an instrumentation that creates them."
        return f"the model asked for {missing[0]!r}, but no span shows what happened to the call. {FLUSH}{shown}"
    if any(entry.asks_for_tools for entry in models) and not calls:
        return f"the model ended by asking for a tool, but no span shows a call. {FLUSH}"
    return ""


def _miscount(counts: list[object], calls: int) -> str:
    """What is wrong with the number of calls, as far as roots count them."""
    counted = sum(count for count in counts if isinstance(count, int))
    if not counts or counted == calls:
        return ""
    return f"the root span counts {counted} tool calls, but spans of {calls} have arrived. {FLUSH}"


def _tokens(turn: Sequence[SpanFacts]) -> Tokens | None:
    calls = _each_once(turn, lambda entry: entry.tokens)
    counts = [entry.tokens for entry in calls if entry.tokens is not None]
    if not counts:
        return None
    return Tokens(sum(count.input or 0 for count in counts), sum(count.output or 0 for count in counts))


def _prompt(tellers: Sequence[SpanFacts]) -> str:
    """What the person said last, as the first span that knows it reports."""
    asked = (prompts(entry.given or (), entry.output_tools) for entry in tellers)
    return next((said[-1] for said in asked if said), "")


def _nodes(turn: Sequence[SpanFacts], sent: Collection[str]) -> tuple[SpanNode, ...]:
    return tuple(
        SpanNode(
            entry.span.span_id,
            entry.span.name[:NAME_CAP],
            entry.kind,
            None if _is_root(entry.span, sent) else entry.span.parent_id,
            entry.span.started,
            entry.span.ended,
            (entry.span.status or "error")[:NAME_CAP] if entry.span.failed else None,
            entry.model[:NAME_CAP],
            entry.tokens,
            entry.cost,
        )
        for entry in turn[:NODES]
    )


def by_turn(records: Sequence[SpanRecord], turns: Sequence[TurnContext]) -> list[list[SpanRecord]]:
    """The spans of each turn, root by root: by the trace that was sent with it, by number, else by when it began.

    By number where nothing could be sent with a turn: an agent in a process of its own may have begun the next turn
    before its answer to the last one was read.
    """
    if not turns:
        return []
    found: list[list[SpanRecord]] = [[] for _ in turns]
    marked = [turn.trace_id for turn in turns]
    loose: list[list[SpanRecord]] = []
    for unit in units(records, {turn.span_id for turn in turns}):
        if marked.count(unit[0].trace_id) == 1:
            found[marked.index(unit[0].trace_id)] += unit
        elif is_of_a_turn(unit, {turn.span_id for turn in turns}):
            loose.append(unit)
    shared = [place for place, trace_id in enumerate(marked) if marked.count(trace_id) > 1]
    numbered = len(loose) == len(shared) > 0
    for number, unit in enumerate(sorted(loose, key=lambda unit: unit[0].started)):
        began = [place for place, turn in enumerate(turns) if turn.began <= unit[0].started]
        found[shared[number] if numbered else max(began, default=0)] += unit
    return found


def is_of_a_turn(unit: Sequence[SpanRecord], sent: Collection[str] = ()) -> bool:
    """Whether spans are part of a turn, and not a root without one, such as that of the making of an agent."""
    if not _is_root(unit[0], sent):
        return True
    return any((entry := facts(record)) is not None and entry.kind != "other" for record in unit)


def units(records: Sequence[SpanRecord], sent: Collection[str] = ()) -> list[list[SpanRecord]]:
    """Each root, or span whose parent is not there, with all that is below it, in the order of time."""
    known = {record.span_id: record for record in records}
    below: dict[str, list[SpanRecord]] = {}
    for record in sorted(records, key=lambda record: record.started):
        top = record
        for _ in records:
            if top.parent_id in sent or (above := known.get(top.parent_id)) is None:
                break
            top = above
        below.setdefault(top.span_id, []).append(record)
    return [sorted(unit, key=lambda record: record.span_id != top) for top, unit in below.items()]
