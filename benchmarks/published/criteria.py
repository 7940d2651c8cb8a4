"""What a team can decide of public suites: by checks alone, and with criteria that people label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from carob.engine.rescoring import load_file
from carob.errors import CarobError
from carob.model.suite import MEETS, UNJUDGED
from carob.plugins.project import Project

NAMES = ("promptfooconfig*.y*ml", "promptfooconfig*.json", "evals.json")


class Decidable(NamedTuple):
    """The expectations of some files: `checks` are judged by Carob alone, `criteria` by people, the rest not at all."""

    files: int
    refused: int
    cases: int
    checks: int
    criteria: int
    unjudged: int

    def __str__(self) -> str:
        total = max(self.checks + self.criteria + self.unjudged, 1)
        before, after = self.checks / total, (self.checks + self.criteria) / total
        return (
            f"{self.files} files ({self.refused} refused), {self.cases} cases, {total} expectations: {self.checks} "
            f"checks, {self.criteria} criteria, {self.unjudged} not judged. Decidable before {before:.1%}, "
            f"with people's labels {after:.1%}"
        )


def find_suites(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted({path for name in NAMES for path in folder.rglob(name)})


def count(files: Iterable[Path]) -> Decidable:
    """Read all files that can be read; a file that is refused is counted, and nothing of it."""
    names: Counter[str] = Counter()
    read = refused = cases = 0
    for path in files:
        try:
            suite = load_file(path, Project())
        except CarobError:
            refused += 1
            continue
        read, cases = read + 1, cases + len(suite.cases)
        names.update(spec.name for case in suite.cases for _, spec in case.all_checks)
    criteria, unjudged = names.pop(MEETS, 0), names.pop(UNJUDGED, 0)
    return Decidable(read, refused, cases, names.total(), criteria, unjudged)
