"""What the workspace knows: integrations, kinds of component, filters, templates and objectives."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Source(StrEnum):
    GITHUB = "github"
    SLACK = "slack"
    POSTHOG = "posthog"
    VERCEL = "vercel"


SOURCE_NAMES: Mapping[Source, str] = {
    Source.GITHUB: "GitHub",
    Source.SLACK: "Slack",
    Source.POSTHOG: "PostHog",
    Source.VERCEL: "Vercel",
}

ME = "mira"
"""The person who is signed in: whose activity, whose mentions, whose reviews."""

FILTER_LABELS: Mapping[str, str] = {
    "repo": "repository",
    "author": "author",
    "status": "status",
    "label": "label",
    "channel": "channel",
    "event": "event",
    "environment": "environment",
}


@dataclass(frozen=True, slots=True)
class ComponentKind:
    """One kind of card: what it can be narrowed by, the most usual first, and which events it reads."""

    source: Source
    kind: str
    title: str
    filters: tuple[str, ...]
    reads: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{SOURCE_NAMES[self.source]} {self.title}"


KINDS: tuple[ComponentKind, ...] = (
    ComponentKind(Source.GITHUB, "my_activity", "My Activity", ("repo",), ("commit", "pull_request")),
    ComponentKind(Source.GITHUB, "pull_requests", "Pull Requests", ("repo", "author", "status"), ("pull_request",)),
    ComponentKind(Source.GITHUB, "commits", "Commits", ("repo", "author"), ("commit",)),
    ComponentKind(Source.GITHUB, "issues", "Issues", ("repo", "label", "status"), ("issue",)),
    ComponentKind(Source.SLACK, "mentions", "Mentions", ("channel",), ("message",)),
    ComponentKind(Source.SLACK, "channel_activity", "Channel Activity", ("channel",), ("message",)),
    ComponentKind(Source.SLACK, "unanswered", "Unanswered Threads", ("channel",), ("message",)),
    ComponentKind(Source.POSTHOG, "site_health", "Site Health", (), ("exception", "pageview", "checkout")),
    ComponentKind(Source.POSTHOG, "signups", "Signups", (), ("signup",)),
    ComponentKind(
        Source.POSTHOG, "event_trend", "Event Trend", ("event",), ("pageview", "signup", "checkout", "exception")
    ),
    ComponentKind(Source.VERCEL, "deployments", "Deployments", ("environment", "status"), ("deployment",)),
    ComponentKind(Source.VERCEL, "build_health", "Build Health", ("environment",), ("deployment",)),
)


def kinds_of(source: Source) -> tuple[ComponentKind, ...]:
    return tuple(kind for kind in KINDS if kind.source is source)


def find_kind(source: str | None, kind: str) -> ComponentKind | None:
    """The kind of that name, within `source` if one is given."""
    for candidate in KINDS:
        if candidate.kind == kind and source in (None, candidate.source.value):
            return candidate
    return None


def kind_called(source: str, kind: str) -> ComponentKind:
    """The kind that seeds, templates and the database name; one that is not there is a defect."""
    found = find_kind(source, kind)
    if found is None:
        raise LookupError(f"there is no component kind {source}.{kind}")
    return found


@dataclass(frozen=True, slots=True)
class Template:
    name: str
    summary: str
    kinds: tuple[tuple[Source, str], ...]


TEMPLATES: tuple[Template, ...] = (
    Template(
        "Engineering Standup",
        "your work, the review queue and what was deployed",
        ((Source.GITHUB, "my_activity"), (Source.GITHUB, "pull_requests"), (Source.VERCEL, "deployments")),
    ),
    Template(
        "Launch Watch",
        "site health, signups, deployments and open questions",
        (
            (Source.POSTHOG, "site_health"),
            (Source.POSTHOG, "signups"),
            (Source.VERCEL, "deployments"),
            (Source.SLACK, "unanswered"),
        ),
    ),
    Template(
        "Support Triage",
        "mentions, unanswered threads and issues",
        ((Source.SLACK, "mentions"), (Source.SLACK, "unanswered"), (Source.GITHUB, "issues")),
    ),
)

OBJECTIVES: Mapping[str, str] = {
    "delivery": "Ship the planned work",
    "reliability": "Keep production healthy",
    "growth": "Win and keep customers",
    "collaboration": "Unblock other people",
}

STALE_AFTER_MINUTES = 180
"""A source that was last synced longer ago than this is not taken as the present."""
