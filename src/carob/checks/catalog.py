"""The checks that there are, and how suites spell them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache, cached_property, lru_cache
from inspect import getattr_static
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec

from carob.checks.base import GROUP, NEGATED, Check, modify
from carob.errors import ConfigError, UsageError
from carob.model.check import CheckProblem, CheckSpec, Declared, Field, ParsedCheck
from carob.model.suite import Suite
from carob.model.verdict import Group
from carob.plugins import features
from carob.plugins.features import CheckPlace, Lazy, load, outside_features, own_features
from carob.plugins.packages import FIX, find_entry_points, load_all
from carob.plugins.project import Project, find_project
from carob.text.wording import did_you_mean

if TYPE_CHECKING:
    from carob.criteria.decide import LabelReader
    from carob.suites.formats.base import Format


def _place(name: str, place: str, *more_keys: str, has_key: bool = True) -> CheckPlace:
    return CheckPlace(name, f"carob.checks.{place}", more_keys, has_key)


CORE = (
    _place("outcome", "effects.outcome:Outcome"),
    _place("tool_calls_any", "tools.names:ToolCallsAny"),
    _place("tool_calls_none", "tools.names:ToolCallsNone"),
    _place("tool_calls", "tools.calls:ToolCalls"),
    _place("trajectory", "tools.order:Trajectory"),
    _place("tool_order", "tools.order:ToolOrder"),
    _place("tool_requires", "tools.order:ToolRequires"),
    _place("retrieved", "tools.retrieved:Retrieved"),
    _place("no_progress", "tools.progress:NoProgress"),
    _place("valid_arguments", "tools.validity:ValidArguments"),
    _place("ended", "tools.validity:EndedByItself"),
    _place("asks_for", "answer.phrases:AsksFor"),
    _place("telemetry", "telemetry:Telemetry"),
    _place("ui", "page.ui:Ui"),
    _place("must_say_any", "answer.phrases:MustSayAny"),
    _place("must_not_say", "answer.phrases:MustNotSay"),
    _place("must_match_regex", "answer.phrases:MustMatchRegex"),
    _place("must_not_match_regex", "answer.phrases:MustNotMatchRegex"),
    _place("required_sources", "answer.phrases:RequiredSource", "source_patterns"),
    _place("must_ground_numbers", "numbers.required:MustGroundNumber"),
    _place("must_label_assumptions", "answer.phrases:MustLabelAssumptions", "assumption_markers_any"),
    _place("required_levers", "answer.brief:RequiredLevers", "lever_regex"),
    _place("claim_evidence_alignment", "answer.brief:ClaimEvidenceAlignment",
           "claim_marker_regex", "evidence_marker_regex", "alignment_marker_regex"),
    _place("evidence_freshness_max_age_minutes", "answer.brief:EvidenceFreshness", "evidence_freshness_regex"),
    _place("must_allow_override_actions", "answer.brief:MustAllowOverrideAction"),
    _place("tools_used", "tools.names:ToolsUsed", "tools_match"),
    _place("allocation_valid", "effects.allocation:AllocationValid", "success_indicators", "failure_indicators"),
    _place("reason_contains", "answer.phrases:ReasonContains"),
    _place("database", "effects.database:Database"),
    _place("expected_contains", "answer.phrases:ExpectedContains"),
    _place("must_not_contain", "answer.phrases:MustNotContain"),
    _place("grounded_numbers", "numbers.grounded:GroundedNumbers", "grounded_constants", "grounded_in"),
    _place("no_false_success", "effects.claims:NoFalseSuccess"),
    _place("only_effects", "effects.permitted:OnlyEffects"),
    _place("no_effect_twice", "effects.resilience:NoEffectTwice"),
    _place("max_retries", "effects.resilience:MaxRetries"),
    _place("admits_failure", "effects.resilience:AdmitsFailure"),
    _place("no_leak", "answer.leaks:NoLeak"),
    _place("in_any_turn", "combined:InAnyTurn"),
    _place("answer_equals", "answer.text:AnswerEquals"),
    _place("answer_json", "answer.json:AnswerJson"),
    _place("answer_at", "answer.json:AnswerAt"),
    _place("min_words", "answer.text:MinWords"),
    _place("max_words", "answer.text:MaxWords"),
    _place("state", "answer.json:State"),
    _place("max_tool_calls", "budgets:MaxToolCalls"),
    _place("max_calls", "budgets:MaxCalls"),
    _place("max_seconds", "budgets:MaxSeconds"),
    _place("max_first_token_seconds", "budgets:MaxFirstTokenSeconds"),
    _place("max_steps", "budgets:MaxSteps"),
    _place("max_tokens", "budgets:MaxTokens"),
    _place("max_cost_usd", "budgets:MaxCostUsd"),
    _place("answer_text", "answer.text:AnswerText"),
    _place("json_text", "answer.json:JsonText"),
    _place("answer_syntax", "answer.syntax:AnswerSyntax"),
    _place("response_match", "answer.text:ResponseMatch"),
    _place("tool_call_f1", "tools.names:ToolCallF1"),
    _place("spans", "telemetry:Spans"),
    _place("score_of", "combined:ScoreOf"),
    _place("code", "external:Code"),
    _place("rule", "rules:RuleHolds", has_key=False),
    _place("shared_rule", "rules:SharedRuleHolds", has_key=False),
    _place("meets", "meaning:Meets"),
)  # fmt: skip
"""The checks of the core, in the order in which they judge. Those of features follow, and last what nothing judges."""
UNJUDGED = _place("unjudged", "external:Unjudged")
ALWAYS = "outcome"
"""The check that is judged whatever a case expects."""
ENTRY_POINTS = "carob.checks"
OF_SUITES = frozenset(("scoring", "min_pass_rate", "metadata"))
"""Keys of `expected` that are not checks."""
DECLARED = frozenset(("effects", "words", "claim_words", "tool_groups"))
"""What is declared next to `expected`, for checks to read."""

KINDS_OF_CASES = 1024
"""Sets of fields for which it is remembered which checks they concern: cases of a suite look alike."""
KEPT_CHECKS = 65536
KEPT_CATALOGS = 32

_encode = msgspec.json.Encoder().encode


class CheckCatalog:
    """The checks and suite formats that there are: ours, and those of installed packages and of the project.

    Those of others are looked up when first needed.
    """

    def __init__(self, project: Project) -> None:
        self.project = project

    @property
    def folder(self) -> str:
        """The folder of the project."""
        return self.project.folder

    @property
    def classes(self) -> Mapping[str, type[Check]]:
        """Every check by its name."""
        return {**OWN, **self._others}

    @cached_property
    def _others(self) -> dict[str, type[Check]]:
        """Those of installed packages and of the project."""
        by_name: dict[str, type[Check]] = {}
        for where, fix, cls in (*load_all(ENTRY_POINTS), *_of_outside_features(), *_of_project(self.project)):
            _join(by_name, cls, where, fix)
        return by_name

    @property
    def may_run_code_of_others(self) -> bool:
        """Whether checks of the project or of packages may judge. It loads none of them."""
        return bool(self.project.checks or find_entry_points(ENTRY_POINTS) or find_entry_points(features.ENTRY_POINTS))

    @cached_property
    def fields(self) -> Mapping[str, Field]:
        """The keys of `expected` that the checks read. Without checks of others they are the same for all projects."""
        others = {field.name: field for cls in self._others.values() for field in cls.fields}
        if not others:
            return OWN_FIELDS
        every = {**_CORE_KEYS, **others}
        return Lazy(lambda key: others.get(key) or OWN_FIELDS[key], every, lambda: [*OWN_FIELDS, *others])

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*map(str, Group), *(str(cls.group) for cls in self._others.values()))))

    @property
    def declared(self) -> Declared:
        """What carob.toml declares for every suite."""
        rules = tuple(str(self.project.root / path) for path in self.project.rules)
        return Declared(
            self.project.effects, self.project.words, self.project.evaluators, claims=self.project.claims, rules=rules
        )

    def load(self) -> None:
        """Load the code of others now, so that what is wrong with it is reported before anything runs."""
        _ = self._others

    @cached_property
    def labels(self) -> LabelReader:
        """What people and the judge say of criteria in this project."""
        from carob.criteria.decide import LabelReader  # a guard asks for no criteria

        return LabelReader(self.project)

    def find(self, name: str) -> type[Check] | None:
        """The check of this name; no other code than ours is loaded for one of ours."""
        return OWN.get(name) or self._others.get(name)

    def read(self, expected: Mapping[str, object]) -> Iterator[ParsedCheck]:
        """The checks that an `expected` object asks for, each with what is wrong with it."""
        if expected.get("tool_groups") or expected.get("effects"):
            from carob.checks.tools.names import with_groups_named  # few suites declare what tools do

            expected = with_groups_named(expected)
        for cls in self._concerned(frozenset(expected)):
            for reading in cls.read_in(self.project, expected):
                parsed = self._asked(cls.name, _encode(reading.args), reading.path)
                yield parsed._replace(problems=parsed.problems + reading.problems) if reading.problems else parsed

    def ask(self, name: str, args: Mapping[str, object], path: tuple[str | int, ...]) -> ParsedCheck:
        """The check of this name with these arguments, and what is wrong with it."""
        cls = self.find(name)
        if cls is None:
            near = did_you_mean(name, (*OWN, *self._others)) or "See `carob help checks`."
            return _refused_check(name, path, CheckProblem("unknown-check", f"no check is called {name!r}. {near}"))
        arguments = self._arguments_of(name)
        if unknown := next((key for key in args if key not in arguments), None):
            message = f"{name} has no argument {unknown!r}. {did_you_mean(unknown, arguments)}".rstrip()
            return _refused_check(name, path, CheckProblem("unknown-argument", message))
        try:
            # Formats name each check anew: without its place the same one is found again.
            parsed = self._asked(name, _encode(args), ())
            return ParsedCheck(parsed.spec, path, parsed.problems)
        except msgspec.ValidationError as error:
            return _refused_check(name, path, CheckProblem("invalid-value", f"{name}: {error}."))

    def fields_of(self, name: str) -> Sequence[Field]:
        """The fields that ask for a check; none if there is no such check."""
        cls = self.find(name)
        return () if cls is None else cls.fields

    def unused_fields(self, expected: Mapping[str, object]) -> Iterator[CheckProblem]:
        """Fields that refine a field which is not there."""
        for cls in self._refined(frozenset(expected)):
            yield from cls.unused_fields(expected)

    def checks(self, specs: Sequence[CheckSpec]) -> tuple[Check, ...]:
        """Checks that are ready to judge. Equal ones of different cases are one object."""
        build = self._build
        return tuple([build(spec.name, bytes(spec.args)) for spec in specs])

    @cached_property
    def formats(self) -> Sequence[Format]:
        """Every suite format, those of others first."""
        from carob.suites.formats.catalog import (
            known_formats,  # worker processes judge, and read no suite
        )

        return known_formats(self.project)

    @cached_property
    def _arguments_of(self) -> Callable[[str], frozenset[str]]:
        """The arguments that a check may be given: finding them out takes longer than reading a case."""
        return lru_cache(maxsize=256)(lambda name: frozenset((*get_type_hints(self.find(name)), NEGATED, GROUP)))

    @cached_property
    def _concerned(self) -> Callable[[frozenset[str]], tuple[type[Check], ...]]:
        """The classes that have a word to say on these fields."""

        @lru_cache(maxsize=KINDS_OF_CASES)
        def find_concerned(keys: frozenset[str]) -> tuple[type[Check], ...]:
            places = (*CORE, UNJUDGED) if keys <= KEYS_OF_CORE else own_places()
            own = [place.name for place in places if place.name == ALWAYS or not keys.isdisjoint(place.keys)]
            others = (
                cls
                for cls in self._others.values()
                if cls.always or not keys.isdisjoint(field.name for field in cls.fields)
            )
            return (*(OWN[name] for name in own), *others)

        return find_concerned

    @cached_property
    def _refined(self) -> Callable[[frozenset[str]], tuple[type[Check], ...]]:
        """Those among them of which a field may have no effect."""
        inherited = getattr_static(Check, "unused_fields")

        def may_be_unused(cls: type[Check]) -> bool:
            return bool(cls.companions) or getattr_static(cls, "unused_fields") is not inherited

        return lru_cache(maxsize=KINDS_OF_CASES)(lambda keys: tuple(filter(may_be_unused, self._concerned(keys))))

    @cached_property
    def _build(self) -> Callable[[str, bytes], Check]:
        @lru_cache(maxsize=KEPT_CHECKS)
        def build(name: str, raw: bytes) -> Check:
            cls = self.find(name)
            if cls is None:
                fix = "Install the package that provides it, or name it under [checks] in carob.toml."
                raise UsageError(f"no check is called {name!r}.", fix=fix, slug="unknown-check")
            if name == "code" and self.project.trust_code:
                cls = load("carob.checks.external:TrustedCode")
            check: Check = msgspec.json.decode(raw, type=cls)
            if name == "meets":
                check = load("carob.checks.meaning:ReadCriterion")(check, self.labels)
            return modify(check, raw)

        return build

    @cached_property
    def _asked(self) -> Callable[[str, bytes, tuple[str | int, ...]], ParsedCheck]:
        @lru_cache(maxsize=KEPT_CHECKS)
        def parse(name: str, raw: bytes, path: tuple[str | int, ...]) -> ParsedCheck:
            problems = tuple(self._build(name, raw).validate())
            return ParsedCheck(CheckSpec(name, msgspec.Raw(raw), _format_path(path)), path, problems)

        return parse


@cache
def own_places() -> tuple[CheckPlace, ...]:
    """Carob's own checks, with those of its features."""
    return (*CORE, *(place for feature in own_features() for place in feature.checks), UNJUDGED)


