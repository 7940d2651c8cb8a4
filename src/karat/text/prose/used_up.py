"""Whether a participle tells that nothing is left ("all tables are booked"), not that somebody got something."""

from typing import Final

from karat.text.prose.sentences import Prose, spaced
from karat.text.regexes import lazy

_NUMERAL: Final = r"\d+|two|three|four|five|six|seven|eight|nine|ten"
_ALL = lazy.regex(
    spaced(
        rf"\b(?:(?:all|every|each|both|everything)\b(?! (?:{_NUMERAL})\b)"
        r"(?: (?!your\b|my\b|his\b|her\b|their\b)[\w'-]+){0,5}"
        r" (?:is|are|has been|have been|'s|'re)"
        r"|(?:alles?|tous les|toutes les|tod[oa]s (?:l[oa]s|[oa]s)|tutt[ei] (?:i|le|gli))"
        r"(?: [\w'-]+){1,4} (?:ist|sind|sont|están|estão|sono))"
        r"(?: (?:all|already|fully|currently|now|schon|bereits))* ?\Z"
    )
)
_TAKEN = lazy.regex(
    r"(?:allocated|assigned|booked|reserved|scheduled|sold|taken|gebucht|reserviert|vergeben|réservée?s|reservad[oa]s|prenotat[ei])"
)
_FOR_SOMEBODY = lazy.regex(
    spaced(r"\b(?:for|to) (?:you|your|the customer|him|her|them)\b|\byour?\b|\bas (?:requested|you)\b")
)


def used_up(words: Prose, start: int, end: int) -> bool:
    """Whether the participle at this place says that all of something is taken, for nobody in particular."""
    if not _TAKEN.fullmatch(words.text[start:end]):
        return False
    before = words.clause_before(start)
    return bool(_ALL.search(before)) and not _FOR_SOMEBODY.search(f"{before} {words.clause_after(end)}")
