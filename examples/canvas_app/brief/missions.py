"""What could be today's mission, read off the fresh signals and ranked."""

from collections.abc import Callable
from dataclasses import dataclass

from canvas_app.catalog import Source
from canvas_app.signals.report import Signals
from canvas_app.wording import change_text, counted

OBJECTIVE_BONUS = 60
"""Enough to put the best mission of the chosen objective first, whatever else is going on."""


@dataclass(frozen=True, slots=True)
class Mission:
    """`framings` are ways to put the same mission: as an outcome, as a risk, as a first step."""

    id: str
    objective: str
    weight: int
    framings: tuple[str, ...]
    why: str
    lever: str
    sources: tuple[Source, ...]


def _restore_production(signals: Signals) -> Mission | None:
    failed = signals.number(Source.VERCEL, "production_failed_today")
    if not failed:
        return None
    failures = counted(failed, "failed production deployment")
    return Mission(
        "restore_production",
        "reliability",
        50 + 10 * failed,
        (
            "Get production deploying again",
            "Stop the failed deployments from reaching customers",
            "Find the first failed production deployment and undo its change",
        ),
        f"Vercel shows {failures} today",
        f"Fix or roll back what broke production: {failures} today (Vercel)",
        (Source.VERCEL,),
    )


def _mend_previews(signals: Signals) -> Mission | None:
    failed = signals.number(Source.VERCEL, "failed_today") or 0
    previews = failed - (signals.number(Source.VERCEL, "production_failed_today") or 0)
    if not previews:
        return None
    failures = counted(previews, "failed preview deployment")
    return Mission(
        "mend_previews",
        "reliability",
        8 + 4 * previews,
        (
            "Get every preview green before it is merged",
            "Keep broken previews from becoming broken releases",
            "Open the newest failed preview and read its log",
        ),
        f"Vercel shows {failures} today",
        f"Mend the previews before they are merged: {failures} today (Vercel)",
        (Source.VERCEL,),
    )


def _calm_exceptions(signals: Signals) -> Mission | None:
    now = signals.number(Source.POSTHOG, "exceptions_today")
    before = signals.number(Source.POSTHOG, "exceptions_yesterday")
    if now is None or before is None or now * 5 < before * 6:
        return None
    change = f"{counted(now, 'exception')} today against {before} yesterday"
    return Mission(
        "calm_exceptions",
        "reliability",
        30 + min(40, (now - before) * 20 // max(before, 1)),
        (
            "Bring the exceptions back to yesterday's level",
            "Keep the rising exceptions from costing customers",
            "Open the most frequent exception and fix that one first",
        ),
        f"PostHog counts {change}",
        f"Trace the most frequent exception: {change} (PostHog)",
        (Source.POSTHOG,),
    )


def _save_checkouts(signals: Signals) -> Mission | None:
    now = signals.number(Source.POSTHOG, "checkouts_today")
    before = signals.number(Source.POSTHOG, "checkouts_yesterday")
    if now is None or before is None or now * 10 > before * 9:
        return None
    change = f"checkouts are {change_text(now, before)}, {now} today against {before} yesterday"
    return Mission(
        "save_checkouts",
        "growth",
        55,
        (
            "Win the lost checkouts back",
            "Stop losing customers who are ready to pay",
            "Walk through the checkout yourself and note where it breaks",
        ),
        f"PostHog shows that {change}",
        f"Walk through the checkout as a customer: {change} (PostHog)",
        (Source.POSTHOG,),
    )


def _answer_mentions(signals: Signals) -> Mission | None:
    unanswered = signals.number(Source.SLACK, "unanswered")
    if not unanswered:
        return None
    waiting = counted(unanswered, "unanswered mention")
    return Mission(
        "answer_mentions",
        "collaboration",
        20 + 4 * unanswered,
        (
            "Answer everyone who waits for you",
            "Keep nobody blocked on your reply",
            "Reply to the oldest open question first",
        ),
        f"Slack holds {waiting} of you",
        f"Answer the people who wait: {waiting} (Slack)",
        (Source.SLACK,),
    )


def _clear_reviews(signals: Signals) -> Mission | None:
    waiting = signals.number(Source.GITHUB, "waiting_reviews")
    if not waiting:
        return None
    queue = counted(waiting, "pull request")
    return Mission(
        "clear_reviews",
        "delivery",
        25 + 5 * waiting,
        (
            "Clear the review queue so that finished work ships",
            "Keep finished work from going stale in review",
            "Review the oldest pull request before writing new code",
        ),
        f"GitHub has {queue} waiting for your review",
        f"Review before you write: {queue} waiting for you (GitHub)",
        (Source.GITHUB,),
    )


def _fix_bugs(signals: Signals) -> Mission | None:
    bugs = signals.number(Source.GITHUB, "open_bugs")
    if not bugs:
        return None
    return Mission(
        "fix_bugs",
        "delivery",
        10 + 3 * bugs,
        ("Close the open bugs", "Keep known bugs from meeting more customers", "Take the newest bug and reproduce it"),
        f"GitHub lists {counted(bugs, 'open bug')}",
        f"Reproduce and close a bug: {counted(bugs, 'open bug')} (GitHub)",
        (Source.GITHUB,),
    )


def _ride_signups(signals: Signals) -> Mission | None:
    now = signals.number(Source.POSTHOG, "signups_today")
    before = signals.number(Source.POSTHOG, "signups_yesterday")
    if now is None or before is None or now <= before:
        return None
    change = f"{counted(now, 'signup')} today against {before} yesterday"
    return Mission(
        "ride_signups",
        "growth",
        18,
        (
            "Turn today's new signups into customers",
            "Keep the new signups from drifting away",
            "Look at what the newest signups do first",
        ),
        f"PostHog counts {change}",
        f"Welcome the newcomers: {change} (PostHog)",
        (Source.POSTHOG,),
    )


def _keep_pace(signals: Signals) -> Mission | None:
    deployments = signals.number(Source.VERCEL, "deployments_today")
    commits = signals.number(Source.GITHUB, "commits_today")
    if deployments is None and commits is None:
        return None
    pace = counted(commits, "commit") if commits is not None else counted(deployments or 0, "deployment")
    source = Source.GITHUB if commits is not None else Source.VERCEL
    return Mission(
        "keep_pace",
        "delivery",
        5,
        ("Keep the present pace", "Protect the quiet", "Finish one thing that is under way"),
        f"the pace is {pace} today",
        f"Finish what is under way: {pace} today ({'GitHub' if source is Source.GITHUB else 'Vercel'})",
        (source,),
    )


READERS: tuple[Callable[[Signals], Mission | None], ...] = (
    _restore_production,
    _mend_previews,
    _calm_exceptions,
    _save_checkouts,
    _answer_mentions,
    _clear_reviews,
    _fix_bugs,
    _ride_signups,
    _keep_pace,
)


def ranked_missions(signals: Signals, objective: str | None, lowered: tuple[str, ...]) -> list[Mission]:
    """Candidates, the weightiest first; those of `objective` ahead of the rest, lowered ones at the end."""
    found = [mission for reader in READERS if (mission := reader(signals)) is not None]

    def rank(mission: Mission) -> tuple[int, int]:
        bonus = OBJECTIVE_BONUS if mission.objective == objective else 0
        return (lowered.index(mission.id) + 1 if mission.id in lowered else 0, -mission.weight - bonus)

    return sorted(found, key=rank)
