"""Carob 1: an object with `carob: 1`. Conversations, defaults, variables, one case over a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from carob.model.check import Field
from carob.model.suite import Suite
from carob.suites.decisions import DECISION_KEYS, decision_keys, find_decision_problems
from carob.suites.declared import declared_keys
from carob.suites.diagnostics import Json, Path, PathDiagnostic, RefusedError
from carob.suites.fault_keys import add_surroundings, fault_keys, read_faults, read_stubs
from carob.suites.formats.base import Carob1Parts, JsonObject, ParsedSuite, SuiteCatalog, SuiteFile, complete_schema
from carob.suites.formats.builder import expected_shape
from carob.suites.formats.language import (
    LABEL,
    PASS_RATE,
    PROMPT,
    SCORING,
    TEXT,
    CaseReader,
    CasesShape,
    Language,
    as_object,
    name_notes,
    scoring_shape,
    sound_keys,
    split_notes,
    weightless,
)
from carob.suites.formats.spelling import Commented
from carob.suites.rules import RulesShape, find_reading_problems, read_suite_rules, reading_keys
from carob.suites.shapes.containers import Key, KnownKeys, ListShape, MapShape, RecordShape
from carob.suites.shapes.scalars import FINE, AnyShape, ChoiceShape, Found, NumberShape, TextShape
from carob.suites.templates import (
    NAME,
    REPLACE,
    Room,
    Row,
    Variables,
    add_prohibitions,
    columns_of,
    read_table,
    resolve_all,
)
from carob.text.wording import quoted

VERSION = "1"

_VARIABLE = {"$ref": "#/$defs/Variable"}
_ANYTHING = ("string", ["string", "number", "boolean", "null"])
"""Types of a JSON Schema among which a variable is one value more."""
_OF_TEMPLATES = ("each", "vars")
MOST_ROWS = 3
"""The same problem is shown for so many rows of a table."""
_ALONE = Row({}, "")
"""The row of a case that has no table."""

VARIABLES = MapShape(TextShape(pattern=f"^{NAME}$"), AnyShape())


class FormatVersion(ChoiceShape, frozen=True):
    """The number of this format. Another number is that of a newer Carob, or a guess."""

    def validate(self, value: object) -> Found:
        fix = f"Write 'carob: {VERSION}'"
        if type(value) is not int:
            return [
                diagnostic._replace(message=f"{diagnostic.message} {fix}.") for diagnostic in super().validate(value)
            ]
        if value in self.values:
            return FINE
        message = f"this version of Carob reads format {VERSION}, not {value}. {fix}, or update Carob."
        return [PathDiagnostic((), message, "unknown-value")]


class Carob1Shape(NamedTuple):
    """A Carob 1 suite in the words of some checks: the file, a case as it is once its variables are replaced."""

    suite: RecordShape
    case: RecordShape


@lru_cache(maxsize=8)
def shape(fields: Mapping[str, Field], groups: tuple[str, ...]) -> Carob1Shape:
    known_keys = KnownKeys()
    expected = expected_shape(fields, known_keys, min_pass_rate=PASS_RATE)
    turn = {
        "prompt": Key(PROMPT, "What the user says."),
        **decision_keys(),
        "expected": Key(expected, "What is expected of the answer to it."),
    }
    reply = {
        "asks_for": Key(ListShape(TextShape(1), 1), "What the agent asks for, in one of these words.", required=True),
        "say": Key(PROMPT, "What the user says then.", required=True),
    }
    turns = ListShape(RecordShape("Turn", "One prompt of a conversation.", turn, known_keys), 1)
    replies = ListShape(RecordShape("Reply", "What a scripted user answers.", reply, known_keys), 1)
    keys = {
        "id": Key(LABEL, "A name that is unique in the suite.", required=True),
        "category": Key(LABEL, "What kind of case it is, to select by."),
        "tags": Key(ListShape(LABEL), "Words to select by."),
        "skip": Key(PROMPT, "Why the case is not run."),
        "xfail": Key(PROMPT, "Why the case is known to fail."),
        "each": Key(AnyShape(), "One case per row: a list of objects, or the name of a .csv or .jsonl file."),
        "vars": Key(VARIABLES, "Values for `{name}` in the texts of the case."),
        "cluster": Key(
            LABEL, "The name of what this is a variant of; rows of one `each` are variants of each other by default."
        ),
        "setup_prompts": Key(ListShape(PROMPT), "Prompts sent first in the same conversation, not judged."),
        "preconditions": Key(ListShape(TEXT), "What must be true before the case, as a note for people."),
        "prompt": Key(PROMPT, "What the agent is asked."),
        "turns": Key(turns, "A conversation: what the user says in order."),
        "replies": Key(replies, "A scripted user who answers what the agent asks for after `prompt`."),
        "max_turns": Key(
            NumberShape(whole=True, least=1), "The most messages that a scripted user sends, including `prompt`."
        ),
        "expected": Key(expected, "What is expected of the whole conversation and its last answer."),
        "override": Key(
            ListShape(LABEL, 1), "Keys of `expected` whose prohibition by `defaults` the case replaces, or drops."
        ),
        "scoring": Key(scoring_shape(groups, known_keys), SCORING),
        **fault_keys(known_keys),
    }
    case = RecordShape("Case", "One conversation and what is expected of it.", keys, known_keys)
    around = _top_keys(case, known_keys)
    known_keys.add("at the top of the file", around)
    known_keys.add("in the case itself", keys)
    known_keys.add("under 'expected'", expected.keys)
    return Carob1Shape(RecordShape("Carob1", "A suite in Carob's own format.", around, known_keys), case)


def _top_keys(case: RecordShape, known_keys: KnownKeys) -> dict[str, Key]:
    """The keys at the top of a file."""
    return {
        "carob": Key(FormatVersion((int(VERSION),)), "The version of the format.", required=True),
        "$schema": Key(TEXT, "The JSON Schema that editors check this file with."),
        "draft": Key(ChoiceShape((True,)), "Drafted by `carob draft` and not yet approved by a person."),
        "name": Key(TEXT, "The name of the suite."),
        "description": Key(TEXT, "What the suite is for."),
        "vars": Key(VARIABLES, "Values for `{name}` in the texts of every case."),
        "defaults": Key(
            MapShape(TEXT, AnyShape()),
            "Defaults for every case that does not set its own; maps are merged, and what must not happen adds up.",
        ),
        **declared_keys(known_keys),
        **reading_keys(known_keys),
        **fault_keys(known_keys),
        "rules": Key(RulesShape(), "What holds in every case; a name is that of another file of rules."),
        "cases": Key(CasesShape(case), "The cases; a file with 'rules' needs none."),
    }


class Carob1(Language):
    """Carob's own format."""

    name = "carob-1"
    title = "Carob 1 suite"
    description = "an object with 'carob: 1' and 'cases' or 'rules' (Carob 1)"

    def recognizes(self, file: SuiteFile) -> bool:
        return isinstance(file.tree, dict) and "carob" in file.tree

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        tree = file.tree
        shapes = shape(catalog.fields, tuple(catalog.groups))
        notes, _, wrong = split_notes(tree, shapes.suite.validate(tree))
        reader = _Reader(self, shapes.case, file, catalog)
        reader.read(tree.get("cases"), ("cases",))
        rules = read_suite_rules(file, reader.declared)
        of_file = [*_find_unshared(tree), *_find_empty(tree), *find_reading_problems(tree)]
        if diagnostics := [*wrong, *of_file, *reader.diagnostics, *rules.problems]:
            return ParsedSuite(VERSION, (), diagnostics)
        around = read_stubs(tree.get("stubs")), read_faults(tree.get("faults"))
        return ParsedSuite(
            VERSION,
            tuple(add_surroundings(case, *around) for case in reader.cases),
            [],
            reader.warnings,
            name=tree.get("name", ""),
            description=tree.get("description", ""),
            metadata=({"$schema": tree["$schema"]} if "$schema" in tree else {}) | dict(name_notes(notes)),
            draft=tree.get("draft") is True,
            rules=rules.rules,
        )

    def find_contradictions(self, raw: JsonObject, path: Path, faults: set[Path]) -> Iterator[PathDiagnostic]:
        if "prompt" not in raw and "turns" not in raw:
            yield PathDiagnostic(
                path, "the case says nothing to the agent. Give it a 'prompt' or 'turns'.", "missing-field"
            )
        for key, other in (("prompt", "turns"), ("replies", "turns")):
            if key in raw and other in raw:
                yield PathDiagnostic((*path, key), f"'{other}' is here too. Keep one.", "duplicate-field", key=True)
        if not any(fault[:1] == ("turns",) for fault in faults):
            yield from find_decision_problems(raw, path)
        if "max_turns" in raw and "replies" not in raw:
            message = "it limits 'replies', which are missing. Leave it out, or add them."
            yield PathDiagnostic((*path, "max_turns"), message, "no-effect", key=True)
        yield from weightless(sound_keys(raw, faults).get("scoring"), path)

    def schema(self, catalog: SuiteCatalog) -> JsonObject:
        defs: JsonObject = {}
        schema = shape(catalog.fields, tuple(catalog.groups)).suite.full_schema(defs)
        _add_rules(schema, defs)
        return complete_schema(schema, self.title, defs)

    def convert(self, file: SuiteFile, suite: Suite, catalog: SuiteCatalog) -> Carob1Parts:
        tree = file.tree
        top = Commented({key: tree[key] for key in tree if key not in ("carob", "cases")})
        cases = tree.get("cases", ())
        files = [*(case.get("each") for case in cases), *tree.get("rules", ())]
        tables = tuple(dict.fromkeys(name for name in files if isinstance(name, str)))
        origin = f"Carob 1 from the suite {quoted(file.name)}."
        return Carob1Parts(top, map(Commented, cases), origin, exact=True, tables=tables)


