"""The mapping of a service's answers, drafted from what some of them look like.

One JSON value: where its words and tool calls are. A stream: what its events say by their usual keys. What is not clear
is left out and reported with the events, so that the `stream` table can be filled in by hand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from carob.features.setup.inspect.events import (
    LABEL_KEYS,
    MOST_EVENTS,
    RAW,
    CallShape,
    CallShapes,
    ObservedEvent,
    find_calls,
    label_events,
    last_key,
    objects_in,
    read_json,
    value_at,
    when_kind,
    with_usual_errors,
)
from carob.providers.sse import ServerEvent
from carob.suites.diagnostics import Json
from carob.targets.http.jsonpath import JsonPath, answer_path, conversation_path
from carob.targets.http.options import Format
from carob.text.tool_results import shows_failure
from carob.text.wording import join_words, pluralize, shorten, visible

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

    kind: str
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
        events = [ObservedEvent("", member, number) for number, member in members[:MOST_EVENTS]]
        label = label_events(events)
        calls = find_calls(events, label)
        if calls.start is not None:
            return _calls_table(path, calls.start, calls.end, label), ""
        unclear = unclear or calls.unclear
    return {}, f"{unclear}: set `tool_calls`" if unclear else ""


def _calls_table(path: str, start: CallShape, end: CallShape | None, label: str) -> dict[str, object]:
    """`tool_calls`, with `results` where they are apart from their calls."""
    fields = with_usual_errors(start.fields) if "result" in start.fields else start.fields
    table: dict[str, object] = {"at": _path_of(path, start, label), **fields}
    if end is not None and "id" in end.fields:
        results = {name: path for name, path in end.fields.items() if name in ("id", "result", "error")}
        table["results"] = {"at": _path_of(path, end, label), **with_usual_errors(results)}
    return table


def _path_of(path: str, shape: CallShape, label: str) -> str:
    """Where in an answer the objects of a shape are: all members of the list, or those that their label chooses."""
    chosen = f"?@{label[1:]} == '{shape.kind}'" if label and shape.at == "$" else "*"
    return f"{path.removesuffix('[*]')}[{chosen}]{shape.at[1:]}"


def draft_stream(form: Format, answers: Sequence[Sequence[ServerEvent]], prompts: Sequence[str]) -> Draft:
    """The stream of a service, from what it answered to each prompt."""
    literal = _literal_end(answers)
    events = _read_events(answers, literal)
    label = label_events(events)
    calls = find_calls(events, label)
    stream: dict[str, object] = {"format": form}
    draft, roles = Draft(), _call_roles(calls)
    candidates = _find_words(events, label, roles, prompts)
    if len(candidates) == 1 and _is_distinct(candidates[0], events, label):
        stream["text"] = _text_part(candidates[0], label)
        roles[candidates[0].kind] = "words"
    else:
        options = [f"{words.path} of {words.events[0].describe()!r}" for words in candidates]
        maybe = f": it may be {join_words(options)}" if options else ""
        draft.unclear.append(f"{NO_TEXT}{maybe}; set `text` of `stream`")
    stream |= _call_parts(calls, label, draft)
    stream |= {"done": literal} if literal else _find_end(len(answers), events, label, roles)
    draft.options = ({"stream": stream} if "text" in stream else {}) | _find_usage(events)
    draft.kinds = _describe(events, roles)
    return draft


def _literal_end(answers: Sequence[Sequence[ServerEvent]]) -> str:
    """What ends every answer, and occurs in it only then: data that is not JSON, or the name of an empty event."""
    lasts = {
        events[-1].data.strip() or events[-1].name
        for events in answers
        if events and read_json(events[-1].data) is None
    }
    end = lasts.pop() if len(lasts) == 1 else ""
    counts = [sum(end in (event.data.strip(), event.name) for event in events) for events in answers]
    return end if counts == [1] * len(answers) else ""


def _read_events(answers: Sequence[Sequence[ServerEvent]], literal: str) -> list[ObservedEvent]:
    """The events to read; the data of a name under which plain text comes is all that its events have."""
    half = MOST_EVENTS // 2
    wire = [
        (number, event)
        for number, events in enumerate(answers)
        for event in (events if len(events) <= MOST_EVENTS else [*events[:half], *events[-half:]])
        if not literal or literal not in (event.data.strip(), event.name)
    ]
    plain = {event.name for _, event in wire if read_json(event.data) is None}
    return [
        ObservedEvent(event.name, None if event.name in plain else read_json(event.data), number, event.data)
        for number, event in wire
    ]


def _find_words(
    events: Sequence[ObservedEvent], label: str, roles: Mapping[str, str], prompts: Sequence[str]
) -> list[_Words]:
    """The fields that may be the answer: the likeliest alone, or several of which none is likelier."""
    fields: dict[tuple[str, str], _Words] = {}
    for event in events:
        for path, value in event.leaves.items():
            is_usual = last_key(path) in TEXTS or path in ("$", RAW)
            if isinstance(value, str) and is_usual and path != label and value not in prompts:
                fields.setdefault((event.kind, path), _Words(event.kind, path, [])).events.append(event)
    candidates = [words for words in fields.values() if words.kind not in roles and _may_be_answer(words)]
    likely = [words for words in candidates if _WORDS.search(words.kind)] or candidates
    distinct: list[_Words] = []
    for words in sorted(likely, key=lambda candidate: -len(candidate.events)):
        answers = {event.answer for event in words.events}
        if not any(all(earlier.join(answer) == words.join(answer) for answer in answers) for earlier in distinct):
            distinct.append(words)  # of fields that say the same, the one that comes in more pieces
    return distinct


def _may_be_answer(words: _Words) -> bool:
    texts = [(event.answer, str(event.leaves[words.path])) for event in words.events]
    if _ASIDE.search(f"{words.kind} {words.path}") or not any(re.search(r"[^\W\d_]", text) for _, text in texts):
        return False
    is_repeated = len({*texts}) == len({number for number, _ in texts}) < len(texts)  # the same words in every event
    return not is_repeated


def _is_distinct(words: _Words, events: Sequence[ObservedEvent], label: str) -> bool:
    """Whether the kind of the events says that these are the words: no further label does, and all have one shape."""
    if not label:
        return len({frozenset(event.leaves) for event in events}) == 1
    labels = {path for event in words.events for path in event.leaves if last_key(path) in LABEL_KEYS}
    return all(len({event.leaves.get(path) for event in words.events}) == 1 for path in labels)


def _text_part(words: _Words, label: str) -> object:
    part: dict[str, object] = {"raw": True} if words.path == RAW else {"at": words.path}
    grows = [
        (str(event.leaves[words.path]), str(later.leaves[words.path]))
        for event, later in zip(words.events, words.events[1:], strict=False)
        if event.answer == later.answer
    ]
    part |= {"when": when_kind(label, words.kind)} if label else {}
    part |= {"whole": True} if grows and all(text and later.startswith(text) for text, later in grows) else {}
    return words.path if part == {"at": words.path} else part


def _call_roles(calls: CallShapes) -> dict[str, str]:
    """What each kind of events is that says something of calls."""
    shapes = {"a call": calls.start, "the end of a call": calls.end}
    return {shape.kind: role for role, shape in shapes.items() if shape is not None}


def _call_parts(calls: CallShapes, label: str, draft: Draft) -> dict[str, object]:
    """`tool` and `result`, where a label distinguishes them from all other events."""
    start, end = calls.start, calls.end
    if start is None or not label:
        why = "nothing distinguishes tool calls from other events" if start is not None else calls.unclear
        draft.unclear += [f"{why}: set `tool` of `stream`"] if why else []
        return {}
    if not any(value_at(place.value, start.fields.get("arguments", "$.-")) for place in start.places):
        draft.unclear.append("the arguments of tool calls may come in other events: set `tool` of `stream`")
        return {}
    if end is None and "result" not in start.fields:
        draft.unclear.append("no event was seen that ends a tool call: results are unknown until `result` is set")
    parts = {"tool": start, "result": end}
    return {name: _call_part(shape, label) for name, shape in parts.items() if shape is not None}


def _call_part(shape: CallShape, label: str) -> dict[str, object]:
    fields = with_usual_errors(shape.fields) if "result" in shape.fields else shape.fields
    return {"when": when_kind(label, shape.kind), **({"at": shape.at} if shape.at != "$" else {}), **fields}


def _find_end(answers: int, events: Sequence[ObservedEvent], label: str, roles: dict[str, str]) -> dict[str, object]:
    """What ends the stream: a flag, or a kind of event, that was in the last of every answer and nowhere else."""
    ends = list({event.answer: event for event in events}.values())
    others = [event for event in events if event not in ends]
    if not ends or len(ends) < answers:
        return {}
    for path in ends[0].leaves:
        if all(event.leaves.get(path) is True for event in ends) and not any(o.leaves.get(path) for o in others):
            return {"done": path}
    kind = ends[0].kind
    is_end = label and {event.kind for event in ends} == {kind} and kind not in {event.kind for event in others}
    if not is_end or kind in roles:
        return {}
    roles[kind] = "the end of the stream"
    return {"done": {"when": when_kind(label, kind)}}


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


def _describe(events: Sequence[ObservedEvent], roles: Mapping[str, str]) -> tuple[str, ...]:
    """The kinds of events, how many of each, and what each was taken for."""
    kinds: dict[str, list[ObservedEvent]] = {}
    for event in events:
        kinds.setdefault(event.describe(), []).append(event)
    return tuple(
        f"{visible(shorten(kind, 60))}: {pluralize(len(alike), 'event')}, {roles.get(alike[0].kind, 'not mapped')}; "
        f"for instance {visible(shorten(alike[0].raw, 160))}"
        for kind, alike in list(kinds.items())[:30]
    )
