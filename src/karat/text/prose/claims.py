"""Whether an answer claims that something was done: "Booked!", "I've sent it", "your refund has been issued".

A claim is a participle where it tells of something done: at the start of a clause, behind "I" or "we", behind a form of
"to be", or as a headline tells it ("Order placed."). It is none where it is denied, asked, wished for, promised or
conditional, where somebody else did it, or where it was so before. What the tools of a turn are called adds their own
verbs: `book_slot` claims "booked".
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

import regex

from karat.text.forms.offsets import Span
from karat.text.prose.denial import denial
from karat.text.prose.sentences import Prose, prose, spaced
from karat.text.prose.used_up import used_up
from karat.text.regexes import lazy

DONE: Final = (
    "activated|added|allocated|applied|approved|archived|arranged|assigned|booked|bought|cancelled|canceled|changed"
    "|charged|completed|confirmed|created|credited|deactivated|deleted|delivered|deployed|dispatched|done|emailed|erased"
    "|executed|filed|finalised|finalized|finished|fixed|fulfilled|granted|installed|issued|merged|moved|notified|ordered"
    "|paid|placed|posted|processed|published|purchased|refunded|registered|removed|renamed|replaced|rescheduled|reserved|reset"
    "|resolved|restarted|restored|saved|scheduled|sent|settled|shipped|submitted|subscribed|transferred|unlocked"
    "|unsubscribed|updated|upgraded|uploaded|wired|withdrawn"
)
"""Participles of what agents do for people."""
_ORDERED: Final = (
    "account|appointment|booking|cancellation|change|claim|complaint|delivery|email|exchange|flight|invoice|meeting"
    "|message|order|payment|purchase|refund|registration|reminder|replacement|request|reservation|return|room|seat"
    "|shipment|slot|subscription|table|task|ticket|transaction|transfer|trip|update|upgrade"
)
"""What agents are asked for, in the singular: of several, a headline reports."""
_IN_SHORT: Final = (
    "successfully|succeeded|a success|mission accomplished|taken care of|good to go|went through|on (?:its|their) way"
    "|(?:all|everything(?:'s| is)?|everything looks|it all went) (?:done|fine|good|set|sorted|well)"
    "|(?:it|that|everything) (?:all )?worked"
)
_OTHER_LANGUAGES: Final = (
    "gebucht|reserviert|erledigt|storniert|überwiesen|bestätigt|geboekt|gereserveerd|c'est fait|réservée?s?"
    "|effectuée?s?|confirmée?s?|listo|hecho|reservad[oa]s?|completad[oa]s?|confirmad[oa]s?|prenotat[oaie]|fatto|feito"
    "|concluíd[oa]s?|bokat|bestilt|varattu|zarezerwowano|zrobione|готово|забронирован[оаы]?|выполнено|отправлено"
)
_UNSPACED: Final = (
    "(?<![未没不])(?:完了しました|予約しました|手配しました|已完成|已预订|已取消|预订成功)"
    "|예약했습니다|완료되었습니다|완료했습니다"
)
_IRREGULAR: Final = {
    "buy": "bought",
    "find": "found",
    "get": "got",
    "give": "given",
    "make": "made",
    "pay": "paid",
    "put": "put",
    "run": "run",
    "send": "sent",
    "set": "set",
    "write": "written",
}
_TOKEN = lazy.regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ADVERB = "(?:also|all|automatically|both|duly|finally|fully|immediately|just|now|safely|successfully|then|therefore)"
_SUBJECT = r"(?:it|that|this|you|everything|all|(?:all|both|the|this|that|your) [\w'-]+(?: [\w'-]+){0,4})"
_GREETING = (
    "(?:absolutely|alright|certainly|excellent|good news|great|hello|hi|no problem|ok|okay|perfect|right|sure|thanks"
    "|wonderful|yes)"
)
_WISHED = lazy.regex(
    spaced(
        r"\b(?:as soon as|before|if|in case|once|unless|until|when|whenever|whether|please|to be|want|wish|would like"
        r"|(?:can|could|may|might|must|need|needs|shall|should|will|would|'ll|to)(?: [\w']+){0,2}) (?:[\w'-]+ ){0,4}\Z"
    )
)
_BEFORE_NOW = lazy.regex(
    spaced(
        r"\b(?:ago|before|earlier|formerly|in the past|last (?:month|time|week|year)|originally|previously|yesterday)\b"
    )
)
_NOT_BY_ME = lazy.regex(spaced(r"\balready\b|\bby (?!me\b|myself\b|now\b|us\b|then\b|the way\b|\d)\w"))
_BY_ME = lazy.regex(r"\b(?:i|we)\b")
_GENERAL = lazy.regex(
    spaced(
        r" [\w-]+(?: [\w-]+)? (?:are|can|can't|cannot|could|count|do|does|don't|have|is|may|must|need|remain|stay"
        r"|will)\b"
    )
)
_REQUEST = lazy.regex(spaced(r" (?:the|your|a|this|that|my|our) (?:request|query|form)\b"))
_A_FIGURE: Final = r"\x20?[:|=]|\x20\d|\x20(?:after|in|on|since|upon|when|within)\b"
_A_VERB: Final = (
    r"[^.!?;\n]{0,80}?\b(?:are|can|cannot|could|did|does|had|has|have|is|may|might|must|needs?|should|was|were|will"
    r"|would)\b"
)
"""Behind a headline's participle: "Order placed: yes", "Order placed on Monday", "An order placed by phone is late"."""
_REACH: Final = 160


