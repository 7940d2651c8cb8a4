"""The form that a request asks for: score labels, sections, line shapes, bullets, one sentence, JSON."""

import re
from dataclasses import dataclass, field

from canvas_app.catalog import SOURCE_NAMES, Source

WORD_NUMBERS = {"one": 1, "a": 1, "single": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
MAX_SECTIONS = 8

SECTION_WORDS: dict[str, str] = {
    "signals": "signals",
    "signal": "signals",
    "evidence": "signals",
    "data": "signals",
    "facts": "signals",
    "metrics": "signals",
    "numbers": "signals",
    "recommendation": "recommendation",
    "recommendations": "recommendation",
    "next step": "recommendation",
    "next steps": "recommendation",
    "actions": "recommendation",
    "action items": "recommendation",
    "risk": "risks",
    "risks": "risks",
    "conflict": "conflicts",
    "conflicts": "conflicts",
    "conflicting signals": "conflicts",
    "contradictions": "conflicts",
    "tensions": "conflicts",
    "assumption": "assumptions",
    "assumptions": "assumptions",
    "uncertainty": "assumptions",
    "uncertainties": "assumptions",
    "caveats": "assumptions",
    "confidence": "confidence",
    "assumptions & confidence": "assumptions",
    "summary": "summary",
    "overview": "summary",
    "bottom line": "summary",
    "verdict": "summary",
    "conclusion": "summary",
}

_LAYOUT_WORD = re.compile(
    r"\b(sections?|headings?|headed|headers?|titled|format|structure|layout|exactly|labell?ed)\b", re.I
)
_QUOTED = re.compile(r"(?<!\w)[\"“'‘`]([^\"”'’`\n]{2,40})[\"”'’`](?!\w)")
_KNOWN_SECTION = re.compile(
    r"(?<![\w])(" + "|".join(re.escape(w) for w in sorted(SECTION_WORDS, key=len, reverse=True)) + r")(?![\w])", re.I
)
_SCORE = re.compile(r"\b((?:[A-Z][A-Z0-9]*_)*SCORE)\b")
_BULLETS = re.compile(
    r"\b(\d{1,2}|one|two|three|four|five|six)\s+(?:short\s+)?(?:bullets?(?: points?)?|points|lines)\b", re.I
)
_ONE_SENTENCE = re.compile(r"\b(?:one|a single|1)[- ](?:sentence|line)\b|\bin (?:a|one) (?:sentence|line)\b", re.I)
_JSON = re.compile(r"\b(?:as|in|valid|return|only)\s+(?:valid\s+)?json\b", re.I)
_AGES = re.compile(r"\b(?:ages?|freshness|how (?:old|fresh|recent)|timestamps?)\b", re.I)
_ONLY_THIS = re.compile(
    r"\b(?:exactly|precisely|only|just) (?:in |with |use |as )?(?:this|the following|that) "
    r"(?:format|form|line|shape|pattern)\b|\bnothing (?:else|more)\b",
    re.I,
)
_JOINT = re.compile(r"\s*[,;|/·-]?\s*")
_PLACEHOLDER = r"(?:<[^<>\n]{1,20}>|\[[^\[\]\n]{1,20}\]|\{[^{}\n]{1,20}\}|\bN\b|\bX\b|#|\d+|_+)"


@dataclass(frozen=True, slots=True)
class Wishes:
    scores: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    shapes: dict[Source, str] = field(default_factory=dict)
    joints: tuple[tuple[Source, str], ...] = ()
    """Where nothing but the shapes is wanted: their order, each with what stands after it."""
    bullets: int | None = None
    one_sentence: bool = False
    as_json: bool = False
    ages: bool = False

    @property
    def any(self) -> bool:
        return bool(self.scores or self.sections or self.shapes or self.bullets or self.one_sentence or self.as_json)


def _sections(text: str) -> tuple[str, ...]:
    """Section names in their order: known names with a capital, quoted names next to a word about layout."""
    if not _LAYOUT_WORD.search(text):
        return ()
    known = (match for match in _KNOWN_SECTION.finditer(text) if match[1][0].isupper() and not match[1].isupper())
    found = [(match.start(), match[1]) for match in known]
    for sentence in re.finditer(r"[^.!?\n]+", text):
        if _LAYOUT_WORD.search(sentence[0]):
            quoted = (match for match in _QUOTED.finditer(sentence[0]) if ":" not in match[1])
            found.extend((sentence.start() + match.start(1), match[1].strip()) for match in quoted)
    names: dict[str, str] = {}
    for _, name in sorted(found):
        names.setdefault(name.casefold(), name)
    inside = [key for key in names if any(key != other and key in other for other in names)]
    return tuple(name for key, name in names.items() if key not in inside)[:MAX_SECTIONS]


def _shapes(text: str) -> dict[Source, str]:
    """Line shapes such as `GitHub: <n> commits`: the source and what is to be counted."""
    return {source: (match[1] or "").strip() for source, match in _shape_matches(text).items()}


def _shape_matches(text: str) -> dict[Source, re.Match[str]]:
    found = {}
    for source, name in SOURCE_NAMES.items():
        match = re.search(rf"\b{name}:\s*{_PLACEHOLDER}(?:[ ]+([a-z][a-z -]{{2,30}}))?", text, re.I)
        if match:
            found[source] = match
    return found


def _joints(text: str) -> tuple[tuple[Source, str], ...]:
    """The shapes in the order of the text with what joins them, where it says that the answer is to be just that."""
    if not _ONLY_THIS.search(text):
        return ()
    ordered = sorted(_shape_matches(text).items(), key=lambda found: found[1].start())
    ends = [match.start() for _, match in ordered[1:]]
    between = [
        text[match.start() + len(match[0].rstrip()) : end] for (_, match), end in zip(ordered, ends, strict=False)
    ]
    joints = [joint if _JOINT.fullmatch(joint) else "\n" for joint in between]
    return tuple((source, joint) for (source, _), joint in zip(ordered, [*joints, ""], strict=True))


def _bullets(text: str) -> int | None:
    match = _BULLETS.search(text)
    if not match:
        return None
    word = match[1].casefold()
    return min(int(word) if word.isdigit() else WORD_NUMBERS[word], 10)


def read_wishes(text: str) -> Wishes:
    return Wishes(
        scores=tuple(dict.fromkeys(_SCORE.findall(text)))[:4],
        sections=_sections(text),
        shapes=_shapes(text),
        joints=_joints(text),
        bullets=_bullets(text),
        one_sentence=_ONE_SENTENCE.search(text) is not None,
        as_json=_JSON.search(text) is not None,
        ages=_AGES.search(text) is not None,
    )
