"""Karat 1: an object with `karat: 1`. Conversations, defaults, variables, one case over a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path as FilePath
from typing import NamedTuple

from karat.model.check import Field, Vocabulary
from karat.model.suite import Case, Reply, Turn
from karat.suites.findings import Finding, Json, Path
from karat.suites.formats.cases import (
    DEFAULT_OUTCOME,
    LABEL,
    PASS_RATE,
    PROMPT,
    TEXT,
    Asking,
    CaseReader,
    CasesShape,
    Examined,
    Notes,
    Read,
    Specs,
    declared,
    named,
    sorted_out,
    sound,
)
from karat.suites.formats.scoring import SCORING, read_scoring, scoring_shape, weightless
from karat.suites.shapes.containers import Key, ListShape, MapShape, RecordShape
from karat.suites.shapes.known_keys import KnownKeys
from karat.suites.shapes.scalars import AnyShape, ChoiceShape, NumberShape, TextShape
from karat.suites.tables import Row, TableError, columns_of, read_table
from karat.suites.variables import NAME, Variables, resolved

FORMAT = "karat-1"
VERSION = "1"

_NO_CHECKS = ("min_pass_rate",)
_OF_TEMPLATES = ("each", "vars")
_ALONE = Row({}, "")
"""The row of a case that has no table."""

VARIABLES = MapShape(TextShape(pattern=f"^{NAME}$"), AnyShape())


class Karat1Shape(NamedTuple):
    """A Karat 1 suite in the words of some checks: the file, a case as it is once its variables are replaced."""

    suite: RecordShape
    case: RecordShape


@lru_cache(maxsize=8)
def shape(fields: tuple[Field, ...], groups: tuple[str, ...]) -> Karat1Shape:
    known = KnownKeys()
    asked = {**declared(fields, known), "min_pass_rate": PASS_RATE}
    expected = RecordShape("Expected", "What is expected of the answer.", asked, known)
    turn = {
        "prompt": Key(PROMPT, "What the user says.", required=True),
        "expected": Key(expected, "What is expected of the answer to it."),
    }
    reply = {
        "asks_for": Key(ListShape(TextShape(1), 1), "What the agent asks for, in one of these words.", required=True),
        "say": Key(PROMPT, "What the user says then.", required=True),
    }
    turns = ListShape(RecordShape("Turn", "One prompt of a conversation.", turn, known), 1)
    replies = ListShape(RecordShape("Reply", "What a scripted user answers.", reply, known), 1)
    keys = {
        "id": Key(LABEL, "A name that no other case of the suite has.", required=True),
        "category": Key(LABEL, "What kind of case it is, to select by."),
        "tags": Key(ListShape(LABEL), "Words to select by."),
        "skip": Key(PROMPT, "Why the case is not run."),
        "xfail": Key(PROMPT, "Why the case is known to fail."),
        "each": Key(AnyShape(), "One case per row: a list of objects, or the name of a .csv or .jsonl file."),
        "vars": Key(VARIABLES, "Values for `{name}` in the texts of the case."),
        "setup_prompts": Key(ListShape(PROMPT), "Prompts sent first in the same conversation, not judged."),
        "preconditions": Key(ListShape(TEXT), "What must hold before the case, for people to read."),
        "prompt": Key(PROMPT, "What the agent is asked."),
        "turns": Key(turns, "A conversation: what the user says in order."),
        "replies": Key(replies, "A scripted user, who answers what the agent asks after `prompt`."),
        "max_turns": Key(NumberShape(whole=True, least=1), "The most that a scripted user says, `prompt` included."),
        "expected": Key(expected, "What is expected of the whole conversation and its last answer."),
        "scoring": Key(scoring_shape(groups, known), SCORING),
    }
    case = RecordShape("Case", "One conversation and what is expected of it.", keys, known)
    around = {
        "karat": Key(ChoiceShape((1,)), "The version of the format.", required=True),
        "$schema": Key(TEXT, "The JSON Schema that editors check this file with."),
        "name": Key(TEXT, "The name of the suite."),
        "description": Key(TEXT, "What the suite is for."),
        "vars": Key(VARIABLES, "Values for `{name}` in the texts of every case."),
        "defaults": Key(MapShape(TEXT, AnyShape()), "What every case has that does not say otherwise; maps merge."),
        "cases": Key(CasesShape(case), "The cases.", required=True),
    }
    known.add("at the top of the file", around)
    known.add("in the case itself", keys)
    known.add("under 'expected'", asked)
    return Karat1Shape(RecordShape("Karat1", "A suite in Karat's own format.", around, known), case)


def read(tree: Examined, vocabulary: Vocabulary, askings: list[Asking] | None, folder: FilePath) -> Read:
    """The cases of a suite. `folder`: where its tables and texts are."""
    made = shape(tuple(vocabulary.fields), tuple(vocabulary.groups))
    notes, _, wrong = sorted_out(tree, made.suite.examine(tree))
    reader = _Reader(tree, made.case, vocabulary, askings, folder)
    reader.read(tree.get("cases"), ("cases",))
    found = [*wrong, *_own(tree), *reader.findings]
    if found:
        return Read(FORMAT, VERSION, (), found, [])
    return Read(
        FORMAT,
        VERSION,
        tuple(reader.cases),
        [],
        reader.warnings,
        name=tree.get("name", ""),
        description=tree.get("description", ""),
        metadata=({"$schema": tree["$schema"]} if "$schema" in tree else {}) | dict(named(notes)),
        files=tuple(reader.files.values()),
    )


def _own(tree: Examined) -> Iterator[Finding]:
    """Defaults that no two cases can share."""
    for key in {"id", "each"} & _object(tree.get("defaults")).keys():
        message = "it is another one in every case. Write it there."
        yield Finding(("defaults", key), message, "unknown-field", key=True)


class _Reader(CaseReader):
    """Makes of each case of the file one for each row of its table, and tells of which row a finding is."""

    def __init__(
        self,
        tree: Examined,
        case_shape: RecordShape,
        vocabulary: Vocabulary,
        askings: list[Asking] | None,
        folder: FilePath,
    ) -> None:
        super().__init__(_Cases(case_shape), vocabulary, askings, folder)
        self._defaults = _object(tree.get("defaults"))
        self._vars = _object(tree.get("vars"))

    def _read(self, raw: Json, path: Path) -> None:
        if not isinstance(raw, dict) or not (self._defaults or self._vars or "vars" in raw or "each" in raw):
            self._row = ""
            super()._read(raw, path)  # as it is written
            return
        origin = _Origin(raw, self._defaults, path)
        given = {**self._vars, **_object(self._defaults.get("vars")), **_object(raw.get("vars"))}
        plain = {key: value for key, value in _merged(self._defaults, raw).items() if key not in _OF_TEMPLATES}
        rows = self._rows(raw["each"], path) if "each" in raw else [_ALONE]
        if "vars" in raw:
            self.findings += [finding.under(*path, "vars") for finding in VARIABLES.examine(raw["vars"])]
        columns = {name for row in rows for name in row.values}
        for row in rows:
            self._read_row(plain, given, row, columns - row.values.keys(), origin)

    def _read_row(
        self, plain: Examined, given: Mapping[str, Json], row: Row, missing: set[str], origin: _Origin
    ) -> None:
        at, warned = len(self.findings), len(self.warnings)
        values, circles = resolved(given, row.values)
        for circle in circles:
            message = f"the variables {' → '.join(circle)} stand for each other. Give one of them a value."
            self.findings.append(Finding((*origin.path, "vars", circle[0]), message, "cyclic-variable"))
        variables = Variables(values, missing)
        filled = variables.filled(plain)
        self.findings += [finding.under(*origin.path) for finding in variables.findings]
        self.warnings += [finding.under(*origin.path) for finding in variables.near_misses]
        if len(self.findings) == at:
            self._row = row.where
            super()._read(filled, origin.path)
        self.findings[at:] = [origin.told(finding, row.where) for finding in self.findings[at:]]
        self.warnings[warned:] = [origin.told(finding, "") for finding in self.warnings[warned:]]

    def _rows(self, each: Json, path: Path) -> list[Row]:
        if isinstance(each, str):
            try:
                rows, self.files[each] = read_table(each, self._folder)
            except TableError as error:
                self.findings += [f if f.file else f.under(*path, "each") for f in error.findings]
                return []
            return rows
        told = ListShape(VARIABLES).examine(each)
        self.findings += [finding.under(*path, "each") for finding in told]
        if told or not isinstance(each, list):
            return []
        if not each:
            self.findings.append(Finding((*path, "each"), "the table has no rows.", "empty-table"))
        return [Row(columns_of(_object(row)), f"row {number}") for number, row in enumerate(each, 1)]


class _Origin(NamedTuple):
    """Where the parts of a case come from: the case as it is written, or the defaults of the suite."""

    raw: Examined
    defaults: Examined
    path: Path

    def told(self, finding: Finding, row: str) -> Finding:
        """A finding at the place that the value comes from, with the row that it arose in."""
        inner = finding.path[len(self.path) :]
        inherited = len(inner) > 0 and not _holds(self.raw, inner) and _holds(self.defaults, inner)
        message = f"{finding.message} ({row})" if row else finding.message
        return finding._replace(path=("defaults", *inner) if inherited else finding.path, message=message)


def _holds(tree: Json, path: Path) -> bool:
    """Whether something stands at the first steps of a path, as far as maps are merged."""
    for step in path:
        if not isinstance(tree, dict):
            return True
        if step not in tree:
            return False
        tree = tree[str(step)]
    return True


def _object(value: Json) -> Examined:
    return value if isinstance(value, dict) else {}


def _merged(defaults: Examined, own: Examined) -> Examined:
    """Maps merge, lists and scalars are replaced."""
    merged = {**defaults, **own}
    for key, value in own.items():
        under = defaults.get(key)
        if isinstance(under, dict) and isinstance(value, dict):
            merged[key] = _merged(under, value)
    return merged


class _Cases:
    """How Karat 1 spells a case, once its variables are replaced."""

    def __init__(self, case_shape: RecordShape) -> None:
        self.case_shape = case_shape

    def askings(self, raw: Examined, path: Path, faults: set[Path]) -> list[Asking]:
        whole = not faults
        own = _asked(sound(_object(raw.get("expected")), faults, "expected"))
        turns = raw.get("turns", ()) if whole else ()
        case = Asking(own, path, lambda field: (*path, "expected", field), whole, answered="turns" not in raw)
        return [case, *(_turn_asking(turn, (*path, "turns", index), path) for index, turn in enumerate(turns))]

    def wrong(self, raw: Examined, path: Path, faults: set[Path]) -> Iterator[Finding]:
        if "prompt" not in raw and "turns" not in raw:
            yield Finding(path, "the case says nothing to the agent. Give it a 'prompt' or 'turns'.", "missing-field")
        for key, beside in (("prompt", "turns"), ("replies", "turns")):
            if key in raw and beside in raw:
                yield Finding((*path, key), f"'{beside}' is here too. Keep one.", "duplicate-field", key=True)
        if "max_turns" in raw and "replies" not in raw:
            message = "it bounds 'replies', which are not there. Leave it out, or add them."
            yield Finding((*path, "max_turns"), message, "no-effect", key=True)
        yield from weightless(sound(raw, faults).get("scoring"), path)

    def case(self, raw: Examined, path: Path, specs: Sequence[Specs], notes: Notes) -> Case:
        turns = tuple(Turn(turn["prompt"], asked) for turn, asked in zip(raw.get("turns", ()), specs[1:], strict=True))
        expected = raw.get("expected", {})
        last = raw["turns"][-1].get("expected", {}) if turns else {}
        return Case(
            id=raw["id"],
            prompt=turns[0].prompt if turns else raw.get("prompt", ""),
            category=raw.get("category", ""),
            setup_prompts=tuple(raw.get("setup_prompts", ())),
            preconditions=tuple(raw.get("preconditions", ())),
            outcome=expected.get("outcome", last.get("outcome", DEFAULT_OUTCOME)),
            checks=specs[0],
            scoring=read_scoring(raw.get("scoring")),
            min_pass_rate=expected.get("min_pass_rate"),
            metadata=dict(named(notes)) if notes else {},
            tags=tuple(dict.fromkeys(raw.get("tags", ()))),
            skip=raw.get("skip", ""),
            xfail=raw.get("xfail", ""),
            turns=turns,
            replies=tuple(Reply(tuple(reply["asks_for"]), reply["say"]) for reply in raw.get("replies", ())),
            max_turns=raw.get("max_turns"),
        )


def _turn_asking(turn: Examined, at: Path, case: Path) -> Asking:
    expected = turn.get("expected")
    return Asking(
        _asked(_object(expected)), case, lambda field: (*at, "expected", field), answered=expected is not None
    )


def _asked(expected: Examined) -> Examined:
    return {key: value for key, value in expected.items() if key not in _NO_CHECKS}
