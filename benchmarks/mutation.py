"""`python -m benchmarks.mutation`: lines that were added since a commit, broken one at a time against their tests.

Lines are drawn by a seed from those that the tests execute in their own process. Each is broken in a copy of `src`, and
the tests that execute it must turn red. The exit code is 1 if fewer do than `--least`.

    python -m benchmarks.mutation --since 9489c43c --seed 7 --lines 40 tests/features/guard tests/features/watch
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
TRACE_INTO, ADDED = "CAROB_MUTATION_TRACE", "CAROB_MUTATION_ADDED"
"""Variables for the process of the tests: where it writes which test executes what, and the lines that count."""
MOST_TESTS = 400
"""So many of the tests that execute a line are run, those that execute the fewest lines first."""
SECONDS = 300.0
Lines = dict[str, list[int]]
_HUNK = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")
_OPPOSITES: dict[type, type] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add,
}  # fmt: skip


class Mutant(NamedTuple):
    """One line that is broken: the whole file as it is then, and what was changed."""

    path: str
    line: int
    text: str
    change: str


def find_added(since: str) -> Lines:
    """The lines of each file of src that were added or changed since a commit."""
    command = ["git", "diff", "-M", "-l0", "-U0", "--no-color", since, "--", "src"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    added: defaultdict[str, list[int]] = defaultdict(list)
    path = ""
    for line in done.stdout.splitlines():
        if line.startswith("+++ "):
            path = line.removeprefix("+++ b/") if line.endswith(".py") else ""
        elif path and (hunk := _HUNK.match(line)):
            first = int(hunk[1])
            added[path] += range(first, first + int(hunk[2] or 1))
    return dict(added)


class LineTrace:
    """Which lines of some files run while a test does."""

    def __init__(self, added: Lines) -> None:
        self._wanted = {str(ROOT / path): frozenset(lines) for path, lines in added.items()}
        self.seen: set[tuple[str, int]] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if (wanted := self._wanted.get(frame.f_code.co_filename)) is None:
            return None

        def note(inner: FrameType, event: str, _: Any) -> Any:
            if event == "line" and inner.f_lineno in wanted:
                self.seen.add((frame.f_code.co_filename, inner.f_lineno))
            return note

        return note


class TracePlugin:
    """Notes for each test which of the added lines it executes."""

    def __init__(self, folder: Path, added: Lines) -> None:
        self._file = (folder / f"{os.getpid()}.jsonl").open("a", buffering=1)
        self._trace = LineTrace(added)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._trace.seen = set()
        before = sys.gettrace()
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        try:
            return (yield)  # type: ignore[return-value]
        finally:
            sys.settrace(before)
            threading.settrace(None)  # type: ignore[arg-type]
            places = sorted((os.path.relpath(path, ROOT), line) for path, line in self._trace.seen)
            self._file.write(json.dumps({"test": item.nodeid, "lines": places}) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """Trace, where this module is loaded as a plugin of pytest."""
    if folder := os.environ.get(TRACE_INTO):
        config.pluginmanager.register(TracePlugin(Path(folder), json.loads(Path(os.environ[ADDED]).read_text())))


def trace_tests(added: Lines, tests: Sequence[str], folder: Path) -> dict[tuple[str, int], list[str]]:
    """The tests that execute each line, those that execute the fewest first."""
    names, traces = folder / "added.json", folder / "traces"
    names.write_text(json.dumps(added))
    traces.mkdir()
    run_tests(tests, ROOT / "src", {TRACE_INTO: str(traces), ADDED: str(names)}, "-p", "benchmarks.mutation", "-n", "2")
    rows = [json.loads(line) for file in traces.iterdir() for line in file.read_text().splitlines()]
    covered: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (len(row["lines"]), row["test"])):
        for path, line in row["lines"]:
            covered[path, line].append(row["test"])
    return covered


def run_tests(tests: Sequence[str], source: Path, environ: dict[str, str], *options: str) -> int:
    """Run tests with this source; the exit code, or 1 if they take too long."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, *tests]
    env = {**os.environ, **environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    seconds = None if environ else SECONDS
    try:
        return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, timeout=seconds, check=False).returncode
    except subprocess.TimeoutExpired:
        return 1


