"""Signals that point in different directions, and which of them to go by."""

from collections.abc import Callable

from canvas_app.catalog import Source
from canvas_app.signals.report import Signals, State
from canvas_app.wording import age_text, change_text, counted, listed


def _busy_but_broken(signals: Signals) -> str | None:
    commits = signals.number(Source.GITHUB, "commits_today")
    failed = signals.number(Source.VERCEL, "production_failed_today")
    if not commits or not failed:
        return None
    return (
        f"GitHub shows {counted(commits, 'commit')} today, but Vercel shows "
        f"{counted(failed, 'failed production deployment')}: work is finished and does not reach customers. "
        "I go by Vercel, because it is what customers get."
    )


def _arriving_but_not_paying(signals: Signals) -> str | None:
    signups, signups_before = (signals.number(Source.POSTHOG, f"signups_{day}") for day in ("today", "yesterday"))
    paid, paid_before = (signals.number(Source.POSTHOG, f"checkouts_{day}") for day in ("today", "yesterday"))
    if not signups or not signups_before or paid is None or not paid_before:
        return None
    if signups * 10 < signups_before * 11 or paid * 10 > paid_before * 9:
        return None
    return (
        f"PostHog signups are {change_text(signups, signups_before)} ({signups} against {signups_before}), "
        f"but checkouts are {change_text(paid, paid_before)} ({paid} against {paid_before}): "
        "more people come and fewer can pay. "
        "I go by the checkouts, because interest that cannot pay is lost."
    )


def _cheerful_but_failing(signals: Signals) -> str | None:
    praise = signals.number(Source.SLACK, "praise_today") or 0
    now, before = (signals.number(Source.POSTHOG, f"exceptions_{day}") for day in ("today", "yesterday"))
    if praise < 3 or now is None or before is None or now * 5 < before * 6:
        return None
    return (
        f"Slack sounds glad ({counted(praise, 'message')} of praise today), but PostHog counts "
        f"{counted(now, 'exception')} against {before} yesterday. "
        "I go by the counted exceptions, because a mood follows the news and not the errors."
    )


def _green_but_failing(signals: Signals) -> str | None:
    failed = signals.number(Source.VERCEL, "failed_today")
    now, before = (signals.number(Source.POSTHOG, f"exceptions_{day}") for day in ("today", "yesterday"))
    if failed != 0 or now is None or before is None or now * 5 < before * 6:
        return None
    return (
        f"Vercel deployed without a failure, but PostHog counts {counted(now, 'exception')} "
        f"against {before} yesterday. "
        "I go by PostHog, because a deployment can succeed and still be wrong."
    )


def _stale_against_fresh(signals: Signals) -> str | None:
    stale = [report for report in signals.reports if report.state is State.STALE and report.age_minutes is not None]
    if not stale or not signals.fresh:
        return None
    old = listed(f"{report.name} ({age_text(report.age_minutes or 0)})" for report in stale)
    new = listed(f"{report.name} ({age_text(report.age_minutes or 0)})" for report in signals.fresh)
    return f"{old} may be stale, while {new} can be trusted. Where they differ I go by the fresh ones."


def _silent_but_busy(signals: Signals) -> str | None:
    slack = signals.of(Source.SLACK)
    commits = signals.number(Source.GITHUB, "commits_today")
    if slack is None or slack.state is not State.EMPTY or not commits:
        return None
    return (
        f"GitHub shows {counted(commits, 'commit')} today, but Slack shows nothing this week: "
        "people work and do not write about it, or the channel is the wrong one. Silence is no sign of calm."
    )


FINDERS: tuple[Callable[[Signals], str | None], ...] = (
    _busy_but_broken,
    _arriving_but_not_paying,
    _cheerful_but_failing,
    _green_but_failing,
    _stale_against_fresh,
    _silent_but_busy,
)


def conflicts_in(signals: Signals) -> list[str]:
    return [found for finder in FINDERS if (found := finder(signals)) is not None]
