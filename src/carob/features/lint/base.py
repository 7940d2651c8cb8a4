"""What a lint rule sees: a case with its checks, each at its place in the file, and what is known of the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import structs

from carob.checks.base import Check, ModifiedCheck
from carob.checks.catalog import CheckCatalog
from carob.model.suite import Case
from carob.model.verdict import OWN_RULE, SHARED_RULE
from carob.suites.diagnostics import Document, Path
from carob.suites.formats.base import CaseExpectations

Smell: TypeAlias = tuple[Path, str]
"""A place in the file, and what is wrong there."""


@dataclass(frozen=True, slots=True)
class TargetInfo:
    """What is known about the target of a suite. `tools` of None: the tools of the target are unknown."""

    target: str = ""
    vocabulary: Mapping[str, Any] = field(default_factory=dict)
    tools: frozenset[str] | None = None


class PlacedCheck(NamedTuple):
    """One check, its arguments, and where the file asks for it."""

    check: Check
    args: Mapping[str, Any]
    path: Path


class LintCase:
    """One case of a file."""

    def __init__(self, case: Case, expectation: CaseExpectations, document: Document, catalog: CheckCatalog) -> None:
        self.catalog = catalog
        # A rule belongs to no case: it is looked at where it is written.
        checks = tuple(spec for spec in case.checks if spec.name not in (OWN_RULE, SHARED_RULE))
        self.case = structs.replace(case, checks=checks) if len(checks) < len(case.checks) else case
        self.path = expectation.case
        self.expected = expectation.expected
        self.where = expectation.where
        self._expectation = expectation
        self._document = document

    @property
    def turns(self) -> Iterator[LintCase]:
        """Each turn of a conversation as if it were a case."""
        for turn, expectation in zip(self.case.turns, self._expectation.turns, strict=True):
            outcome = str(expectation.expected.get("outcome", ""))
            alone = structs.replace(
                self.case, prompt=turn.prompt, checks=turn.checks, outcome=outcome, turns=(), replies=(), faults=()
            )
            yield LintCase(alone, expectation, self._document, self.catalog)

    @cached_property
    def checks(self) -> tuple[PlacedCheck, ...]:
        compiled = self.catalog.checks(self.case.checks)
        if self._expectation.places is not None:
            specs = zip(compiled, self.case.checks, self._expectation.places, strict=True)
            return tuple(PlacedCheck(check, msgspec.json.decode(spec.args), path) for check, spec, path in specs)
        judged = {spec.path for spec in self.case.checks}
        requests = [request for request in self.catalog.read(self.expected) if request.spec.path in judged]
        return tuple(
            PlacedCheck(check, msgspec.json.decode(spec.args), (*self.where(str(path[0])), *path[1:]))
            for check, (spec, path, _) in zip(compiled, requests, strict=True)
        )

    def of(self, *kinds: type[Check]) -> Iterator[PlacedCheck]:
        """The checks of these kinds, whatever group they score in; a negated one is of none."""
        for placed in self.checks:
            check = placed.check
            if isinstance(check, ModifiedCheck) and not check.negated:
                check = check.inner
            if isinstance(check, kinds):
                yield placed._replace(check=check)

    @property
    def overrides(self) -> Sequence[str]:
        """The keys of `expected` under which the case replaces what `defaults` forbid."""
        names: Sequence[str] = self._raw.get("override", ())
        return names

    @property
    def scoring_path(self) -> Path:
        """The path of the scoring, in the case or in its `expected`."""
        return (*self.path, "scoring") if "scoring" in self._raw else (*self.path, "expected", "scoring")

    @property
    def hard_fail(self) -> Sequence[str]:
        """The groups as the file lists them."""
        if self._expectation.places is not None:
            return self.case.scoring.hard_fail
        raw = self._raw
        scoring = raw["scoring"] if "scoring" in raw else raw.get("expected", {}).get("scoring", {})
        groups: Sequence[str] = scoring.get("hard_fail", ())
        return groups

    @cached_property
    def _raw(self) -> Mapping[str, Any]:
        if self._expectation.places is not None:
            return {}  # its tree is not that of our formats
        raw: Any = self._document.tree
        for step in self.path:
            raw = raw[step]
        return raw if isinstance(raw.get("expected"), dict) else {}


class Rule(NamedTuple):
    """One kind of smell, and how to find it in a case: where it is, and what is wrong with it.

    `key`: what smells is the name at the path, not its value. `in_turns`: each turn of a conversation is looked at too.
    """

    slug: str
    find: Callable[[LintCase, TargetInfo], Iterator[Smell]]
    key: bool = False
    in_turns: bool = True
