"""Questions about numbers and about the workspace itself."""

import re

from canvas_app.brain.language.refusals import CAN_DO
from canvas_app.brain.language.steps import Report, Say, Step, Surroundings, Tell
from canvas_app.brain.language.text import either, without_courtesy
from canvas_app.signals.metrics import metrics_in, window_in

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


def read_metric_question(clause: str, around: Surroundings) -> list[Step]:
    plain = without_courtesy(clause)
    if not _ASKS.match(plain) and not _ASKS.match(clause):
        return []
    metrics = metrics_in(plain)
    return [Report(metrics, window_in(clause))] if metrics else []
