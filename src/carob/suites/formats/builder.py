"""How every format makes its cases: what is expected of each, check by check, at its place in the file."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypedDict, Unpack

from carob.errors import UsageError
from carob.matchers.reading import find_near_misses
from carob.model.check import CheckSpec, Declared, Field, ParsedCheck
from carob.model.suite import Case, Reply, Scoring, Turn, TurnDecision
from carob.plugins.features import Lazy
from carob.suites.declared import with_declared
from carob.suites.diagnostics import Document, Json, Path, PathDiagnostic, Place, RefusedError, Tree, render
from carob.suites.documents.source import read_bytes, utf8
from carob.suites.formats.base import CaseExpectations, JsonObject, ParsedSuite, SuiteCatalog, SuiteFile
from carob.suites.shapes.containers import Key, KnownKeys, RecordShape
from carob.suites.shapes.types import shape_of
from carob.text.wording import did_you_mean, quoted

DEFAULT_OUTCOME = "response_only"
Specs = tuple[CheckSpec, ...]


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

    def __init__(self, suite: SuiteBuilder, path: Path, prompt: str = "") -> None:
        self._suite = suite
        self.path = path
        self.prompt = prompt
        self.decision: TurnDecision | None = None
        self.expected: JsonObject = {}
        self.checks: list[tuple[CheckSpec, Path]] = []
        """Checks that were asked for by name, each with where the file does so."""
        self._places: Mapping[str, Path] = {}
        self._inside: Path | None = None
        """The object that holds the fields without a place of their own."""
        self._is_whole = True
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
        parsed = self._suite.catalog.ask(name, {**args, **more}, path)
        self._suite.add_problems(parsed, path)
        self.checks.append((CheckSpec(parsed.spec.name, parsed.spec.args, label), path))

    def expect(self, expected: Mapping[str, Json], path: Path, places: Mapping[str, Path] | None = None) -> None:
        """Ask by the fields of `expected`, as Carob 1 has them; `path` is where the file has that object.

        `places`: where the file asks for a field, if it is not a key of that object.
        """
        self.is_empty = self.is_empty and not expected
        if problems := _expected_shape(self._suite.catalog.fields).validate(expected):
            self._is_whole = False
            self._suite.diagnostics += [diagnostic.under(*path) for diagnostic in problems]
            return
        self.expected |= expected
        self._places = {**self._places, **{field: (*path, field) for field in expected}, **(places or {})}

    def expect_valid(self, expected: JsonObject, path: Path, places: Mapping[str, Path], *, whole: bool) -> None:
        """The same with fields whose shape is known to be right. `whole`: no others had to be left out."""
        self.expected, self._inside, self._places, self._is_whole = expected, path, places, whole

    def where(self, field: str) -> Path:
        """Where the file asks for a field, or would."""
        if field in self._places:
            return self._places[field]
        return self.path if self._inside is None else (*self._inside, field)

    def build(self, *, answered: bool) -> tuple[Specs, CaseExpectations, bool]:
        """The checks, those of fields first; what lint needs to know of them; and whether there is none."""
        suite, expected = self._suite, self._suite.complete(self)
        parsed = list(suite.catalog.read(expected))
        for check in parsed:
            if check.problems:
                suite.add_problems(check, self._locate(check))
        if not answered and "outcome" not in expected:
            parsed = [check for check in parsed if check.path != ("outcome",)]
        for miss in find_near_misses(expected):
            path = (*self.where(str(miss.path[0])), *miss.path[1:])
            suite.warnings.append(PathDiagnostic(path, miss.message, miss.slug, key=True))
        if self._is_whole:
            for stray in suite.catalog.unused_fields(expected):
                path = (*self.where(str(stray.path[0])), *stray.path[1:])
                suite.warnings.append(PathDiagnostic(path, stray.message, stray.slug, key=True))
        is_nothing = (
            self._is_whole
            and not self.checks
            and "outcome" not in expected
            and all(check.path[:1] == ("outcome",) for check in parsed)
        )
        places = None
        if self._inside is None and suite.locates:
            places = (*map(self._locate, parsed), *(path for _, path in self.checks))
        specs = tuple([check.spec for check in parsed] + [spec for spec, _ in self.checks])
        about = CaseExpectations(expected, self.path, self.where, self._is_whole, answered, (), places)
        return specs, about, is_nothing

    def _locate(self, check: ParsedCheck) -> Path:
        return (*self.where(str(check.path[0])), *check.path[1:])


class CaseBuilder(Expectations):
    """One case: its checks, and the turns of a conversation if it is one."""

    def __init__(self, suite: SuiteBuilder, case_id: str, prompt: str, path: Path, fields: dict[str, Any]) -> None:
        super().__init__(suite, path, prompt)
        self.id = case_id
        self.fields = fields
        self.turns: list[Expectations] = []
        self.threshold: float | None = None
        self.hard_fail: tuple[str, ...] = ()
        self.answered = True
        """Whether a case without an outcome must be answered at all, as in Carob 1."""

    def turn(self, prompt: str, path: Path) -> Expectations:
        """A further turn of the conversation, with what is expected of the answer to it."""
        self.turns.append(Expectations(self._suite, path, prompt))
        return self.turns[-1]

    @property
    def is_plain(self) -> bool:
        """Whether fields of `expected` ask for all that it checks, so that Carob 1 says the same."""
        return self.answered and not any(part.checks for part in (self, *self.turns))

    def finish(self, fix: str) -> tuple[Case, CaseExpectations]:
        """The case. `fix` says what to do if it checks nothing."""
        before = len(self._suite.diagnostics)
        specs, about, is_nothing = self.build(answered=self.answered and not self.turns)
        built = [turn.build(answered=self.answered and not turn.is_empty) for turn in self.turns]
        if is_nothing and fix and all(nothing for *_, nothing in built) and len(self._suite.diagnostics) == before:
            self._suite.problem(self.path, f"the case checks nothing. {fix}", "no-checks")
        fields = self.fields
        if self._inside is None:  # languages of our own have read it
            weights = self.weights
            for turn in self.turns:
                weights = {**weights, **turn.weights}
            threshold = None if self.threshold is None else float(self.threshold)
            fields = {**fields, "scoring": Scoring(self.hard_fail, threshold, weights or None)}
        if fields.get("replies") and self._suite.declared.words:
            fields = {**fields, "words": self._suite.declared.words}
        # A conversation ends as its last turn, unless the case itself says how.
        last = self.turns[-1].expected if self.turns else {}
        case = Case(
            id=self.id,
            prompt=self.turns[0].prompt if self.turns else self.prompt,
            outcome=str(self.expected.get("outcome", last.get("outcome", DEFAULT_OUTCOME))),
            checks=specs,
            turns=tuple(
                [Turn(turn.prompt, checks, turn.decision) for turn, (checks, *_) in zip(self.turns, built, strict=True)]
            ),
            **fields,
        )
        return case, about._replace(turns=tuple(about for _, about, _ in built)) if built else about

    @property
    def is_blank(self) -> bool:
        """Whether it has no id, or a prompt without words."""
        prompts = [turn.prompt for turn in self.turns] or [self.prompt]
        return not self.id.strip() or not all(prompt.strip() for prompt in prompts)


class SuiteBuilder:
    """Puts a suite together. Paths are those of the JSON or YAML tree, or of `document` for other texts."""

    def __init__(self, file: SuiteFile, catalog: SuiteCatalog, document: Document | None = None) -> None:
        self.catalog = catalog
        self.diagnostics: list[PathDiagnostic] = []
        self.warnings: list[PathDiagnostic] = []
        self.cases: list[Case] = []
        """The cases that are finished."""
        self.declared: Declared = catalog.declared
        self._first: dict[str, tuple[Path, str]] = {}
        """The first case of each id, with the row of a table that it is of."""
        self._file = file
        self._document = document
        self._open: list[CaseBuilder] = []

    @property
    def locates(self) -> bool:
        """Whether the place of each check is wanted."""
        return self._file.expectations is not None

    def case(self, case_id: str, prompt: str, path: Path, **fields: Unpack[CaseFields]) -> CaseBuilder:
        """A case, to which checks and turns can be added."""
        frozen = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
        self._open.append(CaseBuilder(self, case_id, prompt, path, frozen))
        return self._open[-1]

    def require(self, tree: object, declared: object, path: Path = ()) -> None:
        """Refuse values at a path that are not of the types that are declared for them. Raises RefusedError."""
        from carob.suites.shapes.foreign import require_shape  # our own languages have shapes

        require_shape(tree, declared, self._document or self._file.document, path)

    def problem(self, path: Path, message: str, slug: str = "invalid-value", *, key: bool = False) -> None:
        """Something that is wrong with the file; `key`: with the name of the last step rather than its value."""
        self.diagnostics.append(PathDiagnostic(path, message, slug, key=key))

    def warn(self, path: Path, message: str, slug: str) -> None:
        """Something that is most likely not meant."""
        self.warnings.append(PathDiagnostic(path, message, slug))

    def refuse_unknown_keys(
        self, keys: Iterable[str], known_keys: Sequence[str], path: Path, *, only_near: bool = False
    ) -> None:
        """Refuse keys that the format does not have: what they ask for would be dropped in silence.

        `only_near`: the other tool takes any key as a note, so that only one that is nearly a known key is refused.
        """
        for key in keys:
            if key in known_keys or key.startswith(("x-", "_")):
                continue
            if (near := did_you_mean(key, known_keys)) or not only_near:
                message = f"unknown key {quoted(key)}. {near}".rstrip()
                self.problem((*path, key), message, "unknown-field", key=True)

    def add_problems(self, parsed: ParsedCheck, path: Path) -> None:
        """What is wrong with a check as it is written."""
        self.diagnostics += [
            PathDiagnostic((*path, *problem.path), problem.message, problem.slug, problem.key)
            for problem in parsed.problems
        ]

    def complete(self, part: Expectations) -> JsonObject:
        """What is expected, with what is declared and the texts of the files that it names."""
        expected = with_declared(part.expected, self.declared)
        fields = self.catalog.fields
        for name in part.expected:
            if (field := fields.get(name)) is not None and field.holds_files:
                expected[name] = self._read_texts(expected[name], part.where(name))
        return expected

    def _read_texts(self, names: Sequence[str], path: Path) -> dict[str, str]:
        texts, others = {}, self._file.others
        for index, name in enumerate(names):
            try:
                self._file.refuse_outside(name, (*path, index))
            except RefusedError as refused:
                self.diagnostics += refused.diagnostics
                continue
            try:
                if name not in others:
                    others[name] = utf8(read_bytes(self._file.folder / name), is_suite=False)
                texts[name] = others[name].decode()
            except UsageError as error:
                message = f"{quoted(name)} {error.message} Name a text file next to the suite."
                self.problem((*path, index), message, error.slug)
            except RefusedError as refused:
                self.diagnostics += refused.in_file(str(self._file.folder / name)).diagnostics
        return texts

    def claim_id(self, case_id: str, path: Path, row: str = "") -> None:
        """Report that another case has the id already. `row`: the row of a table that this case is of."""
        claim = path, row
        first = self._first.setdefault(case_id, claim)
        if first is not claim:
            where = f"{render(first[0])}, {first[1]}," if first[1] else render(first[0])
            message = f"{where} already has the id {quoted(case_id)}. Give each case its own."
            self.problem((*path, "id"), message, "duplicate-id")

    def finish(self, case: CaseBuilder, fix: str, *, sound: bool = True) -> None:
        """Read what a case expects, and keep the case if it is `sound`. Nothing else of it is held on to."""
        finished, expectations = case.finish(fix)
        if sound:
            self.cases.append(finished)
            if self._file.expectations is not None:
                self._file.expectations.append(expectations)

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
        if not self._open and not self.cases and not self.diagnostics:
            self.problem((), "the suite has no cases.", "empty-suite")
        for case in self._open:
            if case.is_blank:
                message = "the case needs an id and a prompt that are not blank."
                self.problem(case.path, message, "empty-value")
            self.claim_id(case.id, case.path)
            self.finish(case, "" if case.is_blank else "Say what you expect.")
        return ParsedSuite(
            version,
            tuple(self.cases),
            self.diagnostics,
            self.warnings,
            name,
            description,
            metadata or {},
            target,
            self._document,
            written=self._open,
        )


def check_keys(fields: Mapping[str, Field], known_keys: KnownKeys) -> Mapping[str, Key]:
    """The keys that checks declare, each read when a case first has it."""
    return Lazy(lambda name: Key(shape_of(fields[name].type, known_keys), fields[name].doc), fields)


def expected_shape(
    fields: Mapping[str, Field], known_keys: KnownKeys, doc: str = "What is expected of the answer.", **more: Key
) -> RecordShape:
    """An `expected` object: the keys that checks declare, and those that a format has next to them."""
    keys = ChainMap(more, check_keys(fields, known_keys))  # type: ignore[arg-type]  # only read
    return RecordShape("Expected", doc, keys, known_keys, is_free=True)


@lru_cache(maxsize=8)
def _expected_shape(fields: Mapping[str, Field]) -> RecordShape:
    return expected_shape(fields, KnownKeys())
