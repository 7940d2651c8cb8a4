"""The spans of a conversation → its turns: what the messages show, and what the spans of tools say of what ran.

The messages are those of the last call of the model, which repeats what was said before it. A span of a tool has what
ran, and no id of the call in most formats: it is matched by name, arguments and order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from carob.evidence.conversations import NO_TELEMETRY, NumberedMessages, build_turn, split_turns
from carob.evidence.exports.facts import describe_spans
from carob.evidence.exports.record import RecordedConversation, unread_conversation
from carob.evidence.exports.spool import SpooledConversation, SpooledTrace
from carob.evidence.merge import TurnEvidence, merge_calls, merge_turns
from carob.evidence.model_evidence import NO_RESULT
from carob.evidence.spans.dialects import dialect_of
from carob.evidence.spans.facts import SpanFacts, TurnSpans, read_facts
from carob.evidence.spans.otlp import SpanRecord
from carob.evidence.spans.reading import IN_WORDS, NAME_CAP, Advice, is_of_a_turn, read_turn, span_trees
from carob.model.trace import Message, PossibleCall, ToolCall, Trace
from carob.providers.messages import ChatMessage

ADVICE = Advice(
    "Export the trace with all its spans, once it has ended.",
    "so a call whose span is missing would go unnoticed. Export the spans with the inputs and outputs of model calls.",
    f"{IN_WORDS} Have the agent make a span of each call.",
)
NO_PROMPT = "no span shows what the user said: export the spans with the inputs and outputs of model calls"
NO_ANSWER = "no span of the turn contains the answer: export the spans with the inputs and outputs of model calls"
UNENDED = "the export holds only the beginning of {!r}. Export the trace once it has ended."


class _Thread(Struct):
    """Calls of a model each of which goes on with the messages of the one before."""

    models: list[SpanFacts]

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        """All that was said, by the last call: what it was given, and its answer."""
        last = self.models[-1]
        return (*(last.input or ()), *(last.output or ()))


class _Turn(Struct):
    """One turn, and what the messages show of those before it."""

    trace: Trace
    earlier: list[NumberedMessages]
    is_structured: bool
    """Whether its model calls show that tools are asked for by structured calls."""
    model: str


def assemble(spooled: SpooledConversation, format: str) -> RecordedConversation | None:
    """The conversation of these traces; None if none of them is of an agent or a model."""
    lost = ((trace, record.unread) for trace in spooled.traces for record in trace.records if record.unread)
    if (first := next(lost, None)) is not None:
        return unread_conversation(first[1], first[0].place, format, spooled.session or first[0].id)
    traces = [_read_records(trace) for trace in spooled.traces]
    traces = sorted(filter(None, traces), key=_find_start)
    turns = [turn for records in traces for turn in _read_trace(records)]
    if not turns:
        return None
    name = spooled.session or spooled.traces[0].id
    trace = _join([*_in_order(turns)], name, has_session=bool(spooled.session))
    about = describe_spans([record for records in traces for record in records], [t.notes for t in spooled.traces])
    return RecordedConversation(
        id=name,
        trace=trace,
        format=format,
        source=spooled.traces[0].place,
        has_session=bool(spooled.session),
        started_at=trace.started_at,
        user=about.user,
        model=next((turn.model for turn in turns if turn.model), ""),
        version=about.version,
        tags=about.tags,
        metadata=about.metadata,
    )


def _read_records(trace: SpooledTrace) -> list[SpanRecord]:
    """Each span once, with its end if one of them has it; those of an agent or a model and what is around them."""
    by_id: dict[str, SpanRecord] = {}
    for record in trace.records:
        if (known := by_id.get(record.span_id)) is None or record.ended or not known.ended:
            by_id[record.span_id] = record
    if not any(map(_is_evidence, by_id.values())):
        return []
    units = [unit for unit in span_trees([*by_id.values()]) if is_of_a_turn(unit)]
    return sorted((record for unit in units for record in unit), key=_place_in_time)


def _place_in_time(record: SpanRecord) -> tuple[float, float, str]:
    """By the clock; of spans that began at one moment, what is around others comes first."""
    return record.started, -record.ended, record.span_id


def _is_evidence(record: SpanRecord) -> bool:
    dialect = dialect_of(record)
    return dialect is not None and dialect.kind(record) not in (None, "other")


def _give_end(record: SpanRecord) -> SpanRecord:
    """A span that has only begun, as one of which nothing else is known."""
    return record if record.ended else structs.replace(record, ended=record.started or 1.0)


def _find_start(records: Sequence[SpanRecord]) -> float:
    return records[0].started


def _read_trace(records: Sequence[SpanRecord]) -> Iterator[_Turn]:
    """The turns of one trace: one, but where the messages show that the user spoke again within it."""
    facts = {record.span_id: read for record in records if (read := read_facts(_give_end(record))) is not None}
    starts = _find_starts(TurnSpans([*facts.values()]), _main_thread(_find_threads([*facts.values()])))
    parts: list[list[SpanRecord]] = [[] for _ in range(len(starts) + 1)]
    for record in records:
        parts[sum(start <= record.started for start in starts)].append(record)
    ids = {record.span_id for record in records}
    for part in parts:
        entries = [facts[record.span_id] for record in part if record.span_id in facts]
        yield _read_part(part, entries, ids - {record.span_id for record in part})


def _find_starts(spans: TurnSpans, main: _Thread | None) -> list[float]:
    """When the second and later turns of a trace began: at the call of a model that has one prompt more."""
    starts: list[float] = []
    last: SpanFacts | None = None
    for entry in main.models if main else ():
        if last is not None and len(_turns_of(entry)) > len(_turns_of(last)):
            around = {outer.span.span_id for outer in spans.ancestors(last)}
            own = [outer for outer in spans.ancestors(entry) if outer.span.span_id not in around]
            starts.append(min(outer.span.started for outer in (entry, *own)))
        last = entry
    return starts


def _turns_of(entry: SpanFacts) -> list[NumberedMessages]:
    return split_turns(message for message in entry.input or ())


def _find_threads(entries: Sequence[SpanFacts]) -> list[_Thread]:
    """The conversations with models: a list that does not go on with another is one of its own."""
    threads: list[_Thread] = []
    for entry in sorted(entries, key=lambda entry: entry.span.started):
        if entry.kind != "model" or not (entry.input or entry.output):
            continue
        fits = (thread for thread in reversed(threads) if _continues(thread.models[-1].input or (), entry.input or ()))
        thread = next(fits, None)
        if thread is None:
            threads.append(_Thread([entry]))
        elif entry.output is not None or len(entry.input or ()) > len(thread.models[-1].input or ()):
            thread.models.append(entry)
    return threads


def _main_thread(threads: Sequence[_Thread]) -> _Thread | None:
    """The one whose last call came last: an agent speaks after those that it asked."""
    return max(threads, key=lambda thread: thread.models[-1].span.started, default=None)


def _continues(earlier: Sequence[ChatMessage], later: Sequence[ChatMessage]) -> bool:
    return len(earlier) <= len(later) and all(map(_is_same, earlier, later))


def _is_same(message: ChatMessage, other: ChatMessage) -> bool:
    names = [[call.name for call in each.calls] for each in (message, other)]
    return (message.role, message.text, names[0]) == (other.role, other.text, names[1])


def _read_part(records: Sequence[SpanRecord], entries: Sequence[SpanFacts], outside: set[str]) -> _Turn:
    """One turn; `outside` are the spans of its trace that are not of it."""
    unended = next((record.name for record in records if not record.ended), None)
    ended = [*map(_give_end, records)]
    threads = _find_threads(entries)
    main = _main_thread(threads)
    listed = split_turns(main.messages) if main else []
    spoken = build_turn(listed[-1]) if listed else None
    requested = _requested_calls(entries, threads, main)
    has_tools = any(entry.kind == "tool" for entry in entries)
    is_answered = bool(requested) and not has_tools and all(call.called for call in requested)
    known = {entry.span.span_id: entry for entry in entries}
    reading = read_turn(ended, outside, advice=ADVICE, is_answered=is_answered, known=known)
    doubt = UNENDED.format(unended[:NAME_CAP]) if unended is not None else reading.unproved
    trace = _build_trace(reading, spoken, requested, doubt)
    began = min(record.started for record in records)
    duration = round((max(record.ended for record in ended) - began) * 1000, 3)
    timed = structs.replace(trace, started_at=began or None, duration_ms=max(duration, 0.0))
    model = next((entry.model for entry in entries if entry.model), "")
    return _Turn(timed, listed[:-1], reading.structured, model)


def _requested_calls(entries: Sequence[SpanFacts], threads: Sequence[_Thread], main: _Thread | None) -> list[ToolCall]:
    """The calls of this turn that models asked for, by their messages; a list that is repeated counts once."""
    handing_over = {name for entry in entries for name in (*entry.output_tools, *entry.forced_tools)}
    requested: list[ToolCall] = []
    seen: set[object] = set()
    for number, thread in enumerate(threads):
        listed = split_turns(thread.messages)
        counts: Counter[str] = Counter()
        for call in build_turn(listed[-1]).tool_calls if listed else ():
            counts[key := f"{call.name} {call.arguments}"] += 1
            identity = call.id or (key, counts[key])
            if identity in seen or call.name in handing_over:
                continue
            seen.add(identity)
            own = call if thread is main else structs.replace(call, message=f"{number}-{call.message}")
            requested.append(own)
    return requested


def _build_trace(reading: TurnEvidence, spoken: Trace | None, requested: Sequence[ToolCall], doubt: str) -> Trace:
    prompt = (spoken.input if spoken else "") or reading.prompt
    answer = (spoken.final_message if spoken else "") or reading.answer
    calls = _place(merge_calls(reading.calls, requested), [call.message for call in requested])
    messages = (Message("user", prompt), Message("assistant", answer))
    unobserved = {
        "telemetry": NO_TELEMETRY,
        "tools": doubt,
        "final_message": "" if answer else NO_ANSWER,
        "input": "" if prompt else NO_PROMPT,
    }
    return Trace(
        case_id="",
        input=prompt,
        final_message=answer,
        messages=spoken.messages if spoken else tuple(message for message in messages if message.content),
        tool_calls=tuple(calls),
        possible_calls=(
            *reading.possible_calls,
            *(PossibleCall(call.name, NO_RESULT.format(call.name)) for call in calls if not call.called),
        ),
        tool_schemas=reading.tool_schemas,
        ended_by=reading.ended_by,
        unobserved={channel: why for channel, why in unobserved.items() if why},
        state=reading.state,
        tokens=reading.tokens,
        metadata=reading.costs,
        spans=reading.nodes,
    )


def _place(calls: Sequence[ToolCall], messages: Sequence[str | None]) -> list[ToolCall]:
    """The calls in the order of the messages that asked for them, as far as those are known.

    Clocks of several machines differ: where the times contradict the messages, they are left out.
    """
    places = {message: place for place, message in enumerate(dict.fromkeys(messages))}
    ordered: list[ToolCall] = []
    for call in calls:
        place = places.get(call.message, -1)
        later = (
            index
            for index, other in enumerate(ordered)
            if place >= 0 and call.message is not None and places.get(other.message, -1) > place
        )
        ordered.insert(next(later, len(ordered)), call)
    latest, last, open_until = float("-inf"), None, float("-inf")
    for call in ordered:
        if call.started_at is None or call.ended_at is None or call.message is None:
            continue
        if call.message != last:
            last, latest = call.message, open_until
        if call.started_at < latest or call.ended_at < call.started_at:
            return [structs.replace(each, started_at=None, ended_at=None) for each in ordered]
        open_until = max(open_until, call.ended_at)
    return ordered


def _in_order(turns: list[_Turn]) -> list[_Turn]:
    """The turns by the clock; where the messages of each repeat more than those of another, by that."""
    lengths = {len(turn.earlier) for turn in turns}
    if len(lengths) == len(turns):
        return sorted(turns, key=lambda turn: len(turn.earlier))
    return turns


def _join(turns: list[_Turn], name: str, *, has_session: bool) -> Trace:
    """The trace of all turns. What only messages show of earlier ones is a turn of the session, else setup."""
    traces: list[Trace] = []
    setup: list[Trace] = []
    for turn in turns:
        known = Counter(trace.input for trace in (*setup, *traces))
        for part in turn.earlier:
            earlier = build_turn(part)
            if known[earlier.input] > 0:
                known[earlier.input] -= 1
            else:
                (traces if has_session else setup).append(earlier)
        traces.append(turn.trace)
    if any(turn.is_structured for turn in turns):  # then the words of another turn ask for none either
        traces = [_without_words(trace) for trace in traces]
    named = [structs.replace(trace, case_id=name) for trace in traces]
    whole = merge_turns(named) if len(named) > 1 else named[0]
    return structs.replace(
        whole,
        setup_prompts=tuple(trace.input for trace in setup if trace.input),
        setup_calls=tuple(call for trace in setup for call in trace.tool_calls),
    )


def _without_words(trace: Trace) -> Trace:
    return structs.replace(trace, possible_calls=tuple(call for call in trace.possible_calls if call.of != "words"))
