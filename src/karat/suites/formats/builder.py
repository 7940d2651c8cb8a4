"""Cases of other formats, put together check by check, each at its place in the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypedDict, Unpack

from karat.model.check import CheckSpec, Field, ParsedCheck
from karat.model.suite import Case, Reply, Scoring, Turn
from karat.suites.diagnostics import Document, Json, Path, PathDiagnostic, Place, Tree, render
from karat.suites.formats.base import CaseExpectations, ParsedSuite, SuiteCatalog, SuiteFile
from karat.suites.formats.cases import DEFAULT_OUTCOME, UniqueIds, check_keys
from karat.suites.shapes.containers import KnownKeys, RecordShape


class CaseFields(TypedDict, total=False):
    """What a case may have besides id, prompt and checks."""

    category: str
    tags: Sequence[str]
    setup_prompts: Sequence[str]
    preconditions: Sequence[str]
    min_pass_rate: float | None
    metadata: dict[str, object]
    skip: str
    xfail: str
    replies: Sequence[Reply]
    max_turns: int | None


class TextPlaces:
    """The places of a file that is neither JSON nor YAML: `places[path] = (line, column)`."""

    def __init__(self) -> None:
        self.tree: Tree = {}
        self.diagnostics: list[PathDiagnostic] = []
        self.places: dict[Path, Place] = {}

    def place(self, path: Path, *, key: bool = False) -> Place:
        """The line and column of a path, or of the nearest one around it."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.places:
                return self.places[path[:length]]
        return 1, 1


class Expectations:
    """What is expected of a case, or of one turn of it."""

    def __init__(self, suite: SuiteBuilder, path: Path) -> None:
        self._suite = suite
        self.path = path
        self._expected: dict[str, Any] = {}
        self._where: dict[str, Path] = {}
        self._checks: list[tuple[CheckSpec, Path]] = []
        self.weights: dict[str, float] = {}
        self.is_empty = True

    def check(
        self,
        name: str,
        args: Mapping[str, object],
        path: Path,
        *,
        label: str = "",
        negated: bool = False,
        group: str = "",
        weight: float | None = None,
    ) -> None:
        """Ask for a check by its name and arguments; `path` is where the file does so.

        `label` is what reports call it. `negated`: it must not hold. It scores in `group`, by default its own. With a
        `weight` it counts in the soft score of the case by itself, in a group of its own.
        """
        self.is_empty = False
        label = label or render(path[len(self.path) :]) or name
        if weight is not None:
            group = group if group and group not in self.weights else f"{name}: {label}"
            self.weights[group] = float(weight)  # a journal has it as it was decoded, and 3 is not 3.0 there
        more = {**({"$not": True} if negated else {}), **({"$group": group} if group else {})}
        asked = self._suite.catalog.ask(name, {**args, **more}, path)
        self._suite.add_problems(asked, path)
        self._checks.append((CheckSpec(asked.spec.name, asked.spec.args, label), path))

    def expect(self, expected: Mapping[str, Json], path: Path, places: Mapping[str, Path] | None = None) -> None:
        """Ask by the fields of `expected`, as Karat 1 has them; `path` is where the file has that object.

        `places`: where the file asks for a field, if it is not a key of that object.
        """
        self.is_empty = self.is_empty and not expected
        wrong = _expected_shape(tuple(self._suite.catalog.fields)).validate(expected)
        self._suite.diagnostics += [diagnostic.under(*path) for diagnostic in wrong]
        if not wrong:
            self._expected |= expected
            self._where |= {field: (*path, field) for field in expected} | dict(places or {})

    def build(self, *, answered: bool) -> tuple[tuple[CheckSpec, ...], CaseExpectations]:
        """The checks, those of fields first, and what lint needs to know of them."""
        found: list[tuple[CheckSpec, Path]] = []
        for one in self._suite.catalog.read(self._expected):
            field = str(one.path[0])
            path = (*self._where.get(field, self.path), *one.path[1:])
            self._suite.add_problems(one, path)
            if answered or field in self._expected:
                found.append((one.spec, path))
        found += self._checks
        specs, places = tuple(spec for spec, _ in found), tuple(path for _, path in found)
        where = self._where
        about = CaseExpectations(
            self._expected, self.path, lambda field: where.get(field, self.path), answered=answered, places=places
        )
        return specs, about