def _find_empty(tree: JsonObject) -> Iterator[PathDiagnostic]:
    """A file that asks for nothing."""
    if "cases" not in tree and "rules" not in tree:
        message = "the file has neither 'cases' nor 'rules'. Add one of them."
        yield PathDiagnostic((), message, "missing-field")


def _find_unshared(tree: JsonObject) -> Iterator[PathDiagnostic]:
    """Defaults that no two cases can share."""
    for key in {"id", "each"} & as_object(tree.get("defaults")).keys():
        message = "it differs in every case. Write it there."
        yield PathDiagnostic(("defaults", key), message, "unknown-field", key=True)


class _Reader(CaseReader):
    """Makes of each case of the file one for each row of its table, and says which row a diagnostic is about."""

    def __init__(self, language: Language, case_shape: RecordShape, file: SuiteFile, catalog: SuiteCatalog) -> None:
        super().__init__(language, case_shape, file, catalog)
        self._defaults = as_object(file.tree.get("defaults"))
        self._vars = as_object(file.tree.get("vars"))
        self._room = Room()
        self._templates: Counter[str] = Counter()
        self._seen_in_rows: Counter[PathDiagnostic] = Counter()

    def _read(self, raw: Json, path: Path) -> None:
        if not isinstance(raw, dict) or not (self._defaults or self._vars or "vars" in raw or "each" in raw):
            self._row = ""
            super()._read(raw, path)  # as it is written
            return
        origin = _Origin(raw, self._defaults, path, self._name_cluster(raw))
        variables = {**self._vars, **as_object(self._defaults.get("vars")), **as_object(raw.get("vars"))}
        override = self._read_override(raw, path)
        plain = {key: value for key, value in _merge(self._defaults, raw).items() if key not in _OF_TEMPLATES}
        expected, default = as_object(raw.get("expected")), as_object(self._defaults.get("expected"))
        fields = self._suite.catalog.fields
        if override and isinstance(plain.get("expected"), dict):
            merged = {key: value for key, value in plain["expected"].items() if key not in override}
            plain["expected"] = {**merged, **{key: expected[key] for key in override if key in expected}}
        forbidden = {
            key: value
            for key, value in default.items()
            if key in expected and key not in override and key in fields and fields[key].in_defaults != REPLACE
        }
        rows = self._rows(raw["each"], path) if "each" in raw else [_ALONE]
        if "vars" in raw:
            self.diagnostics += [diagnostic.under(*path, "vars") for diagnostic in VARIABLES.validate(raw["vars"])]
        columns = {name for row in rows for name in row.values}
        self._seen_in_rows.clear()
        for row in rows:
            self._read_row(plain, forbidden, variables, row, columns - row.values.keys(), origin)
        for diagnostic, count in self._seen_in_rows.items():
            if count > MOST_ROWS:
                self.diagnostics.append(origin.relocate(diagnostic, f"and in {count - MOST_ROWS} more rows"))

    def _read_override(self, raw: JsonObject, path: Path) -> set[str]:
        """The keys of `defaults` that a case replaces although they forbid something."""
        override = raw.get("override", [])
        names = [name for name in override if isinstance(name, str)] if isinstance(override, list) else []
        shared = as_object(self._defaults.get("expected"))
        for index, name in enumerate(names):
            if name not in shared:
                message = f"`defaults` expect no {quoted(name)}, so there is nothing to override. Leave it out."
                self.diagnostics.append(PathDiagnostic((*path, "override", index), message, "no-effect"))
        return set(names)

    def _read_row(
        self,
        plain: JsonObject,
        forbidden: JsonObject,
        templates: Mapping[str, Json],
        row: Row,
        missing: set[str],
        origin: _Origin,
    ) -> None:
        at, warned = len(self.diagnostics), len(self.warnings)
        self._room.begin_case()
        values, wrong = resolve_all(templates, row.values, self._room)
        self.diagnostics += [diagnostic.under(*origin.path) for diagnostic in wrong]
        variables = Variables(values, self._room, missing)
        filled = as_object(variables.substitute(plain))
        if forbidden:
            also = as_object(variables.substitute({"expected": forbidden}))["expected"]
            filled["expected"] = add_prohibitions(filled["expected"], also, self._suite.catalog.fields)
        if origin.cluster:
            filled.setdefault("cluster", origin.cluster)
        self.diagnostics += [diagnostic.under(*origin.path) for diagnostic in variables.diagnostics]
        self.warnings += [diagnostic.under(*origin.path) for diagnostic in variables.near_misses]
        if len(self.diagnostics) == at:
            self._row = row.where
            super()._read(filled, origin.path)
        self._seen_in_rows.update(self.diagnostics[at:])
        self.diagnostics[at:] = [
            origin.relocate(diagnostic, row.where)
            for diagnostic in self.diagnostics[at:]
            if self._seen_in_rows[diagnostic] <= MOST_ROWS
        ]
        self.warnings[warned:] = [origin.relocate(diagnostic, "") for diagnostic in self.warnings[warned:]]

    def _name_cluster(self, raw: JsonObject) -> str:
        """The id of a template as it is written; one that two templates share is followed by its number."""
        name = raw.get("id")
        if "each" not in raw or not isinstance(name, str):
            return ""
        self._templates[name] += 1
        return name if self._templates[name] == 1 else f"{name} #{self._templates[name]}"

    def _rows(self, each: Json, path: Path) -> list[Row]:
        if isinstance(each, str):
            try:
                self._file.refuse_outside(each, (*path, "each"))
                rows, self._file.others[each] = read_table(each, self._file.folder, (*path, "each"))
            except RefusedError as refused:
                self.diagnostics += refused.diagnostics
                return []
            return rows
        wrong = ListShape(VARIABLES).validate(each)
        self.diagnostics += [diagnostic.under(*path, "each") for diagnostic in wrong]
        if wrong or not isinstance(each, list):
            return []
        if not each:
            self.diagnostics.append(PathDiagnostic((*path, "each"), "the table has no rows.", "empty-table"))
        return [Row(columns_of(as_object(row)), f"row {number}") for number, row in enumerate(each, 1)]


