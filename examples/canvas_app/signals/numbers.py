"""Numbers of each source, counted from its recorded events."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from canvas_app.catalog import ME, Source
from canvas_app.records import Event
from canvas_app.signals.windows import day_before, day_window, week_window

Numbers = Mapping[str, int]


def _of(events: Iterable[Event], kind: str, **wanted: object) -> list[Event]:
    return [
        event
        for event in events
        if event.kind == kind and all(event.data.get(key) == value for key, value in wanted.items())
    ]


def github_numbers(events: Iterable[Event], until: datetime) -> Numbers:
    events = list(events)
    commits = _of(events, "commit")
    today = day_window(until)
    return {
        "commits_today": len(today.within(commits)),
        "commits_yesterday": len(day_before(today).within(commits)),
        "commits_week": len(week_window(until).within(commits)),
        "my_commits_week": len(week_window(until).within(_of(commits, "commit", author=ME))),
        "open_pull_requests": len(_of(events, "pull_request", status="open")),
        "waiting_reviews": len(_of(events, "pull_request", status="open", review="waiting", reviewer=ME)),
        "merged_week": len(week_window(until).within(_of(events, "pull_request", status="merged"))),
        "open_issues": len(_of(events, "issue", status="open")),
        "open_bugs": len(_of(events, "issue", status="open", label="bug")),
    }


def slack_numbers(events: Iterable[Event], until: datetime) -> Numbers:
    messages = _of(events, "message")
    mentions = _of(messages, "message", mentions_me=True)
    today = day_window(until)
    return {
        "messages_today": len(today.within(messages)),
        "messages_yesterday": len(day_before(today).within(messages)),
        "messages_week": len(week_window(until).within(messages)),
        "mentions_today": len(today.within(mentions)),
        "mentions_yesterday": len(day_before(today).within(mentions)),
        "mentions_week": len(week_window(until).within(mentions)),
        "unanswered": len(_of(mentions, "message", answered=False)),
        "incidents_today": len(today.within(_of(messages, "message", topic="incident"))),
        "praise_today": len(today.within(_of(messages, "message", topic="praise"))),
    }


def posthog_numbers(events: Iterable[Event], until: datetime) -> Numbers:
    events = list(events)
    today = day_window(until)
    windows = {"today": today, "yesterday": day_before(today), "week": week_window(until)}
    numbers: dict[str, int] = {}
    for name in ("pageview", "signup", "checkout", "exception"):
        for label, window in windows.items():
            numbers[f"{name}s_{label}"] = sum(event.count() for event in window.within(_of(events, name)))
    return numbers


def vercel_numbers(events: Iterable[Event], until: datetime) -> Numbers:
    deployments = _of(events, "deployment")
    failed = _of(deployments, "deployment", status="error")
    today = day_window(until)
    return {
        "deployments_today": len(today.within(deployments)),
        "deployments_yesterday": len(day_before(today).within(deployments)),
        "deployments_week": len(week_window(until).within(deployments)),
        "failed_today": len(today.within(failed)),
        "failed_yesterday": len(day_before(today).within(failed)),
        "failed_week": len(week_window(until).within(failed)),
        "production_failed_today": len(today.within(_of(failed, "deployment", environment="production"))),
    }


COUNTERS: Mapping[Source, Callable[[Iterable[Event], datetime], Numbers]] = {
    Source.GITHUB: github_numbers,
    Source.SLACK: slack_numbers,
    Source.POSTHOG: posthog_numbers,
    Source.VERCEL: vercel_numbers,
}
