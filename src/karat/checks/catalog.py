"""The checks that there are, and how suites spell them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from inspect import getattr_static
from typing import TYPE_CHECKING, Any

import msgspec

from karat.checks.base import Check
from karat.checks.brief import ClaimEvidenceAlignment, EvidenceFreshness, MustAllowOverrideAction, RequiredLevers
from karat.checks.database import Database
from karat.checks.golden import AllocationValid, ExpectedContains, MustNotContain, ReasonContains, ToolsUsed
from karat.checks.numbers import MustGroundNumber
from karat.checks.outcome import Outcome
from karat.checks.says import MustMatchRegex, MustNotMatchRegex, MustNotSay, MustSayAny
from karat.checks.sources import RequiredSource
from karat.checks.telemetry import Telemetry
from karat.checks.tools import ToolCalls, ToolCallsAny, ToolCallsNone
from karat.checks.ui import Ui
from karat.checks.uncertainty import MustLabelAssumptions
from karat.errors import ConfigError, UsageError
from karat.model.check import AskedCheck, Field, Flaw
from karat.model.suite import Case, CheckSpec
from karat.model.verdict import Group

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

CHECKS: tuple[type[Check], ...] = (
    Outcome,
    ToolCallsAny,
    ToolCallsNone,
    ToolCalls,
    Telemetry,
    Ui,
    MustSayAny,
    MustNotSay,
    MustMatchRegex,
    MustNotMatchRegex,
    RequiredSource,
    MustGroundNumber,
    MustLabelAssumptions,
    RequiredLevers,
    ClaimEvidenceAlignment,
    EvidenceFreshness,
    MustAllowOverrideAction,
    ToolsUsed,
    AllocationValid,
    ReasonContains,
    Database,
    ExpectedContains,
    MustNotContain,
)

ENTRY_POINTS = "karat.checks"

KINDS_OF_CASES = 1024
"""Sets of fields for which it is remembered which checks they concern: cases of a suite look alike."""

_encode = msgspec.json.Encoder().encode


class Catalog:
    """Built-in checks and those that installed packages bring; the latter are looked up when first needed."""

    @cached_property
    def classes(self) -> dict[str, type[Check]]:
        from importlib.metadata import entry_points  # costs a third of all that judging has to import

        outside = map(_loaded, entry_points(group=ENTRY_POINTS))
        return {cls.name: cls for cls in (*CHECKS, *outside)}

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(field for cls in self.classes.values() for field in cls.fields)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*map(str, Group), *(str(cls.group) for cls in self.classes.values()))))

    def find(self, name: str) -> type[Check] | None:
        """The check of this name; those of other packages are not looked up for one of ours."""
        return BUILT_IN.get(name) or self.classes.get(name)

    def read(self, expected: Mapping[str, Any]) -> Iterator[AskedCheck]:
        """The checks that an `expected` object asks for, each with what is wrong with it."""
        for cls in self._concerned(frozenset(expected)):
            for reading in cls.read(expected):
                yield _asked(cls.name, _encode(reading.args), reading.path)

    def strays(self, expected: Mapping[str, Any]) -> Iterator[Flaw]:
        """Fields that refine a field which is not there."""
        for cls in self._refined(frozenset(expected)):
            yield from cls.strays(expected)

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
        own = getattr_static(Check, "strays")
        may = {cls for cls in self.classes.values() if cls.companions or getattr_static(cls, "strays") is not own}
        return lru_cache(maxsize=KINDS_OF_CASES)(lambda keys: tuple(cls for cls in self._concerned(keys) if cls in may))

    def compile(self, case: Case) -> tuple[Check, ...]:
        """The checks of a case, ready to judge. Equal checks of different cases are one object."""
        return tuple([_build(spec.name, bytes(spec.args)) for spec in case.checks])


BUILT_IN = {cls.name: cls for cls in CHECKS}
CATALOG = Catalog()


def _loaded(point: EntryPoint) -> type[Check]:
    where, fix = f"entry point {point.name!r} of {ENTRY_POINTS}", "Mend or uninstall its package."
    try:
        found = point.load()
    except Exception as error:  # another package's code may raise anything
        raise ConfigError(f"cannot be loaded: {type(error).__name__}: {error}.", where=where, fix=fix) from error
    if not (isinstance(found, type) and issubclass(found, Check)):
        raise ConfigError("is no subclass of karat.checks.base.Check.", where=where, fix=fix)
    if found.name in BUILT_IN:
        raise ConfigError(f"is called {found.name!r}, as a check of Karat is.", where=where, fix=fix)
    return found


@lru_cache(maxsize=65536)
def _build(name: str, raw: bytes) -> Check:
    cls = CATALOG.find(name)
    if cls is None:
        fix = "Install the package that brings it."
        raise UsageError(f"no check is called {name!r}.", fix=fix, slug="unknown-check")
    return msgspec.json.decode(raw, type=cls)


@lru_cache(maxsize=65536)
def _asked(name: str, raw: bytes, path: tuple[str | int, ...]) -> AskedCheck:
    """A check as it is asked for. Equal checks of different cases are one object here too."""
    return AskedCheck(CheckSpec(name, msgspec.Raw(raw), _spelled(path)), path, tuple(_build(name, raw).flaws()))


def _spelled(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
