"""The checks that there are, and how suites spell them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cached_property, lru_cache
from inspect import getattr_static
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec

from carob.checks.answer.brief import (
    ClaimEvidenceAlignment,
    EvidenceFreshness,
    MustAllowOverrideAction,
    RequiredLevers,
)
from carob.checks.answer.json import AnswerAt, AnswerJson, JsonText, State
from carob.checks.answer.leaks import NoLeak
from carob.checks.answer.phrases import (
    AsksFor,
    ExpectedContains,
    MustLabelAssumptions,
    MustMatchRegex,
    MustNotContain,
    MustNotMatchRegex,
    MustNotSay,
    MustSayAny,
    ReasonContains,
    RequiredSource,
)
from carob.checks.answer.text import AnswerEquals, AnswerText, MaxWords, MinWords, ResponseMatch
from carob.checks.base import Check
from carob.checks.budgets import (
    MaxCalls,
    MaxCostUsd,
    MaxFirstTokenSeconds,
    MaxSeconds,
    MaxSteps,
    MaxTokens,
    MaxToolCalls,
)
from carob.checks.combined import GROUP, NEGATED, InAnyTurn, ScoreOf, modify
from carob.checks.effects.allocation import AllocationValid
from carob.checks.effects.claims import NoFalseSuccess
from carob.checks.effects.database import Database
from carob.checks.effects.outcome import Outcome
from carob.checks.effects.permitted import OnlyEffects
from carob.checks.effects.resilience import AdmitsFailure, MaxRetries, NoEffectTwice
from carob.checks.external import Code, TrustedCode, Unjudged, from_function
from carob.checks.meaning import Meets, ReadCriterion
from carob.checks.numbers.grounded import GroundedNumbers
from carob.checks.numbers.required import MustGroundNumber
from carob.checks.page.ui import Ui
from carob.checks.rules import RuleHolds, SharedRuleHolds
from carob.checks.telemetry import Spans, Telemetry
from carob.checks.tools.calls import ToolCalls
from carob.checks.tools.names import ToolCallF1, ToolCallsAny, ToolCallsNone, ToolsUsed, with_groups_named
from carob.checks.tools.order import ToolOrder, ToolRequires, Trajectory
from carob.checks.tools.validity import EndedByItself, ValidArguments
from carob.criteria.decide import LabelReader
from carob.errors import ConfigError, UsageError
from carob.model.check import CheckProblem, CheckSpec, Declared, Field, ParsedCheck
from carob.model.suite import Suite
from carob.model.verdict import Group
from carob.plugins import features
from carob.plugins.features import load, outside_features, own_features
from carob.plugins.packages import FIX, find_entry_points, load_all
from carob.plugins.project import Project, find_project
from carob.text.wording import did_you_mean

if TYPE_CHECKING:
    from carob.suites.formats.base import Format

CORE: tuple[type[Check], ...] = (
    Outcome, ToolCallsAny, ToolCallsNone, ToolCalls, Trajectory, ToolOrder, ToolRequires, ValidArguments,
    EndedByItself, AsksFor, Telemetry, Ui, MustSayAny, MustNotSay, MustMatchRegex, MustNotMatchRegex, RequiredSource,
    MustGroundNumber, MustLabelAssumptions, RequiredLevers, ClaimEvidenceAlignment, EvidenceFreshness,
    MustAllowOverrideAction, ToolsUsed, AllocationValid, ReasonContains, Database, ExpectedContains, MustNotContain,
    GroundedNumbers, NoFalseSuccess, OnlyEffects, NoEffectTwice, MaxRetries, AdmitsFailure, NoLeak, InAnyTurn,
    AnswerEquals, AnswerJson, AnswerAt, MinWords, MaxWords, State, MaxToolCalls, MaxCalls, MaxSeconds,
    MaxFirstTokenSeconds, MaxSteps, MaxTokens, MaxCostUsd, AnswerText, JsonText, ResponseMatch, ToolCallF1, Spans,
    ScoreOf, Code, RuleHolds, SharedRuleHolds, Meets,
)  # fmt: skip

ENTRY_POINTS = "carob.checks"
OF_SUITES = frozenset(("scoring", "min_pass_rate", "metadata"))
"""Keys of `expected` that are not checks."""

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

    @cached_property
    def classes(self) -> Mapping[str, type[Check]]:
        """Every check by its name."""
        by_name = dict(OWN)
        for where, fix, cls in (*load_all(ENTRY_POINTS), *_of_outside_features(), *_of_project(self.project)):
            _join(by_name, cls, where, fix)
        return by_name

    @property
    def may_run_code_of_others(self) -> bool:
        """Whether checks of the project or of packages may judge. It loads none of them."""
        return bool(self.project.checks or find_entry_points(ENTRY_POINTS) or find_entry_points(features.ENTRY_POINTS))

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(field for cls in self.classes.values() for field in cls.fields)

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*map(str, Group), *(str(cls.group) for cls in self.classes.values()))))

    @property
    def declared(self) -> Declared:
        """What carob.toml declares for every suite."""
        rules = tuple(str(self.project.root / path) for path in self.project.rules)
        return Declared(
            self.project.effects, self.project.words, self.project.evaluators, claims=self.project.claims, rules=rules
        )

    def load(self) -> None:
        """Load the code of others now, so that what is wrong with it is reported before anything runs."""
        _ = self.classes

    @cached_property
    def labels(self) -> LabelReader:
        """What people and the judge say of criteria in this project."""
        return LabelReader(self.project)

    def find(self, name: str) -> type[Check] | None:
        """The check of this name; no other code than ours is loaded for one of ours."""
        return OWN.get(name) or self.classes.get(name)

    def read(self, expected: Mapping[str, object]) -> Iterator[ParsedCheck]:
        """The checks that an `expected` object asks for, each with what is wrong with it."""
        expected = with_groups_named(expected)
        for cls in self._concerned(frozenset(expected)):
            for reading in cls.read_in(self.project, expected):
                parsed = self._asked(cls.name, _encode(reading.args), reading.path)
                yield parsed._replace(problems=parsed.problems + reading.problems) if reading.problems else parsed

    def ask(self, name: str, args: Mapping[str, object], path: tuple[str | int, ...]) -> ParsedCheck:
        """The check of this name with these arguments, and what is wrong with it."""
        cls = self.find(name)
        if cls is None:
            near = did_you_mean(name, self.classes) or "See docs/checks.md."
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
    def formats(self) -> tuple[Format, ...]:
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
        fields_of = [(cls, frozenset(field.name for field in cls.fields)) for cls in self.classes.values()]
        return lru_cache(maxsize=KINDS_OF_CASES)(
            lambda keys: tuple(cls for cls, fields in fields_of if cls.always or not fields.isdisjoint(keys))
        )

    @cached_property
    def _refined(self) -> Callable[[frozenset[str]], tuple[type[Check], ...]]:
        """Those among them of which a field may have no effect."""
        inherited = getattr_static(Check, "unused_fields")
        may = {
            cls
            for cls in self.classes.values()
            if cls.companions or getattr_static(cls, "unused_fields") is not inherited
        }
        return lru_cache(maxsize=KINDS_OF_CASES)(lambda keys: tuple(cls for cls in self._concerned(keys) if cls in may))

    @cached_property
    def _build(self) -> Callable[[str, bytes], Check]:
        @lru_cache(maxsize=KEPT_CHECKS)
        def build(name: str, raw: bytes) -> Check:
            cls = self.find(name)
            if cls is None:
                fix = "Install the package that provides it, or name it under [checks] in carob.toml."
                raise UsageError(f"no check is called {name!r}.", fix=fix, slug="unknown-check")
            if cls is Code and self.project.trust_code:
                cls = TrustedCode
            check = msgspec.json.decode(raw, type=cls)
            return modify(ReadCriterion(check, self.labels) if isinstance(check, Meets) else check, raw)

        return build

    @cached_property
    def _asked(self) -> Callable[[str, bytes, tuple[str | int, ...]], ParsedCheck]:
        @lru_cache(maxsize=KEPT_CHECKS)
        def parse(name: str, raw: bytes, path: tuple[str | int, ...]) -> ParsedCheck:
            problems = tuple(self._build(name, raw).validate())
            return ParsedCheck(CheckSpec(name, msgspec.Raw(raw), _format_path(path)), path, problems)

        return parse


class OwnChecks(Mapping[str, type[Check]]):
    """Carob's own checks by name: those of the core, then those of its features, and last what nothing judges.

    Features are only asked for a name that the core does not have.
    """

    def __init__(self) -> None:
        self._core = {cls.name: cls for cls in CORE}

    @cached_property
    def _every(self) -> dict[str, type[Check]]:
        of_features = (load(place) for feature in own_features() for place in feature.checks)
        return {cls.name: cls for cls in (*CORE, *of_features, Unjudged)}

    def __getitem__(self, name: str) -> type[Check]:
        return self._core.get(name) or self._every[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._every)

    def __len__(self) -> int:
        return len(self._every)


OWN = OwnChecks()
ScoreOf.classes = OWN


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
            yield f"feature {feature.name!r}", FIX, load(place)


def _of_project(project: Project) -> Iterator[tuple[str, str, object]]:
    for name, spec in project.checks.items():
        where, fix = project.where("checks", name), "Give it another name."
        loaded = project.load("checks", name, spec)
        if not isinstance(loaded, type) and callable(loaded):
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
        raise ConfigError(problem, where=where, fix="Fix it; docs/extending.md shows how.")
    used_names = {field.name for other in by_name.values() for field in other.fields} | by_name.keys() | OF_SUITES
    for name in (cls.name, *(field.name for field in cls.fields)):
        if name in used_names or name.startswith("x-") or not name.isidentifier():
            why = "Carob already uses that name" if name in used_names else "that is not a name for a field"
            raise ConfigError(f"it is called {name!r}: {why}.", where=where, fix=fix)
    by_name[cls.name] = cls


def _refused_check(name: str, path: tuple[str | int, ...], why: CheckProblem) -> ParsedCheck:
    return ParsedCheck(CheckSpec(name, msgspec.Raw(b"{}"), _format_path(path)), path, (why,))


def _format_path(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
