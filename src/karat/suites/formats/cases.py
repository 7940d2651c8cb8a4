"""What eval sets and golden sets share on the way from a valid tree to cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

from karat.model.check import Vocabulary
from karat.model.suite import Case, CheckSpec
from karat.suites.findings import Finding, Path, render
from karat.suites.free_keys import Notes
from karat.suites.validate import Judge
from karat.text.wording import quoted

DEFAULT_OUTCOME = "response_only"


class Asking(NamedTuple):
    """What a case expects, where the case stands, and where each of its fields does.

    `whole`: nothing that the case expects had to be left out for being of the wrong shape.
    """

    expected: Mapping[str, Any]
    case: Path
    where: Callable[[str], Path]
    whole: bool = True


class Read(NamedTuple):
    """A file as its format reads it."""

    format: str
    version: str
    cases: tuple[Case, ...]
    findings: list[Finding]
    warnings: list[Finding]
    name: str = ""
    description: str = ""
    metadata: Mapping[str, Any] = {}


Raw = Mapping[str, Any]
Faults = Collection[Path]
_NONE: frozenset[Path] = frozenset()


class Dialect(NamedTuple):
    """How a format spells a case: what it asks, what is wrong between its fields, and the case itself."""

    asking: Callable[[Raw, Path, Faults], Asking | None]
    wrong: Callable[[Raw, Path, Faults], Iterable[Finding]]
    case: Callable[[Raw, tuple[CheckSpec, ...], Notes], Case]


class Reader:
    """Reads the cases of one file one after another, and holds on to nothing else of them.

    `flawed`: what is known to be wrong with the file already. `askings` takes what each case asks, if it is wanted.
    """

    def __init__(self, judge: Judge, dialect: Dialect, vocabulary: Vocabulary, askings: list[Asking] | None) -> None:
        self._judge = judge
        self._dialect = dialect
        self._vocabulary = vocabulary
        self._askings = askings

    def read(self, listed: Sequence[Any], prefix: Path, flawed: Iterable[Finding]) -> tuple[list[Case], list[Finding]]:
        """The cases that are sound, and everything that is wrong with any of them."""
        known = _faults_by_case(flawed, prefix)
        cases: list[Case] = []
        found: list[Finding] = []
        ids: list[Any] = []
        for index, raw in enumerate(listed):
            notes, wrong = self._judge.case(raw, (*prefix, index))
            faults = known.get(index, _NONE)
            if wrong:
                found += wrong
                faults = faults | {finding.path[len(prefix) + 1 :][:2] for finding in wrong}
            ids.append(raw.get("id") if isinstance(raw, dict) else None)
            if isinstance(raw, dict):
                self._add(raw, (*prefix, index), faults, notes, cases, found)
        return cases, [*found, *_repeated(ids, prefix)]

    def _add(self, raw: Raw, path: Path, faults: Faults, notes: Notes, cases: list[Case], found: list[Finding]) -> None:
        asking = self._dialect.asking(raw, path, faults)
        if asking is None:
            return
        specs, wrong = _checks(asking, self._vocabulary)
        found += [*wrong, *self._dialect.wrong(raw, path, faults)]
        if not faults:
            cases.append(self._dialect.case(raw, specs, notes))
            if self._askings is not None:
                self._askings.append(asking)


def _checks(asking: Asking, vocabulary: Vocabulary) -> tuple[tuple[CheckSpec, ...], list[Finding]]:
    """The checks that a case asks for, and what is wrong with them."""
    expected, case, where, whole = asking
    asked = list(vocabulary.read(expected))
    found = [
        Finding((*where(str(a.path[0])), *a.path[1:], *flaw.path), flaw.message, flaw.slug)
        for a in asked
        for flaw in a.flaws
    ]
    if whole:
        found += [
            Finding((*where(str(stray.path[0])), *stray.path[1:]), stray.message, stray.slug, key=True)
            for stray in vocabulary.strays(expected)
        ]
        if not found and "outcome" not in expected and all(a.path[:1] == ("outcome",) for a in asked):
            message = "the case checks nothing. Say in 'expected' what the answer must hold."
            found.append(Finding(case, message, "no-checks"))
    return tuple([a.spec for a in asked]), found


def _repeated(ids: Sequence[Any], prefix: Path) -> Iterable[Finding]:
    """A finding for every id that an earlier case has already."""
    first: dict[str, int] = {}
    for index, name in enumerate(ids):
        if isinstance(name, str) and first.setdefault(name, index) != index:
            message = f"{render((*prefix, first[name]))} has the id {quoted(name)} already. Give each case its own."
            yield Finding((*prefix, index, "id"), message, "duplicate-id")


def _faults_by_case(findings: Iterable[Finding], prefix: Path) -> Mapping[int, Set[Path]]:
    """Where each case is of the wrong shape: the first one or two steps below the case."""
    faults: defaultdict[int, set[Path]] = defaultdict(set)
    depth = len(prefix)
    for finding in findings:
        if len(finding.path) > depth and finding.path[:depth] == prefix:
            index = finding.path[depth]
            if isinstance(index, int):
                faults[index].add(finding.path[depth + 1 : depth + 3])
    return faults


def sound(keys: Mapping[str, Any], faults: Collection[Path], *place: str) -> dict[str, Any]:
    """The keys of an object that nothing is wrong with, so that they can be read whatever the others hold."""
    wrong = {fault[: len(place) + 1] for fault in faults}
    return {key: value for key, value in keys.items() if (*place, key) not in wrong}
