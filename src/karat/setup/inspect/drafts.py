"""The mapping of a service's answers, drafted from what some of them look like.

One JSON value: where its words and tool calls are. A stream: what its events say by their usual keys. What is not clear
is left out and reported with the events, so that the `stream` table can be filled in by hand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from karat.providers.sse import ServerEvent
from karat.setup.inspect.calls import CallShape, CallShapes, find_calls, with_usual_errors
from karat.setup.inspect.events import (
    MOST_EVENTS,
    RAW,
    Labels,
    ObservedEvent,
    as_filter,
    keep_common_paths,
    last_key,
    objects_in,
    step,
    value_at,
)
from karat.suites.diagnostics import Json
from karat.targets.http.conditions import condition
from karat.targets.http.guess import answer_path, conversation_path
from karat.targets.http.jsonpath import JsonPath
from karat.targets.http.options import Format
from karat.targets.http.streams import loads
from karat.text.tool_results import shows_failure
from karat.text.wording import join_words, pluralize, shorten, visible

TEXTS = (
    *("text", "delta", "content", "token", "answer", "message", "word", "chunk", "reply", "response", "output"),
    *("value", "v", "t", "data"),
)
_WORDS = re.compile(
    r"text|word|token|answer|content|message|say|said|chunk|delta|reply|speak|assistant|output", re.IGNORECASE
)
_ASIDE = re.compile(
    r"think|thought|reason|status|progress|log\b|debug|trace|meta|title|cit|sourc|ping|heart|suggest|plan|usage|error"
    r"|tool|func|call|start|user|human|system|analys|comment|scratch|internal|intermediate|draft",
    re.IGNORECASE,
)
TOKENS = {
    "input": ("input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "tokens_in", "in", "input"),
    "output": ("output_tokens", "completion_tokens", "outputTokens", "completionTokens", "tokens_out", "out", "output"),
}
NO_TEXT = "no event is clearly the answer"
MOST_LISTS = 20


@dataclass
class Draft:
    """What an answer seems to mean, what was seen of it, and what is not clear."""

    options: dict[str, object] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    unclear: list[str] = field(default_factory=list)


@dataclass
class _Words:
    """A field with words, in events of one kind."""

    path: str
    events: list[ObservedEvent]

    def join(self, answer: int) -> str:
        return "".join(str(event.leaves[self.path]) for event in self.events if event.answer == answer)


def draft_value(answers: Sequence[Json]) -> Draft:
    """The mapping of answers that are one JSON value each."""
    draft = Draft()
    refusals = [
        value for value in answers if isinstance(value, dict) and not answer_path(value) and shows_failure(value)
    ]
    path = next(filter(None, map(answer_path, answers)), "")
    conversation = conversation_path(answers[0])
    calls, unclear = _find_tool_calls(answers)
    draft.options = {"answer": path} if path else {}
    draft.options |= {"tool_calls": calls} if calls else {}
    draft.options |= {"conversation": {"id": conversation}} if conversation else {}
    errors = next((key for value in refusals for key in ("error", "errors", "detail") if value.get(key)), "")
    draft.options |= {"failure": {"at": f"$.{errors}"}} if errors else {}
    draft.unclear += [unclear] if unclear and not calls else []
    return draft


def _find_tool_calls(answers: Sequence[Json]) -> tuple[dict[str, object], str]:
    """The first list, from the outside in, whose members are or have calls; and why one is not clear."""
    paths = dict.fromkeys(path for value in answers for path, _ in objects_in(value) if path.endswith("[*]"))
    unclear = ""
    for path in list(paths)[:MOST_LISTS]:
        select = JsonPath(path).all
        members = [(number, member) for number, value in enumerate(answers) for member in select(value)]
        events = [
            ObservedEvent("", member, number, order) for order, (number, member) in enumerate(members[:MOST_EVENTS])
        ]
        keep_common_paths(events)
        labels = Labels(events)
        calls = find_calls(events, labels)
        if calls.start is not None:
            return _calls_table(path, calls.start, calls.end, labels), ""
        unclear = unclear or calls.unclear
    return {}, f"{unclear}: set `tool_calls`" if unclear else ""


def _calls_table(path: str, start: CallShape, end: CallShape | None, labels: Labels) -> dict[str, object]:
    """`tool_calls`, with `results` where they are apart from their calls."""
    fields = start.fields if end is not None or "result" not in start.fields else with_usual_errors(start.fields)
    table: dict[str, object] = {"at": _path_of(path, start, labels), **fields}
    if end is not None and "id" in end.fields:
        results = {name: path for name, path in end.fields.items() if name in ("id", "result", "error")}
        table["results"] = {"at": _path_of(path, end, labels), **with_usual_errors(results)}
    return table


def _path_of(path: str, shape: CallShape, labels: Labels) -> str:
    """Where in an answer the objects of a shape are: all members of the list, or those that its labels choose."""
    chosen = as_filter(labels.when(shape.events)) if shape.at == "$" else ""
    return f"{path.removesuffix('[*]')}[{chosen or '*'}]{shape.at[1:]}"


def draft_stream(form: Format, answers: Sequence[Sequence[ServerEvent]], prompts: Sequence[str]) -> Draft:
    """The stream of a service, from what it answered to each prompt."""
    draft = Draft()
    literal = _literal_end(answers)
    events = _read_events(answers, literal)
    keep_common_paths(events)
    labels = Labels(events)
    calls = find_calls(events, labels)
    stream: dict[str, object] = {"format": form}
    candidates = _find_words(events, labels, calls, prompts)
    if len(candidates) == 1 and labels.cover_all and _is_distinct(candidates[0], labels):
        stream["text"] = _text_part(candidates[0], labels)
    else:
        options = [f"{words.path} of {labels.describe(words.events[0])!r}" for words in candidates]
        maybe = f": it may be {join_words(options)}" if options else ""
        draft.unclear.append(f"{NO_TEXT}{maybe}; set `text` of `stream`")
    stream |= _call_parts(calls, labels, draft)
    stream |= {"done": literal} if literal else _find_end(len(answers), events, labels, calls, candidates)
    draft.options = ({"stream": stream} if "text" in stream else {}) | _find_usage(events)
    end_rule = stream.get("done")
    ends = condition(end_rule["when"]) if isinstance(end_rule, dict) else None
    last = [event for event in events if ends is not None and ends(event.value, event.name)]
    draft.kinds = _describe(events, labels, calls, candidates, last)
    return draft


def _literal_end(answers: Sequence[Sequence[ServerEvent]]) -> str:
    """What ends every answer, and occurs in it only then: data that is not JSON, or the name of an empty event."""
    lasts = {events[-1].data.strip() or events[-1].name for events in answers if events and _value(events[-1]) is None}
    end = lasts.pop() if len(lasts) == 1 else ""
    counts = [sum(end in (event.data.strip(), event.name) for event in events) for events in answers]
    return end if counts == [1] * len(answers) else ""


def _value(event: ServerEvent) -> Json:
    try:
        return loads(event.data) if event.data.strip() else None
    except ValueError:
        return None


def _read_events(answers: Sequence[Sequence[ServerEvent]], literal: str) -> list[ObservedEvent]:
    """The events to read; the data of a name under which plain text comes is all that its events have."""
    half = MOST_EVENTS // 2
    bounded = [events if len(events) <= MOST_EVENTS else [*events[:half], *events[-half:]] for events in answers]
    plain = {
        event.name for events in bounded for event in events if event.data.strip() != literal and _value(event) is None
    }
    wire = [
        (number, event)
        for number, events in enumerate(bounded)
        for event in events
        if not literal or literal not in (event.data.strip(), event.name)
    ]
    return [
        ObservedEvent(event.name, None if event.name in plain else _value(event), number, order, event.data)
        for order, (number, event) in enumerate(wire)
    ]


def _find_words(
    events: Sequence[ObservedEvent], labels: Labels, calls: CallShapes, prompts: Sequence[str]
) -> list[_Words]:
    """The fields that may be the answer: the likeliest alone, or several of which none is likelier."""
    of_calls = {event for shape in _shapes(calls) for event in shape.events}
    fields: dict[tuple[tuple[str, ...], str], _Words] = {}
    for event in events:
        for path, value in event.leaves.items():
            if isinstance(value, str) and path not in labels.known and event not in of_calls and value not in prompts:
                fields.setdefault((event.kind, path), _Words(path, [])).events.append(event)
    ranks = [(rank, words) for words in fields.values() if (rank := _rank(words, labels)) is not None]
    best = min((rank for rank, _ in ranks), default=0)
    likely = _without_repeats([words for rank, words in ranks if rank == best])
    answers = {event.answer for event in events}
    everywhere = [words for words in likely if {event.answer for event in words.events} == answers]
    return everywhere if len(everywhere) == 1 else likely  # each answer has words: what one lacks is not the answer


def _rank(words: _Words, labels: Labels) -> int | None:
    """How likely a field is the answer, the least number the most; None if it is not."""
    key, label = last_key(words.path) or words.path, labels.words(words.events[0])
    texts = [(event.answer, str(event.leaves[words.path])) for event in words.events]
    if not any(re.search(r"[^\W\d_]", text) for _, text in texts):
        return None
    if len({*texts}) == len({number for number, _ in texts}) < len(texts):
        return None  # the same words in every event
    is_usual = key in TEXTS or words.path in ("$", RAW) or words.path.startswith("$[")
    if _ASIDE.search(f"{label} {words.path}"):
        return 3 if is_usual and _WORDS.search(f"{label} {key}") else None
    if is_usual:
        return 0 if _WORDS.search(label) else 1
    return 2 if _WORDS.search(f"{label} {key}") else None


def _without_repeats(likely: list[_Words]) -> list[_Words]:
    """Of fields that say the same, the one that comes in more pieces."""
    distinct: list[_Words] = []
    for words in sorted(likely, key=lambda candidate: -len(candidate.events)):
        answers = {event.answer for event in words.events}
        if not any(all(earlier.join(answer) == words.join(answer) for answer in answers) for earlier in distinct):
            distinct.append(words)
    return distinct


def _is_distinct(words: _Words, labels: Labels) -> bool:
    """Whether words are not mistaken for something else that other events have in the same place."""
    others = [event for event in labels.events if event not in {*words.events}]
    return labels.when(words.events) is not None or not any(event.has_path(words.path) for event in others)


def _text_part(words: _Words, labels: Labels) -> object:
    part: dict[str, object] = {"raw": True} if words.path == RAW else {"at": words.path}
    when = labels.when(words.events)
    grows = [
        (str(event.leaves[words.path]), str(later.leaves[words.path]))
        for event, later in zip(words.events, words.events[1:], strict=False)
        if event.answer == later.answer
    ]
    part |= {"when": when} if when is not None else {}
    part |= {"whole": True} if grows and all(text and later.startswith(text) for text, later in grows) else {}
    return words.path if part == {"at": words.path} else part


def _call_parts(calls: CallShapes, labels: Labels, draft: Draft) -> dict[str, object]:
    """`tool`, `result` and `error`, as far as something distinguishes each from all other events."""
    if calls.start is None:
        draft.unclear += [f"{calls.unclear}: set `tool` of `stream`"] if calls.unclear else []
        return {}
    start = calls.start
    if not any(value_at(place.value, start.fields.get("arguments", "$.-")) for place in start.places):
        draft.unclear.append("the arguments of tool calls may come in other events: set `tool` of `stream`")
        return {}
    fields = with_usual_errors(start.fields) if "result" in start.fields else start.fields
    parts = {"tool": _call_part(start, labels, fields)}
    if parts["tool"] is None:
        draft.unclear.append("nothing distinguishes tool calls from other events: set `tool` of `stream`")
        return {}
    if calls.end is not None:
        parts["result"] = _call_part(calls.end, labels, with_usual_errors(calls.end.fields))
    parts["error"] = _call_part(calls.error, labels, calls.error.fields) if calls.error else None
    if calls.end is None and "result" not in fields:
        draft.unclear.append("no event was seen that ends a tool call: results are unknown until `result` is set")
    return {name: part for name, part in parts.items() if part is not None}


def _call_part(shape: CallShape, labels: Labels, fields: dict[str, str]) -> dict[str, object] | None:
    """A part of `stream`; None where nothing distinguishes its events from others."""
    keys = [shape.at, *(f"{shape.at}{path[1:]}" for path in shape.fields.values())]
    when = labels.when(shape.events, keys)
    if when is None and len(shape.events) < len(labels.events) and shape.at == "$":
        return None
    selected = shape.at != "$" and isinstance(when, str) and when.startswith(f"?@{shape.at[1:]}")  # by its path already
    part: dict[str, object] = {"when": when} if when is not None and not selected else {}
    return part | ({"at": shape.at} if shape.at != "$" else {}) | fields


def _find_end(
    answers: int, events: Sequence[ObservedEvent], labels: Labels, calls: CallShapes, candidates: Sequence[_Words]
) -> dict[str, object]:
    """What ends the stream: a flag, or a kind of event, that was in the last of every answer and nowhere else."""
    lasts = [[event for event in events if event.answer == number][-1:] for number in range(answers)]
    ends = [event for last in lasts for event in last]
    if not ends or len(ends) < answers:
        return {}
    others = [event for event in events if event not in ends]
    for path in ends[0].leaves:
        if all(event.leaves.get(path) is True for event in ends) and not any(o.leaves.get(path) for o in others):
            return {"done": path}
    used = {event for shape in _shapes(calls) for event in shape.events}
    used |= {event for words in candidates for event in words.events}
    if used & {*ends}:
        return {}
    value = ends[0].value if isinstance(ends[0].value, dict) else {}
    when = labels.when(ends, [f"${step(key)}" for key in value if key != "id"])
    return {"done": {"when": when}} if when is not None else {}


def _find_usage(events: Sequence[ObservedEvent]) -> dict[str, object]:
    """Where tokens are counted, by the usual keys next to each other."""
    for event in reversed(events):
        numbers = {path for path, value in event.leaves.items() if type(value) is int}
        for path in sorted(numbers, key=lambda path: last_key(path) in ("in", "input")):
            if last_key(path) in TOKENS["input"]:
                for output in TOKENS["output"]:
                    sibling = f"{path.removesuffix(last_key(path))}{output}"
                    if sibling in numbers:
                        return {"usage": {"input": path, "output": sibling}}
    return {}


def _shapes(calls: CallShapes) -> list[CallShape]:
    return [shape for shape in (calls.start, calls.end, calls.error) if shape is not None]


def _describe(
    events: Sequence[ObservedEvent],
    labels: Labels,
    calls: CallShapes,
    candidates: Sequence[_Words],
    last: Sequence[ObservedEvent],
) -> tuple[str, ...]:
    """The kinds of events, how many of each, and what each was taken for."""
    words = [event for field in candidates if len(candidates) == 1 for event in field.events]
    roles: dict[ObservedEvent, str] = {}
    for role, of_role in (
        ("a call", calls.start.events if calls.start else []),
        ("the end of a call", calls.end.events if calls.end else []),
        ("a call that failed", calls.error.events if calls.error else []),
        ("words", words),
        ("the end of the stream", last),
    ):
        roles |= {event: role for event in of_role if event not in roles}
    kinds: dict[tuple[str, str], list[ObservedEvent]] = {}
    for event in events:
        kinds.setdefault((labels.describe(event), roles.get(event, "not mapped")), []).append(event)
    return tuple(
        f"{visible(shorten(kind, 60))}: {pluralize(len(alike), 'event')}, {role}; "
        f"for instance {visible(shorten(alike[0].raw, 160))}"
        for (kind, role), alike in list(kinds.items())[:30]
    )
