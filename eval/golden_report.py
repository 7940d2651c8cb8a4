"""The golden runner's report: sections, a mark per case, the reasons of failures, a summary."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

import carob
from carob.engine.events import CaseFinished, Event
from carob.model.check import CheckSpec
from carob.reports.escaping import terminal

RULE = "=" * 70
SECTIONS = (("decision", "agent_decisions_v1.0.0.json"), ("qa", "agent_qa_v1.0.0.json"))


def main(sets: Path, target: str = "dyno") -> int:
    """Run every set; 0 if all cases passed, else 1."""
    passed = failed = 0
    for number, (kind, name) in enumerate(SECTIONS):
        say(("\n" if number else "") + f"{RULE}\nRUNNING {kind.upper()} TESTS\n{RULE}")
        try:
            result = carob.run(
                sets / name, target, results_dir=Path("carob-results"), listeners=[lambda e, k=kind: show(e, k)]
            )
        except carob.CarobError as error:
            return refused(error)
        summary = result.summary
        passed += summary.passed
        failed += summary.total - summary.passed
    say(f"\n{RULE}\nSUMMARY\n{RULE}\nPassed: {passed}\nFailed: {failed}\nTotal:  {passed + failed}\n")
    say(f"✗ {failed} test(s) failed" if failed else "✓ All tests passed")
    return 1 if failed else 0


def refused(error: carob.CarobError) -> int:
    """A run that could not be made, in one line."""
    print(terminal(str(error), 1_000), file=sys.stderr)
    return 1


def say(line: str) -> None:
    """Print a line at once; if nobody listens any more, the run goes on all the same."""
    try:
        print(line, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show(event: Event, kind: str) -> None:
    """One line for a case that finished, and why it did not pass."""
    if not isinstance(event, CaseFinished):
        return
    status = event.done.status
    good = status is carob.CaseStatus.PASS
    say(f"{'✓' if good else '✗'} {status.value} [{kind}] {terminal(event.item.case.id)}")
    if not good:
        for reason in reasons(event.record):
            say(f"  • {terminal(reason, 300)}")


def reasons(record: carob.CaseRecord) -> list[str]:
    """Why a case did not pass: its error, or a line for each check that does not hold."""
    if record.trace.error is not None:
        return [f"Error: {record.trace.error.message}"]
    pairs = zip(record.case.checks, record.verdict.checks, strict=True)
    return [_reason(spec, result) for spec, result in pairs if result.status is not carob.Status.PASSED]


def _reason(spec: CheckSpec, result: carob.CheckResult) -> str:
    args = msgspec.json.decode(spec.args)
    if result.status is carob.Status.FAILED:
        if spec.name in ("reason_contains", "expected_contains"):
            return f"Expected substring {args['phrase']!r} not found in response"
        if spec.name == "must_not_contain":
            return f"Forbidden substring {args['phrase']!r} found in response"
        if spec.name == "tools_used":
            return f"Expected tools {args['tools']}, called: {result.found}"
        if spec.name == "database":
            rows = msgspec.json.encode(args["rows"]).decode()
            return f"Expected rows {rows} in the database, found {result.found} by {args['sql']}"
        if spec.name == "allocation_valid":
            return f"Expected allocation_valid={args['valid']}, found {result.found!r} in response"
    if result.status is carob.Status.UNKNOWN:
        return f"Unknown {result.name}: {result.found}"
    return f"Expected {result.name} {result.expected}, found {result.found}"
