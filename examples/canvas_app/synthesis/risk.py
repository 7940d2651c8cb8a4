"""A risk score from 0 to 100, with the reasons that add up to it."""

from collections.abc import Callable
from dataclasses import dataclass

from canvas_app.catalog import Source
from canvas_app.signals.report import Signals
from canvas_app.wording import counted

POINTS_PER_BLIND_SPOT = 5


@dataclass(frozen=True, slots=True)
class Reason:
    points: int
    text: str


def _production(signals: Signals) -> Reason:
    failed = signals.number(Source.VERCEL, "production_failed_today") or 0
    return Reason(min(25, 10 * failed), f"Vercel: {counted(failed, 'failed production deployment')} today")


def _previews(signals: Signals) -> Reason:
    failed = signals.number(Source.VERCEL, "failed_today") or 0
    previews = failed - (signals.number(Source.VERCEL, "production_failed_today") or 0)
    return Reason(min(6, 2 * previews), f"Vercel: {counted(previews, 'failed preview deployment')} today")


def _exceptions(signals: Signals) -> Reason:
    now = signals.number(Source.POSTHOG, "exceptions_today") or 0
    before = signals.number(Source.POSTHOG, "exceptions_yesterday") or 0
    rise = max(0, now - before) * 100 // max(before, 1)
    return Reason(min(15, rise // 10), f"PostHog: {counted(now, 'exception')} today against {before} yesterday")


def _checkouts(signals: Signals) -> Reason:
    now = signals.number(Source.POSTHOG, "checkouts_today") or 0
    before = signals.number(Source.POSTHOG, "checkouts_yesterday") or 0
    fall = max(0, before - now) * 100 // max(before, 1)
    return Reason(min(12, fall // 3), f"PostHog: {counted(now, 'checkout')} today against {before} yesterday")


def _unanswered(signals: Signals) -> Reason:
    unanswered = signals.number(Source.SLACK, "unanswered") or 0
    return Reason(min(10, 2 * unanswered), f"Slack: {counted(unanswered, 'unanswered mention')}")


def _incidents(signals: Signals) -> Reason:
    incidents = signals.number(Source.SLACK, "incidents_today") or 0
    return Reason(min(9, 3 * incidents), f"Slack: {counted(incidents, 'message')} about incidents today")


def _reviews(signals: Signals) -> Reason:
    waiting = signals.number(Source.GITHUB, "waiting_reviews") or 0
    return Reason(min(5, waiting), f"GitHub: {counted(waiting, 'pull request')} waiting for your review")


def _bugs(signals: Signals) -> Reason:
    bugs = signals.number(Source.GITHUB, "open_bugs") or 0
    return Reason(min(5, bugs), f"GitHub: {counted(bugs, 'open bug')}")


def _blind_spots(signals: Signals) -> Reason:
    missing = [report.name for report in signals.doubtful]
    return Reason(POINTS_PER_BLIND_SPOT * len(missing), f"no fresh data from {', '.join(missing)}")


WEIGHERS: tuple[Callable[[Signals], Reason], ...] = (
    _production,
    _previews,
    _exceptions,
    _checkouts,
    _unanswered,
    _incidents,
    _reviews,
    _bugs,
    _blind_spots,
)


def risk_reasons(signals: Signals) -> list[Reason]:
    """What adds to the risk, the weightiest first."""
    reasons = [weigh(signals) for weigh in WEIGHERS]
    return sorted((reason for reason in reasons if reason.points), key=lambda reason: -reason.points)


def risk_score(signals: Signals) -> int | None:
    """The score, or nothing where no source is fresh: a guess would look like a measurement."""
    if not signals.fresh:
        return None
    return min(100, sum(reason.points for reason in risk_reasons(signals)))
