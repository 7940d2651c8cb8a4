"""What every report says of a run as a whole: its verdict in words, what it lacks, how long it took."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from carob.errors import ExitCode
from carob.journal.views import RunView
from carob.model.run import Header, Summary
from carob.text.wording import percent, pluralize

DRAFT: Final = "this suite is a draft: read what it expects, then remove `draft: true` from it"

NO_RULE_TESTED: Final = "nothing triggered any rule of the suite, so that none of them was tested: exit code 5"
NAMED_CASES: Final = 10
"""So many cases that a guard saved or broke are named in a line."""
NAMED_RULES = 3
"""So many rules that were not tested are named in a line."""


def count_finished(summary: Summary) -> int:
    """How many cases came to an end, whatever end."""
    return summary.passed + summary.failed + summary.partial + summary.error + summary.skipped + summary.xfailed


def counts(summary: Summary) -> str:
    """`12 passed, 2 errors`: the passed, then every other outcome that occurred."""
    outcomes = {
        "failed": summary.failed,
        f"partial{_why_partial(summary)}": summary.partial,
        "error" if summary.error == 1 else "errors": summary.error,
        "known to fail": summary.xfailed,
        "skipped": summary.skipped,
    }
    others = summary.unjudged - (summary.criteria.unjudged if summary.criteria is not None else 0)
    unjudged = f"; {pluralize(others, 'expectation')} not judged" if others else ""
    said = f"; {criteria_words(summary)}" if summary.criteria is not None else ""
    return ", ".join([f"{summary.passed} passed", *_nonzero(outcomes)]) + unjudged + said + _format_untested(summary)


def criteria_words(summary: Summary) -> str:
    """`6 criteria: 3 by people, 2 by the judge, 1 not judged (the judge thinks: not met)`."""
    criteria = summary.criteria
    if criteria is None:
        return ""
    total = criteria.by_people + criteria.by_judge + criteria.unjudged
    thinks = ", ".join(_nonzero(criteria.thinks, of=criteria.unjudged))
    parts = {"by people": criteria.by_people, "by the judge": criteria.by_judge, "not judged": criteria.unjudged}
    shown = ", ".join(_nonzero(parts)) + (f" (the judge thinks: {thinks})" if thinks else "")
    if criteria.uncommitted:
        shown += f"; {criteria.uncommitted} of them by labels that are not committed"
    return f"{total} {'criterion' if total == 1 else 'criteria'}: {shown}"


def untested_words(summary: Summary) -> str:
    """Why a run in which nothing failed does not count as a success; empty: it does, or something failed."""
    is_reason = summary.exit_code(allow_partial=True, allow_unknown=True) is ExitCode.NOTHING_SELECTED
    return NO_RULE_TESTED if summary.is_untested and is_reason else ""


def _format_untested(summary: Summary) -> str:
    """The rules that nothing triggered, by name as far as a line has room."""
    names = summary.untested_rules
    if not names:
        return ""
    shown = ", ".join(names[:NAMED_RULES]) + (", ..." if len(names) > NAMED_RULES else "")
    return f"; {len(names)} of {pluralize(summary.rules, 'rule')} not tested ({shown})"


def _nonzero(counts: dict[str, int], of: int = 0) -> list[str]:
    """`3 failed`; the word alone where it is all there is `of` them."""
    return [word if count == of == 1 else f"{count} {word}" for word, count in counts.items() if count]


def _why_partial(summary: Summary) -> str:
    """What makes it PARTIAL instead of PASS, where that is more than a failed check above its threshold."""
    if not (summary.partial_unknown or summary.partial_unjudged):
        return ""
    causes = {
        "with a failed check": summary.partial_failed,
        "unknown": summary.partial_unknown,
        "not judged": summary.partial_unjudged,
    }
    return f" ({', '.join(_nonzero(causes))})"


def seconds_between(started: str, ended: str) -> float | None:
    """Seconds from one time to the other; None where the run did not end, or where one of them is not a time."""
    try:
        return max((datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds(), 0)
    except (ValueError, TypeError):
        return None


def seconds(run: RunView) -> float | None:
    """How long the run took."""
    return seconds_between(run.header.started_at, run.finished_at)


def count_planned(run: RunView) -> int:
    """How many cases the run was to have; the header counts each of their repeats."""
    return run.header.total // max(run.header.repeat, 1)


def draft_words(run: RunView) -> str:
    """What a run of a draft must say of itself; nothing for any other."""
    return DRAFT if run.header.draft is True else ""


def replay_words(header: Header) -> str:
    """What a run must say of itself that a tape answered for models and services; nothing for any other."""
    tape = header.options.get("tape") or {}
    if tape.get("mode", "record") == "record":
        return ""
    partly = "partly " if tape["mode"] == "extend" else ""
    digest = f" ({tape['sha256'][:12]})" if tape.get("sha256") else ""
    return f"{partly}replayed from the tape {tape.get('file', '')}{digest}"


def guard_words(summary: Summary) -> list[str]:
    """What a guard refused, and what came of that, a line each; none if it refused nothing."""
    guard = summary.guard
    if guard is None:
        return []
    rules = [f"{what} ({times})" if times > 1 else what for what, times in guard.by_rule.items()]
    refused = f"{pluralize(guard.calls, 'call')} in {pluralize(guard.cases, 'case')}: {_list_some(rules)}"
    lines = [f"the guard refused {refused}"]
    if not guard.compared:
        return [
            *lines,
            "with --baseline and a run without the guard, this says which cases it saved and which it broke",
        ]
    lines.append(f"wrongly blocked, they pass without the guard: {_list_some(guard.wrong) or 'none'}")
    lines.append(f"saved, they do not pass without the guard: {_list_some(guard.saved) or 'none'}")
    if lacking := guard.cases - guard.compared:
        lines.append(
            f"{pluralize(lacking, 'case')} of them cannot be compared: the baseline has none that asks the same"
        )
    return lines


def _list_some(names: Sequence[str]) -> str:
    """Names as far as a line has room."""
    more = f" and {len(names) - NAMED_CASES} more" if len(names) > NAMED_CASES else ""
    return f"{', '.join(names[:NAMED_CASES])}{more}"


def incomplete(run: RunView) -> str:
    """What is to be said of a run that lacks cases, else the empty string."""
    summary = run.summary
    why = summary.incomplete or ("interrupted" if summary.interrupted else "")
    if not why:
        return ""
    finished = summary.runs if summary.repeat > 1 else count_finished(summary)
    return f"INCOMPLETE: {finished} of {run.header.total} {'runs' if summary.repeat > 1 else 'cases'} finished ({why})"


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
