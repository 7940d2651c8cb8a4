"""`stubs` and `faults` as a suite, a case and carob.toml spell them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast, get_args

from msgspec import structs

from carob.model.faults import FAULT_KINDS, Fault, FaultKind, Hit, Stub, ValueKind, kinds_of
from carob.model.suite import Case
from carob.suites.diagnostics import Json, PathDiagnostic, render
from carob.suites.shapes import scalars
from carob.suites.shapes.containers import Key, KnownKeys, ListShape, MapShape, RecordShape, UnionShape, is_note
from carob.text.wording import join_words, quoted

STUBS = "What answers instead of a tool, by the tool's name; the tool itself is never run."
FAULTS = "What goes wrong around the agent; a case in which one does not take effect is an ERROR."
HITS: tuple[Hit, ...] = get_args(Hit)
LONGEST_WAIT = 3600
_TRUE = scalars.ChoiceShape((True,))
_NAME = scalars.TextShape(pattern=scalars.ONE_LINE)
_VALUES: Mapping[ValueKind, scalars.Shape] = {
    "flag": _TRUE,
    "text": scalars.TextShape(pattern=scalars.NOT_BLANK),
    "count": UnionShape((_TRUE, scalars.NumberShape(whole=True, least=1))),
    "seconds": scalars.NumberShape(over=0, most=LONGEST_WAIT),
    "status": scalars.NumberShape(whole=True, least=400, most=599),
    "moment": scalars.ChoiceShape(("before", "after")),
    "any": scalars.AnyShape(),
}
_AIM = {
    "at": Key(
        scalars.TextShape(pattern=scalars.NOT_BLANK), "Where in the result, as JSONPath; without it, the whole result."
    ),
}
_COUNT = {
    "times": Key(scalars.NumberShape(whole=True, least=1), "How many calls it hits; without it, every one."),
    "from_call": Key(scalars.NumberShape(whole=True, least=1), "The first call that it hits, counted from 1."),
    "seed": Key(
        scalars.NumberShape(whole=True, least=0), "A different seed chooses different characters and entities."
    ),
}
_WAIT = {
    "retry_after": Key(scalars.NumberShape(least=0), "Seconds that the answer asks the client to wait, with `status`.")
}


def fault_keys(known_keys: KnownKeys) -> dict[str, Key]:
    """The keys of a case, and of a suite."""
    stub = {
        "result": Key(scalars.AnyShape(), "What the tool returns."),
        "error": Key(scalars.TextShape(pattern=scalars.NOT_BLANK), "The error with which every call fails."),
    }
    stubs = StubShape(RecordShape("Stub", "What answers instead of a tool.", stub, known_keys))
    return {
        "stubs": Key(MapShape(_NAME, stubs, 1), STUBS),
        "faults": Key(ListShape(FaultShape.of(known_keys), 1), FAULTS),
    }


@dataclass(frozen=True)
class StubShape:
    """A stub: a result or an error."""

    record: RecordShape
    words: ClassVar = "an object"
    types: ClassVar = (dict,)

    def validate(self, value: object) -> scalars.Found:
        diagnostics = self.record.validate(value)
        if diagnostics or not isinstance(value, dict) or ("result" in value) is not ("error" in value):
            return diagnostics
        if value:
            return [PathDiagnostic((), "'result' and 'error' are both here. Keep one.", "duplicate-field")]
        return [PathDiagnostic((), "it says nothing. Give it a 'result' or an 'error'.", "missing-field")]

    def schema(self, defs: dict[str, scalars.Schema]) -> scalars.Schema:
        schema = self.record.schema(defs)
        defs[self.record.name]["oneOf"] = [{"required": ["result"]}, {"required": ["error"]}]
        return schema


@dataclass(frozen=True)
class FaultShape:
    """A fault: what it hits, and one kind of it."""

    records: Mapping[Hit, RecordShape]
    words: ClassVar = "an object"
    types: ClassVar = (dict,)

    @classmethod
    def of(cls, known_keys: KnownKeys) -> FaultShape:
        return cls({hits: _record(hits, known_keys) for hits in HITS})

    def validate(self, value: object) -> scalars.Found:
        if not isinstance(value, dict):
            return scalars.wrong_type(self.words, value)
        hit = [hits for hits in HITS if hits in value]
        if len(hit) != 1:
            fix = "one of them. Keep one." if hit else "'tool', 'service' or 'model'. Give it one."
            return [PathDiagnostic((), f"a fault hits {fix}", "duplicate-field" if hit else "missing-field")]
        diagnostics = self.records[hit[0]].validate(value)
        return [*(_suggest_hits(hit[0], diagnostic) for diagnostic in diagnostics), *_wrong(hit[0], value)]

    def schema(self, defs: dict[str, scalars.Schema]) -> scalars.Schema:
        schemas = {hits: record.schema(defs) for hits, record in self.records.items()}
        for hits, record in self.records.items():
            one_kind: list[Json] = [{"required": [name]} for name in kinds_of(hits)]
            if hits != "model":
                defs[record.name]["oneOf"] = one_kind
            else:
                defs[f"{record.name}Kind"]["oneOf"] = one_kind
        return {"anyOf": [*schemas.values()]}


def _record(hits: Hit, known_keys: KnownKeys) -> RecordShape:
    """A model's fault is an object of its own, since what it is called hardly ever matters."""
    kinds = {kind.name: Key(_VALUES[kind.value], f"{kind.about[0].upper()}{kind.about[1:]}.") for kind in _kinds(hits)}
    aim = _AIM if any(kind.at for kind in _kinds(hits)) else {}
    keys = {**kinds, **aim, **_COUNT, **(_WAIT if "status" in kinds else {})}
    title = f"{hits.capitalize()}Fault"
    if hits != "model":
        name = Key(_NAME, f"The {hits} that it hits, with `*` for any part of its name.", required=True)
        return RecordShape(title, f"A fault of a {hits}.", {hits: name, **keys}, known_keys)
    named_keys = {"name": Key(_NAME, "The model that it hits; without it, every one."), **keys}
    inner = RecordShape(f"{title}Kind", "How the model fails.", named_keys, known_keys)
    return RecordShape(title, "A fault of a model.", {"model": Key(inner, "How it fails.", required=True)}, known_keys)


