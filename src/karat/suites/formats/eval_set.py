"""Eval sets 0.1 to 0.3: an object with `cases`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from karat.model.check import Vocabulary
from karat.model.suite import Case, CheckSpec, Scoring
from karat.model.verdict import Group
from karat.suites.findings import Finding, Path
from karat.suites.formats.cases import DEFAULT_OUTCOME, Asking, Dialect, Faults, Raw, Read, Reader, sound
from karat.suites.free_keys import Notes, flat
from karat.suites.models import EVAL_SET, VERSIONS, eval_set
from karat.suites.validate import Judge

_OWN = ("scoring", "min_pass_rate")
_SCORING_SINCE = "0.2"
_PLAIN = Scoring()
_KEPT = ("$schema", "captured_at", "integration_baseline")


def read(tree: dict[str, Any], vocabulary: Vocabulary, flawed: Iterable[Finding], askings: list[Asking] | None) -> Read:
    """The cases of an eval set. `flawed`: what is known to be wrong with the file already."""
    judge = Judge(eval_set(vocabulary.fields))
    given = tree["cases"]
    listed: Sequence[Any] = given if isinstance(given, Sequence) and not isinstance(given, str) else ()
    notes, found = judge.head({**tree, "cases": [None][: len(listed)] if listed is given else given})
    reader = Reader(judge, Dialect(_asking, _ill_scored, _case), vocabulary, askings)
    cases, wrong = reader.read(listed, ("cases",), flawed)
    found += wrong
    if found:
        return Read(EVAL_SET, "", (), found, [])
    version = tree.get("version", VERSIONS[-1])
    return Read(
        EVAL_SET,
        version,
        tuple(cases),
        [],
        [*_versionless(tree), *_newer(listed, version, vocabulary)],
        name=tree.get("name", ""),
        description=tree.get("description", ""),
        metadata={key: tree[key] for key in _KEPT if key in tree} | dict(flat(notes)),
    )


def _asking(raw: Raw, path: Path, faults: Faults) -> Asking | None:
    expected = raw.get("expected")
    if not isinstance(expected, dict):
        return None
    usable = sound(expected, faults, "expected") if faults else expected
    return Asking(
        {key: value for key, value in usable.items() if key not in _OWN},
        path,
        lambda field: (*path, "expected", field),
        whole=len(usable) == len(expected),
    )


def _ill_scored(raw: Raw, path: Path, faults: Faults) -> Iterator[Finding]:
    expected = raw["expected"]
    if "scoring" not in raw and "scoring" not in expected:
        return
    if "scoring" in raw and "scoring" in expected:
        message = "scoring stands in the case as well. Keep one of the two."
        yield Finding((*path, "expected", "scoring"), message, "duplicate-field", key=True)
    yield from _weightless(sound(raw, faults).get("scoring"), path)
    yield from _weightless(sound(expected, faults, "expected").get("scoring"), (*path, "expected"))


def _weightless(scoring: Mapping[str, Any] | None, place: Path) -> Iterator[Finding]:
    weights = scoring.get("soft_score", {}).get("weights") if scoring else None
    if weights is not None and not any(weights.values()):
        message = "no group has a weight over zero. Give one, or leave the weights out."
        yield Finding((*place, "scoring", "soft_score", "weights"), message, "zero-weights")


def _case(raw: Raw, specs: tuple[CheckSpec, ...], notes: Notes) -> Case:
    expected = raw["expected"]
    return Case(
        id=raw["id"],
        prompt=raw["prompt"],
        category=raw.get("category", ""),
        setup_prompts=tuple(raw.get("setup_prompts", ())),
        preconditions=tuple(raw.get("preconditions", ())),
        outcome=expected.get("outcome", DEFAULT_OUTCOME),
        checks=specs,
        scoring=_scoring(expected.get("scoring", raw.get("scoring"))),
        min_pass_rate=expected.get("min_pass_rate"),
        metadata=dict(flat(notes)) if notes else {},
    )


def _scoring(raw: Mapping[str, Any] | None) -> Scoring:
    if not raw:
        return _PLAIN
    soft = raw.get("soft_score", {})
    threshold, weights = soft.get("threshold"), soft.get("weights")
    return Scoring(
        hard_fail=tuple(dict.fromkeys(Group(name) for name in raw.get("hard_fail", ()))),
        threshold=None if threshold is None else float(threshold),
        weights=None if weights is None else {Group(name): float(weight) for name, weight in weights.items()},
    )


def _versionless(tree: Mapping[str, Any]) -> Iterator[Finding]:
    if "version" not in tree:
        message = f'no version given, read as {VERSIONS[-1]}. Write "version": "{VERSIONS[-1]}".'
        yield Finding(("version",), message, "missing-version")


def _newer(cases: Iterable[Mapping[str, Any]], version: str, vocabulary: Vocabulary) -> Iterator[Finding]:
    """One warning per field that the suite's version does not have yet, at its first use."""
    since = {f.name: f.since for f in vocabulary.fields if EVAL_SET in f.formats} | {"scoring": _SCORING_SINCE}
    newer = {name for name, first in since.items() if _numbers(first) > _numbers(version)}
    used: dict[str, tuple[Path, int]] = {}
    for index, case in enumerate(cases) if newer else ():
        for place, keys in ((("cases", index), case), (("cases", index, "expected"), case["expected"])):
            for name in newer & keys.keys():
                first, count = used.get(name, ((*place, name), 0))
                used[name] = first, count + 1
    for name, (path, count) in used.items():
        more = f" It is used {count} times." if count > 1 else ""
        message = (
            f"this field is new in version {since[name]}, the suite says {version}. It is checked all the same.{more}"
        )
        yield Finding(path, message, "newer-field", key=True)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
