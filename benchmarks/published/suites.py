"""`python -m benchmarks.published.suites --from FOLDER`: what Carob reads of the suites of other tools.

FOLDER holds files of public repositories, a folder per repository; nothing of them is kept here. Per file: whether it
is read, its cases, its expectations that are judged, not judged by nature, and not understood, each of these with the
reason. The exit code is 1 if more than 3 % of the deterministic expectations are not understood.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

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
    return Survey(
        name, found.name, len(parsed.cases), kinds.total() - kinds[UNJUDGED], kinds[UNJUDGED], problems, kinds
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="folder", type=Path, required=True, help="A folder per public repository.")
    parser.add_argument("--formats", nargs="*", help="Only these formats.")
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
    return int(share > MOST_NOT_UNDERSTOOD)


if __name__ == "__main__":
    sys.exit(main())
