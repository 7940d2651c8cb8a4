"""Guards drawn from the syntax tree of all of `src`, changed one at a time: does a test of their area notice?

A guard is an `if` whose body ends in `raise`, `return` or `continue` and that has no `else`; it is removed or negated.

    python tests/guards/random_guards.py --seed 41 --count 40
    python tests/guards/random_guards.py targets/http/streams.py:39  (this one, removed)

It is faster if it knows which tests reach a guard, of a run with pytest-cov:

    pytest -n 4 --cov=src/carob --cov-context=test --cov-report=
    python tests/guards/random_guards.py --seed 41 --count 40 --coverage .coverage
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
TESTS = ROOT / "tests"
SECONDS = 300
"""For one folder of tests. What they need longer for is not noticed."""
MOST_REACHING = 30
"""So many of the tests that reach a guard are tried."""
APART = {"guards", "benchmarks", "counterparts", "recorded_recipes", "seeds"}
AREAS = {
    "checks": ("laws", "seeds"),
    "engine": ("engine", "library"),
    "importers": ("suites",),
    "cli": ("cli",),
    "journal": ("journal",),
    "matchers": ("matchers", "checks"),
    "rules": ("rules",),
    "setup": ("setup",),
    "suites": ("suites",),
    "targets": ("proxy",),
    "text": ("text", "checks"),
    "viewer": ("viewer",),
}
"""Where else the promises of a package are tested."""
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+::[^\s\[]+(?:\[.*?\](?= - |$))?)", re.MULTILINE)
"""The id of a test may have spaces in it."""


class Guard(NamedTuple):
    """A guard of a module, and whether it is removed or negated."""

    module: str
    line: int
    change: str = "removed"

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.change}"

    def mutate(self) -> str:
        """The module with the guard changed."""
        tree = ast.parse((SOURCE / "carob" / self.module).read_text("utf-8"))
        node = next(node for node in ast.walk(tree) if isinstance(node, ast.If) and node.lineno == self.line)
        node.test = ast.Constant(False) if self.change == "removed" else ast.UnaryOp(ast.Not(), node.test)
        return ast.unparse(ast.fix_missing_locations(tree))


def is_guard(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.If)
        and not node.orelse
        and isinstance(node.body[-1], ast.Raise | ast.Return | ast.Continue)
    )


def find_guards() -> list[Guard]:
    modules = sorted((SOURCE / "carob").rglob("*.py"))
    return [
        Guard(str(path.relative_to(SOURCE / "carob")), node.lineno)
        for path in modules
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if is_guard(node) and isinstance(node, ast.If)
    ]


def draw(seed: int, count: int) -> list[Guard]:
    chance = random.Random(seed)
    return [
        guard._replace(change=chance.choice(["removed", "negated"])) for guard in chance.sample(find_guards(), count)
    ]


@cache
def imports_of(test: Path) -> frozenset[str]:
    """The modules that a file of tests names in its imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(test.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return frozenset(names)


def find_tests(module: str) -> Iterator[list[str]]:
    """The tests of a module, the nearest first: those that import it, or a module that does; then its own folder."""
    name = module_name(module)
    files = [path for path in sorted(TESTS.rglob("test_*.py")) if path.relative_to(TESTS).parts[0] not in APART]
    direct = [path for path in files if name in imports_of(path)]
    importers = {
        module_name(str(path.relative_to(SOURCE / "carob")))
        for path in (SOURCE / "carob").rglob("*.py")
        if name in imports_of(path)
    }
    near = [path for path in files if path not in direct and importers & imports_of(path)]
    own = [folder for folder in (TESTS / Path(module)).parents if folder.is_dir() and TESTS in folder.parents][:1]
    for tests in (direct, own, near, [TESTS.joinpath(area) for area in AREAS.get(Path(module).parts[0], ())]):
        if tests:
            yield [str(path.relative_to(ROOT)) for path in tests]


def find_reaching(guard: Guard, coverage: Path) -> list[str]:
    """The tests that reach what is guarded, or for a negated guard the guard: those of its own area first."""
    tree = ast.parse((SOURCE / "carob" / guard.module).read_text("utf-8"))
    node = next(node for node in ast.walk(tree) if isinstance(node, ast.If) and node.lineno == guard.line)
    line = node.body[0].lineno if guard.change == "removed" else guard.line
    with closing(sqlite3.connect(coverage)) as data:
        rows = data.execute(
            "SELECT context, numbits FROM line_bits JOIN file ON file.id = file_id JOIN context ON context.id ="
            " context_id WHERE path LIKE ?",
            (f"%/src/carob/{guard.module}",),
        ).fetchall()
    reaching = {
        name.partition("|")[0].partition("[")[0]
        for name, bits in rows
        if bits[line // 8 :][:1] and bits[line // 8] >> line % 8 & 1
    }
    folder = Path("tests", guard.module).parent
    near = [
        str(folder / f"test_{Path(guard.module).name}"),
        f"{folder}/",
        f"{folder.parent}/",
        f"{Path(*folder.parts[:2])}/",
    ]
    ordered = sorted(filter(None, reaching), key=lambda name: [not name.startswith(one) for one in near])
    return ordered[:MOST_REACHING]


def module_name(module: str) -> str:
    return ".".join(("carob", *Path(module).with_suffix("").parts)).removesuffix(".__init__")


def run_tests(source: Path, tests: list[str]) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", *tests]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    env |= {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "500"}
    try:
        ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return -1, f"did not end within {SECONDS} s"
    return ran.returncode, ran.stdout


def find_failed(output: str) -> str:
    """The first test that failed, by what pytest printed."""
    failed = _FAILED.search(output)
    return failed[1] if failed else ""


def find_noticing_test(guard: Guard, coverage: Path | None = None) -> str:
    """The test that fails with the change and passes without it; empty if there is none."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(shutil.copytree(SOURCE, Path(folder) / "src", ignore=shutil.ignore_patterns("__pycache__")))
        (source / "carob" / guard.module).write_text(guard.mutate(), "utf-8")
        reaching = find_reaching(guard, coverage) if coverage else []
        for tests in [reaching] * bool(reaching) + [*find_tests(guard.module)]:
            code, output = run_tests(source, tests)
            if code in (0, 5, -1):
                continue
            failed = find_failed(output)
            if not failed:
                return f"{tests[0]} cannot be read"
            if run_tests(SOURCE, [failed])[0] == 0:
                return failed
            print(f"  {failed} fails without the change as well")
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("guards", nargs="*", metavar="MODULE:LINE", help="these instead of a draw")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--negated", action="store_true", help="negate the named guards instead of removing them")
    parser.add_argument("--coverage", type=Path, help="the data of a run with pytest-cov, with its contexts")
    parser.add_argument("--part", default="0/1", help="1/2: every second one, beginning with the second")
    options = parser.parse_args()
    named = [name.partition(":")[::2] for name in options.guards]
    change = "negated" if options.negated else "removed"
    drawn = [Guard(module, int(line), change) for module, line in named] or draw(options.seed, options.count)
    first, parts = map(int, options.part.split("/"))
    drawn = drawn[first::parts]
    print(f"seed {options.seed}, {len(drawn)} of {len(find_guards())} guards", flush=True)
    missed = 0
    for guard in drawn:
        test = find_noticing_test(guard, options.coverage)
        missed += not test
        print(f"{guard}: {test or 'NOT NOTICED'}", flush=True)
    print(f"{len(drawn) - missed} of {len(drawn)} noticed")
    return missed * 40 > 2 * len(drawn)


if __name__ == "__main__":
    sys.exit(main())
