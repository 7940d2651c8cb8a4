"""Days and weeks gone by, in other languages than English: "Stand: gestern", "la semana pasada", "先週".

None of them can be computed to the minute, so each is an age that was not read. A period that a figure is compared with
is none: "12 Commits heute, 9 gestern", "mehr als gestern".
"""

import re
from collections.abc import Iterator
from typing import Final

from karat.text.forms.offsets import Span
from karat.text.prose.sentences import allow_spaces
from karat.text.regexes import lazy
from karat.text.words.ages import DATA_ELSEWHERE, DAYS_GONE, JOINED_DAYS_GONE, WEEKDAYS_ELSEWHERE

_WEEKDAY, _STATE = "|".join(WEEKDAYS_ELSEWHERE.entries), "|".join(DATA_ELSEWHERE.entries)
_NO_SPAN: Final = r"(?! (?:bis|à|au|a|al|hasta|tot|t/m)\b|[^\S\n]*-[^\S\n]*\w)"
_GONE = lazy.pattern(allow_spaces(rf"(?<![\w-])(?:{'|'.join(DAYS_GONE.entries)})(?![\w-])"), re.IGNORECASE)
_AS_OF = lazy.pattern(
    allow_spaces(rf"\b(?:{_STATE})(?:[^\S\n]*[:=(-])?[^\S\n]*(?:{_WEEKDAY}|hier)\b{_NO_SPAN}"), re.IGNORECASE
)
_JOINED = lazy.pattern("|".join(JOINED_DAYS_GONE.entries))
_IS_STATE = lazy.pattern(
    allow_spaces(rf"\b(?:{_STATE})(?:[^\S\n]*[:=(-])?[^\S\n]*(?:d(?:er|em|ie)|la|le|el|l')?[^\S\n]*\Z"), re.IGNORECASE
)
_COMPARED = lazy.pattern(
    allow_spaces(
        r"(?:\b(?:als|gegenüber|im vergleich zu|wie|que|par rapport à|frente a|comparad[oa] con|rispetto a|dan|чем"
        r"|vs\.?)(?: (?:d(?:er|ie|em)|la|le|el))?|\d[\d.,]*%?(?: [^\W\d][\w-]*){0,2}"
        r"(?: (?:in d(?:er|em)|la|le|el))?)[^\S\n]*\Z"
    ),
    re.IGNORECASE,
)
_COUNTED_AFTER = lazy.pattern(r"[^\S\n]*[:=]?[^\S\n]*\d[\d.,]*(?![\w:/-])(?![^\S\n]*(?:uhr|h)\b)", re.IGNORECASE)
_REACH: Final = 60

QUICK: Final = (
    "gestern|gister|ayer|anoche|ieri|ontem|hier\\b|letzte|vorige|vorig |vergangene|pasad|passad|scors|derni"
    f"|eilen|wczoraj|\\b(?:stand|seit|vom|depuis|desde|sinds)\\b|{_WEEKDAY}"
)
"""What none of these ages goes without, in ASCII."""


def foreign_days(seen: str) -> Iterator[Span]:
    """Every day or week gone by that is stated as the age of something."""
    yield from (found.span() for found in _AS_OF.finditer(seen))
    yield from (found.span() for found in _JOINED.finditer(seen))
    for found in _GONE.finditer(seen):
        before = seen[max(0, found.start() - _REACH) : found.start()]
        compared = _COMPARED.search(before) or _COUNTED_AFTER.match(seen, found.end())
        if _IS_STATE.search(before) or not compared:
            yield found.span()
