"""`rules` of a suite, of the files that it names, and of carob.toml: each becomes a check of every case it is for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import msgspec
from msgspec import structs

from carob.model.check import CheckProblem, CheckSpec, Declared
from carob.model.suite import Case
from carob.model.verdict import OWN_RULE, SHARED_RULE
from carob.suites.declared import read_declared
from carob.suites.diagnostics import Json, Path, PathDiagnostic, RefusedError
from carob.suites.formats.base import JsonObject, ParsedSuite, SuiteCatalog, SuiteFile, SuiteRule
from carob.suites.shapes.containers import Key, KnownKeys, ListShape, MapShape, RecordShape
from carob.suites.shapes.scalars import FINE, NOT_BLANK, AnyShape, ChoiceShape, Found, Schema, TextShape, wrong_type
from carob.text.tool_names import effect_tools
from carob.text.tool_reading import SuccessRule, ToolReading
from carob.text.wording import quoted

if TYPE_CHECKING:  # reading rules takes a while to be loaded, and few suites have any
    from carob.rules.contract import CompiledRule
    from carob.rules.reading import Surroundings

RULE = "rule"
"""The argument of the check that holds a rule."""
READING = "reading"
"""Its argument that says how calls are read."""
READING_KEYS = ("success", "tool_names", "plain_text")
WITH_CASES = (
    "a file with 'cases' is about an agent that is run: its table in carob.toml says this. Move it there, or move the "
    "rules into a file of their own."
)
_TEXT = TextShape(pattern=NOT_BLANK)


class RulesShape(NamedTuple):
    """The list of rules, of which each is read by itself."""

    words: str = "a list"
    types: tuple[type, ...] = (list,)

    def validate(self, value: object) -> Found:
        if not isinstance(value, list):
            return wrong_type(self.words, value, f"Write [{value!r}]." if isinstance(value, str) else "")
        return (
            FINE
            if value
            else [
                PathDiagnostic(
                    (), "the list has no rules. Write one: - {id: NAME, each: {call: TOOL}, at_most: 1}", "empty-suite"
                )
            ]
        )

    def schema(self, defs: dict[str, Schema]) -> Schema:
        from carob.rules.schema import RULE_SCHEMAS

        defs.update({name: dict(schema) for name, schema in RULE_SCHEMAS.items()})
        entry: Schema = {"anyOf": [{"$ref": "#/$defs/Rule"}, {"type": "string", "minLength": 1}]}
        return {"type": "array", "minItems": 1, "items": entry}


class SuiteRules(NamedTuple):
    """The rules of a file and of those that it names, and what is wrong with them."""

    rules: list[SuiteRule]
    problems: list[PathDiagnostic]


def read_suite_rules(file: SuiteFile, declared: Declared) -> SuiteRules:
    """The rules of a suite."""
    if isinstance(file.tree, dict) and "rules" not in file.tree:
        return SuiteRules([], [])
    return _RulesReader(file).read(file, declared)


def with_rules(parsed: ParsedSuite, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
    """The suite with its rules, and those of carob.toml, as checks of its cases. Raises RefusedError."""
    shared = read_project_rules(catalog, file)
    own_rules = {(rule.id, repr(rule.args)) for rule in parsed.rules}
    shared = shared._replace(rules=[rule for rule in shared.rules if (rule.id, repr(rule.args)) not in own_rules])
    rules = [*parsed.rules, *shared.rules]
    if wrong := [*shared.problems, *_find_doubles(rules)]:
        raise RefusedError(*wrong)
    if not rules:
        return parsed
    names = [OWN_RULE] * len(parsed.rules) + [SHARED_RULE] * len(shared.rules)
    specs = [(rule, catalog.ask(name, rule.args, (rule.label,)).spec) for name, rule in zip(names, rules, strict=True)]
    return parsed._replace(rules=rules, cases=tuple(_add_rules(case, specs) for case in parsed.cases))


def read_project_rules(catalog: SuiteCatalog, file: SuiteFile) -> SuiteRules:
    """The rules of the files that carob.toml names; a contract that is read itself is not read twice."""
    rules: list[SuiteRule] = []
    wrong: list[PathDiagnostic] = []
    this_file = FilePath(file.path).resolve()
    for path in catalog.declared.rules:
        if FilePath(path).resolve() == this_file:
            continue
        reader = _RulesReader(file)
        rules_of_file = reader.read_named(path, FilePath(path).name, ())
        rules += rules_of_file.rules
        wrong += [
            one if one.file else one._replace(message=f"`rules` of the configuration: {one.message}")
            for one in rules_of_file.problems
        ]
    return SuiteRules(rules, wrong)


def compile_rule(rule: SuiteRule) -> CompiledRule:
    """A rule that is ready to judge conversations by itself, whose tags it looks at."""
    from carob.rules.contract import When
    from carob.rules.reading import Surroundings, read_rule

    reading = msgspec.convert(rule.args.get(READING, {}), ToolReading)
    around = Surroundings(rule.args.get("tools", {}), rule.args.get("words", {}), reading)  # type: ignore[arg-type]
    compiled, problems = read_rule(rule.args[RULE], around)
    if compiled is None:
        raise ValueError(f"the rule cannot be read: {problems[0].message}")
    when = compiled.when
    if rule.needs_tags:
        when = When(rule.needs_tags, () if when is None else when.metadata)
    return structs.replace(compiled, when=when, excepted=rule.excepts_tags)


def _add_rules(case: Case, specs: Sequence[tuple[SuiteRule, CheckSpec]]) -> Case:
    checks = [structs.replace(spec, path=rule.label) for rule, spec in specs if rule.is_for(case.tags)]
    return structs.replace(case, checks=(*case.checks, *checks)) if checks else case


def _consent_words(words: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    if not words:
        return {}
    from carob.text.prose.consent import LISTS  # few suites declare words

    return {name: entries for name, entries in words.items() if name in LISTS}


def _find_doubles(rules: Sequence[SuiteRule]) -> Iterator[PathDiagnostic]:
    first: dict[str, SuiteRule] = {}
    for rule in rules:
        if first.setdefault(rule.id, rule) is not rule:
            places = dict.fromkeys(label.partition(":")[0] for label in (first[rule.id].label, rule.label))
            where = " and ".join(places) if len(places) > 1 else f"two of {next(iter(places))}"
            message = f"two rules have the id {quoted(rule.id)} ({where}). Give each its own."
            yield PathDiagnostic(("rules",), message, "duplicate-id")


class _RulesReader:
    """Reads a file of rules and those that it names, none of them twice on one way."""

    def __init__(self, suite: SuiteFile) -> None:
        self._suite = suite
        self._open: list[FilePath] = []

    def read(self, file: SuiteFile, declared: Declared, label: str = "") -> SuiteRules:
        """The rules of a file, which a suite names by a `label` if it is not its own."""
        from carob.rules.reading import Surroundings, read_groups, read_rule

        tree: JsonObject = file.tree
        result = SuiteRules([], [])
        self._open.append(FilePath(file.path).resolve())
        groups, wrong = read_groups(tree.get("tools", {}))
        reading, misread = read_tool_reading(tree)
        if label:
            result.problems.extend(_locate(problem, ("tools",)) for problem in wrong)
            result.problems.extend(misread)
        around = Surroundings(
            {"effects": effect_tools(declared.effects), **groups} if declared.effects else groups,
            _consent_words(declared.words),
        )
        listed = tree.get("rules", ())
        for number, raw in enumerate(listed if isinstance(listed, list) else ()):
            path: Path = ("rules", number)
            if isinstance(raw, str):
                inner = self.read_named(str(file.folder / raw), raw, path)
                result.rules.extend(inner.rules)
                result.problems.extend(inner.problems)
                continue
            rule, problems = read_rule(raw, around)
            result.problems.extend(_locate(problem, path) for problem in problems)
            if rule is not None:
                result.rules.append(_build_rule(raw, rule.id, f"{label or 'rules'}: {rule.id}", around, reading))
        self._open.pop()
        return result

    def read_named(self, path: str, name: str, named_at: Path) -> SuiteRules:
        """The rules of a file that is named at a place of the file that is being read."""
        if FilePath(path).resolve() in self._open:
            message = f"{quoted(name)} includes itself. Remove the name."
            return SuiteRules([], [PathDiagnostic(named_at, message, "cyclic-rules")])
        try:
            data = self._suite.read_named(path, FilePath(path), name, named_at)
            file = SuiteFile(data, path)
            tree = file.tree
            if not isinstance(tree, dict) or "rules" not in tree:
                message = f"{quoted(name)} has no 'rules'. Name a file with 'carob: 1' and 'rules'."
                return SuiteRules([], [PathDiagnostic(named_at, message, "no-rules")])
            included = self.read(file, read_declared(tree, Declared()), name)
            document = file.document
            placed = [
                problem
                if problem.file
                else problem._replace(file=path, place=document.place(problem.path, key=problem.key))
                for problem in (*document.diagnostics, *included.problems)
            ]
            return SuiteRules(included.rules, placed)
        except RefusedError as refused:
            problems = [
                problem if problem.file or problem.path == named_at else problem._replace(file=path)
                for problem in refused.diagnostics
            ]
            return SuiteRules([], problems)


def _locate(problem: CheckProblem, path: Path) -> PathDiagnostic:
    return PathDiagnostic((*path, *problem.path), problem.message, problem.slug, problem.key)


def _build_rule(
    raw: Mapping[str, Any], name: str, label: str, around: Surroundings, reading: dict[str, Json]
) -> SuiteRule:
    """A rule with all that it needs to be judged elsewhere; the tags of cases are looked at when a suite is read."""
    when, excepted = dict(raw.get("when", {})), raw.get("except", {})
    needs = _read_tags(when.pop("tags", ()))
    rule: dict[str, Json] = {key: value for key, value in raw.items() if key not in ("when", "except")}
    if when:
        rule["when"] = when
    text = repr(raw)
    args: dict[str, Json] = {RULE: rule}
    groups = {group: [*tools] for group, tools in around.groups.items() if f"@{group}" in text}
    words = {key: [*entries] for key, entries in around.words.items()} if "last_user" in text else {}
    if reading:
        args[READING] = reading
    if groups:
        args["tools"] = groups  # type: ignore[assignment]
    if words:
        args["words"] = words  # type: ignore[assignment]
    return SuiteRule(name, args, label, needs, _read_tags(excepted.get("tags", ())))


def spelled_rule(spec: CheckSpec) -> dict[str, Any]:
    """The rule of a check as a suite says it, with the tools of each group in its place."""
    args = msgspec.json.decode(spec.args)
    rule: dict[str, Any] = _without_groups(args[RULE], args.get("tools", {}))
    return rule


def _without_groups(value: Any, groups: Mapping[str, Sequence[str]]) -> Any:
    if isinstance(value, dict):
        return {key: _without_groups(member, groups) for key, member in value.items()}
    if isinstance(value, list):
        return [inner for entry in value for inner in _group(entry, groups) or [_without_groups(entry, groups)]]
    return [*_group(value, groups)] or value


def _group(name: object, groups: Mapping[str, Sequence[str]]) -> Sequence[str]:
    return groups.get(name[1:], ()) if isinstance(name, str) and name.startswith("@") else ()


def _read_tags(tags: str | Sequence[str]) -> tuple[str, ...]:
    return (tags,) if isinstance(tags, str) else tuple(tags)


# -- how calls are read where no target says it: `success`, `tool_names` and `plain_text` of a file of rules


@dataclass(frozen=True)
class SuccessShape:
    """When a call of one tool succeeded."""

    record: RecordShape
    words: ClassVar = "an object"
    types: ClassVar = (dict,)

    def validate(self, value: object) -> Found:
        if problems := self.record.validate(value):
            return problems
        flaw = msgspec.convert(value, SuccessRule).flaw()
        return [PathDiagnostic((), flaw, "invalid-value")] if flaw else ()

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return self.record.schema(defs)


def reading_keys(known_keys: KnownKeys) -> dict[str, Key]:
    """The keys at the top of a file of rules."""
    rule = {
        "field": Key(_TEXT, "Where in the result it says so: `booking.state`."),
        "is": Key(ListShape(AnyShape(), 1), "The values of the field that are a success."),
        "text": Key(_TEXT, "A regex that is found in the result of a call that succeeded."),
    }
    record = RecordShape("Success", "When a call succeeded: `field` with `is`, or `text`.", rule, known_keys)
    return {
        "success": Key(MapShape(_TEXT, SuccessShape(record), 1), "When a call of a tool succeeded, by its name."),
        "tool_names": Key(MapShape(_TEXT, _TEXT, 1), "What the rules call a tool, by the name that was recorded."),
        "plain_text": Key(ChoiceShape(("success",)), "Results of plain text, which may be an error, are a success."),
    }


def read_tool_reading(tree: Mapping[str, Any]) -> tuple[dict[str, Json], list[PathDiagnostic]]:
    """What a file says of calls, and what is wrong with it."""
    keys = reading_keys(KnownKeys())
    given = {key: tree[key] for key in READING_KEYS if key in tree}
    problems = [problem.under(key) for key, value in given.items() for problem in keys[key].shape.validate(value)]
    return ({} if problems else given), problems


def find_reading_problems(tree: Mapping[str, Any]) -> Iterator[PathDiagnostic]:
    """Keys that say nothing where they are: a file of cases has a target."""
    if "cases" in tree:
        for key in READING_KEYS:
            if key in tree:
                yield PathDiagnostic((key,), WITH_CASES, "no-effect", key=True)
