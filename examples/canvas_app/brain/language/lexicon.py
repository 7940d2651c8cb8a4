"""Words for integrations, components and filters."""

import re
from dataclasses import dataclass, field

from canvas_app.brain.language.steps import Surroundings
from canvas_app.catalog import Source, find_kind

CARD_WORD = r"(?:component|widget|card|tile|panel|block|box)s?"

_SOURCE_WORDS: dict[Source, str] = {
    Source.GITHUB: r"git ?hub|gh",
    Source.SLACK: r"slack",
    Source.POSTHOG: r"post ?hog",
    Source.VERCEL: r"vercel",
}

STRANGERS = (
    "Jira", "Linear", "Notion", "Asana", "Trello", "Figma", "Stripe", "Datadog", "Sentry", "PagerDuty", "GitLab",
    "Bitbucket", "Discord", "Teams", "Gmail", "Outlook", "Calendar", "Salesforce", "HubSpot", "Zendesk", "Intercom",
    "Amplitude", "Mixpanel", "Grafana", "Netlify", "Heroku", "AWS", "Confluence", "Dropbox", "Twitter",
)  # fmt: skip

_KIND_WORDS: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("github", "my_activity", r"my[- _]activity|my (?:recent |own |latest )?(?:git ?hub |gh )?(?:activity|work|"
    r"contributions?)|"
     r"(?:git ?hub|gh) (?:activity|contributions?)|what i(?:'ve| have)? (?:did|done|been doing|"
     r"worked on)(?: on git ?hub)?", {}),
    ("slack", "unanswered", r"unanswered(?: slack)?(?: threads?| messages?| questions?| mentions?| pings?)?|"
    r"unreplied \w+|"
     r"open questions|(?:threads?|messages?|questions?) (?:that are )?(?:still )?(?:waiting|without)(?: for|"
     r" on)?(?: an?| my)? ?(?:reply|answer|response|me)?", {}),
    ("slack", "mentions", r"@?-?mentions?|pings?|who (?:pinged|mentioned) me|where i(?:'m| am| was) (?:mentioned|"
    r"tagged)", {}),
    ("slack", "channel_activity", r"channel[- _]activity|channel (?:feed|messages|traffic)|slack (?:messages?|"
    r"channels?|feed|chatter|activity|conversations?)", {}),
    ("github", "pull_requests", r"pull[- _]?requests?|prs?|merge requests?|(?:code )?review queue|code reviews?", {}),
    ("github", "issues", r"bugs?|bug (?:list|reports?)", {"label": "bug"}),
    ("github", "issues", r"feature requests?", {"label": "feature"}),
    ("github", "issues", r"issues?|tickets?", {}),
    ("github", "commits", r"commits?|commit (?:log|history)|pushes", {}),
    ("posthog", "site_health", r"(?:web ?)?site[- _]health|health of (?:the|our|my) (?:web)?site|posthog health|"
    r"exceptions?|error rate|site errors?", {}),
    ("posthog", "signups", r"sign[- ]?ups?|new users|registrations?", {}),
    ("posthog", "event_trend", r"page ?views?(?: trend)?|(?:site |web )?traffic", {"event": "pageview"}),
    ("posthog", "event_trend", r"check[- ]?outs?(?: trend)?|purchases", {"event": "checkout"}),
    ("posthog", "event_trend", r"event[- _]trends?|events? (?:chart|graph)|trends?|events", {}),
    ("vercel", "build_health", r"build[- _]health|build (?:status|times?|success(?: rate)?|stats)|builds?", {}),
    ("vercel", "deployments", r"deployments?|deploys?|releases?|rollouts?", {}),
)  # fmt: skip

_FIELD_WORDS: dict[str, str] = {
    "repo": r"repo(?:sitor(?:y|ies))?s?",
    "channel": r"channels?",
    "author": r"authors?|people|person",
    "environment": r"environments?|env",
    "event": r"events?",
    "label": r"labels?",
    "status": r"status(?:es)?",
}
_WANTS_FILTER = re.compile(
    r"\bfilter(?:ed|ing)?\b|\bnarrowed\b|\b(?:a|one|some|single|specific|certain|particular) "
    r"(?:repo|repository|channel|author|event|environment)\b",
    re.I,
)
_STATUS_WORDS: tuple[tuple[str, str], ...] = (
    (r"(?:failed|failing|broken|red|errored)", "error"),
    (r"(?:successful|green|ready)", "ready"),
    (r"merged", "merged"),
    (r"closed", "closed"),
    (r"(?<!^)\bopen(?= (?:prs?|pull|issues?|bugs?|tickets?))", "open"),
)
_NO_NAMES = re.compile(
    r"(?:a|an|the|one|only|of|for|from|in|on|to|by|with|it|that|this|my|our|please|here|now|and|or|some|specific|certain|"
    r"particular|single|filter|filtered|component|widget|card|panel|tile|activity|called|named)",
    re.I,
)


