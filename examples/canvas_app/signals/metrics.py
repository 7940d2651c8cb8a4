"""The numbers that can be asked for by name."""

import re
from dataclasses import dataclass

from canvas_app.catalog import Source
from canvas_app.signals.report import SourceReport


@dataclass(frozen=True, slots=True)
class Metric:
    """`key` is the number's name; a windowed one exists for today, yesterday and the week."""

    source: Source
    key: str
    noun: str
    pattern: str
    windowed: bool = False
    plural: str | None = None

    def value(self, report: SourceReport, window: str) -> int:
        return report.numbers.get(f"{self.key}_{window}" if self.windowed else self.key, 0)

    def worded(self, number: int) -> str:
        many = self.plural or f"{self.noun}s"
        return f"{number:,} {self.noun if number == 1 else many}"


METRICS: tuple[Metric, ...] = (
    Metric(
        Source.GITHUB,
        "waiting_reviews",
        "pull request waiting for your review",
        r"review queue|(?:prs?|pull requests?|reviews?) (?:are |is )?(?:wait\w*|for me|on me|assigned)|"
        r"wait\w* (?:for|on) (?:my|me|your|a)(?: code)? ?review|reviews? (?:do i|i) owe|(?:need|needs|"
        r"awaiting) (?:my )?review",
        plural="pull requests waiting for your review",
    ),
    Metric(
        Source.GITHUB,
        "merged_week",
        "merged pull request",
        r"merged (?:prs?|pull requests?)|(?:prs?|pull requests?) (?:were |was |got )?merged|merges",
    ),
    Metric(Source.GITHUB, "open_pull_requests", "open pull request", r"pull[- ]requests?|prs?"),
    Metric(Source.GITHUB, "commits", "commit", r"commits?|pushes", windowed=True),
    Metric(Source.GITHUB, "open_bugs", "open bug", r"bugs?|defects?"),
    Metric(Source.GITHUB, "open_issues", "open issue", r"issues?|tickets?"),
    Metric(
        Source.SLACK,
        "unanswered",
        "unanswered mention",
        r"unanswered(?: \w+)?|unreplied(?: \w+)?|(?:not|never) (?:been )?answered|wait\w* for (?:my|a|"
        r"an) (?:reply|answer|response)",
    ),
    Metric(Source.SLACK, "mentions", "mention", r"mentions?|mentioned|pings?|pinged", windowed=True),
    Metric(Source.SLACK, "messages", "message", r"messages?|posts", windowed=True),
    Metric(Source.POSTHOG, "signups", "signup", r"sign[- ]?ups?|signed up|new users?|registrations?", windowed=True),
    Metric(Source.POSTHOG, "checkouts", "checkout", r"check[- ]?outs?|purchases?|orders?|conversions?", windowed=True),
    Metric(Source.POSTHOG, "exceptions", "exception", r"exceptions?|errors?|crashes", windowed=True),
    Metric(Source.POSTHOG, "pageviews", "pageview", r"page ?views?|traffic|visits?|visitors?", windowed=True),
    Metric(
        Source.VERCEL,
        "failed",
        "failed deployment",
        r"(?:failed|failing|broken|red) (?:\w+ )?(?:deployments?|deploys?|builds?)|(?:deployments?|deploys?|"
        r"builds?) (?:\w+ )?(?:failed|failing|fail|broke)|failures?",
        windowed=True,
    ),
    Metric(
        Source.VERCEL, "deployments", "deployment", r"deployments?|deploys?|deployed|builds?|releases?", windowed=True
    ),
)

DEFAULTS: dict[Source, str] = {
    Source.GITHUB: "commits",
    Source.SLACK: "mentions",
    Source.POSTHOG: "signups",
    Source.VERCEL: "deployments",
}


def metrics_in(text: str) -> tuple[Metric, ...]:
    """The metrics that the words name; a word that belongs to a longer name counts for that one alone."""
    rest, found = text, []
    for metric in METRICS:
        pattern = re.compile(rf"\b(?:{metric.pattern})\b", re.I)
        if pattern.search(rest):
            found.append(metric)
            rest = pattern.sub(" ", rest)
    return tuple(found)


def metric_for(source: Source, words: str) -> Metric:
    """The metric of `source` that `words` name, else the source's usual one."""
    named = [metric for metric in metrics_in(words) if metric.source is source]
    if named:
        return named[0]
    return next(metric for metric in METRICS if metric.source is source and metric.key == DEFAULTS[source])


OTHER_TIME = "I can't do that: I have a recorded week, and count today, yesterday or this week. Ask for one of these."
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_NUMBER = r"(?:\d+|two|three|four|five|six|ten|thirty)"
_OTHER_TIME = re.compile(
    r"\b(?:(?:on|since|last|this|until|by|before) )(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    rf"|\b(?:in|since|of|last|during|until) (?:{_MONTHS})\b|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{_MONTHS})\b"
    r"|\b(?:last|this|past|previous|next|per|a|each|every|the) (?:month|quarter|year|hour|fortnight|weekend|decade)\b"
    r"|\b(?:tomorrow|next week|tonight|this morning|so far this)\b"
    rf"|\b(?!7 days|seven days){_NUMBER} (?:hours?|days?|weeks?|months?|years?)\b",
    re.I,
)


def other_time(text: str) -> bool:
    """Whether the words ask for a span that numbers are not kept for."""
    return _OTHER_TIME.search(text) is not None


def far_back(text: str) -> bool:
    """Whether the words ask for a span that began before the recorded week."""
    return re.search(r"\b(?:last|past|previous) (?:month|quarter|year)s?\b", text, re.I) is not None


def window_in(text: str) -> str:
    if re.search(r"\b(?:this|the|last|past|whole|per|a|all) week\b|\bweekly\b|\b7 days\b|\bseven days\b", text, re.I):
        return "week"
    compared = re.sub(
        r"\b(?:compared (?:with|to)|against|than|since|versus|vs\.?|from) yesterday\b", "", text, flags=re.I
    )
    return "yesterday" if re.search(r"\byesterday\b", compared, re.I) else "today"
