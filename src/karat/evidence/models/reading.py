"""The traffic with models in one turn → what it shows of the turn, and whether it shows all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import structs

from karat.evidence.merge import TurnEvidence
from karat.evidence.models.traffic import LOST, ModelExchange, ModelTraffic, SeenCall, find_repeated
from karat.evidence.spans.envelopes import result_within
from karat.evidence.spans.reading import NAME_CAP, NODES, is_said, leaves
from karat.model.trace import PossibleCall, SpanNode, Tokens, ToolCall
from karat.providers.base import read_ending
from karat.text.tool_results import call_success, missing_fields, parse_result

VOUCH = "vouch that all its model calls go through the proxy, telemetry = { models = { complete = true } }."
NOTHING = f"no model request of this turn went through the proxy. Send the agent's model calls to it, or {VOUCH}"
PAST = f"no model call of the turn contains the answer, so one may have bypassed the proxy: {VOUCH}"
IN_WORDS = (
    "the model was offered no tools, but its text names one that no exchange shows. Have the agent report its "
    f"calls, or {VOUCH}"
)
NO_RESULT = (
    "the model asked for {!r}, but no later request returns its result, so it is unknown whether it ran. Have "
    "the agent report its calls, or send spans of them"
)
BROKEN = frozenset({401, 403, 408, 429})
"""Statuses, besides those of 500 and more, by which an API says that it does not serve, whatever it is asked."""


def read_traffic(traffic: ModelTraffic, exchanges: Sequence[ModelExchange], answer: str) -> TurnEvidence:
    """What these exchanges of a run tell of one turn, whose answer is known."""
    replied = [one for one in exchanges if one.reply is not None and not one.failure]
    twice = set(map(id, find_repeated(exchanges)))
    seen = [call for one in exchanges for call in one.calls if id(call) not in twice]
    handed_over = parse_result(answer)
    seen = [call for call in seen if call.result is not None or not _hands_over(call, handed_over)]
    ran = [call for one in replied if one.reply is not None for call in one.reply.ran]
    calls = (*(_call(call, traffic) for call in seen), *ran)
    words = [text for one in replied for text in _words(one)]
    offers_tools = any(one.offers or not one.offers_all or one.calls for one in traffic.exchanges)
    ends = [one.reply.finish for one in replied if one.reply is not None and one.reply.finish]
    return TurnEvidence(
        calls=calls,
        nodes=tuple(_node(number, one) for number, one in enumerate(exchanges[:NODES])),
        tokens=_tokens(replied),
        model_calls=len(replied),
        answer=next((one.words for one in reversed(replied) if one.words), ""),
        prompt=next((one.prompt for one in reversed(exchanges) if one.prompt), ""),
        doubt=_doubt(traffic, exchanges),
        tool_schemas=traffic.schemas,
        ended_by=read_ending(ends[-1].rpartition(".")[2]) if ends else "",
        gap="" if is_said(answer, words, calls) else PAST,
        structured=offers_tools,
        words="\n".join(one.words for one in replied),
        why_in_words=IN_WORDS,
        open_calls=tuple(
            PossibleCall(call.asked.name, NO_RESULT.format(call.asked.name)) for call in seen if call.result is None
        ),
        system_prompts=tuple(dict.fromkeys(one.system for one in exchanges if one.system)),
    )


def why_model_broke(exchanges: Sequence[ModelExchange]) -> str:
    """How the last exchange of a turn failed, if it is the service that did; the empty string if it is not so."""
    last = max(exchanges, key=lambda one: one.began, default=None)
    if last is None or not (last.failure or (last.reply is not None and last.reply.torn)):
        return ""
    if last.failure and last.status not in BROKEN and 400 <= last.status < 500:
        return ""
    return f"{last.service} {last.path.partition('?')[0]}: {last.failure or 'the reply was cut off'}"


def _doubt(traffic: ModelTraffic, exchanges: Sequence[ModelExchange]) -> str:
    """Why something is missing."""
    if traffic.lost:
        return LOST
    if not exchanges:
        return NOTHING
    unread = next((one.unread for one in exchanges if one.unread), "")
    if unread:
        return f"{unread}, so calls may be missing. Have the agent report its calls, or send spans of them."
    return ""


def _call(seen: SeenCall, traffic: ModelTraffic) -> ToolCall:
    asked, exchange = seen.asked, seen.exchange
    arguments = {} if asked.arguments == "" else asked.arguments
    call = ToolCall(asked.name, arguments, id=asked.id or None, started_at=exchange.ended or exchange.began)
    unknown = exchange.offers_all and exchange.offers and asked.name not in exchange.offers
    unreadable = traffic.schemas.get(asked.name) is not None and not isinstance(arguments, Mapping)
    if seen.result is None:
        return structs.replace(call, started=False, unfinished=True)
    result = _result(seen.result.content)
    success = call_success(result, raised=seen.result.failed)
    if unknown or unreadable:  # what was handed back can only say that it was not run
        return structs.replace(call, started=False, unfinished=True, result=result, success=False)
    return structs.replace(
        call,
        result=result,
        success=success,
        missing_fields=missing_fields(result),
        ended_at=seen.answered_at,
    )


def _result(content: object) -> object:
    """What the tool gave. Gemini takes objects alone, so its clients put any other value into one."""
    if isinstance(content, Mapping) and len(content) == 1:
        content = next((content[key] for key in ("result", "output", "content") if key in content), content)
    return parse_result(result_within(content))


def _hands_over(call: SeenCall, answer: object) -> bool:
    """Whether a call is how the model gives its answer: its arguments are the answer."""
    return bool(call.asked.arguments) and call.asked.arguments == answer


def _words(exchange: ModelExchange) -> Iterator[str]:
    yield exchange.words
    for one in exchange.reply.said if exchange.reply is not None else ():
        for call in one.calls:
            yield from leaves(call.arguments)


def _tokens(replied: Sequence[ModelExchange]) -> Tokens | None:
    """What the models used; not known where one reply does not say it."""
    counts = [one.tokens for one in replied if one.tokens is not None]
    if not counts or len(counts) < len(replied):
        return None
    return Tokens(sum(count.input or 0 for count in counts), sum(count.output or 0 for count in counts))


def _node(number: int, exchange: ModelExchange) -> SpanNode:
    return SpanNode(
        f"model-{number}-{exchange.began:.6f}",
        f"{exchange.service} {exchange.model or exchange.path}"[:NAME_CAP],
        "model",
        None,
        exchange.began,
        exchange.ended,
        exchange.failure[:NAME_CAP] or None,
        exchange.model[:NAME_CAP],
        exchange.tokens,
    )
