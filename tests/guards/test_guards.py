"""Each guard of Karat is held by a test: removed from a copy of the source, the tests that it names fail.

`guards.toml` is the list of all. `make test` sees that it is true to the source; `make thorough` removes forty of them,
drawn by KARAT_GUARDS_SEED (28), or all where KARAT_GUARDS=all.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUARDS = tomllib.loads(Path(__file__).with_name("guards.toml").read_text("utf-8"))["guard"]
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


def named(guard: dict[str, object]) -> str:
    return f"{guard['area']}: {guard['name']}"


def drawn() -> list[dict[str, object]]:
    if os.environ.get("KARAT_GUARDS") == "all":
        return GUARDS
    return random.Random(int(os.environ.get("KARAT_GUARDS_SEED", "28"))).sample(GUARDS, 40)


def test_the_list_is_true_to_the_source() -> None:
    assert len(GUARDS) >= 80
    assert {guard["area"] for guard in GUARDS} == AREAS
    assert [name for name, count in Counter(map(named, GUARDS)).items() if count > 1] == []
    moved = []
    for guard in GUARDS:
        source = (ROOT / "src/karat" / guard["file"]).read_text("utf-8")
        if source.count(guard["find"]) != 1 or guard["find"] == guard["put"]:
            moved.append(f"{named(guard)}: {guard['find']!r} is in {guard['file']} {source.count(guard['find'])} times")
        if guard["file"].endswith(".py"):
            compile(source.replace(guard["find"], guard["put"]), guard["file"], "exec")
        moved += [f"{named(guard)}: no {test}" for test in guard["tests"] if not (ROOT / test.split("::")[0]).exists()]
    assert moved == [], "correct tests/guards/guards.toml"


MOST = 120
"""Seconds for the tests of a guard; as long as nothing is removed they take a few."""


@cache
def outcome(source: Path, tests: tuple[str, ...]) -> tuple[int, str]:
    """How these tests end for this source, and the last they say."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *tests]
    env = {**os.environ, "PYTHONPATH": str(source)}
    env = {name: value for name, value in env.items() if not name.startswith(("PYTEST_", "COV_"))}
    try:
        ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=MOST)
    except subprocess.TimeoutExpired:  # without a deadline they hang, which is how its loss is noticed
        return 1, f"they did not end within {MOST} s"
    return ran.returncode, ran.stdout[-1500:]


@pytest.mark.thorough
@pytest.mark.parametrize("guard", drawn(), ids=named)
def test_a_guard_that_is_removed_is_missed(guard: dict[str, object], tmp_path: Path) -> None:
    tests = tuple(guard["tests"])  # type: ignore[arg-type]  # TOML says what it is
    whole = outcome(ROOT / "src", tests)
    assert whole[0] == 0, f"these tests must pass as long as nothing is removed: {whole[1]}"
    copy = shutil.copytree(ROOT / "src", tmp_path / "src")  # with what is compiled, which need not be done again
    file = copy / "karat" / str(guard["file"])
    file.write_text(file.read_text("utf-8").replace(str(guard["find"]), str(guard["put"])), "utf-8")
    assert outcome(copy, tests)[0] == 1, f"nothing notices that {named(guard)} is gone"
