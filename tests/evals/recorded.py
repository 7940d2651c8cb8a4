"""What the app must say and show, counted from the recorded week without the app's help."""

from __future__ import annotations

import json
from typing import Any

from .support import ROOT

WEEK = json.loads((ROOT / "examples/canvas_app/data/week.json").read_text("utf-8"))["projects"]
DAY = 24 * 60
ME = "mira"
WINDOWS = {"today": (0, DAY), "yesterday": (DAY, 2 * DAY), "this week": (0, 7 * DAY), "last day": (0, DAY)}


def events(project: str, source: str, kind: str, **wanted: object) -> list[dict[str, Any]]:
    """The events of one kind, the newest first."""
    found = [
        event
        for event in WEEK[project]["events"]
        if (event["source"], event["kind"]) == (source, kind)
        and all(event["data"].get(key) == value for key, value in wanted.items())
    ]
    return sorted(found, key=lambda event: event["minutes_ago"])


def within(project: str, found: list[dict[str, Any]], since: int, until: int) -> list[dict[str, Any]]:
    """Those between two ages, counted back from when their source was synced."""
    synced = WEEK[project]["synced_minutes_ago"]
    return [e for e in found if synced[e["source"]] + since <= e["minutes_ago"] < synced[e["source"]] + until]


def summed(found: list[dict[str, Any]]) -> int:
    return sum(event["data"].get("count", 1) for event in found)


def counted(project: str) -> dict[str, int]:
    """The numbers of a project."""
    found: dict[str, int] = {}

    def put(noun: str, source: str, kind: str, **wanted: object) -> None:
        fitting = events(project, source, kind, **wanted)
        found[noun] = len(fitting)
        for window, span in WINDOWS.items():
            found[f"{noun} {window}"] = summed(within(project, fitting, *span))

    put("commits", "github", "commit")
    put("waiting reviews", "github", "pull_request", status="open", review="waiting", reviewer=ME)
    put("open bugs", "github", "issue", status="open", label="bug")
    put("messages", "slack", "message")
    put("mentions", "slack", "message", mentions_me=True)
    put("unanswered", "slack", "message", mentions_me=True, answered=False)
    put("incidents", "slack", "message", topic="incident")
    put("praise", "slack", "message", topic="praise")
    for noun in ("signup", "checkout", "exception", "pageview"):
        put(f"{noun}s", "posthog", noun)
    put("deployments", "vercel", "deployment")
    put("failed", "vercel", "deployment", status="error")
    put("failed in production", "vercel", "deployment", status="error", environment="production")
    for source, minutes in WEEK[project]["synced_minutes_ago"].items():
        found[f"{source} age"] = minutes if minutes < 180 else minutes // 60
    return found


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _age(minutes: int) -> str:
    if minutes < 180:
        return f"{_many(minutes, 'minute')} ago"
    hours = minutes // 60
    return f"{_many(hours, 'hour')} ago" if hours < 72 else f"{_many(hours // 24, 'day')} ago"


def evidence(project: str, stale_after: int = 180) -> list[str]:
    """What a brief weighs, a line for each source that is on."""
    n, lines = counted(project), {}
    for source, name in (("github", "GitHub"), ("slack", "Slack"), ("posthog", "PostHog"), ("vercel", "Vercel")):
        minutes = WEEK[project]["synced_minutes_ago"][source]
        stale = minutes > stale_after
        day, before = ("on its last day", "the day before") if stale else ("today", "yesterday")
        told = {
            "github": f"{_many(n['commits today'], 'commit')} {day} ({n['commits yesterday']} {before}), "
            f"{n['commits this week']} this week; {_many(n['waiting reviews'], 'pull request')} waiting for your "
            f"review; {_many(n['open bugs'], 'open bug')}",
            "slack": f"{_many(n['mentions today'], 'mention')} of you {day} ({n['mentions yesterday']} {before}), "
            f"{n['unanswered']} unanswered; {_many(n['messages today'], 'message')} {day}, "
            f"{n['incidents today']} about incidents"
            if n["messages this week"]
            else "0 messages this week",
            "posthog": f"{_many(n['signups today'], 'signup')} {day} ({n['signups yesterday']} {before}), "
            f"{_many(n['checkouts today'], 'checkout')} ({n['checkouts yesterday']} {before}), "
            f"{_many(n['exceptions today'], 'exception')} ({n['exceptions yesterday']} {before}), "
            f"{_many(n['pageviews today'], 'pageview')}",
            "vercel": f"{_many(n['deployments today'], 'deployment')} {day} ({n['deployments yesterday']} {before}), "
            f"{n['failed today']} failed, {n['failed in production today']} of them in production",
        }
        lines[name] = f"{name}: {told[source]} ({_age(minutes)}{', stale' * stale})"
    return list(lines.values())


