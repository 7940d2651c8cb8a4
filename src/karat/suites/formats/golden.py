"""Golden decisions and QA 1.0: a list of cases, each of which may ask in either way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from karat.model.check import Vocabulary
from karat.model.suite import Case, CheckSpec
from karat.suites.findings import Finding, Path
from karat.suites.formats.cases import DEFAULT_OUTCOME, Asking, Dialect, Faults, Raw, Read, Reader, sound
from karat.suites.free_keys import Notes, flat
from karat.suites.models import GOLDEN_CASE, GOLDEN_VERSION, golden
from karat.suites.validate import Judge

FORMAT = "golden"
_CONTAINS = "expected_contains"
_RATE = "min_pass_rate"


def read(tree: Sequence[Any], vocabulary: Vocabulary, flawed: Iterable[Finding], askings: list[Asking] | None) -> Read:
    """The cases of a golden set. `flawed`: what is known to be wrong with the file already."""
    judge = Judge(golden(vocabulary.fields))
    beside = [field.name for field in vocabulary.fields if GOLDEN_CASE in field.formats]
    _, found = judge.head([None][: len(tree)])
    reader = Reader(judge, Dialect(partial(_asking, beside), _twice, _case), vocabulary, askings)
    cases, wrong = reader.read(tree, (), flawed)
    return Read(FORMAT, GOLDEN_VERSION, tuple(cases), [*found, *wrong], [])


def _asking(beside: Iterable[str], raw: Raw, path: Path, faults: Faults) -> Asking:
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

    asked = {name: value for name, value in inside.items() if name != _RATE}
    return Asking({**asked, **flat_keys}, path, where, whole=not faults)


def _case(raw: Raw, specs: tuple[CheckSpec, ...], notes: Notes) -> Case:
    kept = dict(flat(notes)) if notes else {}
    expected = raw.get("expected")
    inside = expected if isinstance(expected, dict) else {}
    return Case(
        id=raw["id"],
        prompt=raw["input"],
        category=raw.get("category", ""),
        outcome=inside.get("outcome", DEFAULT_OUTCOME),
        checks=specs,
        min_pass_rate=inside.get(_RATE),
        metadata={"constraints": raw["constraints"], **kept} if "constraints" in raw else kept,
    )


def _twice(raw: Raw, path: Path, faults: Faults) -> Iterator[Finding]:
    if _CONTAINS in raw and isinstance(raw.get("expected"), list):
        message = f"a list in 'expected' is another spelling of '{_CONTAINS}', which is here too. Keep one."
        yield Finding((*path, "expected"), message, "duplicate-field", key=True)