_CORE = {place.name: place for place in (*CORE, UNJUDGED)}
_CORE_KEYS = {key: place.name for place in _CORE.values() for key in place.keys}


def _load_own(name: str) -> type[Check]:
    place = _CORE.get(name) or next(place for place in own_places() if place.name == name)
    cls: Any = load(place.loads)
    if name in ("score_of", "code"):
        cls.classes = OWN  # it names others, which are in this catalog as it is
    return cls  # type: ignore[no-any-return]


def _own_keys() -> dict[str, str]:
    return {key: place.name for place in own_places() for key in place.keys}


def _own_field(key: str) -> Field:
    return _field_of(OWN[_CORE_KEYS.get(key) or _own_keys()[key]], key)


def _field_of(cls: type[Check], key: str) -> Field:
    return next(field for field in cls.fields if field.name == key)


KEYS_OF_CORE = frozenset(_CORE_KEYS) | OF_SUITES | DECLARED
OWN = Lazy(_load_own, _CORE, lambda: [place.name for place in own_places()])
"""Carob's own checks by name. Features are only asked for a name that the core does not have."""
OWN_FIELDS = Lazy(_own_field, _CORE_KEYS, _own_keys)


@lru_cache(maxsize=KEPT_CATALOGS)
def catalog_for(project: Project) -> CheckCatalog:
    """The catalog of a project; of equal projects it is the same, so that their checks are built once."""
    return CheckCatalog(project)