def _trend(project: str, noun: str) -> str:
    n = counted(project)
    now, before = n[f"{noun} today"], n[f"{noun} yesterday"]
    percent = round((now - before) * 100 / before)
    return f"{now:,}, {'up' if percent > 0 else 'down'} {abs(percent)}% on yesterday"


def shown(project: str, kind: str) -> dict[str, str]:
    """The numbers on a card by their labels; a kind may end in `: repository`."""
    kind, _, repo = kind.partition(": ")
    n, narrowed = counted(project), {"repo": repo} if repo else {}
    pulls = events(project, "github", "pull_request", status="open", **narrowed)
    issues = events(project, "github", "issue", status="open", **narrowed)
    built = within(project, events(project, "vercel", "deployment"), *WINDOWS["this week"])
    seconds = sorted(event["data"]["seconds"] for event in built)
    mine = events(project, "github", "commit", author=ME)
    cards: dict[str, dict[str, object]] = {
        "GitHub My Activity": {
            "My commits this week": len(within(project, mine, *WINDOWS["this week"])),
            "My open pull requests": sum(pull["data"]["author"] == ME for pull in pulls),
        },
        "GitHub Pull Requests": {
            "Open": len(pulls),
            "Wait for you": sum((p["data"]["review"], p["data"]["reviewer"]) == ("waiting", ME) for p in pulls),
        },
        "GitHub Issues": {"Open": len(issues), "Bugs": sum(issue["data"]["label"] == "bug" for issue in issues)},
        "Slack Mentions": {
            "Mentions today": f"{n['mentions today']}, {n['mentions yesterday']} yesterday",
            "Unanswered": n["unanswered"],
        },
        "Slack Unanswered Threads": {"Wait for your answer": n["unanswered"]},
        "PostHog Signups": {"Signups today": _trend(project, "signups"), "This week": f"{n['signups this week']:,}"},
        "PostHog Site Health": {
            f"{noun.capitalize()} today": _trend(project, noun) for noun in ("exceptions", "pageviews", "checkouts")
        },
        "Vercel Deployments": {"Deployments today": n["deployments today"], "Failed": n["failed today"]},
        "Vercel Build Health": {
            "Builds that succeed": f"{round(sum(e['data']['status'] == 'ready' for e in built) * 100 / len(built))}%",
            "Median build time": f"{seconds[len(seconds) // 2]} s",
        },
    }
    return {label: str(number) for label, number in cards[kind].items()}


def rows(project: str) -> set[str]:
    """The rows that cards can list."""
    found = set()
    for event in WEEK[project]["events"]:
        data, age = event["data"], _age(event["minutes_ago"])
        match event["kind"]:
            case "commit":
                found.add(f"{data['message']} {data['repo']} · {data['author']} · {age}")
            case "pull_request" if data["status"] == "open":
                review = f"{data['review']} {data['repo']} · {data['author']} · {age}"
                found.add(f"#{data['number']} {data['title']} {review}")
            case "issue" if data["status"] == "open":
                found.add(f"#{data['number']} {data['title']} {data['label']} {data['repo']} · {age}")
            case "message" if data["mentions_me"]:
                waits = "unanswered " * (not data["answered"])
                found.add(f"{data['text']} {waits}{data['author']} in {data['channel']} · {age}")
            case "deployment":
                state = "failed" if data["status"] == "error" else data["status"]
                found.add(f"{data['app']} {state} {data['environment']} · {data['branch']} · {age}")
    return found


def per_day(project: str, noun: str) -> str:
    """The label of a chart: seven days of a PostHog event, the oldest first."""
    found = events(project, "posthog", noun)
    days = [summed(within(project, found, day * DAY, (day + 1) * DAY)) for day in reversed(range(7))]
    return f"{noun.capitalize()}s per day, oldest first: {', '.join(map(str, days))}"
