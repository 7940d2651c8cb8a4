"""`stream` of a target, drafted from the events of some answers; what is not clear is left out, and said."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from karat.providers.sse import ServerEvent
from karat.setup.inspect.shapes.calls import (
    CallShape,
    CallShapes,
    find_calls,
    name_in,
    with_usual_errors,
)
from karat.setup.inspect.shapes.items import (
    MOST_EVENTS,
    RAW,
    EventItem,
    Labels,
    extends,
    has_path,
    keep_common_paths,
    key_of,
    parts_path,
    step,
)
from karat.setup.inspect.shapes.usual import IDS, usual_keys
from karat.suites.diagnostics import Json
from karat.targets.http.conditions import condition
from karat.targets.http.jsonpath import JsonPath
from karat.targets.http.options import Format
from karat.targets.http.streams import loads
from karat.text.wording import join_words, pluralize, shorten, visible

TEXTS = (
    "text",
    "delta",
    "content",
    "token",
    "answer",
    "message",
    "word",
    "chunk",
    "reply",
    "response",
    "output",
    "value",
)
TEXTS_MORE = ("v", "t", "d", "c", "data", "body", "say", "txt", "part", "piece", "fragment", "w", "s", "payload")
_WORDS = re.compile(
    r"text|word|token|answer|content|message|say|said|chunk|delta|reply|speak|assistant|output", re.IGNORECASE
)
_ASIDE = re.compile(
    r"think|thought|reason|status|progress|log\b|debug|trace|meta|title|cit|sourc|ping|heart|suggest|plan|usage|error"
    r"|tool|func|call|start|user|human|system|analys|comment|scratch|internal|intermediate|draft",
    re.IGNORECASE,
)
TOKENS = {
    "input": ("input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "tokens_in", "in_tokens", "in", "input"),
    "output": (
        *("output_tokens", "completion_tokens", "outputTokens", "completionTokens", "tokens_out", "out_tokens", "out"),
        "output",
    ),
}
Read = Sequence[Sequence[tuple[ServerEvent, Json]]]
"""The events of each answer, with their values; None for what is not JSON."""
NO_TEXT = "no event is clearly the answer"


@dataclass
class Draft:
    """What a stream seems to mean, what was seen of it, and what is not clear."""

    options: dict[str, object] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    unclear: list[str] = field(default_factory=list)


@dataclass
class _Words:
    """A field with words, in events of one kind."""

    path: str
    items: list[EventItem]

    def join(self, answer: int) -> str:
        return "".join(str(item.leaves[self.path]) for item in self.items if item.answer == answer)


def draft_stream(form: Format, answers: Sequence[Sequence[ServerEvent]], prompts: Sequence[str]) -> Draft:
    """The stream of a service, from what it answered to each prompt."""
    draft, read = Draft(), [[(event, _value(event)) for event in _some(answer)] for answer in answers]
    literal = _literal_end(read)
    values = [value for events in read for _, value in events if value is not None]
    each = parts_path(values)
    whole = _is_whole(read, each)
    items = _items(_lasts(read, each) if whole else read, each, literal)
    keep_common_paths(items)
    labels = Labels(items)
    calls = find_calls(items, labels)
    stream: dict[str, object] = {"format": form} | ({"each": each} if each else {}) | ({"whole": True} if whole else {})
    spoken = _find_words(items, labels, calls, prompts)
    if len(spoken) == 1 and not _is_distinct(spoken[0], labels):
        spoken = [_with_calls(spoken[0], calls)]
    if len(spoken) == 1 and _is_distinct(spoken[0], labels):
        stream["text"] = _text_part(spoken[0], labels)
    else:
        options = [f"{one.path} of {labels.describe(one.items[0])!r}" for one in spoken]
        maybe = f": it may be {join_words(options)}" if options else ""
        draft.unclear.append(f"{NO_TEXT}{maybe}; set `text` of `stream`")
    stream |= _call_parts(calls, labels, draft)
    stream |= {"done": literal} if literal else _find_flag(read) or _find_end(len(read), items, labels, calls, spoken)
    usage = _find_usage([*values, *(item.value for item in items)])
    stream |= {"ignore": same} if (same := _find_constant(items, labels, calls, len(read))) else {}
    draft.options = ({"stream": stream} if "text" in stream else {}) | usage
    done = stream.get("done")
    ends = condition(done["when"]) if isinstance(done, dict) else None
    last = [item for item in items if ends is not None and ends(item.value, item.name)]
    draft.kinds = _describe(items, labels, calls, spoken, last)
    return draft


def _some(answer: Sequence[ServerEvent]) -> Sequence[ServerEvent]:
    """The events of an answer, or where they are very many, those at its beginning and at its end."""
    half = MOST_EVENTS // 2
    return answer if len(answer) <= MOST_EVENTS else [*answer[:half], *answer[-half:]]


def _value(event: ServerEvent) -> Json:
    try:
        return loads(event.data) if event.data.strip() else None
    except ValueError:
        return None


def _literal_end(read: Read) -> str:
    """What ends every answer, and occurs in it only then: data that is not JSON, or the name of an empty event."""
    lasts = {events[-1][0].data.strip() or events[-1][0].name for events in read if events and events[-1][1] is None}
    end = lasts.pop() if len(lasts) == 1 else ""
    counts = [sum(end in (event.data.strip(), event.name) for event, _ in events) for events in read]
    return end if counts == [1] * len(read) else ""


def _items(read: Read, each: str, literal: str) -> list[EventItem]:
    """The events to read, or the parts of them; the data of those that hold plain text is all that they have."""
    find = JsonPath(each).all if each else None
    plain = {
        event.name for events in read for event, value in events if value is None and event.data.strip() != literal
    }
    items: list[EventItem] = []
    for number, events in enumerate(read):
        for event, value in events:
            if literal and literal in (event.data.strip(), event.name):
                continue
            if event.name in plain:
                items.append(EventItem(event.name, None, number, len(items), event.data))
                continue
            parts = find(value) if find else []
            items += [
                EventItem(event.name, part, number, len(items) + at, _text(part)) for at, part in enumerate(parts)
            ]
            if not parts:
                items.append(EventItem(event.name, value, number, len(items), event.data))
    return items


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _is_whole(read: Read, each: str) -> bool:
    """Whether the parts of each event are those of the event before, and more."""
    find = JsonPath(each).all if each else None
    lists = [[parts for _, value in events if find and (parts := find(value))] for events in read]
    pairs = [pair for parts in lists for pair in pairwise(parts)]
    return any(one != later for one, later in pairs) and all(extends(later, one) for one, later in pairs)


def _lasts(read: Read, each: str) -> Read:
    """The events of each answer without those whose parts are all in a later one."""
    find = JsonPath(each).all
    kept = []
    for events in read:
        last = max((at for at, (_, value) in enumerate(events) if find(value)), default=-1)
        kept.append([event for at, event in enumerate(events) if at == last or not find(event[1])])
    return kept


def _find_words(items: Sequence[EventItem], labels: Labels, calls: CallShapes, prompts: Sequence[str]) -> list[_Words]:
    """The fields that may be the answer: the likeliest alone, or several of which none is likelier."""
    taken = {item for shape in _shapes(calls) for item in shape.items}
    fields: dict[tuple[tuple[str, ...], str], _Words] = {}
    for item in items:
        for path, value in item.leaves.items():
            if isinstance(value, str) and path not in labels.known and item not in taken and value not in prompts:
                fields.setdefault((item.kind, path), _Words(path, [])).items.append(item)
    ranks = {id(words): _rank(words, labels) for words in fields.values()}
    known = [words for words in fields.values() if ranks[id(words)] is not None]
    best = min((ranks[id(words)] or 0 for words in known), default=0)
    likely = [words for words in known if ranks[id(words)] == best]
    kept, answers = _without_repeats(likely), {item.answer for item in items}
    everywhere = [words for words in kept if {item.answer for item in words.items} == answers]
    return everywhere if len(everywhere) == 1 else kept  # each answer has words: what one lacks is not the answer


def _rank(words: _Words, labels: Labels) -> int | None:
    """How likely a field is the answer, the least number the most; None if it is not."""
    key, said = key_of(words.path) or words.path, labels.words(words.items[0])
    texts = [(item.answer, str(item.leaves[words.path])) for item in words.items]
    answers = {number for number, _ in texts}
    if not any(re.search(r"[^\W\d_]", text) for _, text in texts) or len({*texts}) == len(answers) < len(texts):
        return None  # no words, or the same ones in every event
    if _ASIDE.search(f"{said} {words.path}") and not _WORDS.search(f"{said} {key}"):
        return None
    named = key in TEXTS or key in TEXTS_MORE or words.path in ("$", RAW) or words.path.startswith("$[")
    if _ASIDE.search(f"{said} {words.path}"):
        return 4 if named else None
    if named:
        return 0 if _WORDS.search(said) else 1
    return 2 if _WORDS.search(said) else 3 if _WORDS.search(key) else None


def _without_repeats(likely: list[_Words]) -> list[_Words]:
    """Of fields that say the same, the one that comes in more pieces."""
    kept: list[_Words] = []
    for words in sorted(likely, key=lambda one: -len(one.items)):
        answers = {item.answer for item in words.items}
        if not any(all(one.join(answer) == words.join(answer) for answer in answers) for one in kept):
            kept.append(words)
    return kept


def _is_distinct(words: _Words, labels: Labels) -> bool:
    """Whether words are not mistaken for something else that other events have in the same place."""
    spoken = {*words.items}
    others = [item for item in labels.items if item not in spoken]
    return labels.when(words.items) is not None or not any(has_path(item, words.path) for item in others)


def _with_calls(words: _Words, calls: CallShapes) -> _Words:
    """Words that events with a call may have as well."""
    begun = calls.start.items if calls.start else []
    items = [*words.items, *(item for item in begun if isinstance(item.leaves.get(words.path), str))]
    return _Words(words.path, sorted(items, key=lambda item: item.order))


def _text_part(words: _Words, labels: Labels) -> object:
    part: dict[str, object] = {"raw": True} if words.path == RAW else {"at": words.path}
    when = labels.when(words.items)
    grows = [
        (str(one.leaves[words.path]), str(other.leaves[words.path]))
        for one, other in zip(words.items, words.items[1:], strict=False)
        if one.answer == other.answer
    ]
    part |= {"when": when} if when is not None else {}
    part |= {"whole": True} if grows and all(other.startswith(one) and one for one, other in grows) else {}
    return words.path if part == {"at": words.path} else part


def _call_parts(calls: CallShapes, labels: Labels, draft: Draft) -> dict[str, object]:
    """`tool`, `arguments`, `result` and `error`, as far as something distinguishes each from all other events."""
    if calls.start is None:
        draft.unclear += [f"{calls.unclear}: set `tool` of `stream`"] if calls.unclear else []
        return {}
    start = calls.start
    fields = with_usual_errors(start.fields) if "result" in start.fields else dict(start.fields)
    at = start.at
    if calls.pieces is not None and calls.pieces.at == at and at.endswith("[*]"):
        at = f"{at.removesuffix('[*]')}[?@{fields['name'][1:]}]"
    parts = {"tool": _part(start, labels, at, fields)}
    if parts["tool"] is None:
        draft.unclear.append("nothing distinguishes tool calls from other events: set `tool` of `stream`")
        return {}
    parts["arguments"] = _part(calls.pieces, labels) if calls.pieces else None
    if calls.end is not None:
        parts["result"] = _part(calls.end, labels, fields=with_usual_errors(calls.end.fields), not_like=start)
    parts["error"] = _part(calls.error, labels) if calls.error else None
    if calls.end is None and "result" not in fields:
        draft.unclear.append("no event was seen that ends a tool call: results are unknown until `result` is set")
    return {name: part for name, part in parts.items() if part is not None}


def _part(
    shape: CallShape,
    labels: Labels,
    at: str = "",
    fields: dict[str, str] | None = None,
    not_like: CallShape | None = None,
) -> dict[str, object] | None:
    """A part of `stream`; None where nothing distinguishes its events from others."""
    read, where = shape.fields if fields is None else fields, at or shape.at
    keys = [shape.at, *(f"{shape.at}{path[1:]}" for path in shape.fields.values())]
    when = labels.when(shape.items, keys, [] if not_like is None else not_like.items)
    if when is None and len(shape.items) < len(labels.items) and where == "$":
        return None
    selected = where != "$" and isinstance(when, str) and when.startswith(f"?@{shape.at[1:]}")  # by its path already
    part: dict[str, object] = {"when": when} if when is not None and not selected else {}
    part |= ({"at": where} if where != "$" else {}) | read
    return part | ({"id": [read["id"], *shape.also_ids]} if shape.also_ids else {})


def _find_flag(read: Read) -> dict[str, object]:
    """A path at which the last event of every answer is true, and no other."""
    lasts = [EventItem("", events[-1][1], 0, 0) for events in read if events]
    others = [EventItem("", value, 0, 0) for events in read for _, value in events[:-1]]
    for path, value in lasts[0].leaves.items() if len(lasts) == len(read) else ():
        ends = value is True and all(item.leaves.get(path) is True for item in lasts)
        if ends and not any(item.leaves.get(path) for item in others):
            return {"done": path}
    return {}


def _find_end(
    answers: int,
    items: Sequence[EventItem],
    labels: Labels,
    calls: CallShapes,
    spoken: Sequence[_Words],
) -> dict[str, object]:
    """What ends the stream: a kind of event that was the last of every answer and occurred in it only once."""
    lasts = [[item for item in items if item.answer == number][-1:] for number in range(answers)]
    ends = [item for last in lasts for item in last]
    used = {item for shape in _shapes(calls) for item in shape.items} | {i for words in spoken for i in words.items}
    if not ends or len(ends) < answers or used & {*ends}:
        return {}
    has = ends[0].value if isinstance(ends[0].value, dict) else {}
    ids = usual_keys(has, IDS)
    when = labels.when(ends, [f"${step(key)}" for key in [*(key for key in has if key not in ids), *ids]])
    return {"done": {"when": when}} if when is not None else {}


def _find_constant(items: Sequence[EventItem], labels: Labels, calls: CallShapes, answers: int) -> list[object]:
    """Kinds of events that name tools and report no call: each is the same in answers that differ in their calls."""
    start = calls.start
    made = [[item.raw for item in start.items if item.answer == number] for number in range(answers)] if start else []
    if start is None or all(one == made[0] for one in made):
        return []
    names = {name_in(place, start) for place in start.places}
    kinds: dict[tuple[str, ...], list[EventItem]] = {}
    for item in items:
        kinds.setdefault(item.kind, []).append(item)
    same = [
        labels.when(found)
        for found in kinds.values()
        if len(found) == answers and len({one.answer for one in found}) == answers
        if len({one.raw for one in found}) == 1 and any(name in found[0].raw for name in names)
    ]
    return [when for when in same if when is not None]


def _find_usage(values: Sequence[Json]) -> dict[str, object]:
    """Where tokens are counted, by the usual keys next to each other."""
    for value in reversed(values):
        item = EventItem("", value, 0, 0)
        numbers = {path: key_of(path) for path, one in item.leaves.items() if type(one) is int}
        inputs = [(given, path) for given in TOKENS["input"] for path, key in numbers.items() if key == given]
        for given, path in inputs:
            for made in TOKENS["output"]:
                other = f"{path.removesuffix(given)}{made}"
                if other in numbers:
                    return {"usage": {"input": path, "output": other}}
    return {}


def _shapes(calls: CallShapes) -> list[CallShape]:
    return [shape for shape in (calls.start, calls.pieces, calls.end, calls.error) if shape is not None]


def _describe(
    items: Sequence[EventItem],
    labels: Labels,
    calls: CallShapes,
    spoken: Sequence[_Words],
    last: Sequence[EventItem],
) -> tuple[str, ...]:
    """The kinds of events, how many of each, and what each was taken for."""
    roles: dict[EventItem, str] = {}
    for role, shape in (
        ("a call", calls.start),
        ("arguments of a call", calls.pieces),
        ("the end of a call", calls.end),
        ("a call that failed", calls.error),
    ):
        roles |= {item: role for item in shape.items if item not in roles} if shape is not None else {}
    spoke = [item for words in spoken if len(spoken) == 1 for item in words.items]
    for role, found in (("words", spoke), ("the end of the stream", last)):
        roles |= {item: role for item in found if item not in roles}
    kinds: dict[tuple[str, str], list[EventItem]] = {}
    for item in items:
        kinds.setdefault((labels.describe(item), roles.get(item, "not mapped")), []).append(item)
    return tuple(
        f"{visible(shorten(kind, 60))}: {pluralize(len(same), 'event')}, {role}; "
        f"for instance {visible(shorten(same[0].raw, 160))}"
        for (kind, role), same in list(kinds.items())[:30]
    )
