"""Small numbers in digits or words."""

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
NUMBER = rf"(?:\d{{1,3}}|an?|{'|'.join(_WORDS)})"
"""A pattern for what `number_of` reads."""


def number_of(words: str) -> int:
    """The value of a small number: `3`, `three`, `a`."""
    if words.isdecimal():
        return int(words)
    return 1 if words.lower() in ("a", "an") else _WORDS.index(words.lower())