class CaseBuilder(Expectations):
    """One case: its checks, and the turns of a conversation if it is one."""

    def __init__(self, suite: SuiteBuilder, case_id: str, prompt: str, path: Path, more: CaseFields) -> None:
        super().__init__(suite, path)
        self.id = case_id
        self._prompt = prompt
        self._more = more
        self._turns: list[tuple[str, Expectations]] = []
        self.threshold: float | None = None
        self.hard_fail: tuple[str, ...] = ()
        self.answered = True
        """Whether a case without an outcome must be answered at all, as in Karat 1."""

    def turn(self, prompt: str, path: Path) -> Expectations:
        """A further turn of the conversation, with what is expected of the answer to it."""
        turn = Expectations(self._suite, path)
        self._turns.append((prompt, turn))
        return turn

    def finish(self) -> tuple[Case, CaseExpectations]:
        specs, about = self.build(answered=self.answered and not self._turns)
        built = [(prompt, turn.build(answered=self.answered and not turn.is_empty)) for prompt, turn in self._turns]
        for _, turn in self._turns:
            self.weights |= turn.weights
        more: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in self._more.items()}
        case = Case(
            id=self.id,
            prompt=built[0][0] if built else self._prompt,
            outcome=self._outcome,
            checks=specs,
            scoring=Scoring(
                self.hard_fail, None if self.threshold is None else float(self.threshold), self.weights or None
            ),
            turns=tuple(Turn(prompt, checks) for prompt, (checks, _) in built),
            **more,
        )
        return case, about._replace(turns=tuple(about for _, (_, about) in built)) if built else about

    @property
    def _outcome(self) -> str:
        """How the case must end: a conversation as its last turn, unless the case itself says it."""
        last = self._turns[-1][1]._expected if self._turns else {}
        return str(self._expected.get("outcome", last.get("outcome", DEFAULT_OUTCOME)))

    @property
    def problem(self) -> PathDiagnostic | None:
        """What no case may lack."""
        prompts = [prompt for prompt, _ in self._turns] or [self._prompt]
        if not self.id.strip() or not all(prompt.strip() for prompt in prompts):
            return PathDiagnostic(self.path, "the case needs an id and a prompt that are not blank.", "empty-value")
        if self.is_empty and all(turn.is_empty for _, turn in self._turns):
            return PathDiagnostic(self.path, "the case checks nothing. Say what you expect.", "no-checks")
        return None


class SuiteBuilder:
    """Puts a suite together. Paths are those of the JSON or YAML tree, or of `document` for other texts."""

    def __init__(self, file: SuiteFile, catalog: SuiteCatalog, document: Document | None = None) -> None:
        self.catalog = catalog
        self.diagnostics: list[PathDiagnostic] = []
        self.warnings: list[PathDiagnostic] = []
        self._file = file
        self._document = document
        self._cases: list[CaseBuilder] = []

    def case(self, case_id: str, prompt: str, path: Path, **more: Unpack[CaseFields]) -> CaseBuilder:
        """A case, to which checks and turns can be added."""
        self._cases.append(CaseBuilder(self, case_id, prompt, path, more))
        return self._cases[-1]

    def problem(self, path: Path, message: str, slug: str = "invalid-value") -> None:
        """Something that is wrong with the file."""
        self.diagnostics.append(PathDiagnostic(path, message, slug))

    def warn(self, path: Path, message: str, slug: str) -> None:
        """Something that is most likely not meant."""
        self.warnings.append(PathDiagnostic(path, message, slug))

    def add_problems(self, asked: ParsedCheck, path: Path) -> None:
        """What is wrong with a check as it is written."""
        if asked.problems:
            self.diagnostics += [
                PathDiagnostic((*path, *flaw.path), flaw.message, flaw.slug) for flaw in asked.problems
            ]

    def build(
        self,
        version: str = "",
        *,
        name: str = "",
        description: str = "",
        metadata: Mapping[str, Json] | None = None,
        target: str = "",
    ) -> ParsedSuite:
        """The suite, with everything that is wrong with it."""
        ids = UniqueIds()
        cases = []
        if not self._cases and not self.diagnostics:
            self.problem((), "the suite has no cases.", "empty-suite")
        for builder in self._cases:
            self.diagnostics += filter(None, (builder.problem, ids.claim(builder.id, builder.path)))
            case, expectations = builder.finish()
            cases.append(case)
            if self._file.expectations is not None:
                self._file.expectations.append(expectations)
        return ParsedSuite(
            version,
            tuple(cases),
            self.diagnostics,
            self.warnings,
            name,
            description,
            metadata or {},
            target,
            self._document,
        )


@lru_cache(maxsize=8)
def _expected_shape(fields: tuple[Field, ...]) -> RecordShape:
    known = KnownKeys()
    return RecordShape("Expected", "What is expected of the answer.", check_keys(fields, known), known)
