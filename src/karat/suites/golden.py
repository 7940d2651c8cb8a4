"""Golden decisions and QA 1.0: a list of cases, each of which may ask in either way."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from karat.model.check import Vocabulary
from karat.model.suite import Case, CheckSpec
from karat.suites.cases import DEFAULT_OUTCOME, Asking, Read, checks, faults_by_case, repeated_ids, sound
from karat.suites.findings import Finding, Path
from karat.suites.judging import judge
from karat.suites.models import GOLDEN_CASE, GOLDEN_VERSION, golden
from karat.suites.notes import Notes, by_case, flat

FORMAT = "golden"
_CONTAINS = "expected_contains"


def read(tree: list[Any], vocabulary: Vocabulary, flawed: Iterable[Finding]) -> Read:
    """The cases of a golden set. `flawed`: what is known to be wrong with the file already."""
    notes, found = judge(tree, golden(vocabulary.fields))
    beside = [field.name for field in vocabulary.fields if GOLDEN_CASE in field.formats]
    faults = faults_by_case([*found, *flawed], ())
    notes_of = by_case(notes, ())
    cases: list[Case] = []
    askings: list[Asking] = []
    for index, raw in enumerate(tree):
        if isinstance(raw, dict):
            asking = _asking(raw, (index,), beside, faults.get(index, ()))
            specs, wrong = checks(asking, vocabulary)
            found += [*_twice(raw, (index,)), *wrong]
            if index not in faults:
                cases.append(_case(raw, specs, notes_of.get(index, {})))
                askings.append(asking)
    found += repeated_ids(tree, ())
    return Read(FORMAT, GOLDEN_VERSION, tuple(cases), found, [], askings=tuple(askings))


def _asking(raw: Mapping[str, Any], path: Path, beside: Iterable[str], faults: Collection[Path]) -> Asking:
    """Both kinds of keys as one `expected`, each still known by where it stands."""
    usable = sound(raw, [f[:1] for f in faults if f[:1] != ("expected",)])
    flat_keys = {name: usable[name] for name in beside if name in usable}
    inside = raw.get("expected", {})
    short = isinstance(inside, list)
    if short:
        inside = {_CONTAINS: inside} if not any(f[:1] == ("expected",) for f in faults) else {}
    elif isinstance(inside, dict):
        inside = sound(inside, faults, "expected")
    else:
        inside = {}

    def where(field: str) -> Path:
        if field in flat_keys:
            return (*path, field)
        return (*path, "expected") if short and field == _CONTAINS else (*path, "expected", field)

    return Asking({**inside, **flat_keys}, path, where, whole=not faults)


def _case(raw: Mapping[str, Any], specs: tuple[CheckSpec, ...], notes: Notes) -> Case:
    kept = dict(flat(notes)) if notes else {}
    inside = raw.get("expected")
    return Case(
        id=raw["id"],
        prompt=raw["input"],
        category=raw.get("category", ""),
        outcome=inside.get("outcome", DEFAULT_OUTCOME) if isinstance(inside, dict) else DEFAULT_OUTCOME,
        checks=specs,
        metadata={"constraints": raw["constraints"], **kept} if "constraints" in raw else kept,
    )


def _twice(raw: Mapping[str, Any], path: Path) -> Iterator[Finding]:
    if _CONTAINS in raw and isinstance(raw.get("expected"), list):
        message = f"a list in 'expected' is another spelling of '{_CONTAINS}', which is here too. Keep one."
        yield Finding((*path, "expected"), message, "duplicate-field", key=True)
