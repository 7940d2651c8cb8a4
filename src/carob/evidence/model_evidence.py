"""The traffic with models in one turn → what it shows of the turn, and whether it shows all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import structs

from carob.evidence.commands import read_exit_code
from carob.evidence.merge import TurnEvidence
from carob.evidence.model_traffic import LOST, ModelExchange, ModelTraffic, ObservedCall, find_repeated
from carob.evidence.spans.envelopes import result_within
from carob.evidence.spans.reading import NAME_CAP, NODES, add_tokens, is_said, leaves
from carob.model.trace import PossibleCall, SpanNode, Tokens, ToolCall
from carob.providers.base import read_ending
from carob.providers.messages import CallRequest, ReturnedResult
from carob.text.tool_results import call_success, is_plain_text, missing_fields, parse_result

VOUCH = "vouch that all its model calls go through the proxy, telemetry = { models = { complete = true } }."
NO_REQUEST = f"no model request of this turn went through the proxy. Send the agent's model calls to it, or {VOUCH}"
BYPASSED = f"no model call of the turn contains the answer, so one may have bypassed the proxy: {VOUCH}"
IN_WORDS = (
    "the model was offered no tools, but its text names one that no exchange shows. Have the agent report its "
    f"calls, or {VOUCH}"
)
NO_RESULT = (
    "the model asked for {!r}, but no later request returns its result, so it is unknown whether it ran. Have "
    "the agent report its calls, or send spans of them"
)
REFUSALS = frozenset({401, 403, 408, 429})
"""Statuses, besides those of 500 and more, by which an API says that it does not serve, whatever it is asked."""


def read_traffic(traffic: ModelTraffic, exchanges: Sequence[ModelExchange], answer: str) -> TurnEvidence:
    """What these exchanges of a run show of one turn, whose answer is known."""
    replied = [exchange for exchange in exchanges if exchange.reply is not None and not exchange.failure]
    replies = [exchange.reply for exchange in replied if exchange.reply is not None]
    repeated = set(map(id, find_repeated(exchanges)))
    handed_over = parse_result(answer)
    observed = [
        call
        for exchange in exchanges
        for call in exchange.calls
        if id(call) not in repeated and (call.result is not None or not _hands_over(call, handed_over))
    ]
    provider_calls = [call for reply in replies for call in reply.provider_calls]
    calls = (*(_build_call(call, traffic) for call in observed), *provider_calls)
    words = [text for exchange in replied for text in _words(exchange)]
    finishes = [reply.finish for reply in replies if reply.finish]
    return TurnEvidence(
        calls=calls,
        nodes=tuple(_node(number, exchange) for number, exchange in enumerate(exchanges[:NODES])),
        tokens=_tokens(replied),
        model_calls=len(replied),
        answer=next((reply.text for reply in reversed(replies) if reply.text), ""),
        prompt=next((exchange.prompt for exchange in reversed(exchanges) if exchange.prompt), ""),
        doubt=_why_incomplete(traffic, exchanges),
        tool_schemas=traffic.schemas,
        ended_by=read_ending(finishes[-1].rpartition(".")[2]) if finishes else "",
        gap="" if is_said(answer, words, calls) else BYPASSED,
        structured=any(each.tools or not each.names_all_tools or each.calls for each in traffic.exchanges),
        words="\n".join(reply.text for reply in replies),
        why_in_words=IN_WORDS,
        open_calls=tuple(
            PossibleCall(call.request.name, NO_RESULT.format(call.request.name))
            for call in observed
            if call.result is None
        ),
        system_prompts=tuple(dict.fromkeys(exchange.system for exchange in exchanges if exchange.system)),
    )


def why_model_failed(exchanges: Sequence[ModelExchange]) -> str:
    """How the last exchange of a turn failed, if it is the service that did; the empty string if it is not so."""
    last = max(exchanges, key=lambda exchange: exchange.began, default=None)
    if last is None or not (last.failure or (last.reply is not None and last.reply.torn)):
        return ""
    if last.failure and last.status not in REFUSALS and 400 <= last.status < 500:
        return ""
    return f"{last.service} {last.path.partition('?')[0]}: {last.failure or 'the reply was cut off'}"


def _why_incomplete(traffic: ModelTraffic, exchanges: Sequence[ModelExchange]) -> str:
    if traffic.lost or traffic.unowned:
        return LOST if traffic.lost else traffic.unowned
    if not exchanges:
        return NO_REQUEST
    unread = next((exchange.unread for exchange in exchanges if exchange.unread), "")
    if unread:
        return f"{unread}, so calls may be missing. Have the agent report its calls, or send spans of them."
    return ""


def _build_call(observed: ObservedCall, traffic: ModelTraffic) -> ToolCall:
    request, exchange = observed.request, observed.exchange
    call = read_call(request, observed.message, observed.result)
    call = structs.replace(call, started_at=exchange.ended or exchange.began)
    if observed.result is None:
        return call
    is_unknown = exchange.names_all_tools and exchange.tools and request.name not in exchange.tools
    is_unreadable = traffic.schemas.get(request.name) is not None and not isinstance(call.arguments, Mapping)
    if is_unknown or is_unreadable:  # what was handed back can only say that it was not run
        return structs.replace(call, started=False, unfinished=True, success=False, missing_fields=())
    return structs.replace(call, ended_at=observed.answered_at)


def read_call(request: CallRequest, message: str, returned: ReturnedResult | None) -> ToolCall:
    """A call that a message asks for, with the result that a later one returns."""
    arguments = {} if request.arguments == "" else request.arguments
    result, success = None, None
    if returned is not None:
        result = read_result_content(returned.content)
        success = call_success(result, raised=returned.failed)
        success = None if success and is_plain_text(result) else success
    call = ToolCall(
        request.name,
        arguments,
        id=request.id or None,
        started=returned is not None,
        result=result,
        success=success,
        missing_fields=missing_fields(result),
        unfinished=returned is None,
        message=message,
        with_words=request.with_words,
    )
    return read_exit_code(call)


def read_result_content(content: object) -> object:
    """What the tool gave. Gemini takes objects alone, so its clients put any other value into one."""
    if content.__class__ is not str and isinstance(content, Mapping) and len(content) == 1:
        content = next((content[key] for key in ("result", "output", "content") if key in content), content)
    return parse_result(result_within(content))


def _hands_over(call: ObservedCall, answer: object) -> bool:
    """Whether a call is how the model gives its answer: it had to call this tool, and the arguments are the answer."""
    return call.request.name in call.exchange.forced_tools and call.request.arguments == answer


def _words(exchange: ModelExchange) -> Iterator[str]:
    yield exchange.text
    for message in exchange.reply.messages if exchange.reply is not None else ():
        for call in message.calls:
            yield from leaves(call.arguments)


def _tokens(replied: Sequence[ModelExchange]) -> Tokens | None:
    """What the models used; unknown where one reply does not say it."""
    counts = [exchange.tokens for exchange in replied if exchange.tokens is not None]
    return add_tokens(counts) if counts and len(counts) == len(replied) else None


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
