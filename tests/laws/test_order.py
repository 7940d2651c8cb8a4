"""Law 14: the order of reading does not matter: of keys, cases, hash seeds, locales, time zones, other cases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.checks.catalog import CheckCatalog
from laws.coverage import Coverage, require
from laws.samples import CATALOG, EFFECTS, KEYS, SAMPLES, VARIANTS, Expected, judge, read_case, read_suite

ROOT = Path(__file__).parents[2]

_PRINT = """
import json
from laws.samples import SAMPLES, status
print(json.dumps([[s.key, status(s.expected, s.passing), status(s.expected, s.failing)] for s in SAMPLES]))
"""

WORLDS = {
    "hash seed 1, C, no UTF-8 mode, Newfoundland": {
        "PYTHONHASHSEED": "1", "LC_ALL": "C", "PYTHONUTF8": "0", "TZ": "America/St_Johns",
    },
    "hash seed 77, Turkish, Kiritimati": {
        "PYTHONHASHSEED": "77", "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "TZ": "Pacific/Kiritimati",
    },
}  # fmt: skip


def _statuses_in(**environ: str) -> list[list[str]]:
    paths = os.pathsep.join(str(ROOT / folder) for folder in ("tests", "examples", "src"))
    done = subprocess.run(
        [sys.executable, "-c", _PRINT],
        env={**os.environ, "PYTHONPATH": paths, **environ},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found: list[list[str]] = json.loads(done.stdout)
    return found


def test_no_locale_zone_or_hash_seed_decides(record_property: Callable[[str, object], None]) -> None:
    coverage = Coverage(14, "no locale, time zone or hash seed decides", checks=KEYS, doors=WORLDS)
    here = [[s.key, *(str(judge(read_case(s.expected), t).status) for t in (s.passing, s.failing))] for s in SAMPLES]
    for world, environ in WORLDS.items():
        found = _statuses_in(**environ)
        for one, other in zip(here, found, strict=True):
            coverage.try_one(one == other, f"{world}: {one} is {other}")
    require(coverage, record_property)


def _merged() -> Iterator[tuple[Expected, Expected]]:
    for _, one in VARIANTS:
        for _, other in VARIANTS:
            if one.keys().isdisjoint(other):
                yield one, other


def find_ordered_keys() -> Coverage:
    """Expectations that mean something else where their keys stand in another order."""
    coverage = Coverage(14, "the order of keys does not matter", checks=KEYS)
    for one, other in _merged():
        first, second = _asked({**one, **other}), _asked({**other, **one})
        coverage.try_one(first == second, f"{one} and {other}")
    return coverage


def _asked(expected: Expected) -> list[tuple[str, bytes, str]]:
    rest = {key: value for key, value in expected.items() if key != "grounded_in"}
    asked = CATALOG.read({**rest, "effects": EFFECTS})
    return sorted((one.spec.name, bytes(one.spec.args), one.spec.path) for one in asked)


def test_the_order_of_keys_does_not_matter(record_property: Callable[[str, object], None]) -> None:
    require(find_ordered_keys(), record_property)


def test_keys_that_are_read_in_order_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the last key of `expected` alone is read."""
    read = CheckCatalog.read
    monkeypatch.setattr(CheckCatalog, "read", lambda self, expected: read(self, dict([[*expected.items()][-2]])))
    assert find_ordered_keys().violations


CASES = [{"id": f"c{number}", "prompt": f"p{number}", "expected": s.expected} for number, s in enumerate(SAMPLES)]


@given(order=st.permutations(range(len(CASES))), shown=st.integers(1, len(CASES)))
def test_other_cases_of_a_file_do_not_matter(order: list[int], shown: int) -> None:
    chosen = order[:shown]
    alone = {case.id: case for case in read_suite(*CASES, effects=EFFECTS)}
    for case in read_suite(*(CASES[number] for number in chosen), effects=EFFECTS):
        assert case == alone[case.id]
