"""The words by which ages are read, as published lists: a name, one sentence, its entries."""

from karat.text.words.word_list import WordList

_HOUR = 60.0
_DAY = 24 * _HOUR


def _units(name: str, entries: str) -> WordList:
    return WordList(f"age_{name}", f"Units of age: {name}.", tuple(entries.split()), replaceable=False)


AGE_UNITS = (
    (1 / 60, _units("seconds", "s sec secs second seconds")),
    (1.0, _units("minutes", "m min mins minute minutes")),
    (_HOUR, _units("hours", "h hr hrs hour hours")),
    (_DAY, _units("days", "d day days")),
    (7 * _DAY, _units("weeks", "w wk wks week weeks")),
    (14 * _DAY, _units("fortnights", "fortnight fortnights")),
    (30 * _DAY, _units("months", "mo mos month months")),
    (365 * _DAY, _units("years", "y yr yrs year years")),
    (3650 * _DAY, _units("decades", "decade decades")),
)
"""Each with how many minutes it has."""
MAY_BE_OLDER = WordList(
    "may_be_older",
    "Words before an age after which it may be any older one.",
    (
        *("more than", "over", "at least", "at the least", "older than", "longer than", "no less than"),
        *("not less than", "no newer than", "upward of", "upwards of", "beyond", "exceeding", "in excess of", "above"),
        *("a minimum of", "minimum", "well past", ">", ">=", "≥"),
    ),
    replaceable=False,
)
OR_OLDER = WordList(
    "or_older",
    "Words after an age that say so.",
    ("+", "or more", "or older", "or longer", "or over", "and more", "and older", "at least", "plus"),
    replaceable=False,
)
PERHAPS = WordList(
    "perhaps_older",
    "Words before a time that say that the age may be that.",
    ("perhaps", "maybe", "possibly", "probably", "if not", "or even", "could be", "may be", "might be"),
    replaceable=False,
)
LISTS = (*(one for _, one in AGE_UNITS), MAY_BE_OLDER, OR_OLDER, PERHAPS)