_AND = re.compile(r"\b(?:and|plus|also)\b|[,&+]", re.I)
_NOT_AN_AUTHOR = re.compile(
    r"(?:me|mine|myself|us|day|days|hour|week|month|date|default|name|type|kind|hand|size)", re.I
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A component that a clause speaks of; `kind` is missing where only the integration is named."""

    source: str | None
    kind: str | None
    filters: dict[str, str] = field(default_factory=dict)


def sources_in(text: str) -> tuple[Source, ...]:
    return tuple(source for source, words in _SOURCE_WORDS.items() if re.search(rf"\b(?:{words})\b", text, re.I))


def strangers_in(text: str) -> tuple[str, ...]:
    """Integrations that exist in the world and not here; with their capital, since several are common words."""
    return tuple(name for name in STRANGERS if re.search(rf"\b{name}\b", text))


def mentions_in(text: str) -> list[Mention]:
    """Components that the clause names, in its order."""
    rest, found = text, []
    for source, kind, words, implied in _KIND_WORDS:
        pattern = re.compile(rf"(?<![\w#-])(?:{words})(?![\w-])", re.I)
        match = pattern.search(rest)
        if match:
            found.append((match.span(), Mention(source, kind, dict(implied))))
            rest = pattern.sub(lambda hit: "\x00" * len(hit[0]), rest)
    named = sources_in(text)
    mentions = _merged(text, sorted(found, key=lambda pair: pair[0]))
    if not mentions:
        return [Mention(source.value, None) for source in named]
    strange = len(named) == 1 and all(mention.source != named[0].value for mention in mentions)
    if strange:
        return [Mention(named[0].value, mention.kind, mention.filters) for mention in mentions]
    alone = [source for source in named if all(mention.source != source.value for mention in mentions)]
    return mentions + [Mention(source.value, None) for source in alone]


def _merged(text: str, found: list[tuple[tuple[int, int], Mention]]) -> list[Mention]:
    """The mentions, with two names of one card taken together: `issues labelled bug` is one, `issues and bugs` two."""
    mentions: list[Mention] = []
    end = 0
    for (start, stop), mention in found:
        last = mentions[-1] if mentions else None
        same = last is not None and (last.source, last.kind) == (mention.source, mention.kind)
        if last and same and not (last.filters and mention.filters) and not _AND.search(text[end:start]):
            mentions[-1] = Mention(last.source, last.kind, {**last.filters, **mention.filters})
        else:
            mentions.append(mention)
        end = stop
    return mentions


def filter_field_in(text: str) -> str | None:
    """The field to filter by where a filter is wanted and its value not said."""
    for name, words in _FIELD_WORDS.items():
        if re.search(
            rf"\b(?:by|one|a|an|some|single|specific|certain|particular|each|which) (?:{words})\b", text, re.I
        ):
            return name
    return None


def wants_filter(text: str) -> bool:
    return _WANTS_FILTER.search(text) is not None or filter_field_in(text) is not None


def _known_values(text: str, around: Surroundings) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in ("repo", "channel", "environment"):
        for value in around.values.get(name, ()):
            bare = re.escape(value.lstrip("#"))
            if re.search(rf"(?<![\w-])#?{bare}(?![\w-])", text, re.I):
                found[name] = value
    for author in around.values.get("author", ()):
        if re.search(rf"\b(?:by|from|of|author) {re.escape(author)}\b|\b{re.escape(author)}'s\b", text, re.I):
            found["author"] = author
    if re.search(r"\b(?:by me|of mine|authored by me|my own)\b", text, re.I) and "mira" in around.values.get(
        "author", ()
    ):
        found["author"] = "mira"
    if "environment" not in found and re.search(r"\bprod\b", text, re.I):
        found["environment"] = "production"
    return found


def _unknown_values(text: str) -> dict[str, str]:
    """Names that stand where a repository or channel would, though nobody has heard of them."""
    found: dict[str, str] = {}
    for name in ("repo", "channel", "environment"):
        words = _FIELD_WORDS[name]
        after = re.search(rf"\b(?:{words}) (?:called |named )?[\"'#]*([\w./-]{{2,40}})", text, re.I)
        before = re.search(
            rf"\b(?:for|from|in|of|to|on) (?:the |our |my )?[\"'#]*([\w./-]{{2,40}})[\"']? (?:{words})\b", text, re.I
        )
        for match in (before, after):
            if match and not _NO_NAMES.fullmatch(match[1]):
                found.setdefault(name, match[1])
    author = re.search(r"\b(?:authored |written |made |opened )?by @?([\w-]{2,40})", text, re.I)
    fields = "|".join(_FIELD_WORDS.values())
    if author and not re.fullmatch(rf"{_NO_NAMES.pattern}|{_NOT_AN_AUTHOR.pattern}|{fields}", author[1], re.I):
        found["author"] = author[1]
    label = re.search(r"\blabel(?:l?ed)? (?:as |with )?[\"']?([\w-]{2,40})", text, re.I)
    if label and not _NO_NAMES.fullmatch(label[1]):
        found["label"] = label[1]
    tagged = re.search(r"(?<!\w)#([\w-]{2,40})", text)
    if tagged:
        found.setdefault("channel", tagged[1])
    return found


def several_in(text: str, around: Surroundings) -> dict[str, tuple[str, ...]]:
    """The fields for which the clause names more than one known value."""
    found = {
        name: tuple(
            value
            for value in around.values.get(name, ())
            if re.search(rf"(?<![\w-])#?{re.escape(value.lstrip('#'))}(?![\w-])", text, re.I)
        )
        for name in ("repo", "channel", "environment", "author")
    }
    return {name: values for name, values in found.items() if len(values) > 1}


def filters_in(text: str, around: Surroundings) -> dict[str, str]:
    """Filter values that the clause states, known ones first; the tool judges those that nobody knows."""
    found = _known_values(text, around)
    for name, value in _unknown_values(text).items():
        found.setdefault(name, value)
    for words, value in _STATUS_WORDS:
        if re.search(rf"\b{words}\b", text, re.I):
            found.setdefault("status", value)
    return found


def fitting(mention: Mention, filters: dict[str, str]) -> dict[str, str]:
    """Those of the filters that the mentioned kind can take, with the ones that its name implies."""
    kind = find_kind(None, mention.kind) if mention.kind else None
    if kind is None:
        return {}
    return {**mention.filters, **{name: value for name, value in filters.items() if name in kind.filters}}
