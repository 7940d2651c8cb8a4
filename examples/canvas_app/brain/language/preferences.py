"""Clauses that set a standing rule."""

import re

from canvas_app.brain.language.lexicon import sources_in
from canvas_app.brain.language.steps import Call, Step, Surroundings
from canvas_app.brain.language.text import either
from canvas_app.synthesis.wishes import WORD_NUMBERS

_STANDING = re.compile(
    r"\b"
    + either(r"""
        always|never(?! mind)|from now on|from here on|going forward|in (?:the )?future|henceforth|by default|as a rule
        every time|each time|whenever|remember (?:that|to|my)|prefer(?:ence)?s?|rules?
    """)
    + r"\b",
    re.I,
)
_ABOUT_RULES = re.compile(
    r"^(?:what|which|list|show|do i have|are there|tell me|delete|remove|forget|drop|"
    r"clear)\b.*\b(?:rules?|preferences?)\b",
    re.I,
)
_BARE = re.compile(
    r"^(?:(?:i(?:'d| would)? (?:want|like|need)(?: to)?|please|can you|could you|let's) )*(?:set|add|create|make|"
    r"define|save|have)(?: up)? (?:a|an|another|some|me a|one)? ?(?:new )?(?:preference )?(?:rules?|preferences?)$",
    re.I,
)
OBJECTIVE_WORDS: dict[str, str] = {
    "reliability": r"reliab\w+|stability|uptime|production health|incidents?|quality",
    "growth": r"growth|signups?|revenue|customers?|conversion",
    "delivery": r"deliver\w*|shipping|throughput|velocity|planned work|roadmap",
    "collaboration": r"collaborat\w+|the team|teammates?|unblocking|other people|replies|communication",
}
_LEAD = re.compile(
    r"\b(?:priorit\w+|focus(?:ed)? on|optimi[sz]e for|lead with|put .* first|comes? first|objective|"
    r"care (?:most )?about|start with|favou?r|prefer\w*)\b",
    re.I,
)
_LEAVE_OUT = re.compile(
    r"\b"
    + either(r"""
        ignor\w*|exclud\w*|leav\w*|skip\w*|omit\w*|without|keep .* out
        never (?:use|mention|include|show|look at|count|trust)
        (?:don't|do not|stop) (?:use|using|mention\w*|includ\w*|show\w*|count\w*|trust\w*)
    """)
    + r"\b",
    re.I,
)
_LEVERS = re.compile(
    r"\b(\d+|one|two|three|four|five|six)\s+(?:top )?(?:levers?|actions?|priorities|items?|steps?)\b", re.I
)
_AGE = re.compile(
    r"\b(?:older than|stale after|fresher than|newer than|within(?: the last)?|max(?:imum)? age(?: of)?|"
    r"not older than|more than)\s+(\d+|an|one|two|three)\s*(minutes?|mins?|hours?|hrs?|h|m)\b",
    re.I,
)
_AUTHOR = re.compile(
    r"\b(?:from|by|of)\s+(?!now\b|here\b)([\w-]+)|\b(bots?)\b|"
    r"\bignore\s+([\w-]+)(?:'s)?\s+(?:commits|work|activity|messages)",
    re.I,
)


def objective_in(text: str) -> str | None:
    return next((name for name, words in OBJECTIVE_WORDS.items() if re.search(rf"\b(?:{words})\b", text, re.I)), None)


def _number(word: str) -> int:
    return int(word) if word.isdigit() else WORD_NUMBERS.get(word.casefold(), 1)


def _meaning(clause: str) -> dict[str, str] | None:
    levers, age = _LEVERS.search(clause), _AGE.search(clause)
    if age:
        minutes = _number(age[1]) * (60 if age[2].casefold().startswith("h") else 1)
        return {"kind": "max_age_minutes", "value": str(minutes)}
    if levers:
        return {"kind": "max_levers", "value": str(_number(levers[1]))}
    if _LEAVE_OUT.search(clause):
        sources = sources_in(clause)
        if sources:
            return {"kind": "exclude_source", "value": sources[0].value}
        author = _AUTHOR.search(clause)
        if author:
            name = (author[1] or author[2] or author[3]).casefold()
            return {"kind": "ignore_author", "value": "bots" if name in ("bot", "bots") else name}
        if re.search(r"\bsources?\b", clause, re.I):
            return {"kind": "exclude_source"}
    if _LEAD.search(clause):
        objective = objective_in(clause)
        if objective:
            return {"kind": "objective", "value": objective}
        if re.search(r"\bobjectives?\b|\bpriorit", clause, re.I):
            return {"kind": "objective"}
    return None


def is_standing(clause: str) -> bool:
    return _STANDING.search(clause) is not None and not _ABOUT_RULES.match(clause)


def read_preference(clause: str, around: Surroundings) -> list[Step]:
    if not is_standing(clause):
        return []
    if _BARE.match(clause.strip(" .!?")):
        return [Call("set_preference_rule")]
    return [Call("set_preference_rule", _meaning(clause) or {"text": clause})]
