"""Functions that guard a promise are held by tests: changed in a copy of the source, the tests that they name fail.

`guards.toml` names functions. `make test` sees that each is there and can be changed; `make thorough` makes forty
changes, drawn by CAROB_GUARDS_SEED (40), or all where CAROB_GUARDS=all, and prints those that no test notices.
`random_guards.py` does the same to guards of any module, drawn from the syntax tree of all of `src`.
"""

from __future__ import annotations

import ast
import os
import random
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from guards import random_guards
from guards.mutants import Mutant, find_function, mutants

ROOT = Path(__file__).parents[2]
GUARDS: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("guards.toml").read_text("utf-8"))["guard"]
AREAS = {
    "doors",
    "size caps",
    "deadlines",
    "paths",
    "escaping",
    "secrets",
    "unknown is not a pass",
    "attribution",
    "journals",
    "whole files",
    "processes",
    "exit codes",
    "stubs and faults",
    "tapes",
}
DRAWN = 40
NOTICED = 38
SECONDS = 120
"""For the tests of a guard; as long as nothing is changed they take a few."""


def path_and_name(guard: dict[str, Any]) -> tuple[Path, str]:
    file, _, name = str(guard["function"]).partition("::")
    return ROOT / "src/carob" / file, name


def test_each_guard_names_a_function_and_tests_that_exist() -> None:
    assert len(GUARDS) >= 80
    assert {guard["area"] for guard in GUARDS} == AREAS
    assert [name for name, count in Counter(guard["function"] for guard in GUARDS).items() if count > 1] == []
    missing = [guard["function"] for guard in GUARDS if not path_and_name(guard)[0].exists()]
    missing += [
        guard["function"]
        for guard in GUARDS
        if guard["function"] not in missing and find_function(*path_and_name(guard)) is None
    ]
    missing += [test for guard in GUARDS for test in guard["tests"] if not (ROOT / test.split("::")[0]).exists()]
    assert missing == [], "correct tests/guards/guards.toml"


def test_mutants_change_one_decision_or_step() -> None:
    source = "def f(a, b):\n    if a and b:\n        return 1\n    g()\n    return [x for x in b if x]\n"
    changes = [(mutant.line, mutant.change) for mutant in mutants(source, "f")]
    assert sorted(changes) == [
        (0, "no filter"),
        (2, "always"),
        (2, "never"),
        (2, "without operand 1"),
        (2, "without operand 2"),
        (4, "step left out"),
    ]
    assert all(mutant.source != source for mutant in mutants(source, "f"))


@pytest.mark.thorough
def test_guards_of_all_modules_can_be_drawn_and_changed() -> None:
    assert len(random_guards.find_guards()) > 2500
    for guard in (drawn := random_guards.draw(seed=41, count=40)):
        assert ast.parse(guard.mutate())
        assert next(random_guards.find_tests(guard.module), None), f"no test is near {guard.module}"
    assert {guard.change for guard in drawn} == {"removed", "negated"}


@pytest.mark.parametrize("test", ["a/b.py::test_x", "a/b.py::test_x[a b - c]"])
@pytest.mark.parametrize("why", ["", " - assert 1 == 2", " - KeyError: [x]"])
def test_a_test_that_failed_is_known_by_its_whole_name(test: str, why: str) -> None:
    assert random_guards.find_failed(f"...\nFAILED {test}{why}\n1 failed in 1s\n") == test


def draw() -> list[tuple[dict[str, Any], Mutant]]:
    """One change of each of forty guards, or every change of all of them."""
    seed = int(os.environ.get("CAROB_GUARDS_SEED", "40"))
    chance = random.Random(seed)
    print(f"seed {seed}")
    choices = [(guard, list(mutants(path.read_text("utf-8"), name))) for guard, (path, name) in _located()]
    if os.environ.get("CAROB_GUARDS") == "all":
        return [(guard, mutant) for guard, changes in choices for mutant in changes]
    chosen = chance.sample([choice for choice in choices if choice[1]], DRAWN)
    return [(guard, chance.choice(changes)) for guard, changes in chosen]


def _located() -> list[tuple[dict[str, Any], tuple[Path, str]]]:
    return [(guard, path_and_name(guard)) for guard in GUARDS]


@cache
def outcome(source: Path, tests: tuple[str, ...]) -> tuple[int, str]:
    """How these tests end for this source, and the last they say."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *tests]
    env = {**os.environ, "PYTHONPATH": str(source)}
    env = {name: value for name, value in env.items() if not name.startswith(("PYTEST_", "COV_"))}
    try:
        ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:  # without a deadline they hang, which is how its loss is noticed
        return 1, f"they did not end within {SECONDS} s"
    return ran.returncode, ran.stdout[-1500:]


def is_noticed(guard: dict[str, Any], mutant: Mutant, folder: Path) -> bool:
    """Whether the guard's tests fail for a copy of the source with this change."""
    tests = tuple(guard["tests"])
    unchanged = outcome(ROOT / "src", tests)
    assert unchanged[0] == 0, f"these tests must pass as long as nothing is changed: {unchanged[1]}"
    source = shutil.copytree(ROOT / "src", folder / "src")  # with what is compiled, which need not be done again
    (source / "carob" / str(guard["function"]).partition("::")[0]).write_text(mutant.source, "utf-8")
    try:
        return outcome(source, tests)[0] == 1
    finally:
        shutil.rmtree(source)


@pytest.mark.thorough
@pytest.mark.limit(3600)
def test_tests_notice_when_a_guard_is_changed(tmp_path: Path) -> None:
    drawn = draw()
    missed = []
    for number, (guard, mutant) in enumerate(drawn):
        if not is_noticed(guard, mutant, tmp_path / str(number)):
            missed.append(f"{guard['function']}, line {mutant.line}: {mutant.change}")
    print(f"{len(drawn) - len(missed)} of {len(drawn)} noticed")
    assert len(missed) * DRAWN <= (DRAWN - NOTICED) * len(drawn), "\n".join(missed)
