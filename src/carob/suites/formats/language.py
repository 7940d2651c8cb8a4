"""Carob's own three languages: what they share on the way from a tree, whose shape is validated, to cases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from carob.model.check import Declared
from carob.model.suite import Case, Reply, Scoring
from carob.suites.decisions import read_decision
from carob.suites.declared import read_declared
from carob.suites.diagnostics import Json, Path, PathDiagnostic, render
from carob.suites.fault_keys import read_faults, read_stubs
from carob.suites.formats.base import Format, JsonObject, SuiteCatalog, SuiteFile
from carob.suites.formats.builder import CaseBuilder, Expectations, SuiteBuilder
from carob.suites.formats.spelling import Commented
from carob.suites.shapes import scalars
from carob.suites.shapes.containers import FILLER, NOTE, Key, KnownKeys, ListShape, MapShape, RecordShape

NO_CHECKS = ("scoring", "min_pass_rate", "constraints", "metadata")
"""Keys of `expected` that no check has, in one language or another."""

_COPIED = ("category", "skip", "xfail", "max_turns", "cluster")
TEXT = scalars.TextShape()
LABEL = scalars.TextShape(pattern=scalars.ONE_LINE)
PROMPT = scalars.TextShape(pattern=scalars.NOT_BLANK)
PASS_RATE = Key(
    scalars.NumberShape(over=0, most=1), "The share of repeats that must pass, over 0 and at most 1; all by default."
)

Notes = dict[Path, Json]


class CasesShape(NamedTuple):
    """The list of cases, which is looked at one case at a time."""

    case: RecordShape
    words: str = "a list"
    types: tuple[type, ...] = (list,)

    def validate(self, value: object) -> scalars.Found:
        if not is_list(value):
            return scalars.wrong_type(self.words, value)
        return scalars.FINE if value else [PathDiagnostic((), "the suite has no cases.", "empty-suite")]

    def schema(self, defs: dict[str, scalars.Schema]) -> scalars.Schema:
        return ListShape(self.case, fewest=1).schema(defs)


def is_list(value: object) -> TypeGuard[Sequence[Json]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


SCORING = "How group scores become a status."
LARGEST_WEIGHT = 1e6

_PLAIN = Scoring()


def scoring_shape(groups: tuple[str, ...], known_keys: KnownKeys) -> RecordShape:
    group = scalars.ChoiceShape(groups)
    weights = MapShape(group, scalars.NumberShape(least=0, most=LARGEST_WEIGHT))
    soft = {
        "threshold": Key(scalars.NumberShape(over=0, most=1), "A soft score under this fails the case."),
        "weights": Key(weights, "How much each group counts. At least one must be over zero."),
    }
    about = "A weighted sum of group scores, and its minimum."
    keys = {
        "hard_fail": Key(ListShape(group), "Groups in which one failed check fails the case."),
        "soft_score": Key(RecordShape("SoftScore", about, soft, known_keys), "The weighted score and its threshold."),
    }
    known_keys.add("under 'scoring'", keys)
    known_keys.add("under 'scoring.soft_score'", soft)
    return RecordShape("Scoring", SCORING, keys, known_keys)


def read_scoring(raw: JsonObject | None) -> Scoring:
    if not raw:
        return _PLAIN
    soft = raw.get("soft_score", {})
    threshold, weights = soft.get("threshold"), soft.get("weights")
    return Scoring(
        hard_fail=tuple(dict.fromkeys(raw.get("hard_fail", ()))),
        threshold=None if threshold is None else float(threshold),
        weights=None if weights is None else {name: float(weight) for name, weight in weights.items()},
    )


def weightless(scoring: JsonObject | None, path: Path) -> Iterator[PathDiagnostic]:
    """Weights that count nothing at all."""
    weights = scoring.get("soft_score", {}).get("weights") if scoring else None
    if weights is not None and not any(weights.values()):
        message = "no group has a weight over zero. Give one, or leave the weights out."
        yield PathDiagnostic((*path, "scoring", "soft_score", "weights"), message, "zero-weights")


class Language(Format):
    """Base of the three. What a case says in Carob 1 is what it is read as, and what it is converted to."""

    def case_converter(self, catalog: SuiteCatalog) -> Callable[[JsonObject], Commented]:
        """What gives a case in the words of Carob 1, with where its expectations were if not in `expected`."""
        return Commented

    def find_contradictions(self, raw: JsonObject, path: Path, faults: set[Path]) -> Iterable[PathDiagnostic]:
        """What is wrong between the fields of a case."""
        return ()


class CaseReader:
    """Reads the cases of one file one after another, and holds on to nothing else of them."""

    def __init__(self, language: Language, case_shape: RecordShape, file: SuiteFile, catalog: SuiteCatalog) -> None:
        self._suite = SuiteBuilder(file, catalog)
        self._suite.declared = read_declared(file.tree if isinstance(file.tree, dict) else {}, catalog.declared)
        self._language = language
        self._convert = language.case_converter(catalog)
        self._shape = case_shape
        # A journal says `"scoring": {}` of every case but those of golden sets, which have none.
        self._has_scoring = "scoring" in case_shape.keys
        self._file = file
        self._row = ""
        """Which row of a table the case is of that is being read."""
        self.diagnostics = self._suite.diagnostics
        self.warnings = self._suite.warnings

    @property
    def declared(self) -> Declared:
        """What the file declares for all of its cases."""
        return self._suite.declared

    @property
    def cases(self) -> list[Case]:
        """The cases of which nothing is wrong."""
        return self._suite.cases

    def read(self, listed: object, prefix: Path) -> None:
        """Read the cases of a list. Those that are sound are in `cases` then, what is wrong in `diagnostics`."""
        for index, raw in enumerate(listed if is_list(listed) else ()):
            self._read(raw, (*prefix, index))

    def _read(self, raw: Json, path: Path) -> None:
        problems = self._shape.validate(raw)
        notes, fillers, wrong = split_notes(raw, problems) if problems else NO_NOTES
        if problems:
            self.warnings += [diagnostic.under(*path) for diagnostic in fillers]
            self.diagnostics += [diagnostic.under(*path) for diagnostic in wrong]
        if isinstance(raw, dict):
            if isinstance(case_id := raw.get("id"), str):
                self._suite.claim_id(case_id, path, self._row)
            self._add(raw, path, {diagnostic.path[:2] for diagnostic in wrong}, notes)

    def _add(self, raw: JsonObject, path: Path, faults: set[Path], notes: Notes) -> None:
        needs_expected = self._shape.keys["expected"].required
        if needs_expected and not isinstance(raw.get("expected"), dict):
            return
        words, _, moved = self._convert(raw)
        fields = {} if faults else case_fields(words, notes)
        if not faults and self._has_scoring:
            fields["scoring"] = read_scoring(words.get("scoring"))
        case = CaseBuilder(self._suite, words.get("id", ""), words.get("prompt", ""), path, fields)
        expected_of_case = as_object(words.get("expected"))
        sound = {name: value for name, value in expected_of_case.items() if name not in NO_CHECKS}
        if faults:
            places_of = {name: moved.get(name, ("expected", name)) for name in sound}
            wrong = {name for name, at in places_of.items() if any(fault[: len(at)] == at for fault in faults)}
            sound = {name: value for name, value in sound.items() if name not in wrong}
        is_whole = not faults or (needs_expected and all(("expected", name) not in faults for name in raw["expected"]))
        places = {name: (*path, *field_path) for name, field_path in moved.items()} if moved else moved
        case.expect_valid(sound, (*path, "expected"), places, whole=is_whole)
        for index, turn in enumerate(() if faults else words.get("turns", ())):
            expected = turn.get("expected")
            decision = read_decision(turn)
            part = Expectations(self._suite, path, turn.get("prompt", "") if decision is None else str(decision))
            part.decision = decision
            checked = {name: value for name, value in (expected or {}).items() if name not in NO_CHECKS}
            part.expect_valid(checked, (*path, "turns", index, "expected"), {}, whole=True)
            part.is_empty = expected is None
            case.turns.append(part)
        if faults and "turns" in words:
            case.answered = False
        has_rules = bool(self._suite.declared.rules or "rules" in self._file.tree)
        self._suite.finish(case, "" if has_rules else "Say in 'expected' what you expect.", sound=not faults)
        self.diagnostics += self._language.find_contradictions(raw, path, faults)


def case_fields(words: JsonObject, notes: Notes) -> dict[str, Any]:
    """What a case has besides id, prompt and checks, in the words of Carob 1."""
    fields: dict[str, Any] = {key: words[key] for key in _COPIED if key in words}
    for key in ("setup_prompts", "preconditions"):
        if key in words:
            fields[key] = tuple(words[key])
    if "tags" in words:
        fields["tags"] = tuple(dict.fromkeys(words["tags"]))
    if "replies" in words:
        fields["replies"] = tuple(Reply(tuple(reply["asks_for"]), reply["say"]) for reply in words["replies"])
    if "stubs" in words:
        fields["stubs"] = read_stubs(words["stubs"])
    if "faults" in words:
        fields["faults"] = read_faults(words["faults"])
    if (rate := as_object(words.get("expected")).get("min_pass_rate")) is not None:
        fields["min_pass_rate"] = rate
    if notes or "metadata" in words:
        fields["metadata"] = {**as_object(words.get("metadata")), **(dict(name_notes(notes)) if notes else {})}
    return fields


class SplitNotes(NamedTuple):
    """What validating a tree gave: notes, which were taken out of it; fillers, which were too; and what is wrong."""

    notes: Notes
    fillers: Sequence[PathDiagnostic]
    wrong: Sequence[PathDiagnostic]


NO_NOTES = SplitNotes({}, (), ())


def split_notes(tree: object, diagnostics: Iterable[PathDiagnostic]) -> SplitNotes:
    """Take notes and fillers out of a tree, as validating it named them."""
    notes: Notes = {}
    fillers, wrong = [], []
    for diagnostic in diagnostics:
        if diagnostic.slug == NOTE:
            notes[diagnostic.path] = _take(tree, diagnostic.path)
        elif diagnostic.slug == FILLER:
            _take(tree, diagnostic.path)
            fillers.append(diagnostic)
        else:
            wrong.append(diagnostic)
    return SplitNotes(notes, fillers, wrong)


def _take(tree: Any, path: Path) -> Json:
    for step in path[:-1]:
        tree = tree[step]
    note: Json = tree.pop(path[-1])
    return note


def name_notes(notes: Notes) -> Iterator[tuple[str, Json]]:
    """Notes by name: the entries of `metadata` as they are, notes from deeper down by their path."""
    deeper = {render(path): value for path, value in notes.items() if path != ("metadata",)}
    metadata = notes.get(("metadata",), {})
    for name, value in metadata.items() if isinstance(metadata, dict) else [("metadata", metadata)]:
        yield f"metadata.{name}" if name in deeper else name, value
    yield from deeper.items()


def as_object(value: object) -> JsonObject:
    """An object, and an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def sound_keys(keys: JsonObject, faults: Collection[Path], *path: str) -> JsonObject:
    """The keys of an object that nothing is wrong with, so that they can be read whatever the others hold."""
    if not faults:
        return keys
    wrong = {fault[: len(path) + 1] for fault in faults}
    return {key: value for key, value in keys.items() if (*path, key) not in wrong}


def any_of(keys: Iterable[str]) -> list[dict[str, object]]:
    """That at least one of these keys is there, in a JSON Schema."""
    return [{"required": [key]} for key in keys]


def add_metadata(raw: Mapping[str, Any], more: dict[str, Json]) -> JsonObject:
    """The metadata of an object with more in it, which gives way to what it has already."""
    if not more:
        return {"metadata": raw["metadata"]} if "metadata" in raw else {}
    metadata = raw.get("metadata", {})
    return {"metadata": {**more, **(metadata if isinstance(metadata, dict) else {"metadata": metadata})}}
