"""What a team can decide of public suites: by checks alone, and with criteria that people label.

Each case is also judged on one plain answer: without labels it comes to what it came to when the same expectations were
only reported as not judged, and no label makes a case green in which another check failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from carob.checks.catalog import catalog_for
from carob.engine.rescoring import load_file
from carob.errors import CarobError
from carob.model.suite import MEETS, UNJUDGED, Case
from carob.model.trace import Trace
from carob.model.verdict import CaseStatus, CheckResult, Status
from carob.plugins.project import Project
from carob.scoring.verdicts import case_results, case_verdict

ANSWER = "I have looked into it, and here is what I found."
NAMES = ("promptfooconfig*.y*ml", "promptfooconfig*.json", "evals.json")


class Decidable(NamedTuple):
    """The expectations of some files: `checks` are judged by Carob alone, `criteria` by people, the rest not at all."""

    files: int
    refused: int
    cases: int
    checks: int
    criteria: int
    unjudged: int
    differing: int
    """Cases whose verdict without labels is another than with the criteria not judged."""
    failed: int
    excused: int
    """Cases in which another check failed, and those of them that some label makes pass."""

    def __str__(self) -> str:
        total = self.checks + self.criteria + self.unjudged
        before, after = (count / max(total, 1) for count in (self.checks, self.checks + self.criteria))
        return (
            f"{self.files} files ({self.refused} refused), {self.cases} cases, {total} expectations: {self.checks} "
            f"checks, {self.criteria} criteria, {self.unjudged} not judged. Decidable before {before:.1%}, "
            f"with people's labels {after:.1%}. {self.differing} verdicts differ without labels; "
            f"of {self.failed} cases with a failed check {self.excused} pass by a label"
        )


def find_suites(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted({path for name in NAMES for path in folder.rglob(name)})


def count(files: Iterable[Path]) -> Decidable:
    """Read all files that can be read; a file that is refused is counted, and nothing of it."""
    names: Counter[str] = Counter()
    read = refused = cases = 0
    differences = [0, 0, 0]
    for path in files:
        try:
            suite = load_file(path, Project())
        except CarobError:
            refused += 1
            continue
        read, cases = read + 1, cases + len(suite.cases)
        differences = [before + now for before, now in zip(differences, _differences(suite.cases), strict=True)]
        names.update(spec.name for case in suite.cases for _, spec in case.all_checks)
    criteria, unjudged = names.pop(MEETS, 0), names.pop(UNJUDGED, 0)
    return Decidable(read, refused, cases, names.total(), criteria, unjudged, *differences)


def _differences(cases: Iterable[Case]) -> list[int]:
    found = [_judge(case) for case in cases]
    return [sum(each[number] for each in found) for number in range(3)]


def _is_criterion(result: CheckResult) -> bool:
    return result.name == MEETS


def _answered(case_id: str, prompt: str) -> Trace:
    return Trace(case_id=case_id, input=prompt, final_message=ANSWER, tool_calls=())


def _judge(case: Case) -> tuple[bool, bool, bool]:
    """Whether its verdict differs without labels, whether another check failed, and whether a label excuses that."""
    turns = tuple(_answered(case.id, turn.prompt) for turn in case.turns)
    trace = replace(_answered(case.id, case.prompt), turns=turns)
    results = case_results(case, trace, catalog_for(Project()))
    if not any(map(_is_criterion, results)):
        return False, False, False

    def status(**change: object) -> CaseStatus:
        changed = [replace(result, **change) if _is_criterion(result) else result for result in results]
        return case_verdict(case, tuple(changed), trace.error).status

    failed = any(result.status is Status.FAILED for result in results)
    labelled = {status(status=decided) for decided in (Status.PASSED, Status.FAILED, Status.UNJUDGED)}
    return status() is not status(name=UNJUDGED, reading=None), failed, failed and CaseStatus.PASS in labelled