def break_line(path: str, text: str, line: int) -> list[Mutant]:
    """Every way in which a line can be broken."""
    mutants = []
    for node in ast.walk(ast.parse(text)):
        if getattr(node, "lineno", 0) != line:
            continue
        pairs: list[tuple[ast.AST, ast.AST]] = [(node, broken) for broken in _break_node(node)]
        if isinstance(test := getattr(node, "test", None), ast.expr):
            pairs.append((test, ast.UnaryOp(ast.Not(), test)))
        for old, new in pairs:
            words = [ast.unparse(part).splitlines()[0] for part in (old, new)]
            mutants.append(Mutant(path, line, _replace(text, old, ast.unparse(new)), " → ".join(words)))
    return mutants


def _break_node(node: ast.AST) -> Iterator[ast.AST]:
    broken = copy.deepcopy(node)
    match broken:
        case ast.Compare(ops=[op]) if type(op) in _OPPOSITES:
            broken.ops = [_OPPOSITES[type(op)]()]
            yield broken
        case ast.BoolOp() | ast.BinOp() if type(broken.op) in _OPPOSITES:
            broken.op = _OPPOSITES[type(broken.op)]()
            yield broken
        case ast.UnaryOp(op=ast.Not()):
            yield broken.operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1)
        case ast.Return(value=value) if value is not None and not (isinstance(value, ast.Constant) and not value.value):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.AugAssign() | ast.Delete():
            yield ast.Pass()
        case ast.Continue():
            yield ast.Pass()
        case ast.Break():
            yield ast.Continue()


def _replace(text: str, node: Any, new: str) -> str:
    """The text with other words for a node. Columns of a tree count bytes."""
    lines = text.encode().splitlines(keepends=True)
    before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    after = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
    is_part = isinstance(node, ast.expr) and not isinstance(node, ast.Constant)
    return (before + (f"({new})" if is_part else new).encode() + after).decode()


def draw_mutants(covered: dict[tuple[str, int], list[str]], number: int, seed: int) -> list[Mutant]:
    """One mutant for each of so many lines."""
    chance = random.Random(seed)
    places = sorted(covered)
    chance.shuffle(places)
    drawn: list[Mutant] = []
    for path, line in places:
        if len(drawn) == number:
            break
        if mutants := break_line(path, (ROOT / path).read_text(), line):
            drawn.append(chance.choice(mutants))
    return drawn


def kill_mutants(mutants: Sequence[Mutant], covered: dict[tuple[str, int], list[str]], folder: Path) -> list[Mutant]:
    """Those that no test turned red for."""
    source = folder / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    survivors = []
    for number, mutant in enumerate(mutants, 1):
        file = folder / mutant.path
        whole = file.read_text()
        file.write_text(mutant.text)
        tests = covered[mutant.path, mutant.line][:MOST_TESTS]
        is_red = run_tests(tests, source, {}, "-x", "-m", "") == 1
        file.write_text(whole)
        print(f"{number:3} {'red' if is_red else 'GREEN'}  {mutant.path}:{mutant.line}  {mutant.change}", flush=True)
        if not is_red:
            survivors.append(mutant)
    return survivors


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", required=True, help="a commit or tag")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lines", type=int, default=40, help="how many lines are broken")
    parser.add_argument("--least", type=float, default=0.95, help="the share that must turn red")
    parser.add_argument("tests", nargs="+", help="tests that may execute them")
    how = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="carob-mutation-") as name:
        folder = Path(name)
        covered = trace_tests(find_added(how.since), how.tests, folder)
        mutants = draw_mutants(covered, how.lines, how.seed)
        survivors = kill_mutants(mutants, covered, folder)
    red = len(mutants) - len(survivors)
    print(f"{red} of {len(mutants)} red, of {len(covered)} added lines that these tests execute (seed {how.seed})")
    return 0 if mutants and red >= how.least * len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
