"""Golden cases with a language model in the agent: what it chose, what held, how long it took."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import msgspec
from golden_report import RULE, SECTIONS, refused, show
from msgspec import structs

import carob
from carob.engine.events import CaseFinished, Event
from carob.plugins.project import find_project
from carob.targets.config import TargetConfig, read_config

SECONDS_PER_CASE = 300.0


def main(sets: Path, count: int) -> int:
    """Run that many cases, taken evenly from all sets; 0 if every one was judged, else 1."""
    try:
        records = asyncio.run(run(sets, count))
    except carob.CarobError as error:
        return refused(error)
    print(f"\n{RULE}\nSUMMARY\n{RULE}\n{summary(records)}")
    return 1 if any(record.verdict.status is carob.CaseStatus.ERROR for record in records) else 0


async def run(sets: Path, count: int) -> list[carob.CaseRecord]:
    """The records of all sections. One event loop for all: the model's client does not outlive its loop."""
    suites = [(kind, carob.load_suite(sets / name)) for kind, name in SECTIONS]
    target = with_language_model(read_config(find_project()).targets["dyno"])
    chosen = spread([(kind, case) for kind, suite in suites for case in suite.cases], count)
    records: list[carob.CaseRecord] = []
    for number, (kind, suite) in enumerate(suites):
        cases = tuple(case for of, case in chosen if of == kind)
        if cases:
            print(("\n" if number else "") + f"{RULE}\nRUNNING {kind.upper()} TESTS WITH A LANGUAGE MODEL\n{RULE}")
            part = structs.replace(suite, cases=cases)
            listen = [lambda event, kind=kind: show_choice(event, kind)]
            result = await carob.arun(part, target, listeners=listen, results_dir=Path("carob-results"))
            records += result.records
    return records


def with_language_model(target: TargetConfig) -> TargetConfig:
    """The same agent, driven by the model that is served in this process."""
    return structs.replace(target, env={**target.env, "DYNO_MODEL": "local"}, timeout=SECONDS_PER_CASE)


def spread(cases: Sequence[tuple[str, carob.Case]], count: int) -> list[tuple[str, carob.Case]]:
    """That many cases, evenly over the whole list."""
    count = min(count, len(cases))
    return [cases[(2 * place + 1) * len(cases) // (2 * count)] for place in range(count)]


def show_choice(event: Event, kind: str) -> None:
    """The lines of a finished case, and what the model chose."""
    show(event, kind)
    if isinstance(event, CaseFinished):
        wanted, chosen = wanted_tools(event.record.case), chosen_tools(event.record)
        seconds = event.done.duration_ms / 1000
        print(f"  {seconds:.1f} s, tools: {', '.join(chosen) or 'none'} (wanted: {', '.join(wanted) or 'none'})")


def summary(records: Sequence[carob.CaseRecord]) -> str:
    """The figures of the run, as measured."""
    judged = [r for r in records if r.verdict.status is not carob.CaseStatus.ERROR]
    passed = sum(r.verdict.status is carob.CaseStatus.PASS for r in judged)
    right = sum(sorted(chosen_tools(r)) == sorted(wanted_tools(r.case)) for r in judged)
    calling = [r for r in judged if wanted_tools(r.case)]
    called = sum(sorted(chosen_tools(r)) == sorted(wanted_tools(r.case)) for r in calling)
    seconds = [record.duration_ms / 1000 for record in records]
    return "\n".join(
        (
            f"Judged:          {len(judged)} of {len(records)}",
            f"Pass rate:       {_share(passed, len(judged))}",
            f"Right tools:     {_share(right, len(judged))}",
            f"  where needed:  {_share(called, len(calling))}",
            f"Seconds a case:  {fmean(seconds):.1f} on average, {max(seconds):.1f} at most",
        )
    )


def wanted_tools(case: carob.Case) -> list[str]:
    for spec in case.checks:
        if spec.name == "tools_used":
            return list(msgspec.json.decode(spec.args)["tools"])
    return []


def chosen_tools(record: carob.CaseRecord) -> list[str]:
    return [call.name for call in record.trace.tool_calls]


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "none"