def find_project_of(suite: Suite) -> Project:
    """Find and read the project of the folder in which a suite was read, or of this one if it was made otherwise.

    It is read anew, because its configuration may have changed since.
    """
    folders = {case.catalog.folder for case in suite.cases if case.catalog is not None}
    if len(folders) > 1:
        fix = "Put the cases of each project into a separate suite."
        raise UsageError("the suite has cases of several projects.", where=suite.file, fix=fix, slug="bad-suite")
    return find_project(folders.pop() if folders else ".")


def _of_outside_features() -> Iterator[tuple[str, str, object]]:
    for feature in outside_features():
        for place in feature.checks:
            yield f"feature {feature.name!r}", FIX, load(place.loads)


def _of_project(project: Project) -> Iterator[tuple[str, str, object]]:
    for name, spec in project.checks.items():
        where, fix = project.where("checks", name), "Give it another name."
        loaded = project.load("checks", name, spec)
        if not isinstance(loaded, type) and callable(loaded):
            from carob.checks.external import from_function  # few projects have checks

            try:
                loaded = from_function(name, loaded)
            except ConfigError as error:
                error.where = where
                raise
        elif not why_not_a_check(loaded) and (called := loaded.name) != name:
            raise ConfigError(f"the check is called {called!r}.", where=where, fix=f"Write {called} = {spec!r}.")
        yield where, fix, loaded


