"""`python -m benchmarks.published.drafts CLONE`: a draft from rewarded trajectories of tau-bench judges the others."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from benchmarks.published.tau_bench import published_file
from carob.checks.catalog import catalog_for
from carob.features.draft.draft import DraftOptions
from carob.features.draft.drafting import draft_from_traces
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.model.verdict import Status
from carob.plugins.project import find_project
from carob.scoring import verdicts
from carob.suites.reading import read_suite
from carob.targets.recordings.exports import ExportedTraces


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.published.drafts", description=__doc__)
    parser.add_argument("clone", type=Path, help="a clone of tau-bench")
    parser.add_argument("--model", default="gpt-4o")
    parser.add_argument("--domain", default="airline")
    given = parser.parse_args(arguments)
    path = published_file(given.clone, given.model, given.domain)
    rewards = [run["reward"] == 1 for run in json.loads(path.read_text("utf-8"))]
    traces = [*ExportedTraces(str(path))]
    assert len(traces) == len(rewards)
    learned, rest = _split(traces, rewards)
    catalog = catalog_for(find_project())
    draft = draft_from_traces(learned, catalog, DraftOptions(max_cases=200))
    cases = {case.id: case for case in read_suite(draft.yaml.encode(), "draft.yaml", catalog).cases}
    counts: Counter[tuple[bool, bool]] = Counter()
    blamed: Counter[str] = Counter()
    for trace, rewarded in rest:
        if (case := cases.get(trace.case_id)) is None:
            continue
        bad = _failing(case, trace, catalog)
        counts[not bad, rewarded] += 1
        blamed.update({name.partition("[")[0] for name in bad} if not rewarded else ())
    print(draft.yaml.split("carob: 1")[0])
    print(f"trajectories: {len(traces)}, rewarded {sum(rewards)}; learned from {len(learned)}, judged {counts.total()}")
    _show("a failure of the draft as a sign that there was no reward", counts)
    print("what caught those without reward:", blamed.most_common(8))
    return 0


def _split(traces: list[Trace], rewards: list[bool]) -> tuple[list[Trace], list[tuple[Trace, bool]]]:
    """Of each task, the rewarded trials but the last are learned from; all others are judged."""
    trials: dict[str, list[int]] = defaultdict(list)
    for index, trace in enumerate(traces):
        if rewards[index]:
            trials[trace.case_id].append(index)
    known = {index for indexes in trials.values() for index in (indexes[:-1] or indexes)}
    rest = [(trace, rewards[index]) for index, trace in enumerate(traces) if index not in known]
    return [traces[index] for index in sorted(known)], rest


def _failing(case: Case, trace: Trace, catalog: object) -> list[str]:
    """The lines that a conversation fails; the words of its user are its own."""
    if trace.error is not None:
        return ["error"]
    whole: Case = structs.replace(case, turns=())
    results = verdicts.case_results(whole, trace, catalog)  # type: ignore[arg-type]  # a CheckCatalog
    return [spec.path for spec, result in zip(whole.checks, results, strict=True) if result.status is Status.FAILED]


def _show(what: str, counts: Counter[tuple[bool, bool]]) -> None:
    right, wrong = counts[False, False], counts[False, True]
    missed, fine = counts[True, False], counts[True, True]
    print(f"{what}: precision {right / max(right + wrong, 1):.2f} ({right} of {right + wrong}), ", end="")
    print(f"recall {right / max(right + missed, 1):.2f} ({right} of {right + missed});")
    print(f"rewarded ones that pass: {fine} of {fine + wrong}")


if __name__ == "__main__":
    sys.exit(main())
