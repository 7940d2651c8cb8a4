"""The runs on a tape, as far as its traffic with models shows them: what was said, asked for and handed back.

Every request to a model repeats what was said before it. So requests are of one conversation where one goes on with
what another said, and a new turn begins where a user speaks and no call is waiting for its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, field, structs

from karat.errors import UsageError
from karat.evidence.merge import merge_evidence, merge_turns
from karat.evidence.models.apis import SYSTEM, find_api
from karat.evidence.models.reading import read_traffic, why_model_broke
from karat.evidence.models.streams import read_events, table
from karat.evidence.models.traffic import ModelExchange, ModelTraffic
from karat.evidence.spans.messages import Utterance, prompts
from karat.model.trace import Message, Trace, TraceError
from karat.proxy.tape.file import Exchange, read_tape
from karat.proxy.tape.settings import SERVICES
from karat.targets.short_form import NO_PAGE, NO_TELEMETRY

MODELS = frozenset(one.name for one in SERVICES)
NO_ANSWER = "no reply of a model contains the answer"
NOT_PROVED = "only the traffic with models was recorded"
NO_MODEL = "the tape contains no request to a model in a format that Karat reads."


class _Asked(Struct, eq=False):
    """One request to a model, in its place on the tape, with what the user said until then."""

    place: int
    exchange: ModelExchange
    given: tuple[Utterance, ...]
    said: tuple[str, ...]

    @property
    def waits(self) -> bool:
        """Whether its reply asks for calls, whose results another request hands back."""
        reply = self.exchange.reply
        return reply is not None and any(one.calls for one in reply.said)

    @property
    def failed(self) -> bool:
        reply = self.exchange.reply
        return reply is None or bool(self.exchange.failure) or reply.torn

    def leads_to(self, given: Sequence[Utterance]) -> int:
        """How well a later request goes on with this one: 0 for not at all, 2 where it repeats the reply as well."""
        if given[: len(self.given)] != self.given:
            return 0
        if len(given) == len(self.given):
            return int(self.failed)
        return 2 if given[len(self.given)].text == self.exchange.words else 1


class _Thread(Struct, eq=False):
    """The requests of one conversation with a model."""

    asked: list[_Asked] = field(default_factory=list)

    @property
    def has_tools(self) -> bool:
        return any(one.exchange.offers or not one.exchange.offers_all for one in self.asked)

    def is_of(self, exchange: ModelExchange) -> bool:
        """Whether the same agent asks."""
        first = self.asked[0].exchange
        return (first.system, first.offers) == (exchange.system, exchange.offers)

    def turns(self) -> Iterator[list[_Asked]]:
        turn: list[_Asked] = []
        for one in self.asked:
            if turn and one.said != turn[-1].said and not turn[-1].waits:
                yield turn
                turn = []
            turn.append(one)
        if turn:
            yield turn


def read_taped_traces(path: Path) -> list[Trace]:
    """A trace for every run of a case on the tape; where no case is named, one for every conversation.

    Raises ConfigError for a tape that cannot be read, UsageError for one without traffic with models.
    """
    found = [trace for (case, _), run in sorted(read_tape(path).runs.items()) for trace in _traces(case, run)]
    if found and not any(trace.input for trace in found):
        fix = "Name the journal of the run that recorded it: it contains what the agent did."
        raise UsageError(NO_MODEL, where=str(path), fix=fix, slug="bad-source")
    return found


def _traces(case: str, run: Sequence[Exchange]) -> Iterator[Trace]:
    traffic = ModelTraffic(frozenset(one.request.service for one in run) - MODELS)
    threads = _threads(run, traffic, is_one_run=bool(case))
    if not threads:
        yield Trace(case_id=case, unobserved={"tools": NOT_PROVED})
    elif case:
        yield _run(case, threads, traffic)
    else:
        yield from (_run("", [thread], traffic) for thread in threads)


def _threads(run: Iterable[Exchange], traffic: ModelTraffic, *, is_one_run: bool) -> list[_Thread]:
    threads: list[_Thread] = []
    replies: dict[str, _Thread] = {}
    for place, one in enumerate(run):
        body = b"" if one.request.json is None else msgspec.json.encode(one.request.json)
        if one.request.method != "POST" or (seen := traffic.ask(one.request.service, one.request.path, body)) is None:
            continue
        events = [event.data for event in one.answer.events]
        traffic.hear(seen, one.answer.status, b"" if events else one.answer.body, events, torn=False)
        api = find_api(one.request.path)
        request = api.read_request(body) if api is not None else None
        given = tuple(said for said in request.given if said.role not in SYSTEM) if request is not None else ()
        said = tuple(prompts(given))
        thread = replies.get(_text(one.request.json, "previous_response_id"))
        if thread is not None:
            said = (*thread.asked[-1].said, *said)
        else:
            thread = _thread_of(threads, given)
        if thread is None and is_one_run:
            thread = next((known for known in threads if known.is_of(seen)), None)
            before = thread.asked[-1].said if thread is not None else ()
            said = (*before, *said[-1:]) if before[-1:] != said[-1:] else before
        if thread is None:
            threads.append(thread := _Thread())
        thread.asked.append(_Asked(place, seen, given, said))
        whole = one.answer.json if api is None or not events else api.join(read_events(events))
        if id := _text(whole, "id"):
            replies[id] = thread
    return threads


def _text(body: object, key: str) -> str:
    return value if isinstance(value := table(body).get(key), str) else ""


def _thread_of(threads: Sequence[_Thread], given: Sequence[Utterance]) -> _Thread | None:
    """The conversation that a request goes on with, the latest of those that fit alike."""
    fits = [(asked.leads_to(given), asked.place, thread) for thread in threads for asked in thread.asked[-1:]]
    best = max(fits, key=lambda one: one[:2], default=(0, 0, None))
    return best[2] if best[0] else None


def _run(case: str, threads: Sequence[_Thread], traffic: ModelTraffic) -> Trace:
    """The trace of a run, whose answer is that of the agent that ended last: of several, of one that has tools."""
    able = [thread for thread in threads if thread.has_tools]
    main = max(able or threads, key=lambda thread: thread.asked[-1].place)
    speaks = main if able else threads[0]
    turns = [*main.turns()]
    spoken = [turn[0].said for turn in speaks.turns()]
    starts = [turn[0].place for turn in turns]
    others = [asked for thread in threads if thread is not main for asked in thread.asked]
    found = []
    for number, turn in enumerate(turns):
        begin = starts[number] if number else 0
        end = starts[number + 1] if number + 1 < len(starts) else float("inf")
        around = [*turn, *(one for one in others if begin <= one.place < end)]
        around.sort(key=lambda one: one.place)
        said = spoken[number] if len(spoken) == len(turns) else turn[0].said
        found.append(_turn(case, next(reversed(said), ""), turn, [one.exchange for one in around], traffic))
    broke = why_model_broke([one.exchange for one in main.asked])
    error = TraceError("backend", f"the last request to the model failed: {broke}") if broke else None
    return merge_turns(found, error) if len(found) > 1 else structs.replace(found[0], error=error)


def _turn(
    case: str, prompt: str, own: Sequence[_Asked], exchanges: Sequence[ModelExchange], traffic: ModelTraffic
) -> Trace:
    last = own[-1]
    answer = "" if last.waits else last.exchange.words
    reading = read_traffic(traffic, exchanges, answer)
    # When it was asked and answered is not on a tape.
    calls = tuple(structs.replace(call, started_at=None, ended_at=None) for call in reading.calls)
    unobserved = {"telemetry": NO_TELEMETRY, "page": NO_PAGE, "tools": NOT_PROVED}
    trace = Trace(
        case_id=case,
        input=prompt,
        final_message=answer,
        messages=(Message("user", prompt), Message("assistant", answer)),
        tool_calls=(),
        tool_schemas=reading.tool_schemas,
        unobserved=unobserved if answer else {**unobserved, "final_message": NO_ANSWER},
    )
    timeless = structs.replace(reading, calls=calls, nodes=())
    return merge_evidence(trace, timeless, vouched=False, structured=reading.structured)
