"""The runs on a tape, as far as its traffic with models shows them: what was said, asked for and handed back.

Every request to a model repeats what was said before it. So requests are of one conversation where one goes on with
what another said, and a new turn begins where a user speaks and no call is waiting for its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, field, structs

from carob.errors import UsageError
from carob.evidence.merge import merge_evidence, merge_turns
from carob.evidence.model_evidence import read_traffic, why_model_failed
from carob.evidence.model_traffic import ModelExchange, ModelTraffic
from carob.evidence.short_form import NO_TELEMETRY
from carob.model.trace import Message, Trace, TraceError
from carob.providers.base import read_events, table, text_of
from carob.providers.catalog import find_api
from carob.providers.messages import SYSTEM, ChatMessage, find_prompts
from carob.proxy.tape.file import Exchange, read_tape
from carob.proxy.tape.settings import MODELS

NO_ANSWER = "no reply of a model contains the answer"
NOT_PROVED = "only the traffic with models was recorded"
NO_MODEL = "the tape contains no request to a model in a format that Carob reads."


class _Request(Struct, eq=False):
    """One request to a model: its number on the tape, its messages, and what the user said until then."""

    number: int
    exchange: ModelExchange
    messages: tuple[ChatMessage, ...]
    prompts: tuple[str, ...]

    @property
    def waits(self) -> bool:
        """Whether its reply asks for calls, whose results another request hands back."""
        reply = self.exchange.reply
        return reply is not None and any(message.calls for message in reply.messages)

    @property
    def failed(self) -> bool:
        reply = self.exchange.reply
        return reply is None or bool(self.exchange.failure) or reply.torn

    def leads_to(self, messages: Sequence[ChatMessage]) -> int:
        """How well a later request goes on with this one: 0 for not at all, 2 where it repeats the reply as well."""
        size = len(self.messages)
        if messages[:size] != self.messages:
            return 0
        if len(messages) == size:
            return int(self.failed)
        return 2 if messages[size].text == self.exchange.text else 1


class _Thread(Struct, eq=False):
    """The requests of one conversation with a model."""

    requests: list[_Request] = field(default_factory=list)

    @property
    def has_tools(self) -> bool:
        return any(request.exchange.tools or not request.exchange.names_all_tools for request in self.requests)

    def is_of(self, exchange: ModelExchange) -> bool:
        """Whether the same agent asks."""
        first = self.requests[0].exchange
        return (first.system, first.tools) == (exchange.system, exchange.tools)

    def turns(self) -> list[list[_Request]]:
        turns: list[list[_Request]] = []
        for request in self.requests:
            last = turns[-1][-1] if turns else None
            if last is None or (request.prompts != last.prompts and not last.waits):
                turns.append([])
            turns[-1].append(request)
        return turns


def read_taped_traces(path: Path) -> list[Trace]:
    """A trace for every run of a case on the tape; where no case is named, one for every conversation.

    Raises ConfigError for a tape that cannot be read, UsageError for one without traffic with models.
    """
    traces = [trace for (case, _), run in sorted(read_tape(path).runs.items()) for trace in _traces(case, run)]
    if traces and not any(trace.input for trace in traces):
        fix = "Name the journal of the run that recorded it: it contains what the agent did."
        raise UsageError(NO_MODEL, where=str(path), fix=fix, slug="bad-source")
    return traces


def _traces(case: str, run: Sequence[Exchange]) -> Iterator[Trace]:
    traffic = ModelTraffic(frozenset(taped.request.service for taped in run) - MODELS)
    threads = _threads(run, traffic, is_one_run=bool(case))
    if not threads:
        yield Trace(case_id=case, unobserved={"tools": NOT_PROVED})
    elif case:
        yield _run_trace(case, threads, traffic)
    else:
        yield from (_run_trace("", [thread], traffic) for thread in threads)


def _threads(run: Iterable[Exchange], traffic: ModelTraffic, *, is_one_run: bool) -> list[_Thread]:
    threads: list[_Thread] = []
    by_reply_id: dict[str, _Thread] = {}
    for number, taped in enumerate(run):
        taped_request, answer = taped.request, taped.answer
        body = b"" if taped_request.json is None else msgspec.json.encode(taped_request.json)
        exchange = (
            traffic.add_request(taped_request.service, taped_request.path, body)
            if taped_request.method == "POST"
            else None
        )
        if exchange is None:
            continue
        events = [event.data for event in answer.events]
        traffic.add_reply(exchange, answer.status, b"" if events else answer.body, events, torn=False)
        api = find_api(taped_request.path)
        request = api.read_request(body) if api is not None else None
        messages = tuple(message for message in request.messages if message.role not in SYSTEM) if request else ()
        prompts = tuple(find_prompts(messages))
        thread = by_reply_id.get(text_of(table(taped_request.json).get("previous_response_id")))
        if thread is not None:
            prompts = (*thread.requests[-1].prompts, *prompts)
        else:
            thread = _continued_thread(threads, messages)
        if thread is None and is_one_run:
            thread = next((thread for thread in threads if thread.is_of(exchange)), None)
            earlier = thread.requests[-1].prompts if thread is not None else ()
            prompts = (*earlier, *prompts[-1:]) if earlier[-1:] != prompts[-1:] else earlier
        if thread is None:
            threads.append(thread := _Thread())
        thread.requests.append(_Request(number, exchange, messages, prompts))
        reply = answer.json if api is None or not events else api.join(read_events(events))
        if reply_id := text_of(table(reply).get("id")):
            by_reply_id[reply_id] = thread
    return threads


def _continued_thread(threads: Sequence[_Thread], messages: Sequence[ChatMessage]) -> _Thread | None:
    """The conversation that a request goes on with, the latest of those that fit alike."""
    fits = [(thread.requests[-1].leads_to(messages), thread.requests[-1].number, thread) for thread in threads]
    fit, _, thread = max(fits, key=lambda entry: entry[:2], default=(0, 0, None))
    return thread if fit else None


def _run_trace(case: str, threads: Sequence[_Thread], traffic: ModelTraffic) -> Trace:
    """The trace of a run, whose answer is that of the agent that ended last: of several, of one that has tools."""
    with_tools = [thread for thread in threads if thread.has_tools]
    main = max(with_tools or threads, key=lambda thread: thread.requests[-1].number)
    turns = main.turns()
    speaker_turns = (main if with_tools else threads[0]).turns()
    side_requests = [request for thread in threads if thread is not main for request in thread.requests]
    starts = [0, *(turn[0].number for turn in turns[1:]), float("inf")]
    traces = []
    for index, turn in enumerate(turns):
        start, end = starts[index : index + 2]
        requests = [*turn, *(request for request in side_requests if start <= request.number < end)]
        requests.sort(key=lambda request: request.number)
        speaker = speaker_turns[index] if len(speaker_turns) == len(turns) else turn
        prompt = next(reversed(speaker[0].prompts), "")
        traces.append(_turn_trace(case, prompt, turn[-1], [request.exchange for request in requests], traffic))
    failure = why_model_failed([request.exchange for request in main.requests])
    error = TraceError("backend", f"the last request to the model failed: {failure}") if failure else None
    return merge_turns(traces, error) if len(traces) > 1 else structs.replace(traces[0], error=error)


def _turn_trace(
    case: str, prompt: str, last: _Request, exchanges: Sequence[ModelExchange], traffic: ModelTraffic
) -> Trace:
    answer = "" if last.waits else last.exchange.text
    evidence = read_traffic(traffic, exchanges, answer)
    # When it was asked and answered is not on a tape.
    calls = tuple(structs.replace(call, started_at=None, ended_at=None) for call in evidence.calls)
    unobserved = {"telemetry": NO_TELEMETRY, "tools": NOT_PROVED}
    trace = Trace(
        case_id=case,
        input=prompt,
        final_message=answer,
        messages=(Message("user", prompt), Message("assistant", answer)),
        tool_calls=(),
        tool_schemas=evidence.tool_schemas,
        unobserved=unobserved if answer else {**unobserved, "final_message": NO_ANSWER},
    )
    timeless = structs.replace(evidence, calls=calls, nodes=())
    return merge_evidence(trace, timeless, vouched=False, structured=evidence.structured)