def why_not_a_check(candidate: object) -> str:
    """Why something is not a check, else the empty string."""
    if not (isinstance(candidate, type) and Check in candidate.__mro__):
        return "it is not a subclass of carob.Check."
    if not (is_dataclass(candidate) or issubclass(candidate, msgspec.Struct)):
        return "it is neither a dataclass nor a struct: the arguments of a check are its fields."
    for name in ("name", "group"):
        text = getattr(candidate, name, None)
        if not (isinstance(text, str) and text.strip() and text.isprintable()):
            return f"it has no `{name}`."
    fields = getattr(candidate, "fields", ())
    if not (isinstance(fields, tuple) and fields and all(isinstance(field, Field) for field in fields)):
        return "it has no `fields`, the keys of `expected` that it reads."
    return ""


def _join(by_name: dict[str, type[Check]], cls: Any, where: str, fix: str) -> None:
    """Take a check of others in, if it is one and its names are free."""
    if problem := why_not_a_check(cls):
        raise ConfigError(problem, where=where, fix="Fix it; `carob help extending` shows how.")
    used_names = {field.name for other in by_name.values() for field in other.fields} | by_name.keys() | OF_SUITES
    used_names |= {*OWN, *OWN_FIELDS}
    for name in (cls.name, *(field.name for field in cls.fields)):
        if name in used_names or name.startswith("x-") or not name.isidentifier():
            why = "Carob already uses that name" if name in used_names else "that is not a name for a field"
            raise ConfigError(f"it is called {name!r}: {why}.", where=where, fix=fix)
    by_name[cls.name] = cls


def _refused_check(name: str, path: tuple[str | int, ...], why: CheckProblem) -> ParsedCheck:
    return ParsedCheck(CheckSpec(name, msgspec.Raw(b"{}"), _format_path(path)), path, (why,))


def _format_path(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
