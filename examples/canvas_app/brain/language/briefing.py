"""Clauses about the Morning Brief."""

import re

from canvas_app.brain.language.preferences import objective_in
from canvas_app.brain.language.steps import Call, Say, Step, Surroundings
from canvas_app.synthesis.wishes import WORD_NUMBERS

WHAT_IT_IS = "The Morning Brief names one mission for today, why it matters now, what moves it and on what evidence."

_BRIEF = re.compile(
    r"\b(?:morning|daily|today'?s|day'?s) (?:brief(?:ing)?|report|digest)\b|\bbrief me\b|\bbriefing\b|"
    r"\b(?:the|my|a|an|our|this|new|me) brief\b(?! (?:summary|overview|answer|note|look|description|explanation|"
    r"reply|word|list|comparison|assessment|update|one|history|recap))|"
    r"\bbrief\b(?= (?:for|of) (?:today|the day|this morning))|"
    r"\bwhat(?:'s| is| should be)? (?:my|our|today'?s|the) (?:mission|focus|top priority)(?: today| for today|"
    r" for the day)?\b|"
    r"\bwhat should (?:i|we) (?:focus|work) on (?:today|first|this morning)\b|\bstart my day\b",
    re.I,
)
_OVERRIDES: tuple[tuple[str, str], ...] = (
    ("snooze", r"\bsnooze\b|\bremind me (?:about (?:it|the brief) )?(?:tomorrow|later)\b|\bhide the brief\b|"
    r"\bbrief (?:can )?wait\b"),
    ("wake", r"\b(?:wake|unsnooze|un-snooze)\b|\bbring (?:back the brief|the brief back)\b"),
    ("reframe_mission", r"\b(?:reframe|rephrase|reword|re-frame)\b|\bput (?:the|that|this) mission (?:another|"
    r"differently|in other)\b|\bsay the mission differently\b"),
    ("lower_priority", r"\blower(?: the| its| this| that)? priorit\w+\b|\bdeprioriti[sz]e\b|\b(?:not|"
    r"less) (?:a priority|important|urgent)(?: today| now)?\b|\bpush (?:the|this|that) mission (?:down|back)\b"),
    ("different_objective", r"\b(?:different|another|other|new|change the|switch the) objective\b|"
    r"\bobjective to\b|\boptimi[sz]e the brief for\b"),
)  # fmt: skip
_LEVERS = re.compile(r"\b(\d{1,2}|one|two|three|four|five|six)\s+(?:top )?levers?\b", re.I)
_WHY = re.compile(
    r"^why\b.*\b(?:mission|brief|this|that|first|priority)\b|^what makes you think\b|^explain (?:the|this|"
    r"that) (?:mission|brief)",
    re.I,
)


def read_override(clause: str, around: Surroundings) -> list[Step]:
    for override, words in _OVERRIDES:
        if re.search(words, clause, re.I):
            objective = objective_in(clause) if override == "different_objective" else None
            return [Call("generate_brief", {"override": override} | ({"objective": objective} if objective else {}))]
    return []


def asks_for_brief(text: str) -> bool:
    return _BRIEF.search(text) is not None


def asks_why(clause: str, around: Surroundings) -> bool:
    return around.brief_shown and _WHY.search(clause) is not None


def read_brief(clause: str, around: Surroundings) -> list[Step]:
    if not asks_for_brief(clause):
        return []
    if re.match(r"(?:what is|what's|explain what) (?:a|the) (?:morning )?brief\b", clause, re.I):
        return [Say(WHAT_IT_IS)]
    arguments: dict[str, str] = {}
    levers = _LEVERS.search(clause)
    if levers:
        word = levers[1].casefold()
        arguments["levers"] = word if word.isdigit() else str(WORD_NUMBERS[word])
    objective = (
        objective_in(clause) if re.search(r"\b(?:for|about|on|serving|focus\w*|objective)\b", clause, re.I) else None
    )
    return [Call("generate_brief", arguments | ({"objective": objective} if objective else {}))]
