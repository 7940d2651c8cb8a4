"""A source's numbers in words, one line each, with the age of the numbers."""

from collections.abc import Callable, Mapping

from canvas_app.catalog import Source
from canvas_app.signals.report import SourceReport, State
from canvas_app.wording import age_text, counted

NOTHING_SEEN: Mapping[Source, str] = {
    Source.GITHUB: "0 commits, pull requests or issues this week",
    Source.SLACK: "0 messages this week",
    Source.POSTHOG: "0 events this week",
    Source.VERCEL: "0 deployments this week",
}


def _github(numbers: Mapping[str, int], day: str, before: str) -> str:
    return (
        f"{counted(numbers['commits_today'], 'commit')} {day} ({numbers['commits_yesterday']} {before}), "
        f"{numbers['commits_week']} this week; "
        f"{counted(numbers['waiting_reviews'], 'pull request')} waiting for your review; "
        f"{counted(numbers['open_bugs'], 'open bug')}"
    )


def _slack(numbers: Mapping[str, int], day: str, before: str) -> str:
    return (
        f"{counted(numbers['mentions_today'], 'mention')} of you {day} ({numbers['mentions_yesterday']} {before}), "
        f"{numbers['unanswered']} unanswered; {counted(numbers['messages_today'], 'message')} {day}, "
        f"{numbers['incidents_today']} about incidents"
    )


def _posthog(numbers: Mapping[str, int], day: str, before: str) -> str:
    return (
        f"{counted(numbers['signups_today'], 'signup')} {day} ({numbers['signups_yesterday']:,} {before}), "
        f"{counted(numbers['checkouts_today'], 'checkout')} ({numbers['checkouts_yesterday']:,} {before}), "
        f"{counted(numbers['exceptions_today'], 'exception')} ({numbers['exceptions_yesterday']:,} {before}), "
        f"{counted(numbers['pageviews_today'], 'pageview')}"
    )


def _vercel(numbers: Mapping[str, int], day: str, before: str) -> str:
    return (
        f"{counted(numbers['deployments_today'], 'deployment')} {day} ({numbers['deployments_yesterday']} {before}), "
        f"{numbers['failed_today']} failed, {numbers['production_failed_today']} of them in production"
    )


_WORDERS: Mapping[Source, Callable[[Mapping[str, int], str, str], str]] = {
    Source.GITHUB: _github,
    Source.SLACK: _slack,
    Source.POSTHOG: _posthog,
    Source.VERCEL: _vercel,
}


def fact(report: SourceReport) -> str:
    """What the source says, without its name: the numbers and their age, or why there are none."""
    if report.state is State.OFF:
        return "switched off in this space, no data"
    if report.state is State.EXCLUDED:
        return "left out by your rule"
    if report.age_minutes is None:
        return "never synced, no data"
    age = age_text(report.age_minutes)
    if report.state is State.EMPTY:
        return f"{NOTHING_SEEN[report.source]} ({age})"
    worder = _WORDERS[report.source]
    if report.state is State.STALE:
        return f"{worder(report.numbers, 'on its last day', 'the day before')} ({age}, stale)"
    return f"{worder(report.numbers, 'today', 'yesterday')} ({age})"


def fact_line(report: SourceReport) -> str:
    return f"{report.name}: {fact(report)}"


def assumption(report: SourceReport) -> str:
    """What has to be assumed because the source is not fresh."""
    if report.state is State.OFF:
        return f"{report.name} is switched off in this space, so nothing it would show is counted."
    if report.state is State.EXCLUDED:
        return f"{report.name} is left out by your rule, so nothing it shows is counted."
    if report.state is State.EMPTY or report.age_minutes is None:
        return f"{report.name} has no data this week; I take that as quiet and cannot verify it."
    return (
        f"{report.name} was last synced {age_text(report.age_minutes)}; its numbers may be stale "
        f"and do not count towards the conclusion."
    )
