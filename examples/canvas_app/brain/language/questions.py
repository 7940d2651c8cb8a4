"""Questions about numbers and about the workspace itself."""

import re
from collections.abc import Mapping

from canvas_app.brain.language.lexicon import filters_in, several_in
from canvas_app.brain.language.refusals import CAN_DO
from canvas_app.brain.language.steps import Report, Say, Step, Surroundings, Tell
from canvas_app.brain.language.text import either, without_courtesy
from canvas_app.catalog import Source
from canvas_app.signals.metrics import OTHER_TIME, Metric, metrics_in, other_time, window_in

COUNTED_BY: Mapping[Source, frozenset[str]] = {
    Source.GITHUB: frozenset({"repo", "author"}),
    Source.SLACK: frozenset({"channel", "author"}),
    Source.POSTHOG: frozenset(),
    Source.VERCEL: frozenset({"environment", "author"}),
}

_ASKS = re.compile(
    either(r"""
        how (?:many|much|often|is|are|did|do|does)|how's|what(?:'s| is| are| was| were)?|who|which|when|any
        did|do (?:i|we)|does|are there|is there|have (?:i|we|there)|has|were|was|is|are
        count|number of|tell me|list (?:the|my|all)|give me the (?:number|count)
    """)
    + r"\b",
    re.I,
)
_GREETING = re.compile(
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening)|hiya|greetings|yo)(?: there| assistant| again| everyone)?",
    re.I,
)
_THANKS = re.compile(
    r"(?:thanks?|thank you|thx|cheers)(?: \w+){0,4}|(?:great|perfect|nice|cool|awesome|good|well)(?: (?:job|work|"
    r"one|thanks|done))?",
    re.I,
)
_HELP = re.compile(
    r"^(?:help|what can you do|what do you do|who are you|how does this work|what are you|how can you help)\b", re.I
)
_TOPICS: tuple[tuple[str, str], ...] = (
    ("templates", r"\btemplates?\b"),
    ("rules", r"\b(?:rules?|preferences?)\b"),
    (
        "integrations",
        r"\b(?:integrations?|sources?|connected|fresh|synced|up to date|(?:old|recent) is (?:the|my|our) data)\b",
    ),
    ("spaces", r"\b(?:spaces|workspaces|which space|what space|where am i)\b"),
    (
        "canvas",
        r"\b(?:on (?:my|the|this) (?:canvas|board|screen|space)|components|cards|widgets|on here|here right now)\b",
    ),
)
_ABOUT_WORKSPACE = re.compile(
    either(r"""
        what|which|list|where am i|do i have|are there|tell me|is (?:the|my|our) data|how (?:fresh|old|recent)
        show me (?:all )?(?:my |the )?(?:rules|spaces|templates|integrations)
        how many (?:components|cards|spaces|rules|widgets|templates)
    """)
    + r"\b",
    re.I,
)


def read_small_talk(clause: str, around: Surroundings) -> list[Step]:
    plain = clause.strip(" .!?,")
    if _GREETING.fullmatch(plain):
        return [Say(f"Hello. {CAN_DO}")]
    if _THANKS.fullmatch(plain):
        return [Say("You are welcome.")]
    if _HELP.match(plain):
        return [Say(f"I am the assistant of this workspace. {CAN_DO}")]
    return []


def read_workspace_question(clause: str, around: Surroundings) -> list[Step]:
    plain = without_courtesy(clause)
    if not _ABOUT_WORKSPACE.match(plain) and not _ABOUT_WORKSPACE.match(clause):
        return []
    for topic, words in _TOPICS:
        if re.search(words, plain, re.I):
            return [Tell(topic)]
    return []


_REVIEWER = re.compile(r"\b(?P<name>\w+)'s (?:code )?review\b|\b(?:for|on) (?P<who>\w+) to review\b", re.I)
_PLACE = re.compile(r"\b(?:in|for|from|on) (?:the )?(?:repo(?:sitory)? |channel )?(#?[\w.]+-[\w.-]+|#[\w-]+)", re.I)


def _cannot_count(clause: str, metrics: tuple[Metric, ...], filters: dict[str, str], around: Surroundings) -> str:
    """Why the question cannot be answered as it is asked, or the empty string."""
    if other_time(clause):
        return OTHER_TIME
    reviewer = _REVIEWER.search(clause)
    if reviewer and (reviewer["name"] or reviewer["who"]).casefold() not in ("me", "mira", "today"):
        return "I can't do that: I count the reviews that wait for you, nobody else's."
    place = _PLACE.search(clause)
    if place and place[1].lstrip("#").casefold() not in {value.lstrip("#").casefold() for value in filters.values()}:
        return f"I can't do that: I know no {place[1]} here."
    if several_in(clause, around):
        return "I can't do that: ask for one repository, channel, author or environment at a time."
    if any(not set(filters) <= COUNTED_BY[metric.source] for metric in metrics):
        return "I can't do that: that number is not kept apart by what you name."
    return ""


def read_metric_question(clause: str, around: Surroundings) -> list[Step]:
    plain = without_courtesy(clause)
    if not _ASKS.match(plain) and not _ASKS.match(clause):
        return []
    metrics = metrics_in(plain)
    if not metrics:
        return []
    filters = {name: value for name, value in filters_in(plain, around).items() if name not in ("status", "label")}
    why_not = _cannot_count(clause, metrics, filters, around)
    return [Say(why_not)] if why_not else [Report(metrics, window_in(clause), filters)]
