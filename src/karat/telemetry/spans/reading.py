"""The spans of one turn → what they tell of it, and whether they tell all."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from karat.model.cost import COST
from karat.model.trace import SpanNode, Tokens, ToolCall
from karat.telemetry.spans.calls import tool_calls, unseen
from karat.telemetry.spans.facts import SpanFacts, facts, final_state, final_words
from karat.telemetry.spans.record import SpanRecord

NODES = 2_000
NAME_CAP = 200
UNPROVED = (
    "no span tells what the model was told last, nor how many tools were called, so that one whose span was lost would "
    "not be missed. Let the instrumentation capture messages, or name the attribute of the root that counts the calls: "
    "`telemetry.otlp.tool_count`."
)
FLUSH = "Let the agent flush its exporter at the end of a turn (force_flush), or raise `telemetry.otlp.wait_ms`."


class SpanReading(Struct, frozen=True):
    """What the spans of a turn tell."""

    calls: tuple[ToolCall, ...] = ()
    nodes: tuple[SpanNode, ...] = ()
    tokens: Tokens | None = None
    cost_usd: float | None = None
    model_calls: int = 0
    answer: str = ""
    prompt: str = ""
    state: dict[str, object] = {}
    doubt: str = ""
    """Why something is missing, or may still come; the empty string if nothing seems to be."""
    proved: bool = False
    """Whether the last model call tells of every call before it, or the root counts them: none is missing unnoticed."""

    @property
    def unproved(self) -> str:
        """Why they do not prove that nothing else was called, or the empty string."""
        return self.doubt or ("" if self.proved else UNPROVED)

    @property
    def costs(self) -> dict[str, object]:
        """What it cost, as the metadata of a trace tells it."""
        return {} if self.cost_usd is None else {COST: self.cost_usd}


def read_turn(records: Sequence[SpanRecord], sent: Collection[str] = (), tool_count: str = "") -> SpanReading:
    """What a turn's spans tell; `sent` are the ids of the spans that Karat itself spoke of.

    `tool_count` is the attribute of a root that says how many tools were called.
    """
    ordered = sorted(records, key=lambda record: record.started)
    turn = [told for record in ordered if (told := facts(record)) is not None]
    roots = [told for told in turn if _is_root(told.span, sent)]
    models = [told for told in turn if told.kind == "model"]
    calls, missing = tool_calls(turn), unseen(turn)
    counts = [count for told in roots if (count := told.span.attributes.get(tool_count)) is not None]
    asked = [ToolCall(one.name, one.arguments, id=one.id or None, started=False, unfinished=True) for one in missing]
    return SpanReading(
        calls=(*calls, *asked),
        nodes=_nodes(turn, sent),
        tokens=_tokens(models),
        cost_usd=_cost(models),
        model_calls=len(models),
        answer=next(filter(None, map(final_words, (*roots, *reversed(models)))), ""),
        prompt=_prompt((*roots, *models)),
        state=next(filter(None, map(final_state, roots)), {}),
        doubt=_doubt(ordered, sent, [one.name for one in missing], models, len(calls)) or _miscount(counts, len(calls)),
        proved=bool(counts) or (bool(models) and models[-1].given is not None and models[-1].said is not None),
    )


def _cost(models: Sequence[SpanFacts]) -> float | None:
    """What the model calls cost together; not known where one of them does not tell."""
    costs = [told.cost for told in models if told.cost is not None]
    return sum(costs) if costs and len(costs) == len(models) else None


def _is_root(span: SpanRecord, sent: Collection[str]) -> bool:
    return not span.parent_id or span.parent_id in sent


def _doubt(
    records: Sequence[SpanRecord], sent: Collection[str], missing: list[str], models: list[SpanFacts], calls: int
) -> str:
    known = {record.span_id for record in records}
    for trace_id in dict.fromkeys(record.trace_id for record in records):
        trace = [record for record in records if record.trace_id == trace_id]
        if not any(_is_root(record, sent) for record in trace):
            return f"the root span of the turn has not arrived, only {trace[0].name[:NAME_CAP]!r} and the like. {FLUSH}"
        orphan = next((r for r in trace if not _is_root(r, sent) and r.parent_id not in known), None)
        if orphan is not None:
            return f"the span around {orphan.name[:NAME_CAP]!r} has not arrived. {FLUSH}"
    if missing:
        return f"the model asked for {missing[0]!r}, and no span tells what became of it. {FLUSH}"
    if any(told.asks for told in models) and not calls:
        return f"the model ended by asking for a tool, and no span tells of one. {FLUSH}"
    return ""


def _miscount(counts: list[object], calls: int) -> str:
    """What is wrong with the number of calls, as far as roots count them."""
    told = sum(count for count in counts if isinstance(count, int))
    if not counts or told == calls:
        return ""
    return f"the root span counts {told} tool calls, and spans of {calls} have arrived. {FLUSH}"


def _tokens(models: list[SpanFacts]) -> Tokens | None:
    counts = [told.tokens for told in models if told.tokens is not None]
    if not counts:
        return None
    return Tokens(sum(count.input or 0 for count in counts), sum(count.output or 0 for count in counts))


def _prompt(tellers: Sequence[SpanFacts]) -> str:
    """What the person said last, as the first span that knows it tells."""
    prompts = ([one.text for one in told.given or () if one.is_prompt] for told in tellers)
    return next((said[-1] for said in prompts if said), "")


def _nodes(turn: Sequence[SpanFacts], sent: Collection[str]) -> tuple[SpanNode, ...]:
    return tuple(
        SpanNode(
            told.span.span_id,
            told.span.name[:NAME_CAP],
            told.kind,
            None if _is_root(told.span, sent) else told.span.parent_id,
            told.span.started,
            told.span.ended,
            (told.span.status or "error")[:NAME_CAP] if told.span.failed else None,
            told.model[:NAME_CAP],
            told.tokens,
            told.cost,
        )
        for told in turn[:NODES]
    )