def _kinds(hits: Hit) -> Iterable[FaultKind]:
    return (kind for kind in FAULT_KINDS if hits in kind.hits)


def _suggest_hits(hits: Hit, diagnostic: PathDiagnostic) -> PathDiagnostic:
    """What is wrong, in better words where it is a kind of fault that others can have."""
    others = [other for other in HITS if diagnostic.slug == "unknown-field" and diagnostic.path[-1] in kinds_of(other)]
    if not others:
        return diagnostic
    fix = f"Use one of {join_words(list(kinds_of(hits)))}."
    return diagnostic._replace(message=f"a {hits} cannot fail like this, but a {join_words(others)} can. {fix}")


def _wrong(hits: Hit, value: Mapping[str, Any]) -> Iterator[PathDiagnostic]:
    """What is wrong between the keys of a fault."""
    base, keys = (hits,) if hits == "model" else (), value[hits] if hits == "model" else value
    if not isinstance(keys, dict):
        return
    kinds = kinds_of(hits)
    kinds_here = [name for name in kinds if keys.get(name, False) is not False]
    if len(kinds_here) > 1:
        names = join_words(kinds_here, "and")
        message = f"{names} are kinds of faults. Keep one, and write a separate fault for each other one."
        yield PathDiagnostic((*base, kinds_here[1]), message, "duplicate-field", key=True)
    fault_names = {*kinds, *_AIM, *_COUNT, *_WAIT, hits, "name"}
    if not kinds_here and all(key in fault_names or is_note(key) for key in keys):
        message = f"it does not say what goes wrong. Add one of {join_words(list(kinds))}."
        yield PathDiagnostic(base, message, "missing-field")
    kind = kinds[kinds_here[0]] if len(kinds_here) == 1 else None
    if kind is not None and "at" in keys and not kind.at:
        aimed = [name for name, other_kind in kinds.items() if other_kind.at]
        message = f"{kind.name} affects the whole call. Leave it out, or use one of {join_words(aimed)}."
        yield PathDiagnostic((*base, "at"), message, "no-effect", key=True)
    elif isinstance(path := keys.get("at"), str) and path.strip() and (why := _path_flaw(path)):
        message = f"{quoted(path)} is not a JSONPath: {why}. Write it as '$.body' or '$.items[0].price'."
        yield PathDiagnostic((*base, "at"), message, "bad-jsonpath")
    if kind is not None and "retry_after" in keys and kind.name != "status":
        yield PathDiagnostic((*base, "retry_after"), "only `status` asks to wait. Leave it out.", "no-effect", key=True)


def _path_flaw(path: str) -> str:
    import jsonpath_rfc9535  # few suites have a path

    try:
        jsonpath_rfc9535.compile(path)
    except jsonpath_rfc9535.JSONPathError as error:
        return str(error).partition(", line")[0].splitlines()[0]
    return ""


def read_stubs(raw: object) -> tuple[Stub, ...]:
    """The stubs of a tree that nothing is wrong with."""
    stubs = cast("dict[str, dict[str, Any]]", raw or {})
    return tuple(
        Stub(tool=tool, result=stub.get("result"), error=stub.get("error", "")) for tool, stub in stubs.items()
    )


def read_faults(raw: object) -> tuple[Fault, ...]:
    """The faults of a tree that nothing is wrong with."""
    return tuple(map(_fault, cast("list[dict[str, Any]]", raw or [])))


def _fault(raw: Mapping[str, Any]) -> Fault:
    hits = next(hits for hits in HITS if hits in raw)
    keys = raw["model"] if hits == "model" else raw
    kind = next(name for name in kinds_of(hits) if name in keys)
    more = {key: keys[key] for key in ("at", "times", "from_call", "seed") if key in keys}
    if "retry_after" in keys:
        more["retry_after"] = float(keys["retry_after"])  # as a journal decodes it
    name = keys.get("name", "") if hits == "model" else raw[hits]
    return Fault(hits=hits, kind=kind, name=name, value=keys[kind], **more)


def check_fault_keys(table: Mapping[str, object]) -> Iterator[tuple[str, PathDiagnostic]]:
    """What is wrong with `stubs` and `faults` outside a suite, each with the key that it is under."""
    for name, key in fault_keys(KnownKeys()).items():
        for diagnostic in key.shape.validate(table[name]) if table[name] else ():
            yield name, diagnostic._replace(message=f"{render((name, *diagnostic.path))}: {diagnostic.message}")


def add_target_surroundings(case: Case, identity: Mapping[str, object]) -> Case:
    """A case with the stubs and faults of its target, as what identifies the target has them."""
    if "stubs" not in identity and "faults" not in identity:
        return case
    return add_surroundings(case, read_stubs(identity.get("stubs")), read_faults(identity.get("faults")))


def add_surroundings(case: Case, stubs: tuple[Stub, ...], faults: tuple[Fault, ...]) -> Case:
    """A case with what holds around it too: its own stubs come first, and so do its faults."""
    stubbed_tools = {stub.tool for stub in case.stubs}
    more = tuple(stub for stub in stubs if stub.tool not in stubbed_tools)
    if not more and not faults:
        return case
    return structs.replace(case, stubs=(*case.stubs, *more), faults=(*case.faults, *faults))
