"""`python -m benchmarks.published.suites --from FOLDER`: what Carob reads of the suites of other tools.

FOLDER holds files of public repositories, a folder per repository; nothing of them is kept here. Per file: whether it
is read, its cases, its expectations that are judged, not judged by nature, and not understood, each of these with the
reason. With `--mutate N` N copies are read as well, each with one value replaced by another: each must be read or
refused. The exit code is 1 if more than 3 % of the deterministic expectations are not understood, or a reader broke.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from carob.checks.catalog import catalog_for
from carob.errors import CarobError
from carob.model.suite import UNJUDGED
from carob.plugins.project import Project
from carob.suites.diagnostics import PathDiagnostic, RefusedError
from carob.suites.formats.base import Format, SuiteFile

MOST_NOT_UNDERSTOOD = 0.03
SUFFIXES = (".yaml", ".yml", ".json")


class Survey(NamedTuple):
    """What was read of one file."""

    file: str
    format: str
    cases: int
    judged: int
    unjudged: int
    problems: Sequence[PathDiagnostic]
    kinds: Counter[str]
    reasons: Mapping[str, int] = MappingProxyType({})
    """What is not judged, by its kind and why."""

    @property
    def misfits(self) -> int:
        """Expectations that are not understood: what is wrong with the file besides is not counted as one."""
        return sum(_is_expectation(one) for one in self.problems)

    @property
    def line(self) -> str:
        state = "read" if not self.problems else "refused"
        figures = f"{self.cases:>6} {self.judged:>7} {self.unjudged:>9} {self.misfits:>15}"
        return f"{state:<8}{self.format:<10}{figures}  {self.file}"


def _is_expectation(problem: PathDiagnostic) -> bool:
    """Whether it is an expectation that was not understood, not a file that is missing, code, or empty."""
    return problem.slug in ("invalid-value", "bad-regex", "bad-schema", "unknown-check", "unknown-argument")


def surveys(folder: Path, formats: Sequence[Format]) -> Iterator[Survey]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file():
            file = SuiteFile(path.read_bytes(), str(path), locate=True)
            try:
                found = next((one for one in formats if one.recognizes(file)), None)
            except RefusedError:
                continue
            if found is not None and found.name not in ("carob-1", "eval-set", "golden"):
                yield survey(found, file, str(path.relative_to(folder)))


def survey(found: Format, file: SuiteFile, name: str) -> Survey:
    catalog = catalog_for(Project())
    try:
        parsed = found.read(file, catalog)
    except (RefusedError, CarobError) as error:
        problems = error.diagnostics if isinstance(error, RefusedError) else (PathDiagnostic((), str(error), "error"),)
        return Survey(name, found.name, 0, 0, 0, problems, Counter())
    specs = [spec for case in parsed.cases for _, spec in case.all_checks]
    kinds = Counter(spec.name for spec in specs)
    problems = [*parsed.diagnostics, *file.document.diagnostics]
    what = (msgspec.json.decode(spec.args)["what"] for spec in specs if spec.name == UNJUDGED)
    reasons = Counter(" ".join(text.partition(")")[0].split())[:90] for text in what)
    judged = kinds.total() - kinds[UNJUDGED]
    return Survey(name, found.name, len(parsed.cases), judged, kinds[UNJUDGED], problems, kinds, reasons)


OTHERS: Sequence[Any] = (None, True, -1, 1e308, "", "\x00{{", [], {}, [[{}]], {"type": {}}, "file://none/*.yaml")


def mutants(folder: Path, formats: Sequence[Format], count: int, seed: int = 7) -> int:
    """How many of so many files with one wrong value break their reader, instead of being read or refused."""
    chance, broken = random.Random(seed), 0
    trees = [(one, path, tree) for path in sorted(folder.rglob("*")) for one, tree in _trees(path, formats)]
    for number in range(count if trees else 0):
        found, path, tree = chance.choice(trees)
        changed = deepcopy(tree)
        holder: Any = changed
        while True:
            keys = list(holder) if isinstance(holder, dict) else range(len(holder))
            key = chance.choice(list(keys))
            if not isinstance(holder[key], dict | list) or not holder[key] or chance.random() < 0.15:
                break
            holder = holder[key]
        holder[key] = chance.choice(OTHERS)
        file = SuiteFile(json.dumps(changed).encode(), str(path.with_suffix(".json")))
        try:
            if found.recognizes(file):
                survey(found, file, str(path))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
            broken += 1
            print(f"mutant {number} of {path}: {type(error).__name__}: {error}")
    return broken


def _trees(path: Path, formats: Sequence[Format]) -> Iterator[tuple[Format, Any]]:
    if path.suffix not in SUFFIXES or not path.is_file():
        return
    file = SuiteFile(path.read_bytes(), str(path))
    try:
        found = next((one for one in formats if one.recognizes(file)), None)
        tree = json.loads(json.dumps(file.tree, default=str))
    except (RefusedError, TypeError, ValueError):
        return
    if found is not None and found.name not in ("carob-1", "eval-set", "golden") and tree:
        yield found, tree


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="folder", type=Path, required=True, help="A folder per public repository.")
    parser.add_argument("--formats", nargs="*", help="Only these formats.")
    parser.add_argument("--mutate", type=int, default=0, metavar="N", help="Read N files with a wrong value, too.")
    parser.add_argument("--problems", action="store_true", help="Show every problem of every file.")
    given = parser.parse_args(arguments)
    formats = [one for one in catalog_for(Project()).formats if not given.formats or one.name in given.formats]
    print(f"{'':<8}{'format':<10}{'cases':>6} {'judged':>7} {'by nature':>9} {'not understood':>15}  file")
    found = []
    for one in surveys(given.folder, formats):
        found.append(one)
        print(one.line)
        for problem in one.problems[: None if given.problems else 1]:
            print(f"{'':<18}{'.'.join(map(str, problem.path))}: {problem.message[:200]} [{problem.slug}]")
    if given.mutate:
        broken = mutants(given.folder, formats, given.mutate)
        print(f"\n{given.mutate:,} files with a wrong value: {broken} broke their reader")
        return _total(found) or int(broken > 0)
    return _total(found)


def _total(found: Sequence[Survey]) -> int:
    judged, misfits = sum(one.judged for one in found), sum(one.misfits for one in found)
    repositories = {one.file.split("/")[0] for one in found}
    unjudged, read = sum(one.unjudged for one in found), sum(not one.problems for one in found)
    share = misfits / max(judged + misfits, 1)
    print(f"\n{len(found)} files of {len(repositories)} repositories, {read} read, {len(found) - read} refused")
    print(f"{sum(one.cases for one in found):,} cases; {judged:,} expectations judged,")
    print(f"{unjudged:,} not judged by nature,")
    print(f"{misfits:,} not understood ({share:.1%} of the deterministic ones)")
    kinds: Counter[str] = sum((one.kinds for one in found), Counter())
    print(", ".join(f"{name} {count:,}" for name, count in kinds.most_common()))
    reasons: Counter[str] = sum((Counter(one.reasons) for one in found), Counter())
    for reason, count in reasons.most_common():
        print(f"not judged {count:>7,}  {reason}")
    return int(share > MOST_NOT_UNDERSTOOD)


if __name__ == "__main__":
    sys.exit(main())