class _Origin(NamedTuple):
    """Where the parts of a case come from: the case as it is written, or the defaults of the suite."""

    raw: JsonObject
    defaults: JsonObject
    path: Path
    cluster: str
    """The name that all rows of a template share."""

    def relocate(self, diagnostic: PathDiagnostic, row: str) -> PathDiagnostic:
        """A diagnostic at the place that the value comes from, with the row that it arose in."""
        inner = diagnostic.path[len(self.path) :]
        inherited = len(inner) > 0 and not _holds(self.raw, inner) and _holds(self.defaults, inner)
        message = f"{diagnostic.message} ({row})" if row else diagnostic.message
        return diagnostic._replace(path=("defaults", *inner) if inherited else diagnostic.path, message=message)


def _holds(tree: Json, path: Path) -> bool:
    """Whether there is something at the first steps of a path, as far as maps are merged."""
    for step in path:
        if not isinstance(tree, dict):
            return True
        if step not in tree:
            return False
        tree = tree[str(step)]
    return True


def _merge(defaults: JsonObject, case: JsonObject) -> JsonObject:
    """Maps merge, lists and scalars are replaced; what must not happen adds up once variables are filled in."""
    merged = {**defaults, **case}
    for key, value in case.items():
        under = defaults.get(key)
        if isinstance(under, dict) and isinstance(value, dict):
            merged[key] = _merge(under, value)
    return merged


