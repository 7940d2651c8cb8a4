"""Tool calls among the events of a stream, or in one answer: by the usual keys, and by what belongs together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from karat.setup.inspect.shapes.items import EventItem, Labels, key_of, objects_in, step
from karat.setup.inspect.shapes.usual import (
    ARGUMENTS,
    CARRIERS,
    ENDS,
    ERRORS,
    FAILS,
    IDENTIFIER,
    IDS,
    INSIDE,
    NAMES,
    NOT_ARGUMENTS,
    NOT_CARRIERS,
    NOT_TOOLS,
    OUTER_RESULTS,
    RESULTS,
    SEVERAL_WORDS,
    TALK,
    holds_object,
    is_id,
    is_measure,
    usual_keys,
    value_at,
)
from karat.suites.diagnostics import Json


class CallPlace(NamedTuple):
    """An object in an item, and where it is."""

    item: EventItem
    at: str
    value: dict[str, Json]


@dataclass
class CallShape:
    """Events that say something of calls: where in them it is, and the path of each thing from there."""

    at: str
    fields: dict[str, str]
    also_ids: list[str] = field(default_factory=list)
    """Other paths that name a call, such as an index that only pieces of its arguments have."""
    places: list[CallPlace] = field(default_factory=list)

    @property
    def items(self) -> list[EventItem]:
        return list(dict.fromkeys(place.item for place in self.places))


@dataclass
class CallShapes:
    """What was found of calls. `unclear`: why nothing is proposed although something looks like a call."""

    start: CallShape | None = None
    pieces: CallShape | None = None
    end: CallShape | None = None
    error: CallShape | None = None
    unclear: str = ""


def find_calls(items: Sequence[EventItem], labels: Labels) -> CallShapes:
    """The calls of some answers, where they are clear."""
    places = [CallPlace(item, at, value) for item in items for at, value in objects_in(item.value)]
    starts, repeats = _find_starts(places, labels)
    if len(starts) > 1:
        kinds = " and ".join(repr(labels.describe(shape.items[0])) for shape in starts[:2])
        return CallShapes(unclear=f"events of the kinds {kinds} look like tool calls, and only one can be `tool`")
    if not starts:
        return CallShapes()
    found = CallShapes(starts[0])
    begun = {*starts[0].items}
    later = [place for place in places if place.item not in begun]
    _find_id(starts[0], later)
    found.pieces = _link_pieces(starts[0], _find_pieces(places, labels)) or _find_arguments(starts[0], repeats)
    if "result" not in starts[0].fields:
        found.end, found.error = _find_ends(starts[0], later, labels)
    return found


def _find_starts(places: Sequence[CallPlace], labels: Labels) -> tuple[list[CallShape], list[CallShape]]:
    """The objects that are calls, by the kind of their events; and those that say more of calls of an earlier kind."""
    shapes: dict[object, CallShape] = {}
    for place in places:
        fields = read_call(place, labels)
        if fields:
            shape = shapes.setdefault((place.item.kind, place.at, fields["name"]), CallShape(place.at, {}))
            shape.fields |= {name: path for name, path in fields.items() if name not in shape.fields}
            shape.places.append(place)
    found: list[CallShape] = []
    ids = {
        str(value_at(p.value, one.fields["id"])) for one in shapes.values() for p in one.places if "id" in one.fields
    }
    later: list[CallShape] = []
    for shape in shapes.values():
        if {name_in(place, shape) for place in shape.places} <= ids:  # it names a call, not a tool
            continue
        if any(_repeats(shape, other) for other in found):
            later.append(shape)
            continue
        alike = next((other for other in found if _is_alike(shape, other)), None)
        if alike is None:
            found.append(shape)
        else:
            alike.fields = shape.fields | alike.fields
            alike.places += shape.places
    return found, later


def _repeats(shape: CallShape, other: CallShape) -> bool:
    """Whether each of these objects comes after an object of the other shape that names the same tool."""
    first: dict[tuple[int, str], int] = {}
    for place in other.places:
        first.setdefault((place.item.answer, name_in(place, other)), place.item.order)
    named = [(place.item.answer, name_in(place, shape)) for place in shape.places]
    return all(one in first and first[one] <= place.item.order for one, place in zip(named, shape.places, strict=True))


def _is_alike(shape: CallShape, other: CallShape) -> bool:
    """Whether two kinds of events are calls in the same form, such as those that succeeded and those that failed."""
    labels = zip(shape.places[0].item.kind, other.places[0].item.kind, strict=True)
    same = (shape.at, shape.fields["name"]) == (other.at, other.fields["name"])
    return same and any(one and one == also for one, also in labels)


def _find_arguments(start: CallShape, repeats: Sequence[CallShape]) -> CallShape | None:
    """Where calls begin without arguments: later events that have the arguments of the same calls, by their ids."""
    for shape in repeats if "arguments" not in start.fields and "id" in start.fields else ():
        if shape.fields.keys() >= {"arguments", "id"} and "result" not in shape.fields:
            return CallShape(shape.at, {key: shape.fields[key] for key in ("id", "arguments")}, places=shape.places)
    return None


def _find_id(start: CallShape, later: Sequence[CallPlace]) -> None:
    """Where calls have no usual id: a field that differs from call to call, and whose values come again later."""
    values = {str(one) for place in later for one in place.value.values() if is_id(one)}
    for key in start.places[0].value if "id" not in start.fields else ():
        path, found = f"${step(key)}", [(place.item.answer, str(place.value.get(key))) for place in start.places]
        differ = len({*found}) == len(found) and {one for _, one in found} <= values
        if differ and path not in start.fields.values() and is_id(start.places[0].value[key]):
            start.fields["id"] = path
            return


def name_in(place: CallPlace, shape: CallShape) -> str:
    return str(value_at(place.value, shape.fields["name"]))


def read_call(place: CallPlace, labels: Labels) -> dict[str, str]:
    """What an object says as a call, by the usual keys or by its shape; empty if it is none."""
    has_result = any(key in place.value for key in (*OUTER_RESULTS, *ERRORS))
    others = [key for key in place.value if has_result and key not in INSIDE]
    for inside in ("", *INSIDE, *others):
        inner = place.value.get(inside) if inside else place.value
        if not isinstance(inner, dict):
            continue
        prefix = f"${step(inside)}" if inside else "$"
        fields = _read_keys(inner, prefix, place, labels) or ({} if inside else _read_shape(place, labels))
        if not fields:
            continue
        outer = {"arguments": ARGUMENTS, "result": OUTER_RESULTS, "error": ERRORS} if inside else {}
        fields |= find_keys(
            place.value, "$", {name: keys for name, keys in outer.items() if name not in fields}, fields
        )
        for holder, at in ((place.value, "$"), (inner, prefix)):
            path = next((f"{at}{step(key)}" for key in usual_keys(holder, IDS) if is_id(holder[key])), "")
            if path and path not in fields.values():
                return fields | {"id": path}
        return fields
    return {}


def _read_keys(value: dict[str, Json], prefix: str, place: CallPlace, labels: Labels) -> dict[str, str]:
    labelled = labels.words(place.item)
    for key in usual_keys(value, NAMES):
        name, path = value[key], f"{prefix}{step(key)}"
        if not (isinstance(name, str) and IDENTIFIER.fullmatch(name)) or place.at + path[1:] in labels.known:
            continue
        found = {"name": path}
        found |= find_keys(value, prefix, {"arguments": ARGUMENTS, "result": RESULTS, "error": ERRORS}, found)
        speaks = bool(TALK.search(f"{labelled} {key_of(place.at)} {key_of(prefix)} {'' if key == 'name' else key}"))
        if "arguments" in found and (speaks or holds_object(value_at(place.value, found["arguments"]))):
            return found
        if speaks and ("result" in found or not ENDS.search(labelled)):
            return found
    return {}


def _read_shape(place: CallPlace, labels: Labels) -> dict[str, str]:
    """A call whose keys say nothing: one name of several words, and one object next to it."""
    value = place.value
    names = [
        key
        for key, inner in value.items()
        if isinstance(inner, str) and SEVERAL_WORDS.fullmatch(inner) and not _is_other_name(key)
        if place.at + step(key) not in labels.known
    ]
    payloads = [key for key, inner in value.items() if isinstance(inner, dict) and inner]
    if len(names) != 1 or len(payloads) != 1 or payloads[0] in NOT_ARGUMENTS or not any(place.item.kind):
        return {}
    return {"name": f"${step(names[0])}", "arguments": f"${step(payloads[0])}"}


def _is_other_name(key: str) -> bool:
    return key.lower() in NOT_TOOLS or key.lower().endswith(("id", "reason", "type", "status", "state", "model"))


def find_keys(
    value: dict[str, Json], prefix: str, wanted: Mapping[str, tuple[str, ...]], taken: dict[str, str]
) -> dict[str, str]:
    """The first usual key of each thing that an object has, or one of the objects in it that carry such things."""
    found: dict[str, str] = {}
    for what, keys in wanted.items():
        holders = [(prefix, value)]
        holders += [
            (f"{prefix}{step(one)}", inner)
            for one, inner in value.items()
            if isinstance(inner, dict) and (one in CARRIERS or not usual_keys({one: inner}, NOT_CARRIERS))
        ]
        paths = (
            f"{at}{step(key)}" for at, holder in holders for key in usual_keys(holder, keys) if key not in CARRIERS
        )
        path = next((path for path in paths if path not in {*taken.values(), *found.values()}), None)
        found |= {} if path is None else {what: path}
    return found


def _find_ends(
    start: CallShape, later: Sequence[CallPlace], labels: Labels
) -> tuple[CallShape | None, CallShape | None]:
    """The events that end the calls, and those that say that one failed: they name a call by its id or its name."""
    for link in ("id", "name"):
        linked: dict[tuple[str, str], list[CallPlace]] = {}
        for begun in start.places if link in start.fields else ():
            wanted = str(value_at(begun.value, start.fields[link]))
            for place in later:
                if place.item.answer == begun.item.answer and place.item.order > begun.item.order:
                    keys = [key for key, one in place.value.items() if is_id(one) and str(one) == wanted]
                    for key in keys[:1]:
                        linked.setdefault((place.at, key), []).append(place)
        for (at, key), places in sorted(linked.items(), key=lambda one: -len(one[1])):
            ends = _read_ends(at, {link: f"${step(key)}"}, places, labels)
            if any(ends):
                return ends
    return _find_next_ends(start, later, labels)


def _read_ends(
    at: str, link: dict[str, str], places: Sequence[CallPlace], labels: Labels
) -> tuple[CallShape | None, CallShape | None]:
    """Ends with their results, and failures, as far as it is clear what each is."""
    end, error = CallShape(at, dict(link)), CallShape(at, dict(link))
    kinds: dict[tuple[str, ...], str] = {}
    for place in places:
        fails = bool(FAILS.search(labels.words(place.item)))
        found = find_keys(place.value, "$", {"error": ERRORS, "result": RESULTS}, link)
        what = "error" if fails else "result"
        if not found.keys() & {"error", what}:
            path = found.get("result") or _only_other(place, link, labels)
            found = {what: path} if path else {}
        if "result" in found and not fails:
            kinds.setdefault(place.item.kind, labels.words(place.item))
        if found or fails:
            shape = error if fails else end
            shape.fields |= {name: path for name, path in found.items() if name not in shape.fields}
            shape.places.append(place)
    if len(kinds) > 1 and not all(map(ENDS.search, kinds.values())):
        return None, None  # one of these kinds may be that of calls that failed
    return _unwrap_results(end) if "result" in end.fields else None, error if error.places else None


def _unwrap_results(end: CallShape) -> CallShape:
    """An end whose results are all in an envelope of their own, with a result or an error, says where in it."""
    path = end.fields["result"]
    found = [one for place in end.places if (one := value_at(place.value, path)) is not None]
    keys = {key for one in found for key in (one if isinstance(one, dict) else [""])}
    results = [key for key in RESULTS if key in keys]
    if "error" in end.fields or len(results) != 1 or not keys <= {*RESULTS[:8], *ERRORS}:
        return end
    errors = ",".join(map(repr, ERRORS))
    end.fields |= {"result": f"{path}{step(results[0])}", "error": f"{path}[{errors}]"}
    return end


def _only_other(place: CallPlace, link: dict[str, str], labels: Labels) -> str:
    """The one thing that an event has besides its labels, names and measures; empty if there are others."""
    left = [
        f"${step(key)}"
        for key, inner in place.value.items()
        if f"${step(key)}" not in link.values() and place.at + step(key) not in labels.known
        if not is_measure(key, inner)
    ]
    return left[0] if len(left) == 1 else ""


def with_usual_errors(fields: dict[str, str]) -> dict[str, str]:
    """What an end has, and the usual keys of an error: all calls that were seen may have succeeded."""
    keys = [key for key in ERRORS if f"$.{key}" not in fields.values()]
    return {"error": f"$[{','.join(repr(key) for key in keys)}]"} | fields


def _find_next_ends(
    start: CallShape, later: Sequence[CallPlace], labels: Labels
) -> tuple[CallShape | None, CallShape | None]:
    """Ends that name nothing: after each call, and before the next, one event of a kind of its own with a result."""
    kinds: dict[tuple[str, tuple[str, ...]], list[CallPlace]] = {}
    for place in later:
        if ENDS.search(f"{labels.words(place.item)} {' '.join(place.value)}"):
            kinds.setdefault((place.at, place.item.kind), []).append(place)
    for (at, _), places in kinds.items():
        turns = sorted([(p.item.answer, p.item.order, w) for w, ps in enumerate((start.places, places)) for p in ps])
        if [which for *_, which in turns] == [0, 1] * len(start.places):
            return _read_ends(at, {}, places, labels)
    return None, None


def _find_pieces(places: Sequence[CallPlace], labels: Labels) -> list[CallShape]:
    """Fields whose texts are JSON objects only when they are put together, with the id by which they are."""
    series: dict[tuple[str, str, tuple[str, ...] | None], list[tuple[CallPlace, str]]] = {}
    for place in places:
        for path, text in _texts(place.value):
            for kind in (None, place.item.kind):  # the first piece may come with the call, or words in the same place
                series.setdefault((place.at, path, kind), []).append((place, text))
    found = []
    for (at, path, _), texts in series.items():
        given = [key for key in texts[0][0].value if at + step(key) not in labels.known]
        common = [key for key in given if all(is_id(place.value.get(key)) for place, _ in texts)]
        usual = usual_keys(dict.fromkeys(common), IDS)
        keys = ["", *(key for key in common if key not in usual), *usual]
        key = next((key for key in reversed(keys) if _make_objects(texts, key)), None)
        if key is not None:
            fields = {"arguments": path} | ({"id": f"${step(key)}"} if key else {})
            found.append(CallShape(at, fields, places=[place for place, _ in texts]))
    return found


def _texts(value: dict[str, Json]) -> Iterator[tuple[str, str]]:
    for key, inner in value.items():
        if isinstance(inner, str):
            yield f"${step(key)}", inner
        elif isinstance(inner, dict):
            yield from ((f"${step(key)}{step(name)}", text) for name, text in inner.items() if isinstance(text, str))


def _make_objects(texts: Sequence[tuple[CallPlace, str]], key: str) -> bool:
    """Whether the texts of each call make an object together, and not each by itself."""
    joined: dict[tuple[int, str], str] = {}
    for place, text in texts:
        group = (place.item.answer, str(place.value[key]) if key else "")
        joined[group] = joined.get(group, "") + text
    return len(texts) > len(joined) and all(map(holds_object, joined.values()))


def _link_pieces(start: CallShape, pieces: Sequence[CallShape]) -> CallShape | None:
    """The pieces that are arguments of these calls: they have ids of them, or none."""
    for shape in pieces:
        given = (
            {str(value_at(place.value, shape.fields["id"])) for place in shape.places} if "id" in shape.fields else None
        )
        inner = [place.value for place in start.places]
        outer = [place.item.value for place in start.places if isinstance(place.item.value, dict)]
        for at, holders in ((start.at, inner), ("$", outer)):
            for key in holders[0] if given is not None else ("",):
                if given is None or given <= {str(holder.get(key)) for holder in holders if is_id(holder.get(key))}:
                    return _join_pieces(start, shape, at, key)
    return None


def _join_pieces(start: CallShape, pieces: CallShape, at: str, key: str) -> CallShape:
    """The pieces, once the start says by which key of it, or of its whole event, they are its own."""
    if at != start.at:
        start.fields = {name: start.at + path[1:] for name, path in start.fields.items()}
        start.at = at
        start.places = [
            place._replace(at=at, value=cast("dict[str, Json]", place.item.value)) for place in start.places
        ]
    if key and start.fields.setdefault("id", f"${step(key)}") != f"${step(key)}":
        start.also_ids = [f"${step(key)}"]
    start.fields.pop("arguments", None)
    return pieces
