"""The checks that there are, and how suites spell them."""

from __future__ import annotations

from collections.abc import Iterator, KeysView, Mapping
from functools import cached_property, lru_cache
from typing import Any

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
from karat.errors import UsageError
from karat.model.check import Asked, Field, Flaw
from karat.model.suite import Case, CheckSpec

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

_encode = msgspec.json.Encoder().encode


class Catalog:
    """Built-in checks and those that installed packages bring; the latter are looked up when first needed."""

    @cached_property
    def classes(self) -> dict[str, type[Check]]:
        from importlib.metadata import entry_points  # costs a third of all that judging has to import

        outside = (point.load() for point in entry_points(group=ENTRY_POINTS))
        return {cls.name: cls for cls in (*CHECKS, *outside)}

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(field for cls in self.classes.values() for field in cls.fields)

    def read(self, expected: Mapping[str, Any]) -> Iterator[Asked]:
        """The checks that an `expected` object asks for, each with what is wrong with it."""
        for cls in self._concerned(expected.keys()):
            for args, path in cls.read(expected):
                raw = _encode(args)
                yield Asked(CheckSpec(cls.name, msgspec.Raw(raw), _spelled(path)), path, self._flaws(cls.name, raw))

    def strays(self, expected: Mapping[str, Any]) -> Iterator[Flaw]:
        """Fields that refine a field which is not there."""
        for cls in self._concerned(expected.keys()):
            yield from cls.strays(expected)

    def _concerned(self, keys: KeysView[str]) -> Iterator[type[Check]]:
        """The classes that have a word to say on these fields; the outcome is judged always."""
        for cls, fields in self._fields_of:
            if cls is Outcome or not fields.isdisjoint(keys):
                yield cls

    @cached_property
    def _fields_of(self) -> tuple[tuple[type[Check], frozenset[str]], ...]:
        return tuple((cls, frozenset(field.name for field in cls.fields)) for cls in self.classes.values())

    def compile(self, case: Case) -> tuple[Check, ...]:
        """The checks of a case, ready to judge. Equal checks of different cases are one object."""
        return tuple([_build(spec.name, bytes(spec.args)) for spec in case.checks])

    @staticmethod
    @lru_cache(maxsize=65536)
    def _flaws(name: str, raw: bytes) -> tuple[Flaw, ...]:
        return tuple(_build(name, raw).flaws())


BUILT_IN = {cls.name: cls for cls in CHECKS}
CATALOG = Catalog()


@lru_cache(maxsize=65536)
def _build(name: str, raw: bytes) -> Check:
    cls = BUILT_IN.get(name) or CATALOG.classes.get(name)
    if cls is None:
        fix = "Install the package that brings it."
        raise UsageError(f"no check is called {name!r}.", fix=fix, slug="unknown-check")
    return msgspec.json.decode(raw, type=cls)


@lru_cache(maxsize=4096)
def _spelled(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