def _add_rules(schema: JsonObject, defs: JsonObject) -> None:
    """What a case says and to whom, what its defaults may hold, and variables in the place of any other value."""
    case, templates = defs["Case"], defs["Case"]["properties"]
    case["oneOf"] = [{"required": ["prompt"]}, {"required": ["turns"]}]
    rows = {"type": "array", "minItems": 1, "items": {"type": "object"}}
    templates["each"] |= {"anyOf": [rows, {"type": "string", "pattern": r"\.(csv|jsonl)$"}]}
    for name in ("Case", "Turn", "Reply", "Expected"):
        properties = defs[name]["properties"]
        defs[name]["properties"] = {key: _or_variable(node) for key, node in properties.items()}
    defs["Turn"]["anyOf"] = [{"required": [key]} for key in ("prompt", *DECISION_KEYS)]
    properties_of_defaults = {key: node for key, node in case["properties"].items() if key not in ("id", "each")}
    defs["Defaults"] = {
        **case,
        "title": "Defaults",
        "properties": properties_of_defaults,
        "description": "What every case has that does not say otherwise: maps merge.",
    }
    for rule in ("oneOf", "required"):
        defs["Defaults"].pop(rule)
    about = schema["properties"]["defaults"]["description"]
    schema["properties"]["defaults"] = {"$ref": "#/$defs/Defaults", "description": about}
    spelled = {"type": "string", "pattern": rf"^\{{{NAME}\}}$"}
    defs["Variable"] = {"title": "Variable", "description": "A value of `vars` or of a row of `each`.", **spelled}


def _or_variable(node: JsonObject) -> JsonObject:
    """The same, or a variable: within lists and objects too."""
    about = {"description": node["description"]} if "description" in node else {}
    inner = {key: value for key, value in node.items() if key != "description"}
    if "items" in inner:
        inner["items"] = _or_variable(inner["items"])
    if isinstance(inner.get("additionalProperties"), dict):
        inner["additionalProperties"] = _or_variable(inner["additionalProperties"])
    if not inner or inner.get("type") in _ANYTHING:
        return node
    return {"anyOf": [inner, _VARIABLE], **about}
