"""What every report says of a case and of a run, in one place."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from karat.checks.base import Check
from karat.checks.catalog import BUILT_IN, CheckCatalog
from karat.checks.combined import is_negated
from karat.journal.views import RunView
from karat.model.check import CheckSpec, Metric
from karat.model.run import CaseRecord, Summary
from karat.model.trace import SCRIPT, Trace
from karat.model.verdict import CaseStatus, CheckResult, Status
from karat.reports.escaping import last_lines
from karat.text.wording import percent, pluralize

if TYPE_CHECKING:
    from karat.journal.views import RecordSummary


class Judged(NamedTuple):
    """One judged check and where its suite asked for it."""

    label: str
    result: CheckResult


class Facts(NamedTuple):
    """The checks of a case that did not pass, one that broke among the unknown, and what another tool must judge."""

    failed: list[Judged]
    unknown: list[Judged]
    unjudged: list[Judged]


class Lacks(NamedTuple):
    """What the answer of a case lacks."""

    missing_sources: list[str]
    missing_numbers: list[str]
    missing_brief: list[str]


NOTHING_AMISS: Final = Facts([], [], [])
NOTHING_LACKS: Final = Lacks([], [], [])


SOURCES: Final[Metric] = "sources"
_NO_SOURCES: Final = frozenset(name for name, cls in BUILT_IN.items() if cls.metric != SOURCES)
DRAFT: Final = "this suite is a draft: read what it expects, then remove `draft: true` from it"
BROKEN: Final = (CaseStatus.FAIL, CaseStatus.PARTIAL, CaseStatus.ERROR)
"""What needs an explanation: neither passed, nor skipped, nor known to fail."""
PASSED: Final = Status.PASSED  # looked up once: an enum's members are slow to reach, and this is asked of every check


def facts(record: CaseRecord) -> Facts:
    """Sort the checks of a case that did not pass."""
    results = record.verdict.checks
    for result in results:
        if result.status is not PASSED:
            break
    else:
        return NOTHING_AMISS
    found = Facts([], [], [])
    lists = {Status.FAILED: found.failed, Status.UNJUDGED: found.unjudged}
    for (turn, spec), result in zip(record.case.all_checks, results, strict=False):
        if result.status is not PASSED:
            judged = Judged(label(turn, spec.path or result.name), result)
            lists.get(result.status, found.unknown).append(judged)
    return found


def lacks(record: CaseRecord, catalog: CheckCatalog) -> Lacks:
    """Name what the answer of a case lacks."""
    found = Lacks([], [], [])
    for (_, spec), result in zip(record.case.all_checks, record.verdict.checks, strict=False):
        if result.status is not PASSED:
            _miss(found, spec, catalog)
    return found


def label(turn: int | None, path: str) -> str:
    """Where a suite asked for a check, and of which turn: `turn 2: must_not_say[1]`."""
    return path if turn is None else f"turn {turn}: {path}"


def required_sources(record: CaseRecord, catalog: CheckCatalog) -> list[str]:
    """The sources that the answer was to draw on."""
    case = record.case
    specs = [spec for _, spec in case.all_checks] if case.turns else case.checks
    return [
        _lack(cls, spec)
        for spec in specs
        if spec.name not in _NO_SOURCES
        and (cls := catalog.find(spec.name))
        and cls.metric == SOURCES
        and not is_negated(spec)
    ]


def _miss(found: Lacks, spec: CheckSpec, catalog: CheckCatalog) -> None:
    cls = catalog.find(spec.name)
    if cls is None or cls.metric is None or is_negated(spec):
        return
    missing = {SOURCES: found.missing_sources, "numbers": found.missing_numbers, "brief": found.missing_brief}
    lack = _lack(cls, spec)
    if lack not in missing[cls.metric]:
        missing[cls.metric].append(lack)


def _lack(cls: type[Check], spec: CheckSpec) -> str:
    return cls.lack(msgspec.json.decode(spec.args))


def case_name(case_id: str, repeat: int) -> str:
    """The case's id, and which repeat of it this is."""
    return f"{case_id} #{repeat + 1}" if repeat else case_id


def reasons(record: CaseRecord) -> Iterator[str]:
    """Why a case came out as it did, and what broke if that is another story."""
    reason, error = record.verdict.reason, record.trace.error
    if reason:
        yield reason
    if error is not None and error.message not in reason:
        yield f"{error.kind}: {error.message}"
    script = record.trace.metadata.get(SCRIPT) if record.case.replies else None
    if isinstance(script, dict) and isinstance(ended := script.get("ended"), str):
        yield f"the scripted user stopped {ended}"