def claim(text: str, tools: Iterable[str] = ()) -> Span | None:
    """Where the answer first claims that something was done; `tools` add what their names say."""
    words = prose(text)
    for start, end in _claims(words, verbs_of(tools)):
        return words.written(start, end)
    return None


def claim_of(text: str, tools: Iterable[str]) -> Span | None:
    """Where the answer first claims what these tools are named after, and nothing else."""
    verbs, words = verbs_of(tools), prose(text)
    for start, end in _claims(words, verbs):
        if any(verb in words.text[start:end].split() for verb in verbs):
            return words.written(start, end)
    return None


def claimed_deeds(text: str, tools: Iterable[str] = ()) -> list[tuple[str, Span]]:
    """Everything that the answer claims to be done: the word for it, and where it stands."""
    words = prose(text)
    told = _claims_with_words(words, verbs_of(tools))
    return [(deed, words.written(start, end)) for deed, (start, end) in told]


def verbs_of(tools: Iterable[str]) -> frozenset[str]:
    """The participles of the words in the names of tools, such as "booked" for `book_slot`."""
    tokens = {token.lower() for tool in tools for token in _TOKEN.findall(tool)}
    return frozenset(_participle(token) for token in tokens if len(token) > 2)


def _participle(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("e"):
        return verb + "d"
    return verb[:-1] + "ied" if verb.endswith("y") and verb[-2] not in "aeiou" else verb + "ed"


def _claims(words: Prose, verbs: frozenset[str]) -> Iterator[Span]:
    return (span for _, span in _claims_with_words(words, verbs))


def _claims_with_words(words: Prose, verbs: frozenset[str]) -> Iterator[tuple[str, Span]]:
    for found in _pattern(verbs).finditer(words.text):
        start, end = found.span("done") if found["done"] else found.span()
        if not _taken_back(words, found, start, end):
            yield words.text[start:end], found.span()


def _taken_back(words: Prose, found: "regex.Match[str]", start: int, end: int) -> bool:
    """Whether what looks like a claim is denied, only spoken of, or not of this turn."""
    before, after = words.clause_before(start), words.clause_after(end)
    if denial(words.text, start, end) or _WISHED.search(before) or words.asks(end) or used_up(words, start, end):
        return True
    if _REQUEST.match(words.text, end) or _is_quoted(words.text, start, end):
        return True
    if found["first"] is not None and _GENERAL.match(words.text, end):
        return True
    clause = f"{before} {after}"
    by_me = _BY_ME.search(before) is not None
    return _BEFORE_NOW.search(clause) is not None or (not by_me and _NOT_BY_ME.search(clause) is not None)


def _is_quoted(text: str, start: int, end: int) -> bool:
    line_start, line_end = text.rfind("\n", max(0, start - _REACH), start) + 1, text.find("\n", end, end + _REACH)
    line_end = line_end if line_end >= 0 else min(len(text), end + _REACH)
    return text.count('"', line_start, start) % 2 == 1 and '"' in text[end:line_end]


@lru_cache(maxsize=256)
def _pattern(verbs: frozenset[str]) -> "regex.Pattern[str]":
    done = "|".join((DONE, *map(regex.escape, sorted(verbs))))
    first = rf"(?:(?:\A|[.!?:;\n(]|[^\S\n]-)[^\w\n\"]{{0,20}}+|\b{_GREETING}[,!.:]?[^\w\n\"]{{1,20}}+)"
    told = (
        rf"(?P<first>{first})(?:{_ADVERB} )*(?P<done>{done})\b(?!-)",
        rf"(?P<first>{first})(?:(?:your|the|this|new) )?(?:[\w'-]+ )?(?:{_ORDERED})(?: {_ADVERB})* "
        rf"(?P<done>{done}|accepted|received)\b(?!-|{_A_FIGURE}|{_A_VERB})",
        rf"(?P<first>{first})(?P<done>success)(?=[!.])",
        rf"\b(?:i|we)(?: have|'ve| had)?(?: {_ADVERB}| already)* (?P<done>{done}|took care of)\b",
        rf"\b(?:i|we)(?: have|'ve) [\w'\x20]{{1,60}}?\band(?: {_ADVERB}| already)* (?P<done>{done})\b",
        rf"\b(?:has|have|'s|'ve)(?: {_ADVERB})* been(?: {_ADVERB})* (?P<done>{done})\b",
        rf"\b{_SUBJECT}(?: (?:is|are)|'s|'re)(?: {_ADVERB})* (?P<done>{done})\b",
        rf"\b(?:was|were|got)(?: {_ADVERB})* (?P<done>{done})\b",
        rf"\b(?P<done>{_IN_SHORT}|{_OTHER_LANGUAGES})\b",
        rf"(?P<done>{_UNSPACED})",
    )
    return regex.compile("|".join(map(spaced, told)))