def log(record: CaseRecord) -> list[str]:
    """The end of the agent's output when it failed: escaped lines, none if nothing is known."""
    error = record.trace.error
    return last_lines(error.detail, error.message) if error is not None and error.detail else []


def describe_attempts(record: CaseRecord | RecordSummary) -> str:
    """` after 2 errors` to follow the status of a case that was tried again, else nothing."""
    return f" after {pluralize(len(record.attempts), 'error')}" if record.attempts else ""


def count_finished(summary: Summary) -> int:
    """How many cases came to an end, whatever end."""
    return summary.passed + summary.failed + summary.partial + summary.error + summary.skipped + summary.xfailed


def counts(summary: Summary) -> str:
    """`12 passed, 2 errors`: the passed, then every other outcome that occurred."""
    errors = "error" if summary.error == 1 else "errors"
    others = (
        (summary.failed, "failed"),
        (summary.partial, f"partial{_why_partial(summary)}"),
        (summary.error, errors),
        (summary.xfailed, "known to fail"),
        (summary.skipped, "skipped"),
    )
    unjudged = f"; {pluralize(summary.unjudged, 'expectation')} not judged" if summary.unjudged else ""
    return ", ".join([f"{summary.passed} passed", *(f"{count} {word}" for count, word in others if count)]) + unjudged


def _why_partial(summary: Summary) -> str:
    """What makes it PARTIAL instead of PASS, where that is more than a failed check above its threshold."""
    if not (summary.partial_unknown or summary.partial_unjudged):
        return ""
    each = (
        (summary.partial_failed, "with a failed check"),
        (summary.partial_unknown, "unknown"),
        (summary.partial_unjudged, "not judged"),
    )
    return f" ({', '.join(f'{count} {word}' for count, word in each if count)})"


def seconds(run: RunView) -> float | None:
    """How long the run took; nothing if it did not end, or if the times in the journal are not valid."""
    try:
        taken = datetime.fromisoformat(run.finished_at) - datetime.fromisoformat(run.header.started_at)
    except (ValueError, TypeError):
        return None
    return max(taken.total_seconds(), 0)


def tokens(trace: Trace) -> dict[str, int]:
    """The token counts that are known."""
    known = trace.tokens
    counts = {"input": known.input, "output": known.output} if known else {}
    return {name: count for name, count in counts.items() if count is not None}


def count_planned(run: RunView) -> int:
    """How many cases the run was to have; the header counts each of their repeats."""
    return run.header.total // max(run.header.repeat, 1)


def draft_words(run: RunView) -> str:
    """What a run of a draft must say of itself; nothing for any other."""
    return DRAFT if run.header.draft is True else ""


def incomplete(run: RunView) -> str:
    """What is to be said of a run that lacks cases, else the empty string."""
    summary = run.summary
    why = summary.incomplete or ("interrupted" if summary.interrupted else "")
    if not why:
        return ""
    done = f"{summary.runs} of {run.header.total} runs" if summary.repeat > 1 else ""
    return f"INCOMPLETE: {done or f'{count_finished(summary)} of {run.header.total} cases'} finished ({why})"


def repeats(summary: Summary) -> str:
    """What the repeats of cases add up to, else the empty string."""
    if summary.repeat == 1 or summary.pass_all is None or summary.pass_any is None:
        return ""
    count, fewest, most = summary.repeat, summary.fewest, summary.most
    if summary.saved or summary.undecided or fewest != count:
        return _describe_uneven(summary, str(most) if fewest == most else f"{fewest} to {most}")
    among = f"cases with all {count} runs" if summary.incomplete or summary.interrupted else "cases"
    always = f"{percent(summary.pass_all)} of {among} passed each time (pass^{count})"
    return f"{count} repeats: {always}, {percent(summary.pass_any)} at least once (pass@{count}), {summary.flaky} flaky"


def _describe_uneven(summary: Summary, each: str) -> str:
    """Cases that were run as often as they needed: no share of them is that of so many repeats each."""
    undecided = f"{summary.undecided} undecided after {summary.repeat} runs" if summary.undecided else "all decided"
    possible, is_auto = summary.runs + summary.saved, summary.saved or summary.undecided
    saved = f", {summary.saved} of {possible} saved ({summary.saved / possible:.0%}); {undecided}" if is_auto else ""
    return f"{summary.runs} runs, {each} of each case{saved}, {summary.flaky} flaky"
